"""Transfers: global memory to tiles and back, copies between tiles."""

from __future__ import annotations

from pypto_core.diagnostics import Span
from pypto_core.ir import (
    Call,
    Expr,
    MakeTuple,
    MemorySpace,
    PadValue,
    ParamDirection,
    ScalarType,
    TensorLayout,
    TensorType,
    TileType,
    Var,
    base_name,
    shapes_equal,
    static_dim,
    static_shape,
    types_equal,
)
from pypto_plugin_buffer_ir.rules import STORED_ACC
from pypto_plugin_buffer_ir.select.refusal import OPERATOR, SHAPE, TILE, refuse
from pypto_plugin_buffer_ir.select.scalars import check_scalar
from pypto_plugin_buffer_ir.select.state import State
from pypto_plugin_buffer_ir.select.tiles import extents_text, is_dynamic

VEC, MAT, LEFT, RIGHT, ACC = (
    MemorySpace.Vec,
    MemorySpace.Mat,
    MemorySpace.Left,
    MemorySpace.Right,
    MemorySpace.Acc,
)


def check_tensor(var: Var) -> None:
    """Refuse parameters that are no packed matrices of constant extents."""
    kind, name = var.type, base_name(var.name_hint)
    shape = static_shape(kind.shape) if isinstance(kind, TensorType) else None
    if type(kind) is not TensorType or shape is None or len(shape) != 2 or min(shape) <= 0:
        refuse(SHAPE, f"parameter '{name}' is no matrix of constant extents", var.span)
    if shape[1] == 1:
        refuse(SHAPE, f"parameter '{name}' has one column only", var.span)
    view = kind.tensor_view
    if view is None:
        return
    if view.layout is not TensorLayout.ND or view.pad is not PadValue.null:
        refuse(SHAPE, f"parameter '{name}' is not laid out in unpadded rows", var.span)
    if view.stride and [static_dim(s) for s in view.stride] != [shape[1], 1]:
        refuse(SHAPE, f"the rows of parameter '{name}' are not adjacent", var.span)
    if static_shape(kind.valid_shape) is None:
        refuse(SHAPE, f"the valid extents of parameter '{name}' are known at run time only", var.span)


def same_tensor(a: TensorType, b: object) -> bool:
    """Whether two tensor types say the same of everything but the place."""
    return isinstance(b, TensorType) and types_equal(_unplaced(a), _unplaced(b))


def _unplaced(kind: TensorType) -> TensorType:
    return TensorType(kind.shape, kind.dtype, None, kind.tensor_view)


def check_pair(arg: Expr, span: Span) -> tuple[Expr, Expr]:
    """Two integers written out."""
    if not isinstance(arg, MakeTuple) or len(arg.elements) != 2:
        refuse(OPERATOR, "offsets are no pair of numbers", span)
    for element in arg.elements:
        kind = element.type
        if not (isinstance(kind, ScalarType) and kind.dtype.is_int):
            refuse(OPERATOR, "an offset is no integer", span)
        check_scalar(element, span)
    return arg.elements[0], arg.elements[1]


def _check_inside(kind: TensorType, offsets: tuple[Expr, Expr], valid: tuple[Expr, ...], span: Span) -> None:
    """Refuse transfers that are outside of the tensor for certain."""
    bounds = zip(kind.shape, kind.valid_shape, strict=True)
    for offset, extent, limits in zip(offsets, valid, bounds, strict=True):
        at, count = static_dim(offset), static_dim(extent)
        if at is not None and at < 0:
            refuse(OPERATOR, f"a transfer begins at {at}", span)
        for limit in map(static_dim, limits):
            if at is not None and count is not None and limit is not None and at + count > limit:
                refuse(OPERATOR, f"a transfer of {count} from {at} exceeds an extent of {limit}", span)


