"""Operators that look at the same elements in another way. Their results share the operand's storage."""

from __future__ import annotations

from math import prod
from typing import Any

import attrs
import numpy as np

from pypto_core.contract import ArrayValue, ExecContext
from pypto_core.ir import DataType, TileLayout, TileType
from pypto_plugin_simulator.formats import Array, from_nibbles, numpy_dtype
from pypto_plugin_simulator.meanings.parts import leading, whole
from pypto_plugin_simulator.meanings.windows import corner, read_window

Extents = tuple[int, ...]


def slice_(
    ctx: ExecContext,
    source: ArrayValue,
    shape: Extents,
    offset: Extents,
    valid_shape: Extents | None = None,
    drop_dims: Extents | None = None,
    *,
    clamp: bool = False,
    **_: Any,
) -> ArrayValue:
    """A window. Of a tile it lies inside; of a tensor it may reach past the end, where nothing is valid."""
    request = valid_shape or None
    free = source.is_tensor and (clamp or request is None)
    valid = read_window(ctx, source, offset, shape, request, exact=not source.is_tensor, clamp=free)
    data = source.data[tuple(slice(o, o + n) for o, n in zip(offset, shape, strict=True))]
    if drop_dims:
        _check_elements(ctx, source, offset, drop_dims)
        return _dropped(ctx, source, data, valid, shape, drop_dims)
    return attrs.evolve(source, data=data, valid=valid, shape=shape)


def _check_elements(ctx: ExecContext, source: ArrayValue, offset: Extents, drop: Extents) -> None:
    """A window may reach past the end, but ``x[i]`` is an element that has to be there."""
    for axis in drop:
        if not 0 <= offset[axis] < source.shape[axis]:
            raise ctx.error(
                f"index {offset[axis]} on axis {axis % len(offset)} is outside of the extent {source.shape[axis]}",
                remedy="index what is there: begin with an array that has an entry for each, or loop over fewer",
                value=source,
            )


def _dropped(
    ctx: ExecContext, source: ArrayValue, data: Array, valid: Extents, shape: Extents, drop: Extents
) -> ArrayValue:
    gone = {axis % len(shape) for axis in drop}
    if any(shape[axis] != 1 for axis in gone):
        raise ctx.error("only axes of extent 1 can be dropped", shape=list(shape), drop_dims=list(drop))

    def left(extents: Extents) -> Extents:
        out = tuple(n for axis, n in enumerate(extents) if axis not in gone)
        return out if source.is_tensor or len(out) >= 2 else leading(out, 2)

    empty = any(valid[axis] == 0 for axis in gone)
    kept = left(valid)
    return attrs.evolve(
        source,
        data=data.reshape(left(data.shape)),
        valid=(0,) * len(kept) if empty else kept,
        shape=left(shape),
    )


def reshape(ctx: ExecContext, source: ArrayValue, shape: Extents, *rest: Any, **_: Any) -> ArrayValue:
    """The same elements, counted row by row, in other extents."""
    if prod(shape) != prod(source.shape):
        raise ctx.error(
            f"{prod(source.shape)} elements can't be given the shape {list(shape)}", source=source
        )
    data = whole(source).reshape(shape)
    return attrs.evolve(source, data=data, valid=reshaped_valid(ctx, source, shape), shape=shape)


def reshaped_valid(ctx: ExecContext, source: ArrayValue, shape: Extents) -> Extents:
    """Where the valid elements are after a reshape; an error when they are no longer a corner of it."""
    if source.is_fully_valid:
        return shape
    held = np.zeros(source.shape, np.bool_)
    held[corner(source.valid)] = True
    held = held.reshape(shape)
    if not held.any():
        return (0,) * len(shape)
    axes = range(len(shape))
    valid = tuple(int(held.any(axis=tuple(a for a in axes if a != axis)).sum()) for axis in axes)
    if held[corner(valid)].all() and prod(valid) == int(held.sum()):
        return valid
    kind = ctx.call.type
    if isinstance(kind, TileType) and not kind.is_fully_valid:  # the author, or deduction, claims less
        return tuple(int(ctx.evaluate(extent)) for extent in kind.valid_shape)
    raise ctx.error(
        f"the valid part {list(source.valid)} is no rectangle in the shape {list(shape)}",
        remedy="fill the tile with fillpad before the reshape",
        source=source,
    )


