"""Hook implementations: what this distribution registers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pypto_core.host import PluginInfo, hookimpl

if TYPE_CHECKING:
    from pypto_core.contract import CodePage, OpEmitter, OpExecutor, Pass, Property, ReportSection
    from pypto_core.ops import OpDef


@hookimpl
def pypto_plugin() -> PluginInfo:
    """Who this is and which plugin API it was written for."""
    return PluginInfo(
        name="buffer_ir",
        requires_api=">=1,<2",
        summary="kernels as explicit buffers with destination operands",
        docs="plugins/buffer_ir/README.md",
    )


@hookimpl
def pypto_ops() -> tuple[OpDef, ...]:
    """The operators on buffers."""
    from pypto_plugin_buffer_ir.ops import OPS

    return OPS


@hookimpl
def pypto_properties() -> tuple[Property, ...]:
    """What holds of storage and of kernels on buffers."""
    from pypto_plugin_buffer_ir.passes import PROPERTIES

    return PROPERTIES


@hookimpl
def pypto_passes() -> tuple[Pass, ...]:
    """From the decision to the kernels on buffers."""
    from pypto_plugin_buffer_ir.passes import PASSES

    return PASSES


@hookimpl
def pypto_emitters() -> tuple[OpEmitter, ...]:
    """How those operators are written as PTO text."""
    from pypto_plugin_buffer_ir.emit import EMITTERS

    return EMITTERS


@hookimpl
def pypto_executors() -> tuple[OpExecutor, ...]:
    """What those operators compute."""
    from pypto_plugin_buffer_ir.meanings import EXECUTORS

    return EXECUTORS


@hookimpl
def pypto_report_sections() -> tuple[ReportSection, ...]:
    """Which kernels are written on buffers, and why the others are not."""
    from pypto_core.contract import ReportSection

    return (ReportSection("buffer", "Kernels on buffers", "pypto_plugin_buffer_ir.report:buffer_section"),)


@hookimpl
def pypto_codes() -> tuple[CodePage, ...]:
    """What the errors and hints of this plugin mean."""
    from pypto_plugin_buffer_ir.codes import PAGES

    return PAGES
