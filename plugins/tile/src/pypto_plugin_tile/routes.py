"""The way of a tile from one memory to another."""

from __future__ import annotations

from pypto_core.contract import Backend
from pypto_core.diagnostics import Span, UserError
from pypto_core.ir import Expr, MemorySpace, TileType, Var, base_name

HAND_OVER = "isa.gm_pipe_buffer"
"""The cube and the vector core hand tiles to each other through a buffer in global memory."""

_VIA_GM = (
    "store it to a tensor and load it from there, in a kernel of its own: the memories are of different cores"
)


def route(value: Expr, target: MemorySpace, backend: Backend | None, span: Span) -> tuple[MemorySpace, ...]:
    """The memories that ``value`` passes through, ``target`` last; without a backend it goes straight.

    Where the cores share no memory but hand tiles over through a buffer outside, that hand-over is one step: which
    core does what, and the buffer, are the business of whoever splits the kernel.

    Raises UserError when there is no way (PT340), or none for its elements (PT342).
    """
    kind = value.type
    assert isinstance(kind, TileType) and kind.memory_space is not None
    if backend is None:
        return (target,)
    hops = tuple(path.dst for path in backend.route(kind.memory_space, target))
    if MemorySpace.DDR in hops and HAND_OVER in backend.features:
        hops = tuple(hop for hop in hops if hop is not MemorySpace.DDR)
    if not hops or MemorySpace.DDR in hops:
        raise UserError(
            f"nothing moves tile '{name_of(value)}' from {kind.memory_space.name} to {target.name} on {backend.title}",
            code="PT340",
            span=span,
            facts={"tile": repr(kind), "memories that reach it": _reaching(target, backend)},
            remedy=_remedy(kind.memory_space, target),
        )
    if kind.memory_space is MemorySpace.Acc and hops[0] is MemorySpace.Mat:
        _check_scratch(value, kind, backend, span)
    return hops


def can_move(source: MemorySpace, target: MemorySpace, backend: Backend | None) -> bool:
    """Whether there is a way on chip between two memories."""
    if source is target or backend is None:
        return True
    hops = backend.route(source, target)
    return bool(hops) and all(path.dst is not MemorySpace.DDR for path in hops)


def _check_scratch(value: Expr, kind: TileType, backend: Backend, span: Span) -> None:
    allowed = backend.mat_scratch_dtypes
    if allowed and kind.dtype not in allowed:
        raise UserError(
            f"{backend.title} can't move the {kind.dtype} accumulator '{name_of(value)}' to Mat as it is",
            code="PT342",
            span=span,
            facts={"can": ", ".join(d.text for d in allowed)},
            remedy=f"narrow it on the way with pl.cast(x, pl.{allowed[0].name}, mode='rint'), or store it to a tensor",
        )


def _reaching(target: MemorySpace, backend: Backend) -> str:
    return ", ".join(path.src.name for path in backend.paths if path.dst is target) or "none"


def _remedy(source: MemorySpace, target: MemorySpace) -> str:
    if source is MemorySpace.Acc or target is MemorySpace.Acc:
        return _VIA_GM
    entry = "Vec" if target is MemorySpace.Vec else "Mat"
    return f"load it with target_memory=pl.Mem.{entry} (a second time where both are needed), or {_VIA_GM}"


def name_of(value: Expr) -> str:
    """The author's name of a value."""
    return base_name(value.name_hint) if isinstance(value, Var) else "the operand"
