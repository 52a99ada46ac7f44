"""The planner ``pypto``: one allocation after the other in the order of their names.

Sharing has been settled before, so that allocations keep to themselves while there is room for all of them; only
when there is not does the planner look for bytes that are free at the time.
"""

from __future__ import annotations

from pypto_core.contract import Placement, PlacementBlock, PlacementProblem
from pypto_core.ir import MemorySpace, round_up


def plan(problem: PlacementProblem) -> Placement:
    """Addresses for every block. Raises NoPlacementError for a memory that is too small."""
    offsets: dict[str, int] = {}
    for space in problem.spaces:
        offsets.update(in_a_row(problem, space))
    return Placement(offsets=offsets)


def in_a_row(problem: PlacementProblem, space: MemorySpace) -> dict[str, int]:
    """The blocks of a space by name, each right behind the one before, around reserved and fixed ranges."""
    blocks = [b for b in problem.blocks if b.space is space]
    taken = sorted(
        [
            *problem.reserved.get(space, ()),
            *((b.fixed, b.fixed + b.size) for b in blocks if b.fixed is not None),
        ]
    )
    offsets = {b.name: b.fixed for b in blocks if b.fixed is not None}
    cursor = 0
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
