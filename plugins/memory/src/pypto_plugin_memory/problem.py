"""The placement problem of a function."""

from __future__ import annotations

from typing import Any

import attrs

from pypto_core.contract import Backend, PlacementBlock, PlacementProblem, ReusePenalty, Separation
from pypto_core.ir import Function, MemorySpace
from pypto_plugin_memory.buffers import DECLARED, PIPELINE, Buffer, buffers_of
from pypto_plugin_memory.penalties import Waits, reuse_penalties
from pypto_plugin_memory.reserve import Reserved, reserved_ranges
from pypto_plugin_memory.values import values_of

DEFAULT_ALIGNMENT = 32


@attrs.frozen(eq=False)
class Planning:
    """A problem with the buffers that its blocks stand for, and the places of reserved buffers.

    ``waits``: which of them make a pipe wait where they share bytes.
    """

    problem: PlacementProblem
    buffers: list[Buffer]
    waits: Waits
    reserved: tuple[Reserved, ...] = ()


def alignment_of(backend: Backend | None, space: MemorySpace) -> int:
    """What addresses in a space are multiples of: what planners round to and what the assembler demands."""
    spec = backend.memory(space) if backend is not None else None
    return DEFAULT_ALIGNMENT if spec is None else max(spec.alignment, spec.address_alignment)


def block_of(buffer: Buffer, backend: Backend | None) -> PlacementBlock:
    """A buffer as a block."""
    allocation = buffer.allocation
    return PlacementBlock(
        name=allocation.name,
        space=allocation.space,
        size=allocation.size,
        alignment=alignment_of(backend, allocation.space),
        live=tuple(buffer.live),
        label=allocation.label,
    )


def planning_of(function: Function, ctx: Any) -> Planning:
    """What the planner of ``ctx`` is asked about a function."""
    backend: Backend | None = ctx.backend if ctx is not None else None
    values = values_of(function)
    buffers = [b for b in buffers_of(function, ctx, values) if b.size > 0]
    reserved = reserved_ranges(function, backend)
    ranges: dict[MemorySpace, list[tuple[int, int]]] = {}
    for item in reserved:
        ranges.setdefault(item.space, []).append((item.base, item.end))
    spaces = {b.allocation.space for b in buffers}
    separations = separations_of(buffers)
    waits = Waits() if backend is None else reuse_penalties(function, backend, buffers)
    problem = PlacementProblem(
        blocks=[block_of(b, backend) for b in buffers],
        capacities=capacities_of(backend, spaces),
        reserved=ranges,
        separations=separations,
        penalties=penalties_of(waits, separations),
        purpose=f"function '{function.name}'",
    )
    return Planning(problem, buffers, waits, reserved)


def capacities_of(backend: Backend | None, spaces: set[MemorySpace]) -> dict[MemorySpace, int]:
    """The bytes of each space that has a bound."""
    if backend is None:
        return {}
    return {
        space: backend.capacity(space) for space in MemorySpace if space in spaces and backend.capacity(space)
    }


def separations_of(buffers: list[Buffer]) -> list[Separation]:
    """Every pair that has to keep apart although its lifetimes do not meet, with the reasons."""
    by_space: dict[MemorySpace, list[Buffer]] = {}
    for buffer in buffers:
        by_space.setdefault(buffer.allocation.space, []).append(buffer)
    out: list[Separation] = []
    for members in by_space.values():
        for a, b, reasons in _pairs(members):
            if a.meets(b):
                continue
            names = (a.allocation.name, b.allocation.name)
            if reasons:
                out.append(
                    Separation(a=names[0], b=names[1], reasons=reasons, relaxable=reasons == [PIPELINE])
                )
            elif b.index in a.exact:
                out.append(Separation(a=names[0], b=names[1], reasons=["SameStart"], same_start=True))
    return out


def _pairs(members: list[Buffer]) -> list[tuple[Buffer, Buffer, list[str]]]:
    """The pairs of one space that something is said of, in definition order."""
    at = {buffer.index: buffer for buffer in members}
    found: dict[tuple[int, int], list[str]] = {}
    for buffer in members:
        if buffer.allocation.declared:
            for other in members:
                if other is not buffer:
                    _add(found, buffer.index, other.index, DECLARED)
        for other, reasons in buffer.apart.items():
            if other in at:
                for reason in reasons:
                    _add(found, buffer.index, other, reason)
        for other in buffer.exact:
            if other in at:
                found.setdefault((min(buffer.index, other), max(buffer.index, other)), [])
    for a, b in _staged_pairs(members):
        _add(found, a.index, b.index, PIPELINE)
    return [(at[a], at[b], sorted(reasons)) for (a, b), reasons in sorted(found.items())]


def _add(found: dict[tuple[int, int], list[str]], a: int, b: int, reason: str) -> None:
    reasons = found.setdefault((min(a, b), max(a, b)), [])
    if reason not in reasons:
        reasons.append(reason)


def _staged_pairs(members: list[Buffer]) -> list[tuple[Buffer, Buffer]]:
    """Pairs in different stages of one pipeline group."""
    staged = [b for b in members if b.stages]
    return [
        (a, b)
        for at, b in enumerate(staged)
        for a in staged[:at]
        if any(b.stages.get(group, stage) != stage for group, stage in a.stages.items())
    ]


def penalties_of(waits: Waits, separations: list[Separation]) -> list[ReusePenalty]:
    """What sharing costs, for pairs that nothing separates already."""
    apart = {frozenset((s.a, s.b)) for s in separations if not s.same_start}
    return [
        ReusePenalty(a=a.allocation.name, b=b.allocation.name)
        for a, b in waits.pairs
        if frozenset((a.allocation.name, b.allocation.name)) not in apart
    ]
