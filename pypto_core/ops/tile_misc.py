"""Comparison and selection, transposition, index ramps, block queries and the transfers between cores."""

from __future__ import annotations

from collections.abc import Iterator

from pypto_core.diagnostics import OpError
from pypto_core.ir import (
    VOID,
    ConstInt,
    CoreType,
    DataType,
    MemorySpace,
    ScalarType,
    SplitMode,
    TensorType,
    TileType,
    Type,
    add,
    floordiv,
    mul,
    round_up,
    static_dim,
)
from pypto_core.ops.deduce import (
    INDEX_TYPE,
    NO_BOX,
    ROW,
    Args,
    Dims,
    Options,
    broadcast,
    constant_axis,
    literal_shape,
    make_tile,
    need_cover,
    need_dtype,
    need_least_rank,
    need_same_dtype,
    need_scalar,
    promoted,
    scalar_of,
    tile_of,
    vector_result,
)
from pypto_core.ops.opdef import OMIT, Access, Deducer, OpDef, OpMemory, Param
from pypto_core.ops.params import VEC, dims, dtype, flag, index, number, on_vec, scalar, tile
from pypto_core.ops.wording import type_text

MASK_ROW_BYTES = 32
"""A row of a comparison's mask is padded to this many bytes: the granule of the vector buffer."""

_RAMPS = (DataType.INT32, DataType.INT16, DataType.UINT32, DataType.UINT16)
_LAST_COMPARISON = 5


