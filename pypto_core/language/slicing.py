"""Subscripts: elements and windows of tensors, tiles, arrays, tuples and constant lists."""

from __future__ import annotations

import ast
import warnings
from typing import Any

import attrs

from pypto_core.diagnostics import InvalidOperationError, ParserTypeError, UnsupportedFeatureError
from pypto_core.ir import (
    ArrayType,
    ConstInt,
    Expr,
    MakeTuple,
    ScalarType,
    Sub,
    TensorType,
    TileType,
    TupleGetItemExpr,
    TupleType,
    Var,
    linear,
    make_binary,
)
from pypto_core.language.context import Context
from pypto_core.language.environment import Name, items_of
from pypto_core.language.errors import shape_text, type_text, value_text
from pypto_core.language.notes import TYPES
from pypto_core.language.parse_types import annotation, complete
from pypto_core.language.vocabulary import spelling
from pypto_core.ops.registry import create_call


class LanguageWarning(UserWarning):
    """Something legal in a kernel that may not do what it looks like."""


@attrs.frozen(eq=False)
class Window:
    """What a subscript selects: per axis the offset and the extent; ``dropped`` are the axes with a single index."""

    offsets: tuple[Expr, ...]
    extents: tuple[Expr, ...]
    dropped: tuple[int, ...]


def subscript(ctx: Context, node: ast.Subscript) -> Any:
    """``x[…]`` as a value."""
    path = ctx.path_of(node.value)
    if path in TYPES:
        return complete(annotation(ctx, node))
    base = ctx.expr(node.value)
    items = items_of(base)
    if items is not None:
        return _constant_item(ctx, node, items)
    if not isinstance(base, Expr):
        what = spelling(base.path) if isinstance(base, Name) else value_text(base)
        raise ctx.fail(
            InvalidOperationError,
            f"{what} can't be subscripted",
            node,
            "tiles, tensors, arrays, tuples and lists of constants have elements",
        )
    kind = base.type
    if isinstance(kind, TupleType):
        return _tuple_item(ctx, node, base, kind)
    if isinstance(kind, ArrayType):
        return create_call("array.get_element", (base, _array_index(ctx, node)), None, ctx.span(node))
    if isinstance(kind, TensorType | TileType):
        return _read(ctx, node, base, kind)
    raise ctx.fail(
        InvalidOperationError,
        f"a {type_text(kind)} can't be subscripted",
        node,
        "tiles, tensors, arrays and tuples have elements: use the value itself",
    )


def _constant_item(ctx: Context, node: ast.Subscript, base: list[Any]) -> Any:
    at = ctx.expr(node.slice)
    if type(at) is not int:
        raise ctx.fail(
            ParserTypeError,
            "a list of constants is indexed by a constant integer",
            node.slice,
            "use a constant, or unroll the loop with pl.unroll",
        )
    if not -len(base) <= at < len(base):
        raise ctx.fail(
            ParserTypeError,
            f"index {at} is out of range",
            node.slice,
            f"use an index from 0 to {len(base) - 1}" if base else "the list is empty",
            {"elements": len(base)},
        )
    return base[at]


def _tuple_item(ctx: Context, node: ast.Subscript, base: Expr, kind: TupleType) -> Expr:
    at = ctx.expr(node.slice)
    if type(at) is not int:
        raise ctx.fail(
            ParserTypeError,
            "a tuple is indexed by a constant integer",
            node.slice,
            "use a constant, or give each element a name: a, b = …",
        )
    if not 0 <= at < len(kind.types):
        raise ctx.fail(
            ParserTypeError,
            f"tuple index {at} is out of range",
            node.slice,
            f"use an index from 0 to {len(kind.types) - 1}" if kind.types else "the tuple is empty",
            {"elements": len(kind.types)},
        )
    return TupleGetItemExpr(base, at, span=ctx.span(node))


def _array_index(ctx: Context, node: ast.Subscript) -> Expr:
    value = ctx.expr(node.slice)
    if type(value) is int:
        return ctx.session.index(value)
    if isinstance(value, Expr) and isinstance(value.type, ScalarType) and value.type.dtype.is_int:
        return value
    raise ctx.fail(
        ParserTypeError,
        f"an array is indexed by an integer, not {value_text(value)}",
        node.slice,
        "convert it: pl.cast(i, pl.INDEX)",
    )


