"""The report's section on buffers: which kernels are written on them, and why the others are not."""

from __future__ import annotations

from typing import Any

from pypto_core.ir import BUFFER_IR_SELECTED, Function, FunctionIRStage
from pypto_plugin_buffer_ir.passes import RUNTIME, SWITCHED_OFF
from pypto_plugin_buffer_ir.select.decide import BUFFER_IR_REASON


def buffer_section(compiled: Any) -> str:
    """A line per kernel; a sentence instead when nobody was asked. Empty without kernels."""
    kernels = [function for function in compiled.program if function.is_incore]
    if not kernels:
        return ""
    if not any(BUFFER_IR_SELECTED in kernel.attrs for kernel in kernels):
        return f"All kernels stay in tiles: {_why_nobody_asked(compiled)}.\n"
    return "".join(f"- {_line(kernel)}\n" for kernel in kernels)


def _line(kernel: Function) -> str:
    if kernel.ir_stage is FunctionIRStage.Buffer:
        return f"`{kernel.name}` is written on buffers"
    if kernel.attrs.get(BUFFER_IR_SELECTED):
        return f"`{kernel.name}` is to be written on buffers; this goal does not go so far"
    return f"`{kernel.name}` stays in tiles. {kernel.attrs.get(BUFFER_IR_REASON, 'Nobody has noted why')}"


def _why_nobody_asked(compiled: Any) -> str:
    offered = compiled.context.capabilities
    if SWITCHED_OFF in offered:
        return "enable_buffer_ir is switched off"
    if RUNTIME not in offered:
        machine = compiled.context.backend
        return f"{machine.title if machine is not None else 'the machine'} does not take buffers by default"
    return "this goal does not go so far"
