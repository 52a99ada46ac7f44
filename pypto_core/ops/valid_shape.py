"""Valid extents through windows: what a read of a window may count on, and what is valid after a write into one.

A tile or tensor may hold data in a corner only, its *valid* extents, inside its *physical* shape. All questions are
three-valued (yes, no, not provable). A read refuses what provably goes wrong and trusts what it can't decide; a
write refuses what it can't decide as well, since a valid extent that claims too much makes padding look like data.
"""

from __future__ import annotations

from collections.abc import Mapping

from pypto_core.diagnostics import OpError
from pypto_core.ir import (
    ConstInt,
    Expr,
    add,
    dims_equal,
    dtype_of,
    greatest,
    is_const,
    least,
    prove_eq,
    prove_le,
    prove_lt,
    shapes_equal,
    static_dim,
    sub,
)
from pypto_core.ops.wording import dims_text, extent_text

Dims = tuple[Expr, ...]
_ZERO = ConstInt(0)


def available(valid: Expr, offset: Expr, window: Expr) -> Expr:
    """How much of ``window`` elements from ``offset`` on is valid: ``min(max(valid - offset, 0), window)``.

    Constants fold, and a min or max that a relation decides is dropped. For an unsigned ``valid`` the difference is
    taken after the maximum, ``max(valid, offset) - offset``, so that it can't wrap.
    """
    if is_const(offset, 0):
        return least(valid, window)
    dtype = dtype_of(valid)
    if dtype.is_signed or isinstance(valid, ConstInt):
        return least(greatest(sub(valid, offset), ConstInt(0, dtype)), window)
    return least(sub(greatest(valid, offset), offset), window)


def window_read(
    shape: Dims,
    valid: Dims,
    offset: Dims,
    window: Dims,
    request: Dims | None = None,
    *,
    exact: bool,
    clamp: bool = False,
) -> Dims:
    """Valid extents of the window ``window`` at ``offset`` in a source of ``shape`` of which ``valid`` holds data.

    ``request``: extents that the author claims; narrowed where less is provably there, else believed.
    ``exact``: the window must lie inside the source (slice, extract). Otherwise (load, tensor.slice) it may overhang
    as long as the request, by default the window, does not; ``clamp`` narrows the request instead of refusing it.

    Raises OpError when the ranks differ, or for what is provably out of range.
    """
    _same_rank("offset", offset, shape)
    _same_rank("window", window, shape)
    if request is not None:
        _same_rank("valid_shape", request, shape)
    out: list[Expr] = []
    same = True
    for axis, extent in enumerate(shape):
        start, size = offset[axis], window[axis]
        claim = size if request is None else request[axis]
        whole = is_const(start, 0) and dims_equal(size, extent)
        if not whole or claim is not size:
            _check_axis(axis, extent, start, size, claim, exact, clamp)
        have = valid[axis]
        if not clamp and (have is extent or dims_equal(have, extent)):
            kept = claim
        else:
            kept = _narrowed(available(have, start, size), size, claim, request is not None)
        out.append(kept)
        same = same and kept is size
    return window if same else tuple(out)


def _narrowed(there: Expr, window: Expr, claim: Expr, asked: bool) -> Expr:
    if not asked:
        return there
    if dims_equal(there, window) or dims_equal(there, claim):
        return claim
    return there if prove_le(there, claim) else claim


def check_request(window: Dims, request: Dims) -> None:
    """Refuse valid extents that are provably negative or larger than the window."""
    _same_rank("valid_shape", request, window)
    for axis, (size, claim) in enumerate(zip(window, request, strict=True)):
        if claim is not size:
            _check_claim(axis, size, claim)


def _check_claim(axis: int, size: Expr, claim: Expr) -> None:
    if prove_lt(claim, _ZERO) is True:
        raise _error(
            "a valid extent can't be negative", axis, "give an extent from 0 to the window's", valid=claim
        )
    if prove_lt(size, claim) is True:
        raise _error(
            f"the valid extent {extent_text(claim)} is larger than the window of {extent_text(size)}",
            axis,
            "make valid_shape at most the window, or enlarge the window",
            valid=claim,
            window=size,
        )


def check_offsets(offset: Dims) -> None:
    """Refuse offsets that are provably negative."""
    for axis, start in enumerate(offset):
        if prove_lt(start, _ZERO) is True:
            raise _negative(axis, start)


def _negative(axis: int, start: Expr) -> OpError:
    return _error(
        f"the offset {extent_text(start)} is negative",
        axis,
        "offsets count from the start of the source: write extent - k for the last k elements",
        offset=start,
    )


def _check_axis(
    axis: int, extent: Expr, offset: Expr, window: Expr, claim: Expr, exact: bool, clamp: bool
) -> None:
    if prove_lt(offset, _ZERO) is True:
        raise _negative(axis, offset)
    if claim is not window:
        _check_claim(axis, window, claim)
    if exact:
        if prove_lt(extent, _far(offset, window)) is True:
            raise _error(
                f"the window ends at {_end(offset, window)}, past the source's {extent_text(extent)}",
                axis,
                "shrink the window or move its offset so that it lies inside the source",
                offset=offset,
                window=window,
                extent=extent,
            )
        return
    if clamp or prove_lt(extent, _far(offset, claim)) is not True:
        return
    fits = static_dim(sub(extent, offset))
    rest = f"valid_shape with {max(fits, 0)} here" if fits is not None else "a smaller valid_shape"
    raise _error(
        f"the read ends at {_end(offset, claim)}, past the source's {extent_text(extent)}",
        axis,
        f"pass {rest} to read what is there, or clamp=True to have the valid extent narrowed",
        offset=offset,
        valid=claim,
        extent=extent,
    )


