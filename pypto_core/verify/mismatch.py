"""How two types that should agree differ: the first difference, with its number."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from pypto_core.ir import (
    ArrayType,
    DataType,
    Expr,
    ScalarType,
    TensorType,
    TensorView,
    TileType,
    TileView,
    TupleType,
    Type,
    UnknownType,
    dims_equal,
    prove_eq,
    types_equal,
)
from pypto_core.ops import dims_text, extent_text, type_text

KIND, DTYPE, RANK, DIM, COUNT = 101, 102, 103, 104, 105
PAD, VIEW = 109, 111
_SAME_INT = frozenset({DataType.INDEX, DataType.INT64})


@attrs.frozen
class Mismatch:
    """One difference: its number, what differs, and the two sides as text."""

    number: int
    what: str
    left: str
    right: str
    note: str = ""


def mismatches(a: Type, b: Type) -> Iterator[Mismatch]:
    """The differences of two types; none when a value of one may stand for the other.

    Extents have to be provably equal. MemRefs and memory spaces are not compared, and views only where both types
    say what theirs is: by storing one, or by naming the same memory space. A type that is not known yet fits all.
    """
    if a is b or isinstance(a, UnknownType) or isinstance(b, UnknownType):
        return
    if type(a) is not type(b):
        yield Mismatch(KIND, "kind", type_text(a), type_text(b))
    elif isinstance(a, TupleType) and isinstance(b, TupleType):
        if len(a.types) != len(b.types):
            yield Mismatch(COUNT, "number of elements", str(len(a.types)), str(len(b.types)))
            return
        for x, y in zip(a.types, b.types, strict=True):
            yield from mismatches(x, y)
    elif isinstance(a, ScalarType) and isinstance(b, ScalarType):
        yield from _dtypes(a.dtype, b.dtype)
    elif isinstance(a, ArrayType) and isinstance(b, ArrayType):
        yield from _dtypes(a.dtype, b.dtype)
        if a.extent != b.extent:
            yield Mismatch(DIM, "extent", str(a.extent), str(b.extent))
    elif isinstance(a, TensorType) and isinstance(b, TensorType):
        yield from _shaped(a, b)
        yield from _tensor_views(a.tensor_view, b.tensor_view)
    elif isinstance(a, TileType) and isinstance(b, TileType):
        yield from _shaped(a, b)
        yield from _tile_views(a, b)
    elif not types_equal(a, b):
        yield Mismatch(KIND, "type", type_text(a), type_text(b))


def _dtypes(a: DataType, b: DataType) -> Iterator[Mismatch]:
    if a is not b and not (a in _SAME_INT and b in _SAME_INT):
        yield Mismatch(DTYPE, "element type", a.text, b.text)


def _shaped(a: TensorType | TileType, b: TensorType | TileType) -> Iterator[Mismatch]:
    yield from _dtypes(a.dtype, b.dtype)
    if len(a.shape) != len(b.shape):
        yield Mismatch(RANK, "rank", str(len(a.shape)), str(len(b.shape)))
        return
    yield from _extents(a.shape, b.shape, "extent")
    if a.valid_shape is not a.shape or b.valid_shape is not b.shape:
        yield from _extents(a.valid_shape, b.valid_shape, "valid extent")


def _extents(xs: tuple[Expr, ...], ys: tuple[Expr, ...], what: str) -> Iterator[Mismatch]:
    for axis, (x, y) in enumerate(zip(xs, ys, strict=True)):
        if x is y or dims_equal(x, y):
            continue
        equal = prove_eq(x, y)
        if not equal:
            note = "" if equal is False else "the two can't be shown to be equal"
            yield Mismatch(DIM, f"{what} {axis}", extent_text(x), extent_text(y), note)


def _tile_views(a: TileType, b: TileType) -> Iterator[Mismatch]:
    stored = a.tile_view is not None and b.tile_view is not None
    implied = a.memory_space is not None and a.memory_space is b.memory_space
    if not (stored or implied) or len(a.shape) != len(b.shape):
        return
    x, y = a.view, b.view
    if x is y:
        return
    for field in ("blayout", "slayout", "fractal", "pad", "compact"):
        p, q = getattr(x, field), getattr(y, field)
        if p is not q and p != q:
            yield Mismatch(VIEW, field, _name(p), _name(q))
    if not _same_places(x, y):
        yield Mismatch(VIEW, "stride or start offset", _places(x), _places(y))


def _same_places(x: TileView, y: TileView) -> bool:
    if len(x.stride) != len(y.stride):
        return False
    if any(prove_eq(p, q) is not True for p, q in zip(x.stride, y.stride, strict=True)):
        return False
    if x.start_offset is None or y.start_offset is None:
        return x.start_offset is y.start_offset
    return prove_eq(x.start_offset, y.start_offset) is True


def _tensor_views(x: TensorView | None, y: TensorView | None) -> Iterator[Mismatch]:
    pads = tuple(v.pad.name if v is not None else "null" for v in (x, y))
    if pads[0] != pads[1]:
        yield Mismatch(PAD, "pad", *pads)
    if x is None or y is None:
        return
    if x.layout is not y.layout:
        yield Mismatch(VIEW, "layout", x.layout.name, y.layout.name)
    same = len(x.stride) == len(y.stride)
    if x.stride and y.stride and not (same and all(map(prove_eq, x.stride, y.stride))):
        yield Mismatch(VIEW, "stride", dims_text(x.stride), dims_text(y.stride))


def _name(value: object) -> str:
    return str(getattr(value, "name", value))


def _places(view: TileView) -> str:
    start = "none" if view.start_offset is None else extent_text(view.start_offset)
    return f"stride {dims_text(view.stride)}, start {start}"
