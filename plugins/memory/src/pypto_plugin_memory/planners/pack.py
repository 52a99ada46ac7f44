"""The planner ``pypto``: one allocation after the other in the order of their names.

Sharing has been settled before, so that allocations keep to themselves while there is room for all of them; only
when there is not does the planner look for bytes that are free at the time.
"""

from __future__ import annotations

from pypto_core.contract import NoPlacementError, Placement, PlacementBlock, PlacementProblem
from pypto_core.ir import MemorySpace, round_up
from pypto_plugin_memory.planners.search import Effort, no_placement, solve_space

EFFORT = Effort(polish=0)


def plan(problem: PlacementProblem) -> Placement:
    """Addresses for every block. Raises NoPlacementError for a memory that is too small."""
    offsets: dict[str, int] = {}
    relaxed: list[tuple[str, str]] = []
    for space in problem.spaces:
        row = in_a_row(problem, space)
        used = max(row[b.name] + b.size for b in problem.blocks if b.space is space)
        limit = problem.capacities.get(space)
        if limit is None or used <= limit:
            offsets.update(row)
            continue
        try:
            found = solve_space(problem, space, EFFORT)
        except NoPlacementError as error:
            note = " (a reserved buffer takes part of it)" if problem.reserved.get(space) else ""
            raise no_placement(
                problem,
                space,
                error.proven,
                f"{space.name} buffer usage ({used} bytes) exceeds platform limit ({limit} bytes){note}",
            ) from None
        offsets.update(found.offsets)
        relaxed += found.relaxed
    return Placement(offsets=offsets, relaxed=relaxed)


def in_a_row(problem: PlacementProblem, space: MemorySpace) -> dict[str, int]:
    """The blocks of a space by name, each right behind the one before, above reserved and around fixed ranges."""
    blocks = [b for b in problem.blocks if b.space is space]
    reserved = problem.reserved.get(space, ())
    taken = sorted((b.fixed, b.fixed + b.size) for b in blocks if b.fixed is not None)
    offsets = {b.name: b.fixed for b in blocks if b.fixed is not None}
    cursor = max((high for _, high in reserved), default=0)
    for block in sorted((b for b in blocks if b.fixed is None), key=lambda b: b.name):
        offsets[block.name] = at = _next_free(block, cursor, taken)
        cursor = at + block.size
    return offsets


def _next_free(block: PlacementBlock, cursor: int, taken: list[tuple[int, int]]) -> int:
    at = round_up(cursor, block.alignment)
    for low, high in taken:
        if at < high and low < at + block.size:
            at = round_up(high, block.alignment)
    return at
