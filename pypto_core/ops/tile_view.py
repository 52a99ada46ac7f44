"""Other looks at a tile's elements and writes into a part of it: slice, assemble, reshape, fillpad and the like."""

from __future__ import annotations

from pypto_core.diagnostics import OpError
from pypto_core.ir import (
    INDEX_ONE,
    ArgEffect,
    ConstInt,
    CoreType,
    DataType,
    MemorySpace,
    PadValue,
    TileLayout,
    TileType,
    add,
    dims_equal,
    is_column,
    is_const,
    mul,
    prove_lt,
    replace,
    static_dim,
)
from pypto_core.ops.deduce import (
    COL,
    NO_BOX,
    ROW,
    Args,
    Dims,
    Layout,
    Options,
    bare,
    dims_of,
    literal_shape,
    make_tile,
    need_equal_extent,
    need_rank,
    need_same_dtype,
    optional_dims,
    positive_shape,
    tile_of,
)
from pypto_core.ops.kinds import Kind
from pypto_core.ops.opdef import INHERIT, OMIT, Access, OpDef, OpMemory, Param
from pypto_core.ops.params import dims, dtype, index, on_vec, tile
from pypto_core.ops.reshape import check_count, reshaped_valid
from pypto_core.ops.valid_shape import window_read, write_union
from pypto_core.ops.wording import dims_text, extent_text, type_text

_FLIPPED = {ROW: COL, COL: ROW, NO_BOX: NO_BOX}
_NARROWED = (DataType.BF16, DataType.FP16)


def drop_axes(window: Dims, valid: Dims, drop: Dims | None) -> tuple[Dims, Dims]:
    """Window and valid extents without the axes in ``drop``, each of which must have extent 1."""
    if drop is None:
        return window, valid
    axes: list[int] = []
    for entry in drop:
        axis = entry.value if isinstance(entry, ConstInt) else None
        if axis is None or not 0 <= axis < len(window) or not is_const(window[axis], 1) or axis in axes:
            raise OpError(
                f"axis {extent_text(entry)} of the window {dims_text(window)} can't be dropped",
                facts={"window": dims_text(window), "drop_dims": dims_text(drop)},
                remedy="list constant axes whose window is 1, each once",
            )
        axes.append(axis)
    kept = [a for a in range(len(window)) if a not in axes]
    return tuple(window[a] for a in kept), tuple(valid[a] for a in kept)


def deduce_slice(args: Args, options: Options) -> TileType:
    """A window of a tile, without a copy."""
    source = tile_of(args, 0)
    window, offset = literal_shape(args[1]), dims_of(args[2])
    request, drop = optional_dims(args, 3), optional_dims(args, 4)
    valid = window_read(source.shape, source.valid_shape, offset, window, request, exact=True)
    shape, valid = drop_axes(window, valid, drop)
    if drop is not None and len(shape) < 2:
        missing = (INDEX_ONE,) * (2 - len(shape))
        shape, valid = missing + shape, missing + valid
    view = source.tile_view
    pad: PadValue = options.get("pad_value", view.pad if view is not None else PadValue.null)
    if view is None:
        return make_tile(shape, source.dtype, source.memory_space, valid=valid, pad=pad)
    return make_tile(
        shape, source.dtype, source.memory_space,
        valid=valid, layout=view.layout, pad=pad, compact=view.compact,
    )  # fmt: skip


def check_narrowing(source: DataType, target: DataType) -> None:
    """Refuse a write of elements that are neither the target's nor FP32 into a half-width float."""
    if source is target or (source is DataType.FP32 and target in _NARROWED):
        return
    raise OpError(
        f"can't write {source} elements into {target}",
        facts={"source": source, "target": target},
        remedy=f"convert the source with pl.cast(x, pl.{target.name})",
    )


def deduce_assemble(args: Args, options: Options) -> TileType:
    """The target with the source written at an offset."""
    target, source = tile_of(args, 0), tile_of(args, 1)
    offset = dims_of(args[2])
    check_narrowing(source.dtype, target.dtype)
    if len(offset) != len(target.shape):
        raise OpError(
            f"offset has {len(offset)} entries, the target has {len(target.shape)} axes",
            facts={"offset": dims_text(offset), "target": type_text(target)},
            remedy="give one offset per axis of the target",
        )
    if len(source.shape) != len(target.shape):
        return bare(target)
    have = target.valid_shape
    valid = write_union(target.shape, have, source.valid_shape, offset, source_shape=source.shape)
    return bare(target) if valid is have else _revalidated(target, valid)


def _revalidated(kind: TileType, valid: Dims) -> TileType:
    """The tile with other valid extents, everything else as it effectively is."""
    return replace(kind, memref=None, tile_view=replace(kind.view, valid_shape=valid))


