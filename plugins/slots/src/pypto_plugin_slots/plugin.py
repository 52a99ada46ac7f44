"""Hook implementations: what this distribution registers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pypto_core.host import PluginInfo, hookimpl

if TYPE_CHECKING:
    from pypto_core.contract import CodePage, Pass


@hookimpl
def pypto_plugin() -> PluginInfo:
    """Who this is and which plugin API it was written for."""
    return PluginInfo(
        name="slots",
        requires_api=">=1,<2",
        summary="pipelined loops of one body that turns through the slots of a ring of buffers",
        docs="plugins/slots/README.md",
    )


@hookimpl
def pypto_passes() -> tuple[Pass, ...]:
    """The pass, once for the planner that places rings itself and once for those that assign addresses."""
    from pypto_plugin_slots.passes import PASSES

    return PASSES


@hookimpl
def pypto_codes() -> tuple[CodePage, ...]:
    """Why a loop was not taken, and what would change that."""
    from pypto_plugin_slots.codes import PAGES

    return PAGES
