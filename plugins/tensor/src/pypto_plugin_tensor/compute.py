"""Operators that compute: what each tensor operator is on tiles."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from pypto_core.diagnostics import UserError
from pypto_core.ir import (
    INDEX_ONE,
    Call,
    ConstFloat,
    ConstInt,
    DataType,
    Expr,
    TensorType,
    TileType,
    Var,
    is_const,
    shapes_equal,
    static_shape,
)
from pypto_core.ops import active_registry
from pypto_plugin_tensor import picking
from pypto_plugin_tensor.kernel import ACC, MAT, VEC, Kernel, name_of, tile_type
from pypto_plugin_tensor.shapes import dims, physical
from pypto_plugin_tensor.values import Tile, Value

_SCRATCHED = frozenset(
    [f"row_{what}" for what in ("max", "min", "sum", "prod", "argmax", "argmin")]
    + ["col_argmax", "col_argmin", "transpose", "rem", "rems", "xor", "xors"]
)
"""Operators whose instruction needs a scratch tile as large as its source."""
_MIXED = {"add": "add", "sub": "sub", "mul": "mul", "div": "div", "maximum": "max", "minimum": "min"}
"""Element-wise operators and the operators that do the same with one value per row or column."""
_MASK_ROOM = {"dtype": DataType.UINT32, "target_memory": VEC}
"""The scratch tile of a choice by bits: a granule of words."""
_COMMUTE = frozenset({"add", "mul", "maximum", "minimum"})


def compute(kernel: Kernel, var: Var, call: Call) -> Value:
    """What a computed tensor becomes: a tile.

    Raises UserError (PT374) for an operator that tiles don't have.
    """
    name = call.name.removeprefix("tensor.")
    handler = _SPECIAL.get(name)
    if handler is not None:
        return handler(kernel, var, call)
    if f"tile.{name}" not in active_registry():
        raise UserError(
            f"no tile operator does what '{call.name}' does",
            code="PT374",
            span=call.span,
            remedy="compute it outside of the kernel, or write it with operators that `pypto ops tile` lists",
        )
    args = _operands(kernel, call)
    if name in _SCRATCHED:
        args.append(kernel.scratch(_tile(args[0]), call.span))
    return _made(kernel, var, call, f"tile.{name}", args)


def _made(
    kernel: Kernel, var: Var, call: Call, name: str, args: list[Expr], options: dict[str, Any] | None = None
) -> Tile:
    """The tile operator's result as the value of a tensor variable."""
    kind = _kind(kernel, call)
    given = options if options is not None else _options(name, call)
    tile = kernel.emit(
        name, args, given, like=var.name_hint, var=var.name_hint, span=call.span, notes=call.attrs
    )
    if len(tile_type(tile).shape) != len(kind.shape):
        shape = dims(physical(kind, name_of(var), call.span, kernel.bounds))
        tile = kernel.emit("tile.reshape", [tile, shape], like=var.name_hint, span=call.span)
    return Tile(kind=kind, var=tile)


def _operands(kernel: Kernel, call: Call) -> list[Expr]:
    """Tensors as tiles, everything else as it is."""
    return [
        kernel.tile(kernel.value(a), name_of(a), call.span) if _is_tensor(a) else kernel.scalar(a)
        for a in call.args
    ]


def _options(name: str, call: Call) -> dict[str, Any]:
    """The options that the tile operator has too."""
    op = active_registry()[name]
    known = {p.name for p in op.params}
    return {k: v for k, v in call.kwargs.items() if k in known}


def _is_tensor(arg: Expr) -> bool:
    return isinstance(arg.type, TensorType)


def _tile(expr: Expr) -> Var:
    assert isinstance(expr, Var) and isinstance(expr.type, TileType)
    return expr


def _kind(kernel: Kernel, call: Call) -> TensorType:
    assert isinstance(call.type, TensorType)
    return kernel.kind(call.type)


def constant(value: float, dtype: DataType) -> Expr:
    """A number as an element."""
    return ConstFloat(float(value), dtype) if dtype.is_float else ConstInt(int(value), dtype)


# -- operators with rules of their own


def _binary(kernel: Kernel, var: Var, call: Call) -> Value:
    """Equal shapes go element by element; a row or column beside a matrix is spread over it."""
    made = _stretched(kernel, var, call)
    if shapes_equal(tile_type(made.var).valid_shape, made.kind.valid_shape) or len(made.kind.shape) != 2:
        return made
    # What holds data is what does in the left operand, stretched or not.
    args = [made.var, *made.kind.valid_shape]
    made.var = kernel.emit("tile.set_validshape", args, like=var.name_hint, span=call.span)
    return made


