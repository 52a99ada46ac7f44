"""One memory's placement problem as arrays, and the rules for putting one block somewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Any

import attrs

from pypto_core.contract import PlacementBlock, PlacementProblem
from pypto_core.ir import MemorySpace

NO_LIMIT = 1 << 62
UNPLACED = -1
MANY = 24
"""From how many others on what a block pays is counted for all of them at once, by arrays."""


@attrs.define(eq=False)
class Instance:
    """Blocks 0 to n - 1.

    ``hard``: blocks that may share no byte with each block. ``soft``: (block, weight) that cost when they do.
    ``joint``: blocks that may share only from the same start. ``reserved``: ranges that nobody may touch.
    ``rows``: what ``soft`` says of a block as arrays, made when it is asked for.
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
    rows: dict[int, Row] = attrs.field(factory=dict, init=False)

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
    if instance.fixed[i] < 0 and len(instance.soft[i]) + len(instance.joint[i]) > MANY:
        return _cheapest(instance, i, at, blocked)
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
    instance: Instance, i: int, at: Sequence[int], blocked: list[tuple[int, int]]
) -> tuple[int, int] | None:
    """As :func:`put` does, over all places at once: worth it where a block has many that it would pay for."""
    import numpy as np  # most blocks have few

    size, align = instance.size[i], instance.align[i]
    low, high, weight = _placed(instance, i, at)
    joint = [(at[j], at[j] + instance.size[j]) for j in instance.joint[i] if at[j] >= 0]
    starts = np.sort(np.array([begin for begin, _ in joint if begin % align == 0], dtype=np.int64))
    walls = np.array(blocked + joint, dtype=np.int64).reshape(-1, 2).T
    places = np.unique(
        np.concatenate(([0], -(-np.concatenate((walls[1], high)) // align) * align, starts)).astype(np.int64)
    )
    places = places[places <= instance.capacity - size]
    hindered = _met(places, size, walls[0], walls[1], np.ones_like(walls[0]))
    hindered = hindered - (np.searchsorted(starts, places, "right") - np.searchsorted(starts, places, "left"))
    places = places[hindered == 0]
    if not len(places):
        return None
    cost = _met(places, size, low, high, weight)
    first = int(cost.argmin())
    return int(cost[first]), int(places[first])


@attrs.frozen(eq=False)
class Row:
    """The blocks that one would pay for, as arrays. ``offsets``: theirs, of those of all blocks."""

    others: Any
    size: Any
    weight: Any
    offsets: Callable[[Sequence[int]], Any]


def row_of(instance: Instance, i: int) -> Row:
    """What ``soft`` says of a block."""
    import numpy as np  # most blocks have few

    row = instance.rows.get(i)
    if row is None:
        others, weight = np.array(instance.soft[i], dtype=np.int64).reshape(-1, 2).T
        names = others.tolist()
        pick: Callable[[Any], Any] = (
            itemgetter(*names) if len(names) > 1 else lambda at: [at[j] for j in names]
        )
        size = np.array([instance.size[j] for j in names], dtype=np.int64)
        row = Row(others, size, weight, lambda at: np.array(pick(at), dtype=np.int64))
        instance.rows[i] = row
    return row


def _placed(instance: Instance, i: int, at: Sequence[int]) -> tuple[Any, Any, Any]:
    """(begin, end, weight) of the blocks that ``i`` would pay for and that have their place."""
    row = row_of(instance, i)
    low = row.offsets(at)
    there = low >= 0
    return low[there], (low + row.size)[there], row.weight[there]


def pays(instance: Instance, i: int, at: Sequence[int]) -> int:
    """The summed weight of the blocks that block ``i`` shares bytes with; all have their places."""
    mine, size = at[i], instance.size
    if len(instance.soft[i]) > MANY:
        low, high, weight = _placed(instance, i, at)
        return int(weight[(mine < high) & (low < mine + size[i])].sum())
    return sum(w for j, w in instance.soft[i] if mine < at[j] + size[j] and at[j] < mine + size[i])


def _met(places: Any, size: int, low: Any, high: Any, weight: Any) -> Any:
    """The summed weight of the spans that each place shares bytes with: of those begun, less those that end before."""
    import numpy as np

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
    return sum(pays(instance, i, at) for i in range(instance.count)) // 2


def peak(instance: Instance, at: Sequence[int]) -> int:
    """Where the highest block ends."""
    return max((at[i] + instance.size[i] for i in range(instance.count)), default=0)