def set_validshape(ctx: ExecContext, source: ArrayValue, *extents: Any, **_: Any) -> ArrayValue:
    """The same elements, of which others count as valid."""
    valid = tuple(int(n) for n in extents)
    for n, extent in zip(valid, source.shape, strict=True):
        if not 0 <= n <= extent:
            raise ctx.error(f"a valid extent of {n} is outside of the extent {extent}", source=source)
    return attrs.evolve(source, data=whole(source), valid=valid)


def same(ctx: ExecContext, source: ArrayValue, **_: Any) -> ArrayValue:
    """The value itself: layouts are not its concern."""
    return source


def transpose_view(ctx: ExecContext, source: ArrayValue, **_: Any) -> ArrayValue:
    """Rows as columns, without moving anything."""
    return _swapped(source, -1, -2)


def _swapped(source: ArrayValue, first: int, second: int) -> ArrayValue:
    order = list(range(len(source.shape)))
    order[first], order[second] = order[second], order[first]
    return attrs.evolve(
        source,
        data=source.data.transpose(order),
        valid=tuple(source.valid[i] for i in order),
        shape=tuple(source.shape[i] for i in order),
    )


def transpose(
    ctx: ExecContext, source: ArrayValue, axis1: int = -1, axis2: int = -2, *_: Any, **__: Any
) -> ArrayValue:
    """Two axes exchanged, as a value of its own."""
    swapped = _swapped(source, axis1, axis2)
    return ctx.value(swapped.defined, swapped.shape, source.dtype)


def reinterpret_view(
    ctx: ExecContext, source: ArrayValue, shape: Extents | None = None, *, dtype: DataType, **_: Any
) -> ArrayValue:
    """The same bytes as elements of another type; four-bit elements share a byte, the first in its low half."""
    fast = -2 if _is_column_major(ctx) else -1
    extents = shape or _rescaled(source.shape, fast, source.dtype, dtype)
    if prod(extents) * dtype.bits != prod(source.shape) * source.dtype.bits:
        raise ctx.error(
            f"{list(extents)} elements of {dtype} don't take the bytes of the source", source=source
        )
    data = whole(source)
    if fast == -2:
        stored = (*extents[:-2], extents[-1], extents[-2])
        flat = to_bytes(np.swapaxes(data, -1, -2), source.dtype)
        data = np.swapaxes(from_bytes(flat, dtype).reshape(stored), -1, -2)
    else:
        data = from_bytes(to_bytes(data, source.dtype), dtype).reshape(extents)
    valid = extents if source.is_fully_valid else _rescaled(source.valid, fast, source.dtype, dtype)
    return attrs.evolve(source, data=data, dtype=dtype, valid=valid, shape=extents)


def _is_column_major(ctx: ExecContext) -> bool:
    kind = ctx.call.args[0].type
    return isinstance(kind, TileType) and len(kind.shape) > 1 and kind.view.blayout is TileLayout.col_major


def _rescaled(extents: Extents, axis: int, old: DataType, new: DataType) -> Extents:
    at = axis % len(extents)
    return (*extents[:at], extents[at] * old.bits // new.bits, *extents[at + 1 :])


def to_bytes(data: Array, dtype: DataType) -> Array:
    """The bytes of an array in order, four-bit elements packed in pairs."""
    flat = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
    if dtype.bits != 4:
        return flat
    nibbles = flat & 0xF
    return nibbles[0::2] | (nibbles[1::2] << 4)


def from_bytes(data: Array, dtype: DataType) -> Array:
    """Elements of ``dtype`` from their bytes; the inverse of :func:`to_bytes`."""
    kind = numpy_dtype(dtype)
    if dtype.bits != 4:
        return data.view(kind)
    nibbles = np.stack([data & 0xF, data >> 4], axis=-1).reshape(-1)
    return from_nibbles(nibbles, dtype)
