"""Operators that carry elements between tensors and tiles, make tiles, or touch single elements."""

from __future__ import annotations

from math import prod
from typing import Any

import attrs
import numpy as np

from pypto_core.contract import ArrayValue, ExecContext
from pypto_core.ir import AtomicType, DataType, PadValue, int_range
from pypto_plugin_simulator.formats import Array, numpy_dtype, scalar_of
from pypto_plugin_simulator.meanings.parts import leading, result_dtype, whole
from pypto_plugin_simulator.meanings.windows import (
    check_inside,
    corner,
    read_window,
    union_valid,
    window,
    write_window,
)
from pypto_plugin_simulator.rounding import convert

Extents = tuple[int, ...]


@attrs.frozen
class Loaded:
    """What a load reads: ``valid`` extents of the tensor from ``offsets`` on, which are ``kept`` ones of the tile."""

    tensor: ArrayValue
    offsets: Extents
    shapes: Extents
    valid: Extents
    kept: Extents


def loaded(
    ctx: ExecContext,
    tensor: ArrayValue,
    offsets: Extents,
    shapes: Extents,
    valid_shape: Extents | None = None,
    *,
    clamp: bool = False,
    **_: Any,
) -> Loaded:
    """What a load with these arguments reads."""
    rank = len(tensor.shape)
    extents, request = leading(shapes, rank), leading(valid_shape or shapes, rank)
    valid = read_window(ctx, tensor, offsets, extents, request, exact=False, clamp=clamp)
    return Loaded(tensor, offsets, shapes, valid, valid[rank - len(shapes) :])


def load(ctx: ExecContext, *operands: Any, **options: Any) -> ArrayValue:
    """A window of a tensor; only what is valid is read. Arguments as of :func:`loaded`."""
    at = loaded(ctx, *operands, **options)
    part = at.tensor.data[window(at.offsets, at.valid)]
    return ctx.value(part.reshape(at.kept), at.shapes, at.tensor.dtype)


def store(
    ctx: ExecContext,
    tile: ArrayValue,
    offsets: Extents,
    out: ArrayValue,
    shapes: Extents | None = None,
    *,
    atomic: AtomicType | None = None,
    **_: Any,
) -> ArrayValue:
    """Writes the valid part of a tile through to the tensor's storage."""
    part = _partition(ctx, tile, len(out.shape), shapes or None)
    return _write_tensor(ctx, out, part, tile.dtype, offsets, atomic)


def _partition(ctx: ExecContext, tile: ArrayValue, rank: int, shapes: Extents | None) -> Array:
    """The valid part of a tile with as many axes as the tensor has."""
    part = tile.defined
    if shapes is None:
        if part.ndim > rank and any(n != 1 for n in part.shape[: part.ndim - rank]):
            raise ctx.error(f"a tile of {part.ndim} axes does not fit a tensor of {rank}", tile=tile)
        return part.reshape(leading(part.shape, rank)[-rank:] if rank else ())
    if prod(shapes) == part.size:
        return part.reshape(leading(shapes, rank))
    raise ctx.error(
        f"{prod(shapes)} elements are to be stored, {part.size} are valid",
        remedy="make shapes the valid extents of the tile",
        tile=tile,
        shapes=list(shapes),
    )


def _write_tensor(
    ctx: ExecContext,
    out: ArrayValue,
    part: Array,
    source: DataType,
    offset: Extents,
    atomic: AtomicType | None,
) -> ArrayValue:
    check_inside(ctx, out, offset, part.shape, "the write", "mend the offset, or narrow what is valid")
    check_storage(ctx, out, offset, part.shape)
    write_window(ctx, out.data, part, source, out.dtype, offset, atomic)
    return attrs.evolve(out, valid=union_valid(out.valid, part.shape, offset))


def check_storage(ctx: ExecContext, out: ArrayValue, offset: Extents, extents: Extents) -> None:
    """Raise an error for a write into the part of a window that lies beyond its tensor."""
    if all(extents) and any(o + n > have for o, n, have in zip(offset, extents, out.data.shape, strict=True)):
        raise ctx.error(
            "the write reaches past the end of the tensor that this is a window of",
            operator=ctx.call.name,
            window=out,
            storage=list(out.data.shape),
        )


def assemble(
    ctx: ExecContext,
    target: ArrayValue,
    source: ArrayValue,
    offset: Extents,
    *,
    atomic: AtomicType | None = None,
    **_: Any,
) -> ArrayValue:
    """``target`` with ``source`` written into it: in place for a tensor, as a new tile for a tile."""
    if target.is_tensor:
        part = source.defined.reshape(leading(source.valid, len(target.shape)))
        return _write_tensor(ctx, target, part, source.dtype, offset, atomic)
    check_inside(ctx, target, offset, source.shape, "the source", "the whole source has to fit the target")
    data = target.data.copy()
    write_window(ctx, data, source.defined, source.dtype, target.dtype, offset)
    return attrs.evolve(target, data=data, valid=union_valid(target.valid, source.valid, offset))


