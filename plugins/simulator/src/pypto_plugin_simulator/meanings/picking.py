"""Elements and rows picked, or put, by index or by a mask that repeats along a row.

An index of a tile counts its elements row by row; ``tensor.gather`` with an index counts along one axis.
"""

from __future__ import annotations

from math import prod
from typing import Any

import attrs
import numpy as np

from pypto_core.contract import ArrayValue, ExecContext
from pypto_core.ir import DataType
from pypto_plugin_simulator.formats import Array, numpy_dtype
from pypto_plugin_simulator.meanings.parts import whole

Extents = tuple[int, ...]
_KEEPS: dict[int, tuple[int, int]] = {
    1: (0, 2), 2: (1, 2), 3: (0, 4), 4: (1, 4), 5: (2, 4), 6: (3, 4), 7: (0, 1),
}  # fmt: skip
"""Mask pattern → (first, step) of the elements that it keeps; P0001 keeps the first of four."""


def _checked(ctx: ExecContext, indices: Array, extent: int, source: ArrayValue) -> Array:
    """Indices as integers, all of them below ``extent``."""
    found = indices.astype(np.int64)
    wrong = (found < 0) | (found >= extent)
    if wrong.any():
        raise ctx.error(
            f"index {int(found[wrong][0])} is outside of {extent}", operator=ctx.call.name, source=source
        )
    return found


def _held(ctx: ExecContext, source: ArrayValue, flat: Array) -> None:
    """Raise an error for an element that holds no data."""
    for axis, place in enumerate(np.unravel_index(flat, source.shape)):
        if (place >= source.valid[axis]).any():
            raise ctx.error(
                f"{ctx.call.name} picks elements that hold no data",
                remedy="fill the source with fillpad, or mend the indices",
                source=source,
            )


def gather(
    ctx: ExecContext, source: ArrayValue, indices: ArrayValue | None = None, *_: Any, **options: Any
) -> ArrayValue:
    """The elements that the indices name, or that a mask keeps; valid where the indices are."""
    if indices is None:
        return gather_mask(ctx, source, **options)
    if source.is_tensor:
        return _gather_along(ctx, source, indices, int(options.get("dim", -1)))
    flat = _checked(ctx, indices.defined, prod(source.shape), source)
    _held(ctx, source, flat)
    return ctx.value(whole(source).reshape(-1)[flat], indices.shape, source.dtype)


def _gather_along(ctx: ExecContext, source: ArrayValue, indices: ArrayValue, dim: int) -> ArrayValue:
    """Of each line along an axis the elements that the same line of the indices names."""
    axis = dim % len(source.shape)
    places = _checked(ctx, indices.defined, source.valid[axis], source)
    window = tuple(slice(None) if a == axis else slice(0, n) for a, n in enumerate(places.shape))
    part = np.take_along_axis(whole(source)[window], places, axis)
    return ctx.value(part, indices.shape, source.dtype)


def gather_mask(
    ctx: ExecContext,
    source: ArrayValue,
    *,
    mask_pattern: int,
    output_dtype: DataType | None = None,
    **_: Any,
) -> ArrayValue:
    """Of each row the elements that the mask keeps, perhaps read as another type of the same width."""
    first, step = _KEEPS[mask_pattern]
    dtype = output_dtype or source.dtype
    part = np.ascontiguousarray(source.defined[..., first::step]).view(numpy_dtype(dtype))
    columns = source.shape[-1] // step
    return ctx.value(part[..., :columns], (*source.shape[:-1], columns), dtype)


def scatter(
    ctx: ExecContext, target: ArrayValue, source: ArrayValue, indices: ArrayValue, **_: Any
) -> ArrayValue:
    """The target with the elements of the source where the indices say; of two in one place the later."""
    part = source.defined
    window = tuple(slice(0, n) for n in part.shape)
    flat = _checked(ctx, whole(indices)[window], prod(target.shape), target).reshape(-1)
    where, from_end = np.unique(flat[::-1], return_index=True)
    data = target.data if target.is_tensor else target.data.copy()
    data[np.unravel_index(where, target.shape)] = part.reshape(-1)[len(flat) - 1 - from_end]
    return attrs.evolve(target, data=data)


def scatter_mask(
    ctx: ExecContext, target: ArrayValue, source: ArrayValue, *, mask_pattern: int, **_: Any
) -> ArrayValue:
    """The target with the elements of the source, one after the other, where the mask is set."""
    first, step = _KEEPS[mask_pattern]
    data = target.data if target.is_tensor else target.data.copy()
    part = source.defined
    place = data[tuple(slice(0, n) for n in part.shape[:-1])][..., first::step]
    if place.shape[-1] < part.shape[-1]:
        raise ctx.error(
            f"{part.shape[-1]} elements of a row don't fit where the mask is set",
            target=target,
            source=source,
        )
    place[..., : part.shape[-1]] = part
    return attrs.evolve(target, data=data)


def gathered(
    target: ArrayValue,
    source: ArrayValue,
    indices: ArrayValue,
    valid_shape: Extents | None = None,
    offsets: Extents | None = None,
) -> Extents:
    """How many rows and columns of the target :func:`gather_row` writes.

    ``valid_shape``: how much of the target that is, at most. ``offsets``: where in a tensor of indices the first is.
    """
    extents = valid_shape or target.shape
    named = indices.valid[-1] - offsets[-1] if offsets else prod(indices.valid)
    return min(named, extents[0]), min(source.valid[-1], extents[-1])


def gather_row(
    ctx: ExecContext, target: ArrayValue, source: ArrayValue, indices: ArrayValue, *more: Any, **_: Any
) -> ArrayValue:
    """The target with whole rows of the source in the order of the indices; arguments as of :func:`gathered`."""
    rows, columns = gathered(target, source, indices, *more)
    offsets = more[1] if len(more) > 1 else None
    *line, first = offsets or (0,) * len(indices.valid)
    names = indices.defined[tuple(line)][first:] if offsets else indices.defined.reshape(-1)
    places = _checked(ctx, names[:rows], source.valid[0], source)
    data = whole(target) if target.is_tensor else target.data.copy()
    data[:rows, :columns] = source.data[places, :columns]
    return attrs.evolve(target, data=data)
