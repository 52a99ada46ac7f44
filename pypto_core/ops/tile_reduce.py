"""Reductions along rows and columns, and the operators that spread a row or column over a tile."""

from __future__ import annotations

from collections.abc import Iterator

from pypto_core.diagnostics import OpError
from pypto_core.ir import (
    INDEX_ONE,
    INDEX_ZERO,
    CoreType,
    DataType,
    MemorySpace,
    TensorType,
    TileType,
    is_const,
    prove_eq,
    prove_le,
)
from pypto_core.ops.deduce import (
    COL,
    NO_BOX,
    ROW,
    Args,
    Options,
    make_tile,
    need_cover,
    need_dtype,
    need_least_rank,
    need_rank,
    need_same_dtype,
    need_scalar,
    scalar_of,
    tile_of,
    vector_result,
)
from pypto_core.ops.opdef import OMIT, Deducer, OpDef, OpMemory, Param
from pypto_core.ops.params import VEC, on_vec, scalar, tile
from pypto_core.ops.wording import dims_text, type_text

_COMPARED = (DataType.FP32, DataType.FP16)


def check_not_empty(kind: TileType | TensorType) -> None:
    """Refuse to reduce what provably holds no element."""
    if any(prove_le(v, INDEX_ZERO) for v in kind.valid_shape):
        raise OpError(
            "there is nothing to reduce: the valid part is empty",
            facts={"operand": type_text(kind), "valid": dims_text(kind.valid_shape)},
            remedy="reduce a tile whose valid extents are at least 1",
        )


def _check_scratch(source: TileType, scratch: TileType) -> None:
    need_same_dtype(source, scratch, "tile", "tmp_tile")
    need_rank(scratch, len(source.shape), "tmp_tile")
    for have, wanted in zip(scratch.shape, source.shape, strict=True):
        need_cover(
            have,
            wanted,
            "tmp_tile's extent",
            "the tile's extent",
            "create the scratch tile as large as the tile",
        )


def _reduce_rows(args: Args, result: DataType) -> TileType:
    source = tile_of(args, 0)
    shape = (*source.shape[:-1], INDEX_ONE)
    valid = (*source.valid_shape[:-1], INDEX_ONE)
    return make_tile(shape, result, MemorySpace.Vec, valid=valid, layout=(COL, NO_BOX, 512))


def _reduce_columns(args: Args, result: DataType) -> TileType:
    source = tile_of(args, 0)
    shape = (*source.shape[:-2], INDEX_ONE, source.shape[-1])
    valid = (*source.valid_shape[:-2], INDEX_ONE, source.valid_shape[-1])
    return make_tile(shape, result, MemorySpace.Vec, valid=valid, layout=(ROW, NO_BOX, 512))


def _check(args: Args) -> TileType:
    source = tile_of(args, 0)
    need_least_rank(source, 2, "tile")
    check_not_empty(source)
    if len(args) > 1:
        _check_scratch(source, tile_of(args, 1))
    return source


def deduce_rows(args: Args, options: Options) -> TileType:
    """``[.., M, N]`` → ``[.., M, 1]``."""
    return _reduce_rows(args, _check(args).dtype)


def deduce_columns(args: Args, options: Options) -> TileType:
    """``[.., M, N]`` → ``[.., 1, N]``."""
    return _reduce_columns(args, _check(args).dtype)


def deduce_row_position(args: Args, options: Options) -> TileType:
    """``[.., M, N]`` → ``[.., M, 1]`` of column numbers."""
    need_dtype(_check(args), _COMPARED, "tile")
    return _reduce_rows(args, DataType.INT32)


def deduce_column_position(args: Args, options: Options) -> TileType:
    """``[.., M, N]`` → ``[.., 1, N]`` of row numbers."""
    need_dtype(_check(args), _COMPARED, "tile")
    return _reduce_columns(args, DataType.INT32)