def _read(ctx: Context, node: ast.Subscript, base: Expr, kind: TensorType | TileType) -> Expr:
    parts = _parts(node)
    group = "tile" if isinstance(kind, TileType) else "tensor"
    span = ctx.span(node)
    if len(parts) == len(kind.shape) and not any(type(p) is ast.Slice for p in parts):
        indices = MakeTuple(tuple(_index(ctx, p) for p in parts), span=span)
        return create_call(f"{group}.read", (base, indices), None, span)
    window = select(ctx, node, kind)
    args: list[Expr] = [base, MakeTuple(window.extents, span=span), MakeTuple(window.offsets, span=span)]
    if window.dropped:
        index = ctx.session.index
        args += [MakeTuple(()), MakeTuple(tuple(index(d) for d in window.dropped))]
        if group == "tile":
            warnings.warn(
                f"{span}: an index drops an axis, but tiles keep two: the result has shape [1, N]",
                LanguageWarning,
                stacklevel=2,
            )
    return create_call(f"{group}.slice", args, None, span)


def _parts(node: ast.Subscript) -> list[ast.expr]:
    return list(node.slice.elts) if type(node.slice) is ast.Tuple else [node.slice]


def select(ctx: Context, node: ast.Subscript, kind: TensorType | TileType) -> Window:
    """The window that a subscript of ranges and indices selects."""
    parts = _parts(node)
    rank = len(kind.shape)
    if len(parts) > rank:
        raise ctx.fail(
            ParserTypeError,
            f"{len(parts)} subscripts for {rank} axes",
            node,
            "give at most one subscript per axis",
            {"shape": shape_text(kind.shape)},
        )
    index = ctx.session.index
    offsets: list[Expr] = []
    extents: list[Expr] = []
    dropped: list[int] = []
    for axis, part in enumerate(parts):
        if type(part) is ast.Slice:
            low, extent = _range(ctx, part, kind, axis)
            offsets.append(low)
            extents.append(extent)
        else:
            offsets.append(_index(ctx, part))
            extents.append(index(1))
            dropped.append(axis)
    for axis in range(len(parts), rank):
        offsets.append(index(0))
        extents.append(kind.shape[axis])
    return Window(tuple(offsets), tuple(extents), tuple(dropped))


def _index(ctx: Context, node: ast.expr) -> Expr:
    if type(node) is ast.Constant and node.value is None:
        raise ctx.fail(
            UnsupportedFeatureError,
            "None in a subscript is not part of the kernel language",
            node,
            "change the shape with pl.reshape",
        )
    if type(node) is ast.Constant and node.value is ...:
        raise ctx.fail(
            UnsupportedFeatureError,
            "... in a subscript is not part of the kernel language",
            node,
            "write every axis",
        )
    value = ctx.expr(node)
    if type(value) is int:
        if value < 0:
            raise _negative(ctx, node, value)
        return ctx.session.index(value)
    if isinstance(value, Expr) and isinstance(value.type, ScalarType) and value.type.dtype.is_int:
        return value
    raise ctx.fail(
        ParserTypeError,
        f"a subscript must be an integer, not {value_text(value)}",
        node,
        "convert it: pl.cast(i, pl.INDEX)",
    )


def _negative(ctx: Context, node: ast.expr, value: int) -> Exception:
    return ctx.fail(
        UnsupportedFeatureError,
        f"negative subscripts are not part of the kernel language: {value}",
        node,
        "count from the start of the axis",
    )


def _range(ctx: Context, node: ast.Slice, kind: TensorType | TileType, axis: int) -> tuple[Expr, Expr]:
    if node.step is not None:
        raise ctx.fail(
            UnsupportedFeatureError,
            "a slice with a step is not part of the kernel language",
            node.step,
            "load the window and pick from it",
        )
    low = ctx.session.index(0) if node.lower is None else _index(ctx, node.lower)
    high = kind.shape[axis] if node.upper is None else _index(ctx, node.upper)
    if isinstance(low, ConstInt) and low.value == 0:
        return low, high
    extent = _difference(ctx, high, low, node)
    if isinstance(kind, TileType) and not isinstance(extent, ConstInt):
        raise ctx.fail(
            UnsupportedFeatureError,
            "a range of a tile needs a constant extent",
            node,
            "write pl.slice(t, [rows, cols], [row, col]) with constant rows and cols",
        )
    if isinstance(extent, ConstInt) and extent.value <= 0:
        raise ctx.fail(
            ParserTypeError,
            "this range is empty",
            node,
            "the end has to lie behind the start",
            {"extent": extent.value},
        )
    return low, extent


