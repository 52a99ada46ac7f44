"""Which functions become buffers: what selection said, or all where nobody was asked."""

from __future__ import annotations

from pypto_core.ir import BUFFER_IR_SELECTED, Function, FunctionIRStage


def wants_buffer_ir(function: Function) -> bool:
    """Whether lowering converts a function: it runs on a device core, is in tiles, and was not left out."""
    return (
        function.is_incore
        and function.ir_stage is FunctionIRStage.Functional
        and bool(function.attrs.get(BUFFER_IR_SELECTED, True))
    )
