"""Tiles and memory: load, store, move, create, full, alloc, extract, and access to one element."""

from __future__ import annotations

from pypto_core.diagnostics import OpError
from pypto_core.ir import (
    PTR,
    VOID,
    ArgEffect,
    AtomicType,
    CompactMode,
    ConstInt,
    DataType,
    Expr,
    MemorySpace,
    ScalarType,
    TensorLayout,
    TensorType,
    TileLayout,
    TileType,
    Type,
    has_own_layout,
    implicit_layout,
    is_const,
    prove_lt,
    scalar_type,
    shapes_equal,
)
from pypto_core.ops.deduce import (
    COL,
    FLOATS_AND_INTS,
    NO_BOX,
    ROW,
    Args,
    Dims,
    Layout,
    Options,
    dims_of,
    literal_shape,
    make_tile,
    need_rank,
    need_scalar,
    optional_dims,
    positive_shape,
    scalar_of,
    tensor_of,
    tile_of,
    with_valid,
)
from pypto_core.ops.kinds import Kind
from pypto_core.ops.opdef import OMIT, Access, FromOption, OpDef, OpMemory, Param
from pypto_core.ops.params import VEC, dims, dtype, flag, index, scalar, tensor, tile
from pypto_core.ops.valid_shape import check_offsets, check_request, window_read, write_union
from pypto_core.ops.wording import dims_text, extent_text, type_text

_MX = (TensorLayout.MX_A_ZZ, TensorLayout.MX_B_NN)
_MX_LAYOUT: dict[TensorLayout, Layout] = {
    TensorLayout.MX_A_ZZ: (ROW, ROW, 32),
    TensorLayout.MX_B_NN: (COL, COL, 32),
}
_SCALES = (MemorySpace.LeftScale, MemorySpace.RightScale)
_PARTIAL_COMPACT = (MemorySpace.Left, MemorySpace.Right)


def _tensor_layout(source: TensorType) -> TensorLayout:
    return source.tensor_view.layout if source.tensor_view is not None else TensorLayout.ND


def _load_layout(window: Dims, space: MemorySpace | None, layout: TensorLayout) -> Layout | None:
    """Layout of a loaded tile; None leaves it to the space that is inferred later."""
    if layout in _MX:
        return _MX_LAYOUT[layout]
    if space is None:
        return None
    if space is MemorySpace.Mat:
        transposed = layout is TensorLayout.DN
        if len(window) == 2 and is_const(window[1 if transposed else 0], 1):
            return ROW, NO_BOX, 512
        return (ROW, COL, 512) if transposed else (COL, ROW, 512)
    return COL if is_const(window[-1], 1) else ROW, NO_BOX, 512


def _check_mx(source: TensorType, window: Dims, space: MemorySpace | None) -> None:
    view = source.tensor_view
    wrong = (
        "has to be two-dimensional" if len(window) != 2
        else "holds uint8 or fp8e8m0" if source.dtype not in (DataType.UINT8, DataType.FP8E8M0)
        else "has to be packed" if view is not None and view.stride
        else "is loaded into Mat" if space is not MemorySpace.Mat
        else ""
    )  # fmt: skip
    if wrong:
        raise OpError(
            f"a tensor of block scales {wrong}",
            facts={"tensor": type_text(source), "layout": _tensor_layout(source).name},
            remedy="load scales as they are: pl.load(scales, offsets, shapes, target_memory=pl.Mem.Mat)",
        )


def deduce_load(args: Args, options: Options) -> TileType:
    """A window of a tensor as a tile."""
    source = tensor_of(args, 0)
    offset, window = dims_of(args[1]), positive_shape(args[2], "shapes")
    request = optional_dims(args, 3)
    space: MemorySpace | None = options.get("target_memory")
    if space not in (None, MemorySpace.Vec, MemorySpace.Mat):
        raise OpError(
            f"a load reaches Vec or Mat, not {space.name}",
            remedy="load into Mat and go on from there with pl.move or pl.tile.extract",
        )
    layout = _tensor_layout(source)
    if layout in _MX:
        _check_mx(source, window, space)
    if len(offset) != len(source.shape):
        raise OpError(
            f"offsets has {len(offset)} entries, the tensor has {len(source.shape)} axes",
            facts={"offsets": dims_text(offset), "tensor": type_text(source)},
            remedy="give one offset per axis of the tensor",
        )
    valid = _loaded_valid(source, offset, window, request, bool(options.get("clamp")))
    return make_tile(window, source.dtype, space, valid=valid, layout=_load_layout(window, space, layout))


def _loaded_valid(source: TensorType, offset: Dims, window: Dims, request: Dims | None, clamp: bool) -> Dims:
    if len(window) == len(source.shape):
        claim = window if request is None else request
        return window_read(source.shape, source.valid_shape, offset, window, claim, exact=False, clamp=clamp)
    check_offsets(offset)
    if request is None:
        return window
    check_request(window, request)
    return request


def _fill_valid(given: list[Expr | None]) -> None:
    """What is valid defaults to the whole window."""
    if given[3] is None:
        given[3] = given[2]


