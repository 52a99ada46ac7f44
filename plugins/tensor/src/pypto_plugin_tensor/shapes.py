"""Extents of tiles: constant, and whole boxes where the matrix unit reads them."""

from __future__ import annotations

from pypto_core.diagnostics import Span, UserError
from pypto_core.ir import (
    INDEX_ZERO,
    Bounds,
    ConstInt,
    DataType,
    Expr,
    MakeTuple,
    TensorType,
    bounds_of,
    const_index,
    round_up,
)

FRACTAL = 16
"""Rows of a box, and columns of an accumulator's."""
BOX_BYTES = 32
"""Bytes of a row of a box."""


def physical(kind: TensorType, what: str, span: Span, bounds: Bounds) -> tuple[int, ...]:
    """The constant extents of a tile that holds ``kind``: those of its type, or the most that they can be.

    Raises UserError (PT372) for an extent that nothing bounds.
    """
    return tuple(_most(dim, axis, kind, what, span, bounds) for axis, dim in enumerate(kind.shape))


def _most(dim: Expr, axis: int, kind: TensorType, what: str, span: Span, bounds: Bounds) -> int:
    most = dim.value if isinstance(dim, ConstInt) else bounds_of(dim, bounds)[1]
    if most is None or most <= 0:
        raise UserError(
            f"extent {axis} of '{what}' is not known at compile time, and a tile's has to be",
            code="PT372",
            span=span,
            facts={"tensor": repr(kind)},
            remedy="take a window of constant extents, and say with valid_shape=[…] how much of it holds data",
        )
    return most


def aligned(extent: int, unit: int) -> int:
    """The next multiple of ``unit``."""
    return round_up(extent, unit)


def box_columns(dtype: DataType) -> int:
    """Elements in a row of a box, at least a fractal."""
    return max(FRACTAL, BOX_BYTES * 8 // max(dtype.bits, 4))


def dims(values: tuple[int | Expr, ...] | tuple[int, ...] | tuple[Expr, ...]) -> MakeTuple:
    """Extents as an operand."""
    return MakeTuple(tuple(const_index(v) if isinstance(v, int) else v for v in values))


def zeros(rank: int) -> MakeTuple:
    """The origin."""
    return MakeTuple((INDEX_ZERO,) * rank)
