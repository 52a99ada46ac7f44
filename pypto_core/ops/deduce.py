"""What the deducers share: reading operands, shapes and element types, and building result types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pypto_core.diagnostics import OpError
from pypto_core.ir import (
    INDEX_ONE,
    CompactMode,
    ConstInt,
    DataType,
    Expr,
    MakeTuple,
    MemorySpace,
    PadValue,
    ScalarType,
    TensorType,
    TensorView,
    TileLayout,
    TileType,
    TileView,
    TupleGetItemExpr,
    TupleType,
    dims_equal,
    implicit_layout,
    is_const,
    prove_eq,
    prove_lt,
    replace,
    scalar_type,
    shapes_equal,
    static_dim,
)
from pypto_core.ops.wording import dims_text, extent_text, type_text

Dims = tuple[Expr, ...]
Args = tuple[Expr, ...]
Options = Mapping[str, Any]
Layout = tuple[TileLayout, TileLayout, int]

ROW, COL, NO_BOX = TileLayout.row_major, TileLayout.col_major, TileLayout.none_box
INDEX_TYPE = scalar_type(DataType.INDEX)
FLOATS_AND_INTS = (DataType.FP32, DataType.BF16, DataType.FP16, DataType.INT32, DataType.INT16, DataType.INT8)


def tile_of(args: Args, position: int) -> TileType:
    """The type of a tile argument."""
    kind = args[position].type
    assert isinstance(kind, TileType)
    return kind


def tensor_of(args: Args, position: int) -> TensorType:
    """The type of a tensor argument."""
    kind = args[position].type
    assert isinstance(kind, TensorType)
    return kind


def scalar_of(args: Args, position: int) -> DataType:
    """The element type of a scalar argument."""
    kind = args[position].type
    assert isinstance(kind, ScalarType)
    return kind.dtype


def dims_of(arg: Expr) -> Dims:
    """The entries of a shape or offset: those written out, or those of a tuple variable."""
    if isinstance(arg, MakeTuple):
        return arg.elements
    kind = arg.type
    assert isinstance(kind, TupleType)
    return tuple(TupleGetItemExpr(arg, i) for i in range(len(kind.types)))


def optional_dims(args: Args, position: int) -> Dims | None:
    """The entries of an optional shape; None when it is absent, which an empty tuple says too."""
    if position >= len(args):
        return None
    return dims_of(args[position]) or None


def present(args: Args, position: int) -> Expr | None:
    """An optional argument, or None."""
    return args[position] if position < len(args) else None


def literal_shape(arg: Expr, what: str = "shape") -> Dims:
    """A shape of positive constants."""
    shape = dims_of(arg)
    for axis, extent in enumerate(shape):
        value = static_dim(extent)
        if value is None or value <= 0:
            raise OpError(
                f"{what} must consist of positive constants, not {dims_text(shape)}",
                facts={"axis": axis, "extent": extent_text(extent)},
                remedy="give the tile a constant shape and narrow what is valid in it with valid_shape",
            )
    if not shape:
        raise OpError(f"{what} is empty", remedy="give one extent per axis")
    return shape


def positive_shape(arg: Expr, what: str = "shape") -> Dims:
    """A shape without extents that are provably zero or negative."""
    shape = dims_of(arg)
    if not shape:
        raise OpError(f"{what} is empty", remedy="give one extent per axis")
    for axis, extent in enumerate(shape):
        value = static_dim(extent)
        if value is not None and value <= 0:
            raise OpError(
                f"{what} must be positive, not {dims_text(shape)}",
                facts={"axis": axis, "extent": value},
                remedy="an empty part is written with valid_shape inside a positive shape",
            )
    return shape


def need_rank(kind: TileType | TensorType, rank: int, name: str) -> None:
    """Refuse anything but ``rank`` axes."""
    if len(kind.shape) != rank:
        raise OpError(
            f"'{name}' must have {rank} axes, not {len(kind.shape)}",
            facts={name: type_text(kind)},
            remedy="reshape it first",
        )


def need_least_rank(kind: TileType | TensorType, rank: int, name: str) -> None:
    """Refuse fewer than ``rank`` axes."""
    if len(kind.shape) < rank:
        raise OpError(
            f"'{name}' must have at least {rank} axes, not {len(kind.shape)}",
            facts={name: type_text(kind)},
            remedy="reshape it first",
        )


def need_same_dtype(a: TileType | TensorType, b: TileType | TensorType, left: str, right: str) -> None:
    """Refuse operands of different element types."""
    if a.dtype is not b.dtype:
        raise OpError(
            f"'{left}' is {a.dtype} and '{right}' is {b.dtype}",
            facts={left: type_text(a), right: type_text(b)},
            remedy="convert one of them with pl.cast",
        )


def need_dtype(kind: TileType | TensorType, allowed: tuple[DataType, ...], name: str) -> None:
    """Refuse element types outside ``allowed``."""
    if kind.dtype not in allowed:
        raise OpError(
            f"'{name}' can't be {kind.dtype}",
            facts={name: type_text(kind), "accepted": ", ".join(d.text for d in allowed)},
            remedy=f"convert it with pl.cast(x, pl.{allowed[0].name}, mode='rint')",
        )


def need_int(kind: TileType | TensorType, name: str) -> None:
    """Refuse element types that are no integers."""
    if not kind.dtype.is_int:
        raise OpError(
            f"'{name}' must hold integers, not {kind.dtype}",
            facts={name: type_text(kind)},
            remedy="convert it with pl.cast, or reinterpret its bits with reinterpret_view",
        )


def need_scalar(value: DataType, dtype: DataType, name: str) -> None:
    """Refuse a scalar that can't stand beside elements of ``dtype`` without losing its fraction or meaning."""
    if not (value.is_int or value.is_float) or (value.is_float and dtype.is_int):
        raise OpError(
            f"the scalar '{name}' is {value}, the elements are {dtype}",
            facts={name: value, "elements": dtype},
            remedy=f"convert it with pl.cast({name}, pl.{dtype.name})",
        )


