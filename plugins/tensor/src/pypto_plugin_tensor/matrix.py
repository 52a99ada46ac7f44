"""Products of matrices: operands by way of L1 in whole boxes, transposed ones looked at the other way round."""

from __future__ import annotations

from typing import Any

import attrs

from pypto_core.diagnostics import Span, UserError
from pypto_core.ir import (
    Call,
    CastMode,
    ConstFloat,
    ConstInt,
    DataType,
    Expr,
    Function,
    TensorType,
    Var,
    is_const,
    replace,
    shapes_equal,
    static_shape,
    walk,
)
from pypto_plugin_tensor.kernel import ACC, MAT, Kernel, name_of, tile_type
from pypto_plugin_tensor.shapes import FRACTAL, aligned, box_columns, dims, physical
from pypto_plugin_tensor.values import Fresh, Global, Tile, Value, Window

PRODUCTS = {"tensor.matmul": 0, "tensor.matmul_acc": 1}
"""Products, and which argument is the left operand."""


def matmul(kernel: Kernel, var: Var, call: Call) -> Value:
    """``tensor.matmul``: the result stays in the accumulator, in whose element type it is exact."""
    left, right = _operands(kernel, call, 0)
    tile = _product(kernel, "tile.matmul", [left, right], var, call)
    return Tile(kind=_kind(kernel, call), var=tile)


def matmul_acc(kernel: Kernel, var: Var, call: Call) -> Value:
    """``tensor.matmul_acc``; onto a tensor of zeros it is a plain product."""
    acc = kernel.value(call.args[0])
    if isinstance(acc, Fresh):
        if not is_zero(acc):
            raise _not_a_product(call.args[0], call.span)
        return matmul(kernel, var, _without_acc(call))
    if not isinstance(acc, Tile) or tile_type(acc.var).memory_space not in (ACC, None):
        raise _not_a_product(call.args[0], call.span)
    left, right = _operands(kernel, call, 1)
    args: list[Expr] = [acc.var, left, right]
    first = kernel.first_trips.get(acc.var)
    given = (
        call.kwargs.get("init_cond")
        if "init_cond" in call.kwargs
        else (call.args[3] if len(call.args) > 3 else None)
    )
    if given is not None:
        args.append(kernel.scalar(given))
    elif first is not None:
        args.append(first)
    tile = _product(kernel, "tile.matmul_acc", args, var, call)
    return Tile(kind=_kind(kernel, call), var=tile)


def _product(kernel: Kernel, name: str, args: list[Expr], var: Var, call: Call) -> Var:
    return kernel.emit(name, args, like=var.name_hint, var=var.name_hint, span=call.span, notes=call.attrs)


def _without_acc(call: Call) -> Call:
    return replace(call, args=call.args[1:3])


def _kind(kernel: Kernel, call: Call) -> TensorType:
    assert isinstance(call.type, TensorType)
    return kernel.kind(call.type)


def is_zero(value: Fresh) -> bool:
    """Whether a tensor is undefined or all zeros, so that a sum may start from nothing."""
    fill = value.fill
    return fill is None or is_const(fill, 0) or (isinstance(fill, ConstFloat) and fill.value == 0.0)


def _not_a_product(acc: Expr, span: Span) -> UserError:
    return UserError(
        f"'{name_of(acc, 'the accumulator')}' is no matrix product, and nothing can be moved into the accumulator",
        code="PT373",
        span=span,
        remedy="begin the sum with pl.matmul, or with pl.full(…, 0), and add other tensors to the result with pl.add",
    )


@attrs.frozen
class _Side:
    """How one operand lies: which of its axes are K and the other one, and whether it is read transposed."""

    transposed: bool
    left: bool


def _operands(kernel: Kernel, call: Call, first: int) -> tuple[Var, Var]:
    lhs, rhs = call.args[first], call.args[first + 1]
    left = _operand(kernel, lhs, _Side(bool(call.kwargs.get("a_trans")), True), call.span)
    right = _operand(kernel, rhs, _Side(bool(call.kwargs.get("b_trans")), False), call.span)
    return left, right


def _operand(kernel: Kernel, expr: Expr, side: _Side, span: Span) -> Var:
    value, like = kernel.value(expr), name_of(expr)
    shape = _boxed(physical(value.kind, like, span, kernel.bounds), value.kind.dtype, side, kernel.row_unit)
    key = ("operand", shape, side.transposed)
    if isinstance(value, Global | Window):
        window = kernel.window_of(value, value.kind)
        return kernel.once(window, key, lambda slot: _loaded(kernel, window, like, span, slot, shape, side))
    return kernel.once(value, key, lambda slot: _computed(kernel, value, like, span, slot, shape, side))


