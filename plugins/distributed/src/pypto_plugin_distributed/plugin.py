"""Hook implementations: what this distribution registers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pypto_core.host import PluginInfo, hookimpl

if TYPE_CHECKING:
    from pypto_core.contract import CodePage, OpEmitter, OpExecutor, Pass
    from pypto_core.ops import OpDef


@hookimpl
def pypto_plugin() -> PluginInfo:
    """Who this is and which plugin API it was written for."""
    return PluginInfo(
        name="distributed",
        requires_api=">=1,<2",
        summary="kernels that several devices run together",
        docs="plugins/distributed/README.md",
    )


@hookimpl
def pypto_ops() -> tuple[OpDef, ...]:
    """Windows, signals and remote transfers."""
    from pypto_plugin_distributed.ops import OPS

    return OPS


@hookimpl
def pypto_passes() -> tuple[Pass, ...]:
    """From transfers to tiles and signals."""
    from pypto_plugin_distributed.passes import PASSES

    return PASSES


@hookimpl
def pypto_emitters() -> tuple[OpEmitter, ...]:
    """That those operators have no PTO text."""
    from pypto_plugin_distributed.emit import EMITTERS

    return EMITTERS


@hookimpl
def pypto_codes() -> tuple[CodePage, ...]:
    """What the errors of this plugin mean."""
    from pypto_plugin_distributed.codes import PAGES

    return PAGES


@hookimpl
def pypto_executors() -> tuple[OpExecutor, ...]:
    """What those operators do."""
    from pypto_plugin_distributed.meanings import EXECUTORS

    return EXECUTORS