def promoted(a: TileType | TensorType, b: TileType | TensorType) -> DataType:
    """The element type of two operands together: the wider wins, of equals the left."""
    x, y = a.dtype, b.dtype
    if x is y:
        return x
    if x.is_float != y.is_float or DataType.BOOL in (x, y):
        raise OpError(
            f"{x} and {y} don't mix",
            facts={"left": type_text(a), "right": type_text(b)},
            remedy="convert one side with pl.cast",
        )
    return x if x.bits >= y.bits else y


def broadcast(a: Dims, b: Dims) -> Dims:
    """The common shape of two operands; an extent of 1 stretches, missing leading axes count as 1.

    Extents that are neither equal nor provably different are taken to be equal. ``a`` itself when it is the result.
    """
    if a is b or shapes_equal(a, b):
        return a
    given = a
    if len(a) < len(b):
        a = (INDEX_ONE,) * (len(b) - len(a)) + a
    elif len(b) < len(a):
        b = (INDEX_ONE,) * (len(a) - len(b)) + b
    out: list[Expr] = []
    for axis, (x, y) in enumerate(zip(a, b, strict=True)):
        if dims_equal(x, y) or is_const(y, 1):
            out.append(x)
        elif is_const(x, 1):
            out.append(y)
        elif prove_eq(x, y) is False:
            raise OpError(
                f"shapes {dims_text(a)} and {dims_text(b)} don't match",
                facts={"axis": axis, "left": extent_text(x), "right": extent_text(y)},
                remedy="make the extents equal, or give one operand extent 1 on that axis",
            )
        else:
            out.append(x)
    return (
        given
        if len(given) == len(out) and all(x is y for x, y in zip(given, out, strict=True))
        else tuple(out)
    )


