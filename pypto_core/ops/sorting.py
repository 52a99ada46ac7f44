"""Gather, scatter and sort, for tiles and tensors alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pypto_core.diagnostics import OpError
from pypto_core.ir import (
    ArgEffect,
    CoreType,
    DataType,
    Expr,
    MemorySpace,
    TensorType,
    TileType,
    add,
    floordiv,
    mul,
)
from pypto_core.ops.deduce import (
    NO_BOX,
    ROW,
    Args,
    Dims,
    Options,
    make_tile,
    need_dtype,
    need_int,
    need_rank,
    need_same_dtype,
)
from pypto_core.ops.kinds import Kind
from pypto_core.ops.opdef import INHERIT, OMIT, OpDef, OpMemory, Param
from pypto_core.ops.params import dims, dtype, flag, number, on_vec, tensor, tile
from pypto_core.ops.wording import type_text

Shaped = TileType | TensorType
MASK_PATTERNS = {1: 2, 2: 2, 3: 4, 4: 4, 5: 4, 6: 4, 7: 1}
"""Mask pattern → one of how many elements it keeps: P0101, P1010, P0001, P0010, P0100, P1000, P1111."""

_SORTED = (DataType.FP32, DataType.FP16)


def _shaped(args: Args, position: int) -> Shaped:
    kind = args[position].type
    assert isinstance(kind, Shaped)
    return kind


def _like(source: Shaped, shape: Dims, element: DataType) -> Shaped:
    if isinstance(source, TensorType):
        return TensorType(shape, element)
    return make_tile(shape, element, MemorySpace.Vec, layout=(ROW, NO_BOX, 512))


def _pattern(options: Options) -> int:
    pattern: int = options["mask_pattern"]
    if pattern not in MASK_PATTERNS:
        raise OpError(
            f"there is no mask pattern {pattern}",
            remedy="1 P0101, 2 P1010, 3 P0001, 4 P0010, 5 P0100, 6 P1000, 7 P1111",
        )
    return MASK_PATTERNS[pattern]


def _narrowed(source: Shaped, options: Options) -> Shaped:
    """Of each row the elements that the mask keeps, perhaps read as another type of the same width."""
    element: DataType = options.get("output_dtype") or source.dtype
    if element.bits != source.dtype.bits:
        raise OpError(
            f"{source.dtype} elements can't be read as {element}",
            facts={"src": type_text(source)},
            remedy="output_dtype must be as wide as the elements",
        )
    return _like(source, (*source.shape[:-1], floordiv(source.shape[-1], _pattern(options))), element)


def deduce_gather(args: Args, options: Options) -> Shaped:
    """Elements picked by index: the shape of the indices, the type of the source."""
    source, indices = _shaped(args, 0), _shaped(args, 1)
    need_int(indices, "indices")
    return _like(source, indices.shape, source.dtype)


def deduce_gather_mask(args: Args, options: Options) -> Shaped:
    """Elements picked by a repeating mask."""
    return _narrowed(_shaped(args, 0), options)


def deduce_tensor_gather(args: Args, options: Options) -> Shaped:
    """Elements picked by index along ``dim``, or by a repeating mask."""
    by_mask, by_index = "mask_pattern" in options, len(args) > 1
    if by_mask == by_index:
        raise OpError("gather takes either an index or a mask_pattern", remedy="give one of the two")
    return _narrowed(_shaped(args, 0), options) if by_mask else deduce_gather(args, options)


def deduce_gather_row(args: Args, options: Options) -> Shaped:
    """Whole rows of the source picked by index, into the destination.

    Into Vec the vector core picks by a tile of indices; into Mat the cube core copies row by row, and reads the
    indices from memory, one row of them from ``offsets`` on.
    """
    target, source, indices = _shaped(args, 0), _shaped(args, 1), args[2].type
    need_same_dtype(target, source, "dst", "src")
    if not isinstance(indices, TileType | TensorType):
        raise OpError(f"'indices' must be a tile or a tensor, not {type_text(indices)}", remedy=_PASS_INDICES)
    need_int(indices, "indices")
    space = target.memory_space if isinstance(target, TileType) else None
    in_memory = type(indices) is not TileType
    if space in (MemorySpace.Vec, MemorySpace.Mat) and in_memory is not (space is MemorySpace.Mat):
        raise OpError(
            f"rows for {space.name} are picked by a {'tile' if in_memory else 'tensor'} of indices",
            facts={"dst": type_text(target), "indices": type_text(indices)},
            remedy=_PASS_INDICES,
        )
    return target


_PASS_INDICES = "pass the tensor of indices itself for a tile in Mat, and load it with pl.load for one in Vec"


def deduce_scatter(args: Args, options: Options) -> Shaped:
    """The destination with elements of the source put where the indices say."""
    target, source, indices = _shaped(args, 0), _shaped(args, 1), _shaped(args, 2)
    need_same_dtype(target, source, "dst", "src")
    need_int(indices, "indices")
    return target


def deduce_scatter_mask(args: Args, options: Options) -> Shaped:
    """The destination with elements of the source put where a repeating mask is set."""
    target, source = _shaped(args, 0), _shaped(args, 1)
    need_same_dtype(target, source, "dst", "src")
    _pattern(options)
    return target


def deduce_sort32(args: Args, options: Options) -> Shaped:
    """Runs of 32 in falling order, each value followed by its index: 8 bytes a pair."""
    source, indices = _shaped(args, 0), _shaped(args, 1)
    need_dtype(source, _SORTED, "src")
    need_dtype(indices, (DataType.UINT32, DataType.INT32), "idx")
    words = 8 // source.dtype.element_bytes
    return _like(source, (*source.shape[:-1], mul(source.shape[-1], words)), source.dtype)


def deduce_merge_runs(args: Args, options: Options) -> Shaped:
    """Runs of ``block_len`` elements (pairs of a value and an index) merged by four."""
    source = _shaped(args, 0)
    need_dtype(source, _SORTED, "src")
    length: int = options["block_len"]
    if length <= 0:
        raise OpError(
            f"block_len must be positive, not {length}", remedy="give the length of the sorted runs"
        )
    return _like(source, source.shape, source.dtype)


def deduce_merge_lists(args: Args, options: Options) -> Shaped:
    """Two to four sorted lists merged into one."""
    first = _shaped(args, 0)
    need_dtype(first, _SORTED, "src0")
    need_rank(first, 2, "src0")
    columns: Expr = first.shape[-1]
    for position in range(1, len(args)):
        other = _shaped(args, position)
        need_same_dtype(first, other, "src0", f"src{position}")
        need_rank(other, 2, f"src{position}")
        columns = add(columns, other.shape[-1])
    return _like(first, (first.shape[0], columns), first.dtype)


def deduce_tile_merge_lists(args: Args, options: Options) -> Shaped:
    """As :func:`deduce_merge_lists`; the last tile is scratch."""
    need_same_dtype(_shaped(args, 0), _shaped(args, len(args) - 1), "src0", "tmp")
    return deduce_merge_lists(args[:-1], options)


_MASK = number("mask_pattern")
_OUT = dtype("output_dtype", default=OMIT)


def _tile_op(
    name: str,
    what: str,
    params: tuple[Param, ...],
    deduce: Callable[[Args, Options], Shaped],
    onto: bool = False,
) -> OpDef:
    operands = sum(1 for p in params if p.is_operand)
    memory = on_vec(operands, reuses=0) if onto else on_vec(operands, inplace_safe=False)
    return OpDef(
        name=f"tile.{name}", summary=what, params=params, deduce=deduce, memory=memory, core=CoreType.VECTOR,
        effects={0: ArgEffect.ReadWrite} if onto else {}, pure=not onto,
    )  # fmt: skip


def _tiles() -> Iterator[OpDef]:
    src, index, onto = tile("src"), tile("indices"), tile("dst")
    yield _tile_op("gather", "elements picked by index", (src, index, tile("tmp")), deduce_gather)
    yield _tile_op(
        "gather_mask", "elements picked by a repeating mask", (src, _MASK, _OUT), deduce_gather_mask
    )
    yield _tile_op("scatter", "put elements where indices say", (onto, src, index), deduce_scatter, True)
    yield _tile_op(
        "scatter_mask", "put elements where a mask is set", (onto, src, _MASK), deduce_scatter_mask, True
    )
    yield _tile_op("sort32", "sort runs of 32", (src, tile("idx")), deduce_sort32)
    yield _tile_op(
        "mrgsort_format1", "merge sorted runs of one list", (src, number("block_len")), deduce_merge_runs
    )
    lists = (tile("src0"), tile("src1"), tile("src2", default=OMIT), tile("src3", default=OMIT))
    params = (*lists, tile("tmp", default=OMIT), flag("exhausted", default=False))
    yield _tile_op("mrgsort_format2", "merge two to four sorted lists", params, deduce_tile_merge_lists)
    yield OpDef(
        name="tile.gather_row", summary="whole rows of a tensor picked by index",
        params=(
            onto, tensor("src"), Param("indices", Kind.ANY), dims("valid_shape", default=OMIT),
            dims("offsets", default=OMIT),
        ),
        deduce=deduce_gather_row,
        memory=OpMemory(
            inputs=((MemorySpace.Vec, MemorySpace.Mat), None, None, None, None), output=INHERIT, reuses=0,
        ),
        effects={0: ArgEffect.ReadWrite}, pure=False,
    )  # fmt: skip


def _tensors() -> Iterator[OpDef]:
    src, index = tensor("input"), tensor("index", default=OMIT)
    mask = number("mask_pattern", default=OMIT)
    rows: list[tuple[str, str, tuple[Param, ...], Callable[[Args, Options], Shaped]]] = [
        ("gather", "elements picked by index or mask", (src, index, number("dim", default=OMIT), mask, _OUT),
         deduce_tensor_gather),
        ("gather_row", "whole rows picked by index",
         (tensor("dst"), tensor("src"), tensor("indices"), dims("valid_shape", default=OMIT)), deduce_gather_row),
        ("scatter", "put elements where indices say", (tensor("dst"), tensor("src"), tensor("indices")),
         deduce_scatter),
        ("scatter_mask", "put elements where a mask is set", (tensor("dst"), tensor("src"), _MASK),
         deduce_scatter_mask),
        ("sort32", "sort runs of 32", (tensor("src"), tensor("idx")), deduce_sort32),
        ("mrgsort_format1", "merge sorted runs of one list", (tensor("src"), number("block_len")), deduce_merge_runs),
        ("mrgsort_format2", "merge two to four sorted lists",
         (tensor("src0"), tensor("src1"), tensor("src2", default=OMIT), tensor("src3", default=OMIT)),
         deduce_merge_lists),
    ]  # fmt: skip
    for name, what, params, deduce in rows:
        onto = params[0].name == "dst"
        yield OpDef(
            name=f"tensor.{name}", summary=what, params=params, deduce=deduce, pure=not onto,
            effects={0: ArgEffect.ReadWrite} if onto else {}, memory=OpMemory(reuses=0) if onto else None,
        )  # fmt: skip


OPS = (*_tiles(), *_tensors())
"""The operators of this module."""

__all__ = ["MASK_PATTERNS", "OPS"]
