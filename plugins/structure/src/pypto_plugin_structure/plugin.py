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
        name="structure",
        requires_api=">=1,<2",
        summary="SSA form, flat statement structure and three-address calls",
        docs="plugins/structure/README.md",
    )


@hookimpl
def pypto_passes() -> tuple[Pass, ...]:
    """The passes that every program goes through first."""
    from pypto_plugin_structure.passes import PASSES

    return PASSES
