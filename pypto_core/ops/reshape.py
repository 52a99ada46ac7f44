"""What stays valid when a block of elements is given another shape.

Both shapes are cut into groups of axes that hold the same number of elements. Within a group, what is valid has to
be the first *c* elements in row-major order before and after; extents of 1 join whichever group they stand beside.
"""

from __future__ import annotations

from math import prod

from pypto_core.diagnostics import OpError
from pypto_core.ir import (
    INDEX_ONE,
    ConstInt,
    Expr,
    dims_equal,
    is_const,
    mul,
    prove_eq,
    shapes_equal,
    static_dim,
    static_shape,
)
from pypto_core.ops.wording import dims_text

Dims = tuple[Expr, ...]


def check_count(old: Dims, new: Dims) -> None:
    """Refuse a reshape to another number of elements; shapes that aren't constant are trusted."""
    before, after = static_shape(old), static_shape(new)
    if before is not None and after is not None and prod(before) != prod(after):
        raise OpError(
            f"{dims_text(old)} holds {prod(before)} elements, {dims_text(new)} holds {prod(after)}",
            remedy="reshape keeps the number of elements: take a slice or a fillpad_expand to change it",
        )


def reshaped_valid(shape: Dims, valid: Dims, new: Dims) -> Dims:
    """Valid extents of ``new``, for a block of ``shape`` of which ``valid`` holds data.

    Never claims more than was valid. Raises OpError when what is valid has no rectangular form in the new shape.
    """
    if valid is shape or shapes_equal(valid, shape):
        return new
    if shapes_equal(shape, new):
        return valid
    out: list[Expr] = []
    for old_axes, new_axes in _groups(shape, new):
        mapped = _map_group(
            [shape[a] for a in old_axes], [valid[a] for a in old_axes], [new[a] for a in new_axes]
        )
        if mapped is None:
            raise _refusal(shape, valid, new)
        out += mapped
    return tuple(out)


def _refusal(shape: Dims, valid: Dims, new: Dims) -> OpError:
    return OpError(
        f"the valid part {dims_text(valid)} of {dims_text(shape)} has no rectangular form in {dims_text(new)}",
        facts={"shape": dims_text(shape), "valid": dims_text(valid), "new shape": dims_text(new)},
        remedy="fill the tile up first with pl.fillpad, or keep the axes that are partly valid apart",
    )


def _groups(old: Dims, new: Dims) -> list[tuple[list[int], list[int]]]:
    """Axes of both shapes in groups of equal element counts, in order."""
    groups: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(old) or j < len(new):
        left, right = [i] if i < len(old) else [], [j] if j < len(new) else []
        if left and right and not dims_equal(old[i], new[j]) and not _widen(old, new, left, right):
            return [(list(range(len(old))), list(range(len(new))))]
        i += len(left)
        j += len(right)
        groups.append((left, right))
    return _without_lone(groups)


def _widen(old: Dims, new: Dims, left: list[int], right: list[int]) -> bool:
    """Add axes to the smaller side until both hold the same number of elements."""
    while True:
        a, b = _count(old, left), _count(new, right)
        if a is None or b is None:
            return _skip_ones(old, new, left, right)
        if a == b:
            return True
        side, dims = (left, old) if a < b else (right, new)
        if side[-1] + 1 >= len(dims):
            return False
        side.append(side[-1] + 1)


def _skip_ones(old: Dims, new: Dims, left: list[int], right: list[int]) -> bool:
    """Match a symbolic extent by stepping over extents of 1 on either side."""
    for axes, dims in ((left, old), (right, new)):
        while is_const(dims[axes[-1]], 1) and axes[-1] + 1 < len(dims):
            axes.append(axes[-1] + 1)
    return dims_equal(old[left[-1]], new[right[-1]])


def _count(dims: Dims, axes: list[int]) -> int | None:
    numbers = static_shape(tuple(dims[a] for a in axes))
    return prod(numbers) if numbers is not None else None


def _without_lone(groups: list[tuple[list[int], list[int]]]) -> list[tuple[list[int], list[int]]]:
    """Join groups that have axes on one side only (trailing extents of 1) to the group before."""
    out: list[tuple[list[int], list[int]]] = []
    for left, right in groups:
        if out and (not left or not right):
            out[-1] = (out[-1][0] + left, out[-1][1] + right)
        else:
            out.append((left, right))
    return out


def _map_group(old: list[Expr], valid: list[Expr], new: list[Expr]) -> list[Expr] | None:
    if all(dims_equal(v, e) for v, e in zip(valid, old, strict=True)):
        return new
    if shapes_equal(tuple(old), tuple(new)):
        return valid
    if any(is_const(e, 1) and not is_const(v, 1) for v, e in zip(valid, old, strict=True)):
        return None
    kept = [(e, v) for e, v in zip(old, valid, strict=True) if not is_const(e, 1)]
    core = _map_core([e for e, _ in kept], [v for _, v in kept], [e for e in new if not is_const(e, 1)])
    if core is None:
        return None
    rest = iter(core)
    return [e if is_const(e, 1) else next(rest) for e in new]


def _map_core(old: list[Expr], valid: list[Expr], new: list[Expr]) -> list[Expr] | None:
    """Valid extents of ``new``, both without extents of 1."""
    if shapes_equal(tuple(old), tuple(new)):
        return valid
    prefix, inner = _prefix(old, valid), _behind(new)
    if prefix is None or inner is None:
        return None
    extent, rest = prefix
    if not isinstance(extent, ConstInt):
        if not new or rest % inner[0]:
            return None
        return [mul(extent, ConstInt(rest // inner[0])) if rest != inner[0] else extent, *new[1:]]
    count = extent.value * rest
    for axis, whole in enumerate(new):
        limit = static_dim(whole)
        if count % inner[axis] == 0 and (limit is None or count // inner[axis] <= limit):
            return [*([INDEX_ONE] * axis), ConstInt(count // inner[axis]), *new[axis + 1 :]]
    return None


def _prefix(old: list[Expr], valid: list[Expr]) -> tuple[Expr, int] | None:
    """``(v, r)`` when exactly the first ``v * r`` elements are valid: leading axes with one valid entry, an axis that
    is valid to ``v``, and full axes of ``r`` elements behind it.
    """
    at = 0
    while at < len(old) - 1 and is_const(valid[at], 1) and not _whole(old[at + 1 :], valid[at + 1 :]):
        at += 1
    behind = static_shape(tuple(old[at + 1 :]))
    if behind is None or not _whole(old[at + 1 :], valid[at + 1 :]):
        return None
    return valid[at], prod(behind)


def _whole(old: list[Expr], valid: list[Expr]) -> bool:
    return all(dims_equal(v, e) or prove_eq(v, e) for v, e in zip(valid, old, strict=True))


def _behind(dims: list[Expr]) -> list[int] | None:
    """How many elements stand behind one step of each axis; None when that is not constant."""
    inner = [1] * len(dims)
    for axis in range(len(dims) - 2, -1, -1):
        extent = static_dim(dims[axis + 1])
        if extent is None:
            return None
        inner[axis] = inner[axis + 1] * extent
    return inner