def deduce_reshape(args: Args, options: Options) -> TileType:
    """The same elements under another shape, without a copy."""
    source, shape = tile_of(args, 0), positive_shape(args[1])
    check_count(source.shape, shape)
    valid = reshaped_valid(source.shape, source.valid_shape, shape)
    view = source.view
    blayout = view.blayout
    if view.slayout is NO_BOX:
        blayout = COL if is_column(shape) else ROW
    layout = (blayout, view.slayout, view.fractal)
    return make_tile(
        shape,
        source.dtype,
        source.memory_space,
        valid=valid,
        layout=layout,
        pad=view.pad,
        compact=view.compact,
    )


def deduce_set_validshape(args: Args, options: Options) -> TileType:
    """The same tile with other valid extents."""
    source = tile_of(args, 0)
    need_rank(source, 2, "tile")
    check_extents(source.shape, (args[1], args[2]))
    return _revalidated(source, (args[1], args[2]))


def check_extents(shape: Dims, valid: Dims) -> None:
    """Refuse valid extents that are provably outside the shape."""
    for axis, (extent, claim) in enumerate(zip(shape, valid, strict=True)):
        if prove_lt(claim, ConstInt(0)) is True or prove_lt(extent, claim) is True:
            raise OpError(
                f"the valid extent {extent_text(claim)} is not within 0 and {extent_text(extent)}",
                facts={"axis": axis, "shape": dims_text(shape), "valid": dims_text(valid)},
                remedy="a valid extent lies between 0 and the physical one",
            )


def deduce_transpose_view(args: Args, options: Options) -> TileType:
    """The tile with rows and columns exchanged, without a copy."""
    source = tile_of(args, 0)
    need_rank(source, 2, "input")
    view, valid = source.view, source.valid_shape
    layout: Layout = (_FLIPPED[view.blayout], _FLIPPED[view.slayout], view.fractal)
    return make_tile(
        source.shape[::-1], source.dtype, source.memory_space,
        valid=valid[::-1], layout=layout, pad=view.pad, compact=view.compact,
    )  # fmt: skip


def deduce_reinterpret_view(args: Args, options: Options) -> TileType:
    """The same bytes read as elements of another type."""
    source = tile_of(args, 0)
    element: DataType = options["dtype"]
    view = source.view
    if view.slayout is not NO_BOX or view.stride or view.start_offset is not None:
        raise OpError(
            "only a flat packed tile can be reinterpreted",
            facts={"data": type_text(source), "layout": f"{view.blayout.name}/{view.slayout.name}"},
            remedy="move the tile to Vec first, or copy the window into a tile of its own",
        )
    requested = optional_dims(args, 1)
    fast = -2 if view.blayout is TileLayout.col_major and len(source.shape) >= 2 else -1
    if requested is None:
        shape = _rescaled(source.shape, fast, source.dtype, element)
    else:
        shape = literal_shape(args[1])
        _check_bytes(source, shape, element)
    valid = shape
    if not source.is_fully_valid:
        if requested is not None:
            raise OpError(
                "a partly valid tile can't be reinterpreted under another shape",
                facts={"data": type_text(source), "valid": dims_text(source.valid_shape)},
                remedy="leave the shape out, or fill the tile up first with pl.fillpad",
            )
        valid = _rescaled(source.valid_shape, fast, source.dtype, element)
    return make_tile(
        shape, element, source.memory_space, valid=valid, layout=(view.blayout, NO_BOX, view.fractal)
    )