def check_atomic(dtype: DataType, options: Options) -> None:
    """Refuse an atomic write of elements that memory can't add."""
    if options.get("atomic", AtomicType.None_) is not AtomicType.None_ and dtype not in FLOATS_AND_INTS:
        raise OpError(
            f"memory can't add {dtype} elements atomically",
            facts={"accepted": ", ".join(d.text for d in FLOATS_AND_INTS)},
            remedy="convert the tile with pl.cast before the store",
        )


def deduce_store(args: Args, options: Options) -> TensorType:
    """The output tensor with the tile written into it: its own type object unless the valid extents grow."""
    source, target = tile_of(args, 0), tensor_of(args, 2)
    offset, partition = dims_of(args[1]), optional_dims(args, 3)
    check_atomic(source.dtype, options)
    if len(offset) != len(target.shape):
        raise OpError(
            f"offsets has {len(offset)} entries, the output tensor has {len(target.shape)} axes",
            facts={"offsets": dims_text(offset), "output": type_text(target)},
            remedy="give one offset per axis of the tensor",
        )
    if partition is not None or len(source.shape) != len(target.shape):
        check_offsets(offset)
        return target
    return with_valid(target, write_union(target.shape, target.valid_shape, source.valid_shape, offset))


def deduce_move(args: Args, options: Options) -> TileType:
    """The same tile in another memory, in that memory's layout when it has one of its own."""
    source = tile_of(args, 0)
    space: MemorySpace = options["target_memory"]
    if space is MemorySpace.DDR:
        raise OpError("a tile can't be moved to DDR", remedy="write it to a tensor with pl.store")
    view = source.view
    if has_own_layout(space):
        blayout, slayout, fractal = implicit_layout(source.shape, space)
        if space is MemorySpace.Right:
            blayout = ROW
    else:
        blayout, slayout, fractal = view.blayout, view.slayout, 512
    layout = (options.get("blayout", blayout), options.get("slayout", slayout), fractal)
    return make_tile(source.shape, source.dtype, space, valid=source.valid_shape, layout=layout, pad=view.pad)


def _create_refusal(shape: Dims, options: Options) -> tuple[str, str] | None:
    space: MemorySpace | None = options.get("target_memory")
    if space in _SCALES:
        return f"a tile can't be created in {space.name}", "create it in Mat and move it"
    if space is MemorySpace.DDR:
        return "a tile lives on chip, not in DDR", "create a tensor with pl.create_tensor"
    if options.get("transpose") and (space is not MemorySpace.Mat or len(shape) != 2):
        return (
            "transpose=True is for two-dimensional tiles in Mat",
            "drop transpose, or create the tile in Mat",
        )
    if options.get("flat_layout") and space is not MemorySpace.Mat:
        return "flat_layout=True is for tiles in Mat", "drop flat_layout: tiles elsewhere are not boxed"
    if options.get("flat_layout") and options.get("transpose"):
        return "flat_layout and transpose exclude each other", "keep one of them"
    if options.get("compact") and space is not MemorySpace.Acc:
        return "compact=True is for accumulators", "create the tile with target_memory=pl.Mem.Acc"
    return None


def deduce_create(args: Args, options: Options) -> TileType:
    """A tile of undefined content."""
    shape = literal_shape(args[0])
    refusal = _create_refusal(shape, options)
    if refusal is not None:
        raise OpError(refusal[0], remedy=refusal[1])
    space: MemorySpace | None = options.get("target_memory")
    element: DataType = options["dtype"]
    if space is MemorySpace.Acc:
        compact = CompactMode.normal if options.get("compact") else CompactMode.null
        return make_tile(shape, element, space, compact=compact)
    if options.get("transpose"):
        return make_tile(shape, element, space, layout=(ROW, COL, 512))
    if options.get("flat_layout"):
        return make_tile(shape, element, space, layout=(ROW, NO_BOX, 512))
    return make_tile(shape, element, space)


def deduce_full(args: Args, options: Options) -> TileType:
    """A Vec tile filled with one value, row-major whatever its shape."""
    shape = literal_shape(args[0])
    return make_tile(shape, options["dtype"], MemorySpace.Vec, layout=(ROW, NO_BOX, 512))


def deduce_alloc(args: Args, options: Options) -> Type:
    """A base pointer."""
    size: int = options["size"]
    if size <= 0 or options["memory_space"] is MemorySpace.DDR:
        raise OpError(
            f"can't allocate {size} bytes in {options['memory_space'].name}",
            remedy="allocate a positive number of bytes in an on-chip memory",
        )
    return PTR


def deduce_extract(args: Args, options: Options) -> TileType:
    """A window of a tile as a tile of its own, in the layout that the matrix unit reads."""
    source = tile_of(args, 0)
    need_rank(source, 2, "src")
    shape = literal_shape(args[3])
    space: MemorySpace = options.get("target_memory", MemorySpace.Vec)
    valid = window_read(source.shape, source.valid_shape, (args[1], args[2]), shape, exact=True)
    layout = implicit_layout(shape, space)
    compact = CompactMode.null
    if space in _PARTIAL_COMPACT:
        layout = (ROW, ROW if space is MemorySpace.Left else COL, 512)
        if not shapes_equal(valid, shape):
            compact = CompactMode.normal
    return make_tile(shape, source.dtype, space, valid=valid, layout=layout, compact=compact)


