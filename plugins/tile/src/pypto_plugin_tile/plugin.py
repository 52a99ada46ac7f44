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
        name="tile",
        requires_api=">=1,<2",
        summary="tile-level legalisation and memory-space inference",
        docs="plugins/tile/README.md",
    )


@hookimpl
def pypto_passes() -> tuple[Pass, ...]:
    """Passes between the language's tiles and the memory plan."""
    from pypto_plugin_tile.passes import PASSES

    return PASSES


@hookimpl
def pypto_codes() -> tuple[CodePage, ...]:
    """What the errors of this plugin mean."""
    from pypto_plugin_tile.codes import PAGES

    return PAGES
