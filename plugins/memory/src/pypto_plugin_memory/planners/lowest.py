"""The lowest peak that can be found for one memory in a given time."""

from __future__ import annotations

import time

import attrs

from pypto_core.contract import Placement, PlacementProblem, live_peak
from pypto_core.ir import MemorySpace
from pypto_plugin_memory.planners.greedy import orders
from pypto_plugin_memory.planners.improve import lowest
from pypto_plugin_memory.planners.instance import NO_LIMIT, instance_of


def lowest_peak(problem: PlacementProblem, space: MemorySpace, *, seconds: float, seed: int = 0) -> Placement:
    """A placement that ends as low as possible, whatever the capacity; it ends early at the bytes alive at once."""
    instance = attrs.evolve(instance_of(problem, space), capacity=NO_LIMIT)
    need = live_peak(problem, space)[0]
    limit = time.perf_counter() + seconds
    best: tuple[int, list[int]] | None = None
    number = 0
    while best is None or (best[0] > need and time.perf_counter() < limit):
        for order in orders(instance, 3, seed + number):
            number += 1
            at, top = lowest(instance, order, 400, need, seed + number)
            if at is not None and (best is None or top < best[0]):
                best = (top, at)
            if best is not None and (best[0] <= need or time.perf_counter() >= limit):
                break
    assert best is not None
    return Placement(offsets={b.name: best[1][i] for i, b in enumerate(instance.blocks)})