def _stretched(kernel: Kernel, var: Var, call: Call) -> Tile:
    name = call.name.removeprefix("tensor.")
    lhs, rhs = (kernel.value(a) for a in call.args[:2])
    whole = _kind(kernel, call)
    left_small, right_small = (_line(v.kind, whole) for v in (lhs, rhs))
    left, right = (_ranked(kernel, v, a, whole, call) for v, a in zip((lhs, rhs), call.args, strict=False))
    if left_small is not None and name in _COMMUTE and right_small is None:
        left, right, left_small, right_small = right, left, right_small, left_small
    if left_small is not None:
        left = _spread(kernel, left, whole, left_small, call)
    if right_small is not None and name not in _MIXED:
        right, right_small = _spread(kernel, right, whole, right_small, call), None
    if right_small is None:
        args: list[Expr] = [left, right]
        if name in _SCRATCHED:
            args.append(kernel.scratch(left, call.span))
        return _made(kernel, var, call, f"tile.{name}", args)
    return _made(kernel, var, call, f"tile.{right_small}_expand_{_MIXED[name]}", [left, right], {})


def _compared(kernel: Kernel, var: Var, call: Call) -> Value:
    """On tiles a comparison gives bits: they choose between ones and zeros."""
    whole = _kind(kernel, call)
    values = [kernel.value(a) if _is_tensor(a) else None for a in call.args]
    sides: list[Expr] = []
    for value, arg in zip(values, call.args, strict=True):
        if value is None:
            sides.append(kernel.scalar(arg))
            continue
        line, tile = _line(value.kind, whole), _ranked(kernel, value, arg, whole, call)
        sides.append(tile if line is None else _spread(kernel, tile, whole, line, call))
    shape, like, span = tile_type(_tile(sides[0])).shape, var.name_hint, call.span
    column = is_const(shape[-1], 1) and not all(is_const(d, 1) for d in shape)
    if column:  # the bits of a row lie side by side; those of a column would not
        lying = dims((1, prod(physical(whole, name_of(var), span, kernel.bounds))))
        sides = [
            kernel.emit("tile.reshape", [s, lying], like=like, span=span) if isinstance(s, Var) else s
            for s in sides
        ]
    dtype = whole.dtype
    name = call.name.removeprefix("tensor.")
    mask = kernel.emit(
        f"tile.{name}", sides, _options(f"tile.{name}", call), like=like, span=span, role="mask"
    )
    ones = kernel.emit("tile.expands", [sides[0], constant(1, dtype)], like=like, span=span, role="ones")
    room = kernel.emit("tile.create", [dims((1, 8))], _MASK_ROOM, like=like, span=span, role="tmp")
    args = [mask, ones, room, constant(0, dtype)]
    tile = kernel.emit("tile.sels", args, like=like, span=span, notes=call.attrs)
    if column:
        tile = kernel.emit("tile.reshape", [tile, dims(shape)], like=like, span=span)
    return Tile(kind=whole, var=tile)


def _ranked(kernel: Kernel, value: Value, expr: Expr, whole: TensorType, call: Call) -> Var:
    """The tile of an operand, with as many axes as the result has. A single element is a row of its like."""
    tile = kernel.tile(value, name_of(expr), call.span)
    missing = len(whole.shape) - len(tile_type(tile).shape)
    if missing > 0:
        shape = dims((1,) * missing + physical(value.kind, name_of(expr), call.span, kernel.bounds))
        tile = kernel.emit("tile.reshape", [tile, shape], like=name_of(expr), span=call.span)
    if len(whole.shape) >= 2 and _is_element(value.kind, whole):
        row = TensorType((*value.kind.shape[:-2], INDEX_ONE, whole.shape[-1]), whole.dtype)
        return _spread(kernel, tile, row, "row", call)
    return tile


def _is_element(kind: TensorType, whole: TensorType) -> bool:
    """Whether a tensor has one element for a whole matrix of more rows and columns."""
    *_, rows, columns = (INDEX_ONE, *kind.shape)
    return is_const(rows, 1) and is_const(columns, 1) and not any(is_const(d, 1) for d in whole.shape[-2:])


def _line(kind: TensorType, whole: TensorType) -> str | None:
    """``row`` for one value per row of ``whole``, ``col`` for one per column, None for the shape itself."""
    if len(whole.shape) < 2:
        return None
    *_, rows, columns = (INDEX_ONE, *kind.shape)
    if is_const(columns, 1) and not is_const(whole.shape[-1], 1) and not _is_element(kind, whole):
        return "row"
    return "col" if is_const(rows, 1) and not is_const(whole.shape[-2], 1) else None


