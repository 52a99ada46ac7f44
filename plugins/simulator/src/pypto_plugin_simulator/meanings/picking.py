"""Operators that pick elements: by index, by a mask that repeats, and whole rows."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from pypto_core.contract import ArrayValue, ExecContext
from pypto_core.ir import DataType
from pypto_plugin_simulator.formats import Array
from pypto_plugin_simulator.meanings.parts import whole
from pypto_plugin_simulator.meanings.views import from_bytes, to_bytes

# Mask pattern → (period, the place in it that is kept); the last one keeps everything.
_PATTERNS = {1: (2, 0), 2: (2, 1), 3: (4, 0), 4: (4, 1), 5: (4, 2), 6: (4, 3), 7: (1, 0)}


def _indices(ctx: ExecContext, index: ArrayValue, limit: int) -> Array:
    found = index.defined.astype(np.int64)
    if found.size and (found.min() < 0 or found.max() >= limit):
        raise ctx.error(
            f"an index is outside of the {limit} elements to pick from",
            index=f"{found.min()} to {found.max()}",
        )
    return found


def gather(ctx: ExecContext, source: ArrayValue, index: ArrayValue, *_: Any, **__: Any) -> ArrayValue:
    """Of a tile: elements by their number, counted row by row."""
    flat = whole(source).reshape(-1)
    return ctx.value(flat[_indices(ctx, index, flat.size)], index.shape, source.dtype)


def gather_along(
    ctx: ExecContext,
    source: ArrayValue,
    index: ArrayValue | None = None,
    *,
    dim: int = -1,
    mask_pattern: int | None = None,
    output_dtype: DataType | None = None,
) -> ArrayValue:
    """Of a tensor: elements by their number along one axis, or by a mask."""
    if index is None:
        return gather_mask(ctx, source, mask_pattern=mask_pattern or 7, output_dtype=output_dtype)
    data = whole(source)
    found = _indices(ctx, index, data.shape[dim])
    window = tuple(slice(None) if a == dim % data.ndim else slice(0, n) for a, n in enumerate(found.shape))
    return ctx.value(np.take_along_axis(data[window], found, dim), index.shape, source.dtype)


def gather_mask(
    ctx: ExecContext, source: ArrayValue, *, mask_pattern: int, output_dtype: DataType | None = None
) -> ArrayValue:
    """Of each row the elements that the mask keeps, perhaps read as another type of the same width."""
    period, place = _PATTERNS[mask_pattern]
    picked = np.ascontiguousarray(whole(source)[..., place::period])
    kept = (*source.valid[:-1], -(-max(source.valid[-1] - place, 0) // period))
    dtype = output_dtype or source.dtype
    data = from_bytes(to_bytes(picked, source.dtype), dtype).reshape(picked.shape)
    return ArrayValue(data, dtype, kept, tuple(data.shape), source.is_tensor)


def gather_row(
    ctx: ExecContext, target: ArrayValue, source: ArrayValue, index: ArrayValue, *_: Any, **__: Any
) -> ArrayValue:
    """Row ``i`` of the result is the row of the source that entry ``i`` of the index names."""
    rows = _indices(ctx, index, source.shape[0]).reshape(-1)
    data = whole(target) if target.is_tensor else target.data.copy()
    count, columns = min(len(rows), target.shape[0]), min(source.valid[-1], target.shape[-1])
    data[:count, :columns] = source.data[rows[:count], :columns]
    return attrs.evolve(target, data=data)