def mask_type(source: TileType) -> TileType:
    """One bit per element, the first element in the lowest bit; rows are padded to whole granules."""
    columns = static_dim(source.shape[-1])
    if columns is None:
        raise OpError(
            "a comparison needs a constant number of columns",
            facts={"lhs": type_text(source)},
            remedy="give the tile a constant shape and narrow what is valid in it with valid_shape",
        )
    shape = (*source.shape[:-1], ConstInt(round_up(-(-columns // 8), MASK_ROW_BYTES)))
    valid = source.valid_shape
    bits = (*valid[:-1], floordiv(add(valid[-1], 7), 8))
    return make_tile(shape, DataType.UINT8, MemorySpace.Vec, valid=bits, layout=(ROW, NO_BOX, 512))


def check_comparison(options: Options) -> None:
    """Refuse a comparison code that does not exist."""
    code: int = options.get("cmp_type", 0)
    if not 0 <= code <= _LAST_COMPARISON:
        raise OpError(f"there is no comparison {code}", remedy="0 ==, 1 !=, 2 <, 3 <=, 4 >, 5 >=")


def deduce_cmp(args: Args, options: Options) -> TileType:
    """A mask of the element-wise comparison."""
    lhs, rhs = tile_of(args, 0), tile_of(args, 1)
    check_comparison(options)
    need_same_dtype(lhs, rhs, "lhs", "rhs")
    broadcast(lhs.shape, rhs.shape)
    return mask_type(lhs)


def deduce_cmps(args: Args, options: Options) -> TileType:
    """A mask of the comparison with one scalar."""
    lhs = tile_of(args, 0)
    check_comparison(options)
    need_scalar(scalar_of(args, 1), lhs.dtype, "rhs")
    return mask_type(lhs)


def _check_mask(mask: TileType, source: TileType) -> None:
    need_dtype(mask, (DataType.UINT8,), "mask")
    columns, have = static_dim(source.shape[-1]), static_dim(mask.shape[-1])
    if columns is not None and have is not None and have * 8 < columns:
        raise OpError(
            f"the mask holds {have * 8} bits a row, the tile has {columns} columns",
            facts={"mask": type_text(mask), "tile": type_text(source)},
            remedy="make the mask with pl.tile.cmp or pl.tile.cmps on a tile of that shape",
        )


def deduce_sel(args: Args, options: Options) -> TileType:
    """Elements of the first tile where the mask is set, else of the second."""
    mask, lhs, rhs = tile_of(args, 0), tile_of(args, 1), tile_of(args, 2)
    _check_mask(mask, lhs)
    dtype = promoted(lhs, rhs)
    return vector_result(lhs, dtype, broadcast(lhs.shape, rhs.shape))


def deduce_sels(args: Args, options: Options) -> TileType:
    """Elements of the tile where the mask is set, else the scalar."""
    source = tile_of(args, 1)
    _check_mask(tile_of(args, 0), source)
    need_scalar(scalar_of(args, 3), source.dtype, "scalar")
    return vector_result(source, source.dtype)


def swapped_axes(kind: TileType | TensorType, args: Args) -> tuple[Dims, Dims]:
    """Shape and valid extents with the two axes that args 1 and 2 name exchanged."""
    need_least_rank(kind, 2, "input")
    rank = len(kind.shape)
    a, b = constant_axis(args[1], rank, "axis1"), constant_axis(args[2], rank, "axis2")
    order = list(range(rank))
    order[a], order[b] = b, a
    return tuple(kind.shape[i] for i in order), tuple(kind.valid_shape[i] for i in order)


def deduce_transpose(args: Args, options: Options) -> TileType:
    """A copy with two axes exchanged."""
    source = tile_of(args, 0)
    shape, valid = swapped_axes(source, args)
    if len(args) > 3:
        scratch = tile_of(args, 3)
        need_same_dtype(source, scratch, "input", "scratch")
        if len(scratch.shape) == len(source.shape):
            for have, wanted in zip(scratch.shape, source.shape, strict=True):
                need_cover(
                    have, wanted, "scratch extent", "input extent", "create the scratch as large as the input"
                )
    return make_tile(shape, source.dtype, MemorySpace.Vec, valid=valid, pad=source.view.pad)


def deduce_ramp(args: Args, options: Options) -> TileType:
    """A tile of consecutive integers."""
    element: DataType = options.get("dtype", DataType.INT32)
    if element not in _RAMPS:
        raise OpError(
            f"an index ramp can't be {element}", remedy="one of " + ", ".join(d.text for d in _RAMPS)
        )
    need_scalar(scalar_of(args, 0), element, "start")
    return make_tile(literal_shape(args[1]), element, MemorySpace.Vec, layout=(ROW, NO_BOX, 512))


def deduce_index(args: Args, options: Options) -> ScalarType:
    """An INDEX scalar."""
    return INDEX_TYPE


def deduce_void(args: Args, options: Options) -> Type:
    """No result."""
    return VOID


def _lane_axis(kind: TileType, options: Options) -> int | None:
    """The axis that is divided between the two vector cores; None when both get everything."""
    need_least_rank(kind, 2, "tile")
    code: int = options.get("split", 0)
    axes = {0: None, 1: -2, 2: -1, 3: -2, 4: -1}
    if code not in axes:
        raise OpError(
            f"there is no split {code}",
            remedy="0 none, 1 rows, 2 columns; 3 and 4 the same for odd extents",
        )
    return axes[code]


def _resized(kind: TileType, axis: int | None, half: bool, space: MemorySpace) -> TileType:
    if axis is None:
        return make_tile(kind.shape, kind.dtype, space, valid=kind.valid_shape)
    at = axis % len(kind.shape)
    extent = kind.shape[at]
    length = floordiv(add(extent, 1), 2) if half else mul(extent, 2)
    return make_tile((*kind.shape[:at], length, *kind.shape[at + 1 :]), kind.dtype, space)


def deduce_shard(args: Args, options: Options) -> TileType:
    """The half of a cube tile that one vector core gets."""
    source = tile_of(args, 0)
    axis = _lane_axis(source, options)
    if axis is not None and not source.is_fully_valid:
        raise OpError(
            "only a fully valid tile is divided between vector cores",
            facts={"tile": type_text(source)},
            remedy="divide with split=0, or fill the tile up first",
        )
    if axis is not None and options.get("split") in (1, 2) and (static_dim(source.shape[axis]) or 0) % 2:
        raise OpError(
            "an odd extent is not divided in two halves",
            facts={"tile": type_text(source)},
            remedy="use the odd form of the split: 3 for rows, 4 for columns",
        )
    return _resized(source, axis, True, MemorySpace.Vec)


def deduce_gathered(args: Args, options: Options) -> TileType:
    """The cube tile that the halves of both vector cores make up."""
    source = tile_of(args, 0)
    return _resized(source, _lane_axis(source, options), False, MemorySpace.Mat)


def _deduce_pop(space: MemorySpace) -> Deducer:
    def deduce(args: Args, options: Options) -> TileType:
        return make_tile(literal_shape(args[0]), options["dtype"], space)

    return deduce


_CMP = number("cmp_type", default=0)
_SPLIT = number("split", default=SplitMode.NONE.value)
_LANE, _ID = number("lane_stride", default=OMIT), number("id", default=OMIT)


def _vector(
    name: str, what: str, params: tuple[Param, ...], deduce: Deducer, memory: OpMemory, **rules: str
) -> OpDef:
    return OpDef(
        name=f"tile.{name}", summary=what, params=params, deduce=deduce, memory=memory, core=CoreType.VECTOR,
        **rules,  # type: ignore[arg-type]
    )  # fmt: skip


def _selection() -> Iterator[OpDef]:
    pair = (tile("lhs"), tile("rhs"))
    yield _vector("cmp", "bit mask of a comparison, element by element", (*pair, _CMP), deduce_cmp, on_vec(2),
                  scalar_form="tile.cmps")  # fmt: skip
    yield _vector("cmps", "bit mask of a comparison with one scalar", (tile("lhs"), scalar("rhs"), _CMP), deduce_cmps,
                  on_vec(1, 1))  # fmt: skip
    yield _vector("sel", "choose between two tiles by a bit mask", (tile("mask"), *pair, tile("tmp")), deduce_sel,
                  on_vec(4, forbids_alias=(0, 3)))  # fmt: skip
    inputs = (VEC, VEC, VEC, None)
    yield _vector(
        "sels", "choose between a tile and a scalar by a bit mask",
        (tile("mask"), tile("src"), tile("tmp"), scalar("scalar", like=1)), deduce_sels,
        OpMemory(inputs=inputs, output=MemorySpace.Vec, forbids_alias=(0,)),
    )  # fmt: skip
    yield _vector(
        "transpose", "a copy with two axes exchanged",
        (tile("input"), index("axis1"), index("axis2"), tile("scratch", default=OMIT)), deduce_transpose,
        OpMemory(inputs=(VEC, None, None, VEC), output=MemorySpace.Vec, inplace_safe=False),
    )  # fmt: skip
    yield _vector(
        "ci", "consecutive integers",
        (scalar("start", like=None), dims("shape"), dtype(default=DataType.INT32), flag("descending", default=False)),
        deduce_ramp, OpMemory(inputs=(None, None), output=MemorySpace.Vec),
    )  # fmt: skip


def block_queries(namespace: str) -> Iterator[OpDef]:
    """The questions which block this is, of how many, and which half of the core."""
    words = {
        "get_block_idx": "number of this block",
        "get_block_num": "how many blocks were launched",
        "get_subblock_idx": "number of this vector core within its cluster",
    }
    for name, what in words.items():
        yield OpDef(
            name=f"{namespace}.{name}", summary=what, params=(), deduce=deduce_index,
            memory=OpMemory(access=Access.NONE),
        )  # fmt: skip


def _between_cores() -> Iterator[OpDef]:
    ways = (("aiv", CoreType.CUBE, MemorySpace.Mat), ("aic", CoreType.VECTOR, MemorySpace.Vec))
    for peer, core, space in ways:
        yield OpDef(
            name=f"tile.tpush_to_{peer}", summary=f"hand a tile to the {peer} core",
            params=(tile("tile"), _SPLIT, _LANE, _ID), deduce=deduce_void, core=core, pure=False,
            memory=OpMemory(inputs=((MemorySpace.Acc,) if core is CoreType.CUBE else VEC,)),
        )  # fmt: skip
        yield OpDef(
            name=f"tile.tpop_from_{peer}", summary=f"take a tile that the {peer} core has pushed",
            params=(dims("shape"), dtype(), _SPLIT, _LANE, _ID), deduce=_deduce_pop(space), core=core, pure=False,
            memory=OpMemory(inputs=(None,), output=space),
        )  # fmt: skip
    yield OpDef(
        name="tile.aiv_shard", summary="the part of a cube tile that this vector core works on",
        params=(tile("tile"), _SPLIT), deduce=deduce_shard,
        memory=OpMemory(inputs=(None,), output=MemorySpace.Vec, inplace_safe=False),
    )  # fmt: skip
    yield OpDef(
        name="tile.aic_gather", summary="the cube tile that the parts of both vector cores make up",
        params=(tile("tile"), _SPLIT), deduce=deduce_gathered,
        memory=OpMemory(inputs=(None,), output=MemorySpace.Mat, inplace_safe=False),
    )  # fmt: skip


OPS = (*_selection(), *block_queries("tile"), *_between_cores())
"""The operators of this module."""

__all__ = [
    "MASK_ROW_BYTES",
    "OPS",
    "block_queries",
    "deduce_index",
    "deduce_void",
    "mask_type",
    "swapped_axes",
]
