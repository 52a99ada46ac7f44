"""One memory's placement problem as arrays, and the rules for putting one block somewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import attrs

from pypto_core.contract import PlacementBlock, PlacementProblem
from pypto_core.ir import MemorySpace

NO_LIMIT = 1 << 62
UNPLACED = -1
_MANY = 24


@attrs.define(eq=False)
class Instance:
    """Blocks 0 to n - 1.

    ``hard``: blocks that may share no byte with each block. ``soft``: (block, weight) that cost when they do.
    ``joint``: blocks that may share only from the same start. ``reserved``: ranges that nobody may touch.
    """

    blocks: Sequence[PlacementBlock]
    size: list[int]
    align: list[int]
    fixed: list[int]
    hard: list[list[int]]
    soft: list[list[tuple[int, int]]]
    joint: list[list[int]]
    reserved: tuple[tuple[int, int], ...]
    capacity: int
    begin: list[int]

    @property
    def count(self) -> int:
        """How many blocks there are."""
        return len(self.size)


def instance_of(problem: PlacementProblem, space: MemorySpace, *, relaxed: bool = False) -> Instance:
    """The blocks of one space; with ``relaxed`` the separations that may be given up cost one instead."""
    blocks = [b for b in problem.blocks if b.space is space]
    number = {b.name: i for i, b in enumerate(blocks)}
    hard: list[set[int]] = _overlaps(blocks)
    soft: list[dict[int, int]] = [{} for _ in blocks]
    joint: list[set[int]] = [set() for _ in blocks]
    for s in problem.separations:
        if s.a not in number:
            continue
        a, b = number[s.a], number[s.b]
        if s.same_start:
            _both(joint, a, b)
        elif relaxed and s.relaxable:
            _cost(soft, a, b, 1)
        else:
            _both(hard, a, b)
    for p in problem.penalties:
        if p.a in number:
            _cost(soft, number[p.a], number[p.b], p.weight)
    for i, others in enumerate(hard):
        for j in others:
            soft[i].pop(j, None)
            joint[i].discard(j)
    return Instance(
        blocks=blocks,
        size=[b.size for b in blocks],
        align=[b.alignment for b in blocks],
        fixed=[UNPLACED if b.fixed is None else b.fixed for b in blocks],
        hard=[sorted(s) for s in hard],
        soft=[sorted(s.items()) for s in soft],
        joint=[sorted(s) for s in joint],
        reserved=tuple(sorted(problem.reserved.get(space, ()))),
        capacity=problem.capacities.get(space, NO_LIMIT),
        begin=[b.live[0][0] if b.live else 0 for b in blocks],
    )


def _both(table: list[set[int]], a: int, b: int) -> None:
    table[a].add(b)
    table[b].add(a)


def _cost(table: list[dict[int, int]], a: int, b: int, weight: int) -> None:
    table[a][b] = table[a].get(b, 0) + weight
    table[b][a] = table[b].get(a, 0) + weight


def _overlaps(blocks: Sequence[PlacementBlock]) -> list[set[int]]:
    """Blocks that are alive together, by a sweep over time."""
    events: list[tuple[int, int, int]] = []
    for i, block in enumerate(blocks):
        for begin, end in block.live:
            events += [(begin, 1, i), (end, 0, i)]
    events.sort()
    live: dict[int, None] = {}
    found: list[set[int]] = [set() for _ in blocks]
    for _, begins, i in events:
        if not begins:
            live.pop(i, None)
            continue
        for j in live:
            _both(found, i, j)
        live[i] = None
    return found


def put(instance: Instance, i: int, at: Sequence[int]) -> tuple[int, int] | None:
    """(cost, offset) of the cheapest place for block ``i``, the lowest of equals; None when there is none."""
    size, align = instance.size[i], instance.align[i]
    top = instance.capacity - size
    blocked = [(at[j], at[j] + instance.size[j]) for j in instance.hard[i] if at[j] >= 0]
    blocked += instance.reserved
    blocked.sort()
    soft = [(at[j], at[j] + instance.size[j], w) for j, w in instance.soft[i] if at[j] >= 0]
    joint = [(at[j], at[j] + instance.size[j]) for j in instance.joint[i] if at[j] >= 0]
    if instance.fixed[i] >= 0:
        return _at_fixed(instance.fixed[i], size, blocked, soft, joint, top)
    if not soft and not joint:
        cursor = 0
        for low, high in blocked:
            if low - cursor >= size:
                break
            if high > cursor:
                cursor = -(-high // align) * align
        return (0, cursor) if cursor <= top else None
    if len(soft) + len(joint) > _MANY:
        return _cheapest(size, align, top, blocked, soft, joint)
    best: tuple[int, int] | None = None
    for place in _candidates(align, blocked, soft, joint):
        if place > top:
            break
        if not _free(place, size, blocked, joint):
            continue
        cost = 0
        for low, high, weight in soft:
            if place < high and low < place + size:
                cost += weight
        if best is None or cost < best[0]:
            best = (cost, place)
            if not cost:
                break
    return best


def _cheapest(
    size: int,
    align: int,
    top: int,
    blocked: list[tuple[int, int]],
    soft: list[tuple[int, int, int]],
    joint: list[tuple[int, int]],
) -> tuple[int, int] | None:
    """As :func:`put` does, over all places at once: worth it where a block has many that it would pay for."""
    import numpy as np  # most blocks have few

    places = np.array(_candidates(align, blocked, soft, joint), dtype=np.int64)
    places = places[places <= top]
    hindered = _met(places, size, [(low, high, 1) for low, high in blocked + joint])
    starts = np.sort(np.array([low for low, _ in joint], dtype=np.int64))
    hindered = hindered - (np.searchsorted(starts, places, "right") - np.searchsorted(starts, places, "left"))
    places = places[hindered == 0]
    if not len(places):
        return None
    cost = _met(places, size, soft)
    first = int(cost.argmin())
    return int(cost[first]), int(places[first])


def _met(places: Any, size: int, spans: list[tuple[int, int, int]]) -> Any:
    """The summed weight of the spans that each place shares bytes with: of those begun, less those that end before."""
    import numpy as np

    low, high, weight = np.array(spans, dtype=np.int64).reshape(-1, 3).T
    by_low, by_high = low.argsort(), high.argsort()
    begun = np.concatenate(([0], weight[by_low].cumsum()))
    ended = np.concatenate(([0], weight[by_high].cumsum()))
    return (
        begun[np.searchsorted(low[by_low], places + size, "left")]
        - ended[np.searchsorted(high[by_high], places, "right")]
    )


def _at_fixed(
    place: int,
    size: int,
    blocked: list[tuple[int, int]],
    soft: list[tuple[int, int, int]],
    joint: list[tuple[int, int]],
    top: int,
) -> tuple[int, int] | None:
    if place > top or not _free(place, size, blocked, joint):
        return None
    return sum(w for low, high, w in soft if place < high and low < place + size), place


def _candidates(
    align: int,
    blocked: Iterable[tuple[int, int]],
    soft: Iterable[tuple[int, int, int]],
    joint: Iterable[tuple[int, int]],
) -> list[int]:
    places = {0}
    places.update(-(-high // align) * align for _, high in blocked)
    places.update(-(-high // align) * align for _, high, _ in soft)
    for low, high in joint:
        places.add(-(-high // align) * align)
        if low % align == 0:
            places.add(low)
    return sorted(places)


def _free(place: int, size: int, blocked: list[tuple[int, int]], joint: list[tuple[int, int]]) -> bool:
    end = place + size
    for low, high in blocked:
        if low >= end:
            break
        if place < high:
            return False
    return all(place == low or place >= high or low >= end for low, high in joint)


def total_cost(instance: Instance, at: Sequence[int]) -> int:
    """The summed weight of soft pairs that share bytes."""
    size = instance.size
    return sum(
        weight
        for i, pairs in enumerate(instance.soft)
        for j, weight in pairs
        if i < j and at[i] < at[j] + size[j] and at[j] < at[i] + size[i]
    )


def peak(instance: Instance, at: Sequence[int]) -> int:
    """Where the highest block ends."""
    return max((at[i] + instance.size[i] for i in range(instance.count)), default=0)