def _check_direction(state: State, param: Var, unwanted: ParamDirection, verb: str, span: Span) -> None:
    if state.directions[param] is unwanted:
        name = base_name(param.name_hint)
        refuse(OPERATOR, f"parameter '{name}' is {unwanted.name} and {verb}", span)


def check_create(state: State, call: Call, kind: TileType) -> None:
    """``tile.create(shape)``: nothing is read or written, and any tile that has a descriptor will do."""


def check_load(state: State, call: Call, kind: TileType) -> None:
    """``tile.load(tensor, offsets, shapes[, valid])``."""
    param = state.tensor(call.args[0], call.span)
    _check_direction(state, param, ParamDirection.Out, "is read", call.span)
    source = param.type
    assert isinstance(source, TensorType)
    if source.dtype is not kind.dtype:
        refuse(OPERATOR, f"a load from {source.dtype} to {kind.dtype} converts", call.span)
    _check_inside(source, check_pair(call.args[1], call.span), kind.valid_shape, call.span)


def check_store(state: State, call: Call) -> Var:
    """``tile.store(tile, offsets, tensor)``; the parameter that is written."""
    state.place(call.args[0], call.span)
    source, param = call.args[0].type, state.tensor(call.args[2], call.span)
    _check_direction(state, param, ParamDirection.In, "is written", call.span)
    target = param.type
    assert isinstance(source, TileType) and isinstance(target, TensorType)
    if source.memory_space is VEC:
        stored = target.dtype is source.dtype
    else:
        stored = source.memory_space is ACC and target.dtype in STORED_ACC[source.dtype]
    if not stored:
        space = source.memory_space.name if source.memory_space is not None else "?"
        refuse(
            OPERATOR,
            f"{source.dtype} elements in {space} are not stored to {target.dtype} as they are",
            call.span,
        )
    _check_inside(target, check_pair(call.args[1], call.span), source.valid_shape, call.span)
    return param


def check_move(state: State, call: Call, kind: TileType) -> None:
    """``tile.move(tile)``: within Vec, or from Mat to an operand of the matrix unit."""
    state.place(call.args[0], call.span).storage.whole.fixed = call.span
    source = call.args[0].type
    assert isinstance(source, TileType)
    _check_way(source, kind, call)
    if not (source.dtype is kind.dtype and shapes_equal(source.shape, kind.shape)) or not shapes_equal(
        source.valid_shape, kind.valid_shape
    ):
        refuse(OPERATOR, "a move changes element type or extents", call.span)
    if is_dynamic(source) or is_dynamic(kind):
        refuse(OPERATOR, "a tile with run-time extents is moved", call.span)


def _check_way(source: TileType, kind: TileType, call: Call) -> None:
    way = (source.memory_space, kind.memory_space)
    if way not in ((VEC, VEC), (MAT, LEFT), (MAT, RIGHT)):
        names = [space.name if space is not None else "?" for space in way]
        refuse(OPERATOR, f"{call.op.name} from {names[0]} to {names[1]} has no form on buffers", call.span)


def check_extract(state: State, call: Call, kind: TileType) -> None:
    """``tile.extract(tile, row, col, shape)``: from Mat to an operand of the matrix unit."""
    state.place(call.args[0], call.span)
    source = call.args[0].type
    assert isinstance(source, TileType)
    if kind.memory_space is VEC:
        refuse(OPERATOR, "tile.extract into Vec has no form on buffers", call.span)
    _check_way(source, kind, call)
    if source.dtype is not kind.dtype:
        refuse(OPERATOR, "tile.extract changes the element type", call.span)
    for offset, part, whole in zip(call.args[1:3], kind.shape, source.shape, strict=True):
        check_scalar(offset, call.span)
        at, count, extent = static_dim(offset), static_dim(part), static_dim(whole)
        if count is None or extent is None or count > extent or not 0 <= (at or 0) <= extent - count:
            texts = extents_text(kind.shape), extents_text(source.shape)
            refuse(TILE, f"a part of {texts[0]} elements lies outside of {texts[1]}", call.span)
