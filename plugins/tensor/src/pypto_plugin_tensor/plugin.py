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
        name="tensor",
        requires_api=">=1,<2",
        summary="scopes become kernels, and kernels on tensors become kernels on tiles",
        docs="plugins/tensor/README.md",
    )


@hookimpl
def pypto_passes() -> tuple[Pass, ...]:
    """Passes between the language's tensors and tiles."""
    from pypto_plugin_tensor.passes import PASSES

    return PASSES


@hookimpl
def pypto_codes() -> tuple[CodePage, ...]:
    """What the errors and hints of this plugin mean."""
    from pypto_plugin_tensor.codes import PAGES

    return PAGES
