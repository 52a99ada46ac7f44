"""The placement problem of a function."""

from __future__ import annotations

from typing import Any

import attrs

from pypto_core.contract import Backend, PlacementBlock, PlacementProblem
from pypto_core.ir import Function, MemorySpace, Var
from pypto_plugin_memory.storage import Allocation, allocations

DEFAULT_ALIGNMENT = 32


@attrs.frozen(eq=False)
class Planning:
    """A problem with the allocations that its blocks stand for."""

    problem: PlacementProblem
    allocations: dict[Var, Allocation]


def alignment_of(backend: Backend | None, space: MemorySpace) -> int:
    """What addresses in a space are multiples of: what planners round to and what the assembler demands."""
    spec = backend.memory(space) if backend is not None else None
    return DEFAULT_ALIGNMENT if spec is None else max(spec.alignment, spec.address_alignment)


def planning_of(function: Function, ctx: Any) -> Planning:
    """What the planner of ``ctx`` is asked about a function."""
    backend: Backend | None = ctx.backend if ctx is not None else None
    found = allocations(function)
    blocks = [
        PlacementBlock(
            name=a.name,
            space=a.space,
            size=a.size,
            alignment=alignment_of(backend, a.space),
            live=((0, 1),),
            label=a.label,
        )
        for a in found.values()
        if a.size > 0
    ]
    spaces = {a.space for a in found.values()}
    return Planning(
        PlacementProblem(
            blocks=blocks,
            capacities={
                space: backend.capacity(space)
                for space in MemorySpace
                if backend is not None and space in spaces and backend.capacity(space)
            },
            purpose=f"function '{function.name}'",
        ),
        found,
    )
