"""Windows of tiles and tensors: bounds, what of a window holds data, reading and writing."""

from __future__ import annotations

from collections.abc import Sequence

from pypto_core.contract import ArrayValue, ExecContext
from pypto_core.ir import AtomicType, DataType
from pypto_plugin_simulator.formats import Array, compute_dtype
from pypto_plugin_simulator.rounding import convert

Extents = tuple[int, ...]


def corner(extents: Sequence[int]) -> tuple[slice, ...]:
    """Index of the part from the origin to ``extents``."""
    return tuple(slice(0, n) for n in extents)


def window(offset: Sequence[int], extents: Sequence[int]) -> tuple[slice, ...]:
    """Index of the part that begins at ``offset``."""
    return tuple(slice(o, o + n) for o, n in zip(offset, extents, strict=True))


def check_inside(
    ctx: ExecContext, value: ArrayValue, offset: Extents, extents: Extents, what: str, remedy: str
) -> None:
    """Raise an error when a window is not within the extents of ``value``."""
    for axis, (o, n, limit) in enumerate(zip(offset, extents, value.shape, strict=True)):
        if o < 0 or (n > 0 and o + n > limit):
            raise ctx.error(
                f"{what} [{o}, {o + n}) on axis {axis} is outside of the extent {limit}",
                remedy=remedy,
                operator=ctx.call.name,
                value=value,
            )


def read_window(
    ctx: ExecContext,
    source: ArrayValue,
    offset: Extents,
    extents: Extents,
    request: Extents | None,
    *,
    exact: bool,
    clamp: bool = False,
) -> Extents:
    """The valid extents of a window of ``source``, whose bounds are checked.

    ``request``: extents that the author wants, the window when None. ``exact``: the window must lie in the source;
    otherwise only what is requested must, and with ``clamp`` not even that.
    """
    wanted = extents if request is None else request
    for axis, (r, n) in enumerate(zip(wanted, extents, strict=True)):
        if not 0 <= r <= n:
            raise ctx.error(
                f"a valid extent of {r} is asked for in a window of {n}",
                remedy="ask for at most the window",
                axis=axis,
                operator=ctx.call.name,
            )
    reach = extents if exact else tuple(0 for _ in extents) if clamp else wanted
    remedy = "mend the offset" if exact else "narrow valid_shape, or read with clamp=True"
    check_inside(ctx, source, offset, reach, "the window", remedy)
    return tuple(min(r, max(have - o, 0)) for r, have, o in zip(wanted, source.valid, offset, strict=True))


def write_window(
    ctx: ExecContext,
    target: Array,
    part: Array,
    source: DataType,
    dtype: DataType,
    offset: Extents,
    atomic: AtomicType | None = None,
) -> None:
    """Put ``part`` into ``target`` at ``offset``, converted; added to what is there when ``atomic`` says so."""
    place = window(offset, part.shape)
    if atomic is not None and atomic is not AtomicType.None_:
        kind = compute_dtype(dtype)
        summed = target[place].astype(kind) + convert(part, source, dtype).astype(kind)
        target[place] = ctx.convert(summed, dtype)
    else:
        target[place] = convert(part, source, dtype)


def union_valid(target: Extents, source: Extents, offset: Extents) -> Extents:
    """What is valid after a part of extents ``source`` was written at ``offset``: never less than before."""
    if not all(source):
        return target
    return tuple(max(t, o + s) for t, s, o in zip(target, source, offset, strict=True))
