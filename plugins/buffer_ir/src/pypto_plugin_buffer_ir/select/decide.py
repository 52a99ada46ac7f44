"""SelectBufferIRFunctions: decide for every kernel whether it is written on buffers, and note the reason when not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pypto_core.diagnostics import Diagnostic
from pypto_core.ir import (
    BUFFER_IR_SELECTED,
    EXTERNAL_SOURCE,
    Function,
    FunctionIRStage,
    Program,
    ScalarType,
    TensorType,
    base_name,
    divisors_of,
    replace,
)
from pypto_core.verify import rule
from pypto_plugin_buffer_ir.passes import RUNTIME
from pypto_plugin_buffer_ir.select.flow import check_body
from pypto_plugin_buffer_ir.select.memory import check_tensor
from pypto_plugin_buffer_ir.select.refusal import SHAPE, Reason, Refused, refuse
from pypto_plugin_buffer_ir.select.state import State

_SELECTED = rule("buffer_ir.Selected")

BUFFER_IR_REASON = "buffer_ir_reason"
"""Attribute of a kernel that stays in tiles: the first thing that has no form on buffers."""


def select_buffer_ir_functions(function: Function, ctx: Any) -> Function:
    """The function with the decision in its attributes; what does not run on a core is left alone.

    A decision that is there already is kept: storage may have been rewritten since. For a machine that does not take
    buffers by default, all kernels stay in tiles.
    """
    if not function.is_incore or BUFFER_IR_SELECTED in function.attrs:
        return function
    machine = getattr(ctx, "backend", None)
    if machine is not None and RUNTIME not in machine.capabilities:
        reason = Reason(SHAPE, f"{machine.title} does not take buffers by default", function.span)
    else:
        reason = why_tile(function)
    notes = {BUFFER_IR_SELECTED: reason is None}
    said = {} if reason is None else {BUFFER_IR_REASON: str(reason)}
    return replace(function, attrs={**function.attrs, **notes, **said})


def verify_selected(program: Program, backend: object = None) -> Iterator[Diagnostic]:
    """Find kernels in tiles of which nobody has decided (1)."""
    for function in program:
        undecided = (
            function.ir_stage is FunctionIRStage.Functional and BUFFER_IR_SELECTED not in function.attrs
        )
        if function.is_incore and undecided:
            message = f"Function '{function.name}': nobody has decided whether it is written on buffers"
            yield _SELECTED.error(1, message, function.span, remedy="run SelectBufferIRFunctions")


def why_tile(function: Function) -> Reason | None:
    """The first thing in a kernel that has no form on buffers; None when all has one."""
    try:
        _check(function)
    except Refused as refused:
        return refused.reason
    return None


def _check(function: Function) -> None:
    if function.ir_stage is not FunctionIRStage.Functional:
        refuse(SHAPE, "it is written on buffers already", function.span)
    if EXTERNAL_SOURCE in function.attrs:
        refuse(SHAPE, "its text comes from elsewhere", function.span)
    state = State(divisors_of(function), dict(zip(function.params, function.param_directions, strict=True)))
    for param in function.params:
        if isinstance(param.type, TensorType):
            check_tensor(param)
            state.tensors[param] = param
        elif not isinstance(param.type, ScalarType):
            refuse(SHAPE, f"parameter '{base_name(param.name_hint)}' is of type {param.type!r}", param.span)
    check_body(state, function)
    state.check_storages()
