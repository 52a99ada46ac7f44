"""Which part of each operand makes up the valid part of a result."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pypto_core.contract import ArrayValue, ExecContext
from pypto_core.ir import DataType, TensorType, TileType
from pypto_plugin_simulator.formats import Array, compute_dtype, poisoned
from pypto_plugin_simulator.rounding import convert

Extents = tuple[int, ...]


def result_dtype(ctx: ExecContext) -> DataType:
    """Element type of the tile or tensor that the call gives."""
    kind = ctx.call.type
    if not isinstance(kind, TileType | TensorType):
        raise ctx.error(f"{ctx.call.name} has no result with elements")
    return kind.dtype


def whole(value: ArrayValue) -> Array:
    """All elements of a value; those that a window beyond its tensor lacks are undefined."""
    if value.data.shape == value.shape:
        return value.data
    out = poisoned(value.shape, value.dtype)
    out[tuple(slice(0, n) for n in value.data.shape)] = value.data
    return out


def broadcast_shape(shapes: Sequence[Extents]) -> Extents:
    """The shape that all ``shapes`` are stretched to; extents of 1 stretch."""
    return tuple(int(n) for n in np.broadcast_shapes(*shapes))


def leading(extents: Extents, rank: int) -> Extents:
    """``extents`` with ones in front, to a rank of ``rank``."""
    return (1,) * (rank - len(extents)) + extents


def part_of(value: ArrayValue, shape: Extents, valid: Extents) -> Array:
    """The elements of ``value`` that stand in the valid part of a result of ``shape``; axes of 1 stay 1."""
    data = whole(value)
    own = leading(value.shape, len(shape))
    window = tuple(
        slice(0, min(extent, 1) if have == 1 else extent) for have, extent in zip(own, valid, strict=True)
    )
    return data.reshape(own)[window]


def for_compute(part: Array, source: DataType, dtype: DataType) -> Array:
    """Elements brought to ``dtype`` and then to the type that work on it is done in."""
    return convert(part, source, dtype).astype(compute_dtype(dtype)) if source is not dtype else (
        part.astype(compute_dtype(dtype))
    )  # fmt: skip