def _boxed(shape: tuple[int, ...], dtype: DataType, side: _Side, row_unit: int) -> tuple[int, int]:
    """Whole boxes: rows of a left operand by the kernel's unit, everything else by the elements in a row of a box."""
    rows, columns = shape
    unit = box_columns(dtype)
    if not side.left:
        return aligned(rows, unit), aligned(columns, unit)
    return (aligned(rows, unit), aligned(columns, row_unit)) if side.transposed else (
        aligned(rows, row_unit), aligned(columns, unit)
    )  # fmt: skip


def row_unit(function: Function) -> int:
    """What rows of products are padded to: a fractal, or what the widest left operand that is stored transposed needs.

    It is the same for all products of a kernel, as their sums meet in one accumulator.
    """
    units = [FRACTAL]
    for node in walk(function.body):
        if isinstance(node, Call) and node.name in PRODUCTS and node.kwargs.get("a_trans"):
            kind = node.args[PRODUCTS[node.name]].type
            assert isinstance(kind, TensorType)
            units.append(box_columns(kind.dtype))
    return max(units)


def _loaded(
    kernel: Kernel, window: Window, like: str, span: Span, slot: Any, shape: tuple[int, int], side: _Side
) -> Var:
    tile = kernel.load(window, like, span, slot, space=MAT, extents=shape)
    return _turned(kernel, tile, like, span, slot, side)


def _turned(kernel: Kernel, tile: Var, like: str, span: Span, slot: Any, side: _Side) -> Var:
    if not side.transposed:
        return tile
    return kernel.emit("tile.transpose_view", [tile], like=like, span=span, slot=slot)


def _computed(
    kernel: Kernel, value: Value, like: str, span: Span, slot: Any, shape: tuple[int, int], side: _Side
) -> Var:
    """A tile that the kernel has computed itself, narrowed and padded where it has to be."""
    tile = kernel.raw(value, like, span)
    kind = tile_type(tile)
    if kind.dtype is not value.kind.dtype:
        options = {"target_type": value.kind.dtype, "mode": CastMode.rint}
        tile = kernel.emit("tile.cast", [tile], options, like=like, span=span, slot=slot)
    if kind.memory_space is not ACC and static_shape(kind.shape) != shape:
        tile = _padded(kernel, tile, value, like, span, slot, shape)
    if side.transposed and tile_type(tile).memory_space is not MAT:
        tile = kernel.emit("tile.move", [tile], {"target_memory": MAT}, like=like, span=span, slot=slot)
    return _turned(kernel, tile, like, span, slot, side)


def _padded(
    kernel: Kernel, tile: Var, value: Value, like: str, span: Span, slot: Any, shape: tuple[int, int]
) -> Var:
    wide = kernel.emit("tile.fillpad_expand", [tile, dims(shape)], like=like, span=span, slot=slot)
    args = [wide, *value.kind.valid_shape]
    return kernel.emit("tile.set_validshape", args, like=like, span=span, slot=slot)


def accumulator(kernel: Kernel, value: Fresh, like: str, span: Span) -> Var:
    """An accumulator of undefined content for a tensor that products will be added to."""
    kind = value.kind
    rows, columns = physical(kind, like, span, kernel.bounds)
    unit = 2 * FRACTAL if kind.dtype.is_int else FRACTAL  # integers are products of eight-bit operands
    shape = (aligned(rows, kernel.row_unit), aligned(columns, unit))
    narrow = (not isinstance(kind.valid_shape[0], ConstInt)) or kind.valid_shape[0].value != shape[0]
    options: dict[str, Any] = {"dtype": _sum_type(kind.dtype), "target_memory": ACC}
    if narrow:
        options["compact"] = True

    def make(slot: Any) -> Var:
        tile = kernel.emit("tile.create", [dims(shape)], options, like=like, span=span, slot=slot)
        if shapes_equal(kind.valid_shape, tile_type(tile).shape):
            return tile
        return kernel.emit("tile.set_validshape", [tile, *kind.valid_shape], like=like, span=span, slot=slot)

    return kernel.once(value, "accumulator", make)


def _sum_type(dtype: DataType) -> DataType:
    return DataType.INT32 if dtype.is_int else DataType.FP32


__all__ = ["accumulator", "is_zero", "matmul", "matmul_acc", "row_unit"]