def move(ctx: ExecContext, tile: ArrayValue, **_: Any) -> ArrayValue:
    """The same elements somewhere else."""
    dtype = result_dtype(ctx)
    return ctx.value(convert(tile.defined, tile.dtype, dtype), tile.shape, dtype)


def create(ctx: ExecContext, shape: Extents, **options: Any) -> ArrayValue:
    """Undefined elements, or ``init_value`` in each."""
    dtype = result_dtype(ctx)
    value = ctx.value(ctx.empty(shape, dtype), shape, dtype)
    if options.get("init_value") is not None:
        value.data[...] = scalar_of(options["init_value"], dtype)
    return value


def full(ctx: ExecContext, shape: Extents, value: Any = 0, **_: Any) -> ArrayValue:
    """``value`` in every element."""
    dtype = result_dtype(ctx)
    return ctx.value(np.full(shape, scalar_of(value, dtype), numpy_dtype(dtype)), shape, dtype)


def alloc(ctx: ExecContext, *_: Any, **__: Any) -> Any:
    """Storage by name: logical values lie nowhere, so there is nothing to have."""
    return None


def extract(
    ctx: ExecContext, src: ArrayValue, index_row: int, index_col: int, shape: Extents, **_: Any
) -> ArrayValue:
    """A window of a tile as a tile of its own."""
    offset = (index_row, index_col)
    valid = read_window(ctx, src, offset, shape, None, exact=True)
    return ctx.value(src.data[window(offset, valid)], shape, src.dtype)


def read(ctx: ExecContext, source: ArrayValue, indices: Extents, **_: Any) -> Any:
    """One element."""
    place = _element(ctx, source, indices)
    if any(i >= n for i, n in zip(place, source.valid, strict=True)):
        raise ctx.error(
            f"element {list(place)} holds no data", remedy="read inside of the valid extents", value=source
        )
    return scalar_of(source.data[place].item(), source.dtype)


def write(ctx: ExecContext, target: ArrayValue, indices: Extents, value: Any, **_: Any) -> Any:
    """Sets one element, in place; a tensor is handed back."""
    place = _element(ctx, target, indices)
    if target.is_tensor:
        check_storage(ctx, target, place, (1,) * len(place))
    target.data[place] = scalar_of(value, target.dtype)
    return target if target.is_tensor else None


def _element(ctx: ExecContext, value: ArrayValue, indices: Extents) -> Extents:
    for axis, (index, extent) in enumerate(zip(indices, value.shape, strict=True)):
        if not 0 <= index < extent:
            raise ctx.error(f"index {index} on axis {axis} is outside of the extent {extent}", value=value)
    return indices


def pad_number(dtype: DataType, pad: PadValue) -> Any:
    """The number that a padding stands for: infinities for the floats that have them."""
    if pad in (PadValue.null, PadValue.zero):
        return 0
    if dtype is DataType.BOOL:
        return pad is PadValue.max
    if not dtype.is_float:
        low, high = int_range(dtype)
        return high if pad is PadValue.max else low
    return float("inf") if pad is PadValue.max else float("-inf")


def fillpad(ctx: ExecContext, tile: ArrayValue, *, pad_value: Any = PadValue.zero, **_: Any) -> ArrayValue:
    """The tile with everything outside of its valid part filled, and all of it valid."""
    return _padded(ctx, tile, tile.shape, pad_value)


def fillpad_expand(
    ctx: ExecContext, tile: ArrayValue, shape: Extents, *, pad_value: Any = PadValue.zero, **_: Any
) -> ArrayValue:
    """A larger tile with this one in its corner and the rest filled."""
    return _padded(ctx, tile, shape, pad_value)


def _padded(ctx: ExecContext, tile: ArrayValue, shape: Extents, pad: PadValue) -> ArrayValue:
    number = np.asarray(scalar_of(pad_number(tile.dtype, pad), tile.dtype))
    data = np.full(shape, number.astype(numpy_dtype(tile.dtype)))
    data[corner(tile.valid)] = tile.defined
    return ctx.value(data, shape, tile.dtype)


def concat(ctx: ExecContext, *sources: Any, axis: int = -1, **_: Any) -> ArrayValue:
    """Values beside each other along an axis, the last one unless said otherwise."""
    values = [value for value in sources if isinstance(value, ArrayValue)]
    data = np.concatenate([whole(v) for v in values], axis=axis)
    return ctx.value(data, data.shape, values[0].dtype)


def ci(ctx: ExecContext, start: Any, shape: Extents, *, descending: bool = False, **_: Any) -> ArrayValue:
    """Consecutive integers from ``start`` on, row by row."""
    dtype = result_dtype(ctx)
    steps = np.arange(prod(shape), dtype=np.int64).reshape(shape)
    return ctx.value(
        ctx.convert(int(start) - steps if descending else int(start) + steps, dtype), shape, dtype
    )