def need_equal_extent(a: Expr, b: Expr, left: str, right: str, remedy: str) -> None:
    """Refuse extents that provably differ."""
    if not dims_equal(a, b) and prove_eq(a, b) is False:
        raise OpError(
            f"{left} is {extent_text(a)}, {right} is {extent_text(b)}",
            facts={left: extent_text(a), right: extent_text(b)},
            remedy=remedy,
        )


def need_cover(have: Expr, wanted: Expr, have_name: str, wanted_name: str, remedy: str) -> None:
    """Refuse an extent that is provably smaller than what it has to cover."""
    if have is not wanted and prove_lt(have, wanted) is True:
        raise OpError(
            f"{have_name} of {extent_text(have)} is smaller than {wanted_name} of {extent_text(wanted)}",
            facts={have_name: extent_text(have), wanted_name: extent_text(wanted)},
            remedy=remedy,
        )


def make_tile(
    shape: Dims,
    dtype: DataType,
    space: MemorySpace | None,
    *,
    valid: Dims = (),
    layout: Layout | None = None,
    pad: PadValue = PadValue.null,
    compact: CompactMode = CompactMode.null,
) -> TileType:
    """A tile type; without ``layout`` it has the one that shape and space imply."""
    implied = implicit_layout(shape, space)
    if layout is None:
        layout = implied
    plain = pad is PadValue.null and compact is CompactMode.null and layout == implied
    if plain and (not valid or valid is shape or shapes_equal(valid, shape)):
        return TileType(shape, dtype, None, None, space)
    view = TileView(
        valid_shape=() if valid is shape else valid,
        blayout=layout[0],
        slayout=layout[1],
        fractal=layout[2],
        pad=pad,
        compact=compact,
    )
    return TileType(shape, dtype, None, view, space)


def vector_result(source: TileType, dtype: DataType, shape: Dims | None = None) -> TileType:
    """A Vec tile with the source's valid extents, block layouts, padding and compactness; boxes are 512 bytes again.

    The source's own type when that says the same.
    """
    view = source.tile_view
    shape = source.shape if shape is None else shape
    if (
        shape is source.shape
        and dtype is source.dtype
        and source.memory_space is MemorySpace.Vec
        and source.memref is None
        and (view is None or (view.fractal == 512 and not view.stride and view.start_offset is None))
    ):
        return source
    effective = source.view
    valid = source.valid_shape
    if len(valid) < len(shape):
        valid = (INDEX_ONE,) * (len(shape) - len(valid)) + valid
    layout = (effective.blayout, effective.slayout, 512)
    return make_tile(
        shape, dtype, MemorySpace.Vec,
        valid=valid, layout=layout, pad=effective.pad, compact=effective.compact,
    )  # fmt: skip


def bare(kind: TileType) -> TileType:
    """The type without its place in memory; the type itself when it has none."""
    return kind if kind.memref is None else replace(kind, memref=None)


def make_tensor(shape: Dims, dtype: DataType, valid: Dims = (), pad: PadValue = PadValue.null) -> TensorType:
    """A packed row-major tensor type with these valid extents."""
    if (not valid or valid is shape) and pad is PadValue.null:
        return TensorType(shape, dtype)
    return TensorType(shape, dtype, None, TensorView(valid_shape=valid, pad=pad))


def with_valid(kind: TensorType, valid: Dims) -> TensorType:
    """The tensor type with other valid extents; the type itself when they are its own."""
    if valid is kind.valid_shape or shapes_equal(valid, kind.valid_shape):
        return kind
    view = kind.tensor_view or TensorView()
    return replace(kind, tensor_view=replace(view, valid_shape=valid))


def constant_axis(arg: Expr, rank: int, name: str = "axis") -> int:
    """A constant axis number, negative ones counted from the end."""
    value = arg.value if isinstance(arg, ConstInt) else None
    if value is None or not -rank <= value < rank:
        raise OpError(
            f"'{name}' must be a constant from {-rank} to {rank - 1}",
            facts={name: extent_text(arg), "axes": rank},
            remedy="count axes from 0, or from the end with negative numbers",
        )
    return value % rank
