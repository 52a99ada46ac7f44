"""The lowest peak that can be found for one memory in a given time."""

from __future__ import annotations

import time

import attrs

from pypto_core.contract import Placement, PlacementProblem, live_peak
from pypto_core.ir import MemorySpace
from pypto_plugin_memory.planners import canonical
from pypto_plugin_memory.planners.greedy import orders
from pypto_plugin_memory.planners.improve import lowest
from pypto_plugin_memory.planners.instance import NO_LIMIT, Instance, instance_of


def lowest_peak(problem: PlacementProblem, space: MemorySpace, *, seconds: float, seed: int = 0) -> Placement:
    """A placement that ends as low as possible, whatever the capacity; it ends early at the bytes alive at once.

    ``seconds`` are of processor time, on which the answer depends. Reuse penalties play no part.
    """
    instance = attrs.evolve(instance_of(problem, space), capacity=NO_LIMIT)
    instance.soft = [[] for _ in instance.soft]
    need = live_peak(problem, space)[0]
    limit = time.process_time() + seconds
    at, top = _by_orders(instance, need, limit if not canonical.applies(instance) else 0.0, seed)
    if top > need and canonical.applies(instance):
        ground = canonical.ground_of(instance)
        found, best = canonical.lower(
            ground,
            int(ground.total.max()),
            -(-top // ground.unit),
            1 << 30,
            seed,
            stop=lambda: time.process_time() >= limit,
        )
        if found is not None:
            at, top = [a * ground.unit for a in found], best * ground.unit
    return Placement(offsets={b.name: at[i] for i, b in enumerate(instance.blocks)})


def _by_orders(instance: Instance, need: int, limit: float, seed: int) -> tuple[list[int], int]:
    """Local search over orders, at least one round of it and then until the time is up."""
    best: tuple[int, list[int]] | None = None
    number = 0
    while best is None or (best[0] > need and time.process_time() < limit):
        for order in orders(instance, 3, seed + number):
            number += 1
            at, top = lowest(instance, order, 40 if not limit else 400, need, seed + number)
            if at is not None and (best is None or top < best[0]):
                best = (top, at)
            if best is not None and (best[0] <= need or 0 < limit <= time.process_time()):
                break
    assert best is not None
    return best[1], best[0]
