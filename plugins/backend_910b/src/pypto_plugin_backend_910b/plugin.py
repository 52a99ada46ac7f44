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
        name="backend_910b",
        requires_api=">=1,<2",
        summary="Ascend 910B: capacities, alignments, rates and legality tables",
        docs="plugins/backend_910b/README.md",
    )


@hookimpl
def pypto_backends() -> tuple[Backend, ...]:
    """The one machine described here."""
    from pypto_plugin_backend_910b.backend import BACKEND

    return (BACKEND,)