def check_indices(kind: TileType | TensorType, indices: Dims, name: str) -> None:
    """Refuse element indices of another rank, and those that are provably outside."""
    if len(indices) != len(kind.shape):
        raise OpError(
            f"{len(indices)} indices for the {len(kind.shape)} axes of '{name}'",
            facts={"indices": dims_text(indices), name: type_text(kind)},
            remedy="give one index per axis",
        )
    for axis, (i, extent) in enumerate(zip(indices, kind.shape, strict=True)):
        if prove_lt(i, ConstInt(0)) is True or prove_lt(i, extent) is False:
            raise OpError(
                f"index {extent_text(i)} is outside the extent {extent_text(extent)}",
                facts={"axis": axis, name: type_text(kind)},
                remedy="indices count from 0 to the extent less one",
            )


def deduce_read(args: Args, options: Options) -> ScalarType:
    """One element of a tile."""
    source = tile_of(args, 0)
    check_indices(source, dims_of(args[1]), "tile")
    return scalar_type(source.dtype)


def deduce_write(args: Args, options: Options) -> Type:
    """Nothing: the tile itself is changed."""
    target = tile_of(args, 0)
    check_indices(target, dims_of(args[1]), "tile")
    need_scalar(scalar_of(args, 2), target.dtype, "value")
    return VOID


_TARGET = Param("target_memory", Kind.SPACE)
_VEC_TARGET = Param("target_memory", Kind.SPACE, MemorySpace.Vec)

OPS = (
    OpDef(
        name="tile.load",
        summary="copy a window of a tensor into a tile",
        params=(tensor("tensor"), dims("offsets"), dims("shapes"), dims("valid_shape", default=OMIT), _VEC_TARGET,
                flag("clamp")),
        deduce=deduce_load,
        memory=OpMemory(inputs=(None, None, None, None), output=FromOption("target_memory")),
        complete=_fill_valid,
    ),
    OpDef(
        name="tile.store",
        summary="write a tile into a tensor",
        params=(tile("tile"), dims("offsets"), tensor("output_tensor"), dims("shapes", default=OMIT),
                Param("atomic", Kind.ENUM, OMIT, AtomicType, keyword_only=True)),
        deduce=deduce_store,
        memory=OpMemory(inputs=((MemorySpace.Vec, MemorySpace.Acc), None, None, None), reuses=2),
        effects={2: ArgEffect.Write},
        pure=False,
    ),
    OpDef(
        name="tile.move",
        summary="copy a tile into another memory",
        params=(tile("tile"), _TARGET, Param("blayout", Kind.ENUM, OMIT, TileLayout),
                Param("slayout", Kind.ENUM, OMIT, TileLayout)),
        deduce=deduce_move,
        memory=OpMemory(inputs=(None,), output=FromOption("target_memory"), inplace_safe=False),
    ),
    OpDef(
        name="tile.create",
        summary="a tile of undefined content",
        params=(dims("shape"), dtype(), _VEC_TARGET, flag("transpose"), flag("flat_layout", keyword_only=True),
                flag("compact", keyword_only=True)),
        deduce=deduce_create,
        memory=OpMemory(inputs=(None,), output=FromOption("target_memory"), access=Access.NONE),
    ),
    OpDef(
        name="tile.full",
        summary="a Vec tile filled with one value",
        params=(dims("shape"), dtype(), scalar("value", like=None)),
        deduce=deduce_full,
        memory=OpMemory(inputs=(None, None), output=MemorySpace.Vec),
    ),
    OpDef(
        name="tile.alloc",
        summary="reserve bytes of an on-chip memory",
        params=(Param("memory_space", Kind.SPACE, positional=True), Param("size", Kind.INT, positional=True),
                flag("pinned", keyword_only=True)),
        deduce=deduce_alloc,
        memory=OpMemory(access=Access.NONE),
        pure=False,
    ),
    OpDef(
        name="tile.extract",
        summary="copy a window of a tile into a tile of its own",
        params=(tile("src"), index("index_row"), index("index_col"), dims("shape"),
                Param("target_memory", Kind.SPACE, MemorySpace.Vec, keyword_only=True)),
        deduce=deduce_extract,
        memory=OpMemory(
            inputs=(None, None, None, None),
            output=FromOption("target_memory", MemorySpace.Vec),
            inplace_safe=False,
        ),
    ),
    OpDef(
        name="tile.read",
        summary="one element of a tile as a scalar",
        params=(tile("tile"), dims("indices")),
        deduce=deduce_read,
        memory=OpMemory(inputs=(VEC, None)),
    ),
    OpDef(
        name="tile.write",
        summary="set one element of a tile",
        params=(tile("tile"), dims("indices"), scalar("value")),
        deduce=deduce_write,
        memory=OpMemory(inputs=(VEC, None, None)),
        effects={0: ArgEffect.Write},
        pure=False,
    ),
)  # fmt: skip
"""The operators of this module."""

__all__ = ["OPS", "check_atomic", "check_indices"]