def check_column(target: TileType | TensorType, vector: TileType | TensorType) -> None:
    """Refuse a second operand that is no column beside ``target``."""
    if not vector.shape or not is_const(vector.shape[-1], 1):
        raise OpError(
            "the second operand must be a column: its last extent is 1",
            facts={"target": type_text(target), "vector": type_text(vector)},
            remedy="reduce with row_max or row_sum, or reshape it to [rows, 1]",
        )
    if (
        len(vector.shape) >= 2
        and len(target.shape) >= 2
        and prove_eq(vector.shape[-2], target.shape[-2]) is False
    ):
        raise OpError(
            "the column has not as many rows as the target",
            facts={"target": type_text(target), "vector": type_text(vector)},
            remedy="give it one entry per row of the target",
        )


def deduce_row_expand(args: Args, options: Options) -> TileType:
    """The type of the target, for a second operand with one entry per row."""
    target, vector = tile_of(args, 0), tile_of(args, 1)
    need_same_dtype(target, vector, "target", "row_vec")
    check_column(target, vector)
    return vector_result(target, target.dtype)


def deduce_col_expand(args: Args, options: Options) -> TileType:
    """The type of the target, for a second operand with one entry per column."""
    target, vector = tile_of(args, 0), tile_of(args, 1)
    need_same_dtype(target, vector, "target", "col_vec")
    return vector_result(target, target.dtype)


def deduce_expands(args: Args, options: Options) -> TileType:
    """The type of the target."""
    target = tile_of(args, 0)
    need_scalar(scalar_of(args, 1), target.dtype, "scalar")
    return vector_result(target, target.dtype)


_TILE, _SCRATCH = tile("tile"), tile("tmp_tile")
_WORDS = {"max": "greatest", "sum": "sum", "min": "least", "prod": "product"}
_MIXES = {
    "add": "add", "sub": "subtract", "mul": "multiply by", "div": "divide by", "max": "take the greater with",
    "min": "take the lesser with", "expdif": "exponential of the difference from",
}  # fmt: skip


def _reduction(name: str, what: str, params: tuple[Param, ...], deduce: Deducer, safe: bool) -> OpDef:
    return OpDef(
        name=f"tile.{name}",
        summary=what,
        params=params,
        deduce=deduce,
        memory=on_vec(len(params), inplace_safe=safe),
        core=CoreType.VECTOR,
    )


def _reductions() -> Iterator[OpDef]:
    for name, word in _WORDS.items():
        yield _reduction(f"row_{name}", f"{word} of each row", (_TILE, _SCRATCH), deduce_rows, False)
        params = (_TILE, tile("tmp_tile", default=OMIT)) if name == "sum" else (_TILE,)
        yield _reduction(f"col_{name}", f"{word} of each column", params, deduce_columns, True)
    for name, word in (("argmax", "greatest"), ("argmin", "least")):
        what = f"where the {word} of each"
        yield _reduction(f"row_{name}", f"{what} row is", (_TILE, _SCRATCH), deduce_row_position, False)
        yield _reduction(f"col_{name}", f"{what} column is", (_TILE, _SCRATCH), deduce_column_position, False)


def _expand(name: str, what: str, vector: str, deduce: Deducer, scratch: bool = False) -> OpDef:
    extra = (tile("tmp", default=OMIT),) if scratch else ()
    params = (tile("target"), tile(vector), *extra)
    return OpDef(
        name=f"tile.{name}",
        summary=what,
        params=params,
        deduce=deduce,
        memory=on_vec(len(params), forbids_alias=(1, 2) if scratch else (1,)),
        core=CoreType.VECTOR,
    )


def _expansions() -> Iterator[OpDef]:
    yield _expand("row_expand", "spread a column over the target's columns", "row_vec", deduce_row_expand)
    yield _expand("col_expand", "spread a row over the target's rows", "col_vec", deduce_col_expand)
    for name, word in _MIXES.items():
        yield _expand(
            f"row_expand_{name}", f"{word} one value per row", "row_vec", deduce_row_expand, name == "add"
        )
        yield _expand(f"col_expand_{name}", f"{word} one value per column", "col_vec", deduce_col_expand)


OPS = (
    *_reductions(),
    *_expansions(),
    OpDef(
        name="tile.expands",
        summary="spread one scalar over the target's shape",
        params=(tile("target"), scalar("scalar")),
        deduce=deduce_expands,
        memory=OpMemory(inputs=(VEC, None), output=MemorySpace.Vec),
        core=CoreType.VECTOR,
    ),
)
"""The operators of this module."""

__all__ = ["OPS", "check_column", "check_not_empty"]