def write_union(
    shape: Dims,
    valid: Dims,
    source_valid: Dims,
    offset: Dims,
    *,
    source_shape: Dims | None = None,
) -> Dims:
    """Valid extents of a target of ``shape``, of which ``valid`` holds data, after a write at ``offset``.

    ``source_valid``: the valid extents of what is written. ``source_shape``: its physical shape when all of that
    must fit (assemble into a tile), else only the valid part must.

    Returns ``valid`` itself when nothing grows. Raises OpError when the write provably leaves the target, and when
    the union of both regions is not provably a rectangle at the origin.
    """
    for name, dims in (("offset", offset), ("source", source_valid)):
        _same_rank(name, dims, shape)
    _check_fit(shape, source_shape if source_shape is not None else source_valid, offset)
    if any(prove_le(s, _ZERO) for s in source_valid):
        return valid
    if any(prove_le(t, _ZERO) for t in valid):
        return _into_empty(valid, source_valid, offset)
    if valid is shape or shapes_equal(valid, shape):
        return valid
    if all(prove_le(_far(o, s), t) for o, s, t in zip(offset, source_valid, valid, strict=True)):
        return valid
    if _at_origin(offset) and all(prove_le(t, s) for t, s in zip(valid, source_valid, strict=True)):
        return source_valid
    return _grown(shape, valid, source_valid, offset)


def _check_fit(shape: Dims, size: Dims, offset: Dims) -> None:
    check_offsets(offset)
    for axis, (extent, start, length) in enumerate(zip(shape, offset, size, strict=True)):
        if prove_lt(extent, _far(start, length)) is True:
            raise _error(
                f"the write ends at {_end(start, length)}, past the target's {extent_text(extent)}",
                axis,
                "write at a smaller offset, or narrow what is written with valid_shape or a slice",
                offset=start,
                source=length,
                extent=extent,
            )


def _at_origin(offset: Dims) -> bool:
    return all(is_const(o, 0) or prove_eq(o, _ZERO) is True for o in offset)


def _into_empty(valid: Dims, source_valid: Dims, offset: Dims) -> Dims:
    if _at_origin(offset):
        return source_valid
    raise OpError(
        "the target holds no data yet, so the first write must start at its origin",
        facts={"offset": dims_text(offset), "target valid": dims_text(valid)},
        remedy="write at offset 0 first, or make the target fully valid",
    )


def _grown(shape: Dims, valid: Dims, source_valid: Dims, offset: Dims) -> Dims:
    """The union when exactly one axis grows; anything else is an error."""
    rows = list(zip(offset, source_valid, valid, strict=True))
    growing = [a for a, (o, s, t) in enumerate(rows) if not (_at_origin((o,)) and prove_eq(s, t) is True)]
    if len(growing) != 1:
        raise _not_a_rectangle(rows, growing, valid, source_valid, offset)
    axis = growing[0]
    start, length, have = rows[axis]
    if prove_le(start, have) is not True:
        sure = prove_lt(have, start) is True
        raise _error(
            f"the write {'leaves' if sure else 'may leave'} a gap behind the valid region",
            axis,
            "write where the valid region ends, or make the target fully valid before writing into it",
            offset=start,
            **{"target valid": have},
        )
    union = least(greatest(have, add(start, length)), shape[axis])
    return (*valid[:axis], union, *valid[axis + 1 :])


def _not_a_rectangle(
    rows: list[tuple[Expr, Expr, Expr]], growing: list[int], valid: Dims, source_valid: Dims, offset: Dims
) -> OpError:
    decided = all(prove_le(add(o, s), t) is not None and static_dim(o) is not None for o, s, t in rows)
    what = "does not form" if decided else "can't be shown to form"
    return OpError(
        f"the target's valid region together with this write {what} a rectangle",
        facts={
            "target valid": dims_text(valid),
            "source valid": dims_text(source_valid),
            "offset": dims_text(offset),
            "axes that grow": ", ".join(str(a) for a in growing),
        },
        remedy="let one axis grow at a time, with equal extents at offset 0 on the others, "
        "or make the target fully valid before writing into it",
    )


def _same_rank(name: str, dims: Dims, shape: Dims) -> None:
    if len(dims) != len(shape):
        raise OpError(
            f"{name} has {len(dims)} entries for {len(shape)} axes",
            facts={name: dims_text(dims), "shape": dims_text(shape)},
            remedy="give one entry per axis",
        )


def _far(start: Expr, length: Expr) -> Expr:
    return length if is_const(start, 0) else add(start, length)


def _end(start: Expr, length: Expr) -> str:
    return extent_text(_far(start, length))


def _error(message: str, axis: int, remedy: str, **facts: Expr) -> OpError:
    shown: Mapping[str, object] = {"axis": axis, **{name: extent_text(e) for name, e in facts.items()}}
    return OpError(message, facts=shown, remedy=remedy)
