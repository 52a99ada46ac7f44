"""The accumulator that a K loop starts from: undefined content, shaped and narrowed as the product will be."""

from __future__ import annotations

from typing import Any

from pypto_core.ir import (
    DataType,
    Expr,
    MemorySpace,
    Var,
    const_index,
    is_const,
    max_,
    min_,
    prove_eq,
    static_dim,
    sub,
)
from pypto_plugin_autotile.emit import Emitter, dims


def window_valid(valid: Expr, offset: int, extent: int) -> Expr:
    """How much of ``extent`` elements from ``offset`` on is valid, of ``valid`` in all.

    The maximum stands before the difference, so that unsigned extents can't wrap.
    """
    known = static_dim(valid)
    if known is not None:
        return const_index(min(max(known - offset, 0), extent))
    if offset == 0:
        return min_(valid, const_index(extent))
    start = const_index(offset)
    return min_(sub(max_(valid, start), start), const_index(extent))


def emit_seed(
    out: Emitter, name: str, dtype: DataType, shape: tuple[int, int], valid: tuple[Expr, Expr]
) -> Var:
    """An accumulator of ``shape`` of which ``valid`` will hold data.

    The matrix unit writes its columns of boxes at a pitch of the left operand's valid rows. Readers follow it in a
    compact tile alone, and every accumulation inherits what its accumulator says; so the seed has to say it, in an
    option of its creation, which survives when types are deduced again.
    """
    options: dict[str, Any] = {"dtype": dtype, "target_memory": MemorySpace.Acc}
    if all(is_const(v, n) for v, n in zip(valid, shape, strict=True)):
        return out.let(name, "tile.create", (dims(*shape),), options)
    if prove_eq(valid[0], const_index(shape[0])) is not True:
        options["compact"] = True
    storage = out.let(f"{name}_storage", "tile.create", (dims(*shape),), options)
    return out.let(name, "tile.set_validshape", (storage, *valid))
