"""Hook implementations: what this distribution registers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pypto_core.host import PluginInfo, hookimpl

if TYPE_CHECKING:
    from pypto_core.contract import Backend


@hookimpl
def pypto_plugin() -> PluginInfo:
    """Who this is and which plugin API it was written for."""
    return PluginInfo(
        name="nimbus1",
        requires_api=">=1,<2",
        summary="the machine nimbus1",
        docs="README.md",
    )


@hookimpl
def pypto_backends() -> tuple[Backend, ...]:
    """The machine."""
    from pypto_plugin_nimbus1.backend import BACKEND

    return (BACKEND,)
