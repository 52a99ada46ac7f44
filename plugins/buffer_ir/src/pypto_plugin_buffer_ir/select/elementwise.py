"""Arithmetic of the vector unit: one element type, one shape, one rectangle of valid elements."""

from __future__ import annotations

from pypto_core.ir import Call, Expr, MemorySpace, ScalarType, TileType, shapes_equal
from pypto_plugin_buffer_ir.rules import RULES, SCALAR_DTYPES
from pypto_plugin_buffer_ir.select.refusal import OPERATOR, TILE, refuse
from pypto_plugin_buffer_ir.select.scalars import check_scalar
from pypto_plugin_buffer_ir.select.state import State
from pypto_plugin_buffer_ir.select.tiles import extents_text


def check_elementwise(state: State, call: Call, kind: TileType) -> None:
    """All tiles alike, scalars that can be converted.

    Extents are compared as expressions: two that are known at run time only are the same when computed alike.
    """
    rule = RULES[call.op.name]
    assert rule.recipe is not None
    if kind.memory_space is not MemorySpace.Vec or kind.dtype not in rule.dtypes:
        refuse(OPERATOR, f"{rule.tile} of {kind.dtype} elements has no form on buffers", call.span)
    for position, scalar in rule.recipe.inputs:
        if scalar:
            _check_number(call, call.args[position])
        else:
            state.place(call.args[position], call.span)
            _check_alike(call, call.args[position], kind)


def _check_number(call: Call, arg: Expr) -> None:
    kind = arg.type
    if not isinstance(kind, ScalarType) or kind.dtype not in SCALAR_DTYPES:
        refuse(OPERATOR, f"{call.op.name} with a scalar of type {kind!r} has no form on buffers", call.span)
    check_scalar(arg, call.span)


def _check_alike(call: Call, arg: Expr, kind: TileType) -> None:
    source = arg.type
    assert isinstance(source, TileType)
    if source.memory_space is not kind.memory_space or source.dtype is not kind.dtype:
        refuse(OPERATOR, f"{call.op.name} makes {kind!r} of {source!r}", call.span)
    if not shapes_equal(source.shape, kind.shape):
        texts = extents_text(source.shape), extents_text(kind.shape)
        refuse(TILE, f"{call.op.name} takes a tile of {texts[0]} to one of {texts[1]}", call.span)
    if not shapes_equal(source.valid_shape, kind.valid_shape):
        refuse(
            TILE, f"the valid extents of an operand of {call.op.name} are not those of its result", call.span
        )