def _difference(ctx: Context, high: Expr, low: Expr, node: ast.Slice) -> Expr:
    a, terms_a = linear(high)
    b, terms_b = linear(low)
    factors = {k: v[0] for k, v in terms_a.items()}
    for key, (factor, _) in terms_b.items():
        factors[key] = factors.get(key, 0) - factor
    if not any(factors.values()):
        return ctx.session.index(a - b)
    return make_binary(Sub, high, low, ctx.span(node))


def assign_element(ctx: Context, target: ast.Subscript, value: Any, node: ast.Assign) -> tuple[Var, Expr]:
    """``x[…] = value``: the variable that is written and its new value."""
    if type(target.value) is not ast.Name:
        raise ctx.fail(
            InvalidOperationError,
            "only a window of a variable can be assigned",
            target,
            "give the value a name and assign a window of that",
        )
    base = ctx.lookup(target.value)
    if not isinstance(base, Var):
        raise ctx.fail(
            InvalidOperationError,
            f"'{target.value.id}' can't be assigned to",
            target,
            "assign windows of parameters and of variables of this kernel",
        )
    kind = base.type
    if isinstance(kind, ArrayType):
        return base, _store_element(ctx, target, base, kind, value, node)
    if not isinstance(kind, TensorType | TileType):
        raise ctx.fail(
            InvalidOperationError,
            f"elements of a {type_text(kind)} can't be assigned",
            target,
            "only tiles, tensors and arrays have windows to assign: give the new value a name",
        )
    group = "tile" if isinstance(kind, TileType) else "tensor"
    parts = _parts(target)
    if not any(type(p) is ast.Slice for p in parts) and len(parts) == len(kind.shape):
        raise ctx.fail(
            InvalidOperationError,
            f"an element of a {group} can't be assigned",
            target,
            f"write pl.write({target.value.id}, [i, j], value)",
        )
    wanted = TileType if group == "tile" else TensorType
    if not isinstance(value, Expr) or not isinstance(value.type, wanted):
        raise ctx.fail(
            ParserTypeError,
            f"a window of a {group} takes a {group}, not {value_text(value)}",
            node.value,
            "store a tile into a tensor with pl.store(tile, offsets, tensor)"
            if group == "tensor"
            else "make a tile of the value first: pl.tile.full(shape, dtype, value)",
        )
    window = select(ctx, target, kind)
    _check_shapes(ctx, window, value, node)
    span = ctx.span(target)
    return base, create_call(
        f"{group}.assemble", (base, value, MakeTuple(window.offsets, span=span)), None, span
    )


def _store_element(
    ctx: Context, target: ast.Subscript, base: Var, kind: ArrayType, value: Any, node: ast.Assign
) -> Expr:
    index = _array_index(ctx, target)
    if type(value) is int:
        value = ConstInt(value, kind.dtype, span=ctx.span(node.value))
    if not isinstance(value, Expr):
        raise ctx.fail(
            ParserTypeError,
            f"an element must be a scalar, not {value_text(value)}",
            node.value,
            "assign a number or a scalar variable",
        )
    return create_call("array.update_element", (base, index, value), None, ctx.span(target))


def _check_shapes(ctx: Context, window: Window, value: Expr, node: ast.Assign) -> None:
    kind = value.type
    assert isinstance(kind, TensorType | TileType)
    have = kind.shape
    wanted = tuple(e for axis, e in enumerate(window.extents) if axis not in window.dropped)
    for want in (window.extents, wanted):
        if len(want) == len(have) and not any(
            isinstance(a, ConstInt) and isinstance(b, ConstInt) and a.value != b.value
            for a, b in zip(want, have, strict=True)
        ):
            return
    raise ctx.fail(
        ParserTypeError,
        "the value does not have the shape of the window",
        node.value,
        "make both of one shape",
        {"window": shape_text(window.extents), "value": shape_text(have)},
    )