def _spread(kernel: Kernel, tile: Var, whole: TensorType, line: str, call: Call) -> Var:
    shape = physical(whole, "the result", call.span, kernel.bounds)
    options = {"dtype": tile_type(tile).dtype, "target_memory": VEC}
    target = kernel.emit(
        "tile.create", [dims(shape)], options, like=tile.name_hint, span=call.span, role="tmp"
    )
    return kernel.emit(f"tile.{line}_expand", [target, tile], like=tile.name_hint, span=call.span)


def _cast(kernel: Kernel, var: Var, call: Call) -> Value:
    """To the type that the elements have already, a cast is nothing."""
    value = kernel.value(call.args[0])
    if value.kind.dtype is call.kwargs["target_type"]:
        return Tile(kind=_kind(kernel, call), var=kernel.tile(value, name_of(call.args[0]), call.span))
    if isinstance(value, Tile) and tile_type(value.var).dtype is value.kind.dtype and _is_product(value):
        # A product that is only narrowed may be narrowed on its way out of the accumulator.
        options = _options("tile.cast", call)
        tile = kernel.emit(
            "tile.cast", [value.var], options, like=var.name_hint, var=var.name_hint, span=call.span
        )
        return Tile(kind=_kind(kernel, call), var=tile)
    return _made(kernel, var, call, "tile.cast", [kernel.tile(value, name_of(call.args[0]), call.span)])


def _is_product(value: Tile) -> bool:
    return tile_type(value.var).memory_space is ACC


def _ramp(kernel: Kernel, var: Var, call: Call) -> Value:
    return _made(kernel, var, call, "tile.ci", [kernel.scalar(a) for a in call.args])


def _expand_clone(kernel: Kernel, var: Var, call: Call) -> Value:
    """A copy stretched to the target: each axis of one is spread."""
    source, whole = kernel.value(call.args[0]), _kind(kernel, call)
    tile = kernel.tile(source, name_of(call.args[0]), call.span)
    have, wanted = static_shape(source.kind.shape), static_shape(whole.shape)
    if have is None or wanted is None or len(have) != 2 or len(wanted) != 2:
        raise UserError(
            "only matrices of constant extents are stretched", code="PT374", span=call.span,
            facts={"src": repr(source.kind), "target": repr(whole)}, remedy="reshape it to two axes",
        )  # fmt: skip
    if have[1] == 1 and wanted[1] != 1:
        rows = TensorType((have[0], wanted[1]), whole.dtype)
        tile, have = _spread(kernel, tile, rows, "row", call), (have[0], wanted[1])
    if have[0] == 1 and wanted[0] != 1:
        tile = _spread(kernel, tile, whole, "col", call)
    return Tile(kind=whole, var=tile)


def _rsqrt(kernel: Kernel, var: Var, call: Call) -> Value:
    """The precise form needs a scratch tile."""
    tile = kernel.tile(kernel.value(call.args[0]), name_of(call.args[0]), call.span)
    args: list[Expr] = [tile]
    if call.kwargs.get("high_precision"):
        args.append(kernel.scratch(tile, call.span))
    return _made(kernel, var, call, "tile.rsqrt", args)


def _with_target_tile(kernel: Kernel, var: Var, call: Call) -> Value:
    """The target gives nothing but its shape, and may be undefined."""
    args = _operands(kernel, call)
    return _made(kernel, var, call, f"tile.{call.name.removeprefix('tensor.')}", args)


def _create_l1(kernel: Kernel, var: Var, call: Call) -> Value:
    kind = _kind(kernel, call)
    options = {"dtype": kind.dtype, "target_memory": MAT}
    return _made(kernel, var, call, "tile.create", [kernel.scalar(call.args[0])], options)


_SPECIAL: dict[str, Callable[[Kernel, Var, Call], Value]] = {
    **dict.fromkeys((*_MIXED, "rem", "fmod", "and", "or", "xor", "shl", "shr"), _binary),
    "cast": _cast,
    "cmp": _compared,
    "cmps": _compared,
    "ci": _ramp,
    "create_l1": _create_l1,
    "expand_clone": _expand_clone,
    "rsqrt": _rsqrt,
    "expands": _with_target_tile,
    "gather": picking.gather,
    "gather_row": picking.gather_row,
    "mrgsort_format2": picking.merge,
}

__all__ = ["compute", "constant"]
