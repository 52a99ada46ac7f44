"""Hook implementations: what this distribution registers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pypto_core.host import PluginInfo, hookimpl

if TYPE_CHECKING:
    from pypto_core.contract import Pass


@hookimpl
def pypto_plugin() -> PluginInfo:
    """Who this is and which plugin API it was written for."""
    return PluginInfo(
        name="nimbus_drop_unit_scale",
        requires_api=">=1,<2",
        summary="the pass NimbusDropUnitScale",
        docs="README.md",
    )


@hookimpl
def pypto_passes() -> tuple[Pass, ...]:
    """The pass."""
    from pypto_plugin_nimbus_drop_unit_scale.passes import PASS

    return (PASS,)