def _rescaled(shape: Dims, axis: int, old: DataType, new: DataType) -> Dims:
    """``shape`` with the contiguous axis counted in elements of the new width."""
    value, at = static_dim(shape[axis]), axis % len(shape)
    if old.bits == new.bits:
        return shape
    if value is not None:
        count, over = divmod(value * old.bits, new.bits)
        if not over:
            return (*shape[:at], ConstInt(count), *shape[at + 1 :])
    elif old.bits % new.bits == 0:
        return (*shape[:at], mul(shape[axis], old.bits // new.bits), *shape[at + 1 :])
    raise OpError(
        f"{extent_text(shape[axis])} elements of {old} are no whole number of {new}",
        facts={"axis": at, "shape": dims_text(shape)},
        remedy="make the contiguous extent a multiple of the ratio of the widths",
    )


def _check_bytes(source: TileType, shape: Dims, element: DataType) -> None:
    before, after = source.dtype.bits, element.bits
    for extent in source.shape:
        before *= static_dim(extent) or 0
    for extent in shape:
        after *= static_dim(extent) or 0
    if before != after:
        raise OpError(
            f"{dims_text(shape)} of {element} takes {after // 8} bytes, the tile has {before // 8}",
            facts={"data": type_text(source)},
            remedy="reinterpret_view keeps the bytes: choose a shape of the same size, or leave it out",
        )


def _pad_value(options: Options) -> PadValue:
    pad: PadValue = options.get("pad_value", PadValue.zero)
    if pad is PadValue.null:
        raise OpError(
            "pad_value=null fills with nothing", remedy="use PadValue.zero, PadValue.max or PadValue.min"
        )
    return pad


def deduce_fillpad(args: Args, options: Options) -> TileType:
    """The tile with everything outside the valid part filled, hence fully valid."""
    source = tile_of(args, 0)
    return replace(
        source, memref=None, tile_view=replace(source.view, valid_shape=(), pad=_pad_value(options))
    )


def deduce_fillpad_expand(args: Args, options: Options) -> TileType:
    """The tile in the corner of a larger one that is filled, hence fully valid."""
    source, shape = tile_of(args, 0), literal_shape(args[1])
    need_rank(source, len(shape), "tile")
    for axis, (extent, wanted) in enumerate(zip(source.shape, shape, strict=True)):
        if prove_lt(wanted, extent) is True:
            raise OpError(
                f"extent {extent_text(wanted)} is smaller than the tile's {extent_text(extent)}",
                facts={"axis": axis, "tile": type_text(source)},
                remedy="fillpad_expand only enlarges: take a slice to shrink",
            )
    view = source.view
    return make_tile(shape, source.dtype, source.memory_space, layout=view.layout, pad=_pad_value(options))


def deduce_concat(args: Args, options: Options) -> TileType:
    """Two tiles side by side, declared fully valid."""
    left, right = tile_of(args, 0), tile_of(args, 1)
    need_rank(left, 2, "src0")
    need_rank(right, 2, "src1")
    need_same_dtype(left, right, "src0", "src1")
    need_equal_extent(
        left.shape[0],
        right.shape[0],
        "rows of src0",
        "rows of src1",
        "only tiles of equal rows are put side by side",
    )
    if not dims_equal(left.shape[0], right.shape[0]):
        raise OpError(
            "the rows of both tiles must be the same constant",
            facts={"src0": type_text(left), "src1": type_text(right)},
            remedy="give both tiles a constant number of rows",
        )
    return make_tile((left.shape[0], add(left.shape[1], right.shape[1])), left.dtype, MemorySpace.Vec)


def _view(inputs: int) -> OpMemory:
    return OpMemory(inputs=(None,) * inputs, output=INHERIT, view_of=0, access=Access.NONE)


_PAD = Param("pad_value", Kind.ENUM, PadValue.zero, PadValue)
_FILLED = (MemorySpace.Vec, MemorySpace.Mat)

OPS = (
    OpDef(
        name="tile.slice",
        summary="a window of a tile, without a copy",
        params=(tile("tile"), dims("shape"), dims("offset"), dims("valid_shape", default=OMIT),
                dims("drop_dims", default=OMIT), Param("pad_value", Kind.ENUM, OMIT, PadValue)),
        deduce=deduce_slice,
        memory=_view(5),
    ),
    OpDef(
        name="tile.assemble",
        summary="write a tile into a part of another",
        params=(tile("target"), tile("source"), dims("offset")),
        deduce=deduce_assemble,
        memory=OpMemory(inputs=(None, None, None), output=INHERIT, view_of=0, writes_part=(1, 2)),
        effects={0: ArgEffect.ReadWrite},
        pure=False,
    ),
    OpDef(
        name="tile.reshape",
        summary="the same elements under another shape",
        params=(tile("tile"), dims("shape")),
        deduce=deduce_reshape,
        memory=_view(2),
    ),
    OpDef(
        name="tile.set_validshape",
        summary="the same tile with other valid extents",
        params=(tile("tile"), index("valid_rows"), index("valid_cols")),
        deduce=deduce_set_validshape,
        memory=_view(3),
    ),
    OpDef(
        name="tile.transpose_view",
        summary="rows and columns exchanged, without a copy",
        params=(tile("tile"),),
        deduce=deduce_transpose_view,
        memory=_view(1),
    ),
    OpDef(
        name="tile.reinterpret_view",
        summary="the same bytes as elements of another type",
        params=(tile("data"), dtype(), dims("shape", default=OMIT, keyword_only=True)),
        deduce=deduce_reinterpret_view,
        memory=_view(2),
    ),
    OpDef(
        name="tile.fillpad",
        summary="fill what is not valid",
        params=(tile("tile"), _PAD),
        deduce=deduce_fillpad,
        memory=OpMemory(inputs=(_FILLED,), output=INHERIT),
    ),
    OpDef(
        name="tile.fillpad_inplace",
        summary="fill what is not valid, in the tile's own buffer",
        params=(tile("tile"), _PAD),
        deduce=deduce_fillpad,
        memory=OpMemory(inputs=(_FILLED,), output=INHERIT, reuses=0),
        effects={0: ArgEffect.ReadWrite},
        pure=False,
    ),
    OpDef(
        name="tile.fillpad_expand",
        summary="copy a tile into the corner of a larger one and fill the rest",
        params=(tile("tile"), dims("shape"), _PAD),
        deduce=deduce_fillpad_expand,
        memory=OpMemory(inputs=(_FILLED, None), output=INHERIT, inplace_safe=False),
    ),
    OpDef(
        name="tile.concat",
        summary="two tiles side by side",
        params=(tile("src0"), tile("src1")),
        deduce=deduce_concat,
        memory=on_vec(2, inplace_safe=False),
        core=CoreType.VECTOR,
    ),
)  # fmt: skip
"""The operators of this module."""

__all__ = ["OPS", "check_extents", "check_narrowing", "drop_axes"]
