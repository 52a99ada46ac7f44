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
        name="structure",
        requires_api=">=1,<2",
        summary="inlining, unrolling, structured control flow, SSA form, simplification, three-address calls",
        docs="plugins/structure/README.md",
    )


@hookimpl
def pypto_passes() -> tuple[Pass, ...]:
    """The passes that every program goes through first."""
    from pypto_plugin_structure.passes import PASSES

    return PASSES


@hookimpl
def pypto_codes() -> tuple[CodePage, ...]:
    """What the errors and hints of this plugin mean."""
    from pypto_plugin_structure.codes import PAGES

    return PAGES
