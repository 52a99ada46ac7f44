"""Slow and plain counterparts of the timing model, for streams of a few works."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from typing import Any

from pypto_core.ir import PipeType
from pypto_plugin_simulator.timing.stream import Barrier, Item, SetFlag, WaitFlag, Work, works


def conflicts(items: list[Work]) -> set[tuple[int, int]]:
    """Positions of all pairs that have to run in program order: a byte in common, one of them writing.

    Bytes between two neighbouring ends of ranges are the same to everybody, so the first one stands for all of them.
    """
    ends = sorted({(area, at) for w in items for area, *both in (*w.reads, *w.writes) for at in both})

    def bytes_of(extents: Iterable[Any]) -> set[tuple[Any, int]]:
        return {
            byte
            for area, start, stop in extents
            for byte in ends[bisect_left(ends, (area, start)) : bisect_left(ends, (area, stop))]
        }

    touched = [(bytes_of(w.reads), bytes_of(w.writes)) for w in items]
    return {
        (a, b)
        for b, (reads_b, writes_b) in enumerate(touched)
        for a, (reads_a, writes_a) in enumerate(touched[:b])
        if writes_a & (reads_b | writes_b) or reads_a & writes_b
    }


def _setters(stream: list[Item]) -> dict[int, int]:
    """For each wait the place of the set that it takes: the one of the same number among those of its flag."""
    sets: dict[Any, list[int]] = {}
    waits: dict[Any, list[int]] = {}
    for at, item in enumerate(stream):
        if isinstance(item, SetFlag | WaitFlag):
            (sets if isinstance(item, SetFlag) else waits).setdefault(item.flag, []).append(at)
    return {
        waiter: setter
        for flag, places in waits.items()
        for setter, waiter in zip(sets.get(flag, ()), places, strict=False)
    }


def ordered(stream: list[Item]) -> list[list[bool]]:
    """Whether each work (row) is done before each other one (column) begins: the closure over all items."""
    after: list[int] = [0] * len(stream)  # bits of the items that each one directly comes before
    last: dict[PipeType, int] = {}
    setter = _setters(stream)
    waited_for: list[int] = []  # by the scalar unit: whatever is issued later comes after it
    for at, item in enumerate(stream):
        before = [last[item.pipe]] if item.pipe in last else []
        before += waited_for
        before += range(at) if isinstance(item, Barrier) else ()
        before += [setter[at]] if at in setter else []
        for earlier in before:
            after[earlier] |= 1 << at
        last[item.pipe] = at
        if isinstance(item, Barrier):
            waited_for.append(at)
        elif item.pipe is PipeType.S and at in setter:
            waited_for.append(setter[at])
    changed = True
    while changed:
        changed = False
        for at in reversed(range(len(stream))):
            reach = after[at]
            for other in range(len(stream)):
                if after[at] >> other & 1:
                    reach |= after[other]
            changed |= reach != after[at]
            after[at] = reach
    kept = [at for at, item in enumerate(stream) if isinstance(item, Work)]
    return [[bool(after[a] >> b & 1) for b in kept] for a in kept]


def unordered_pairs(stream: list[Item]) -> set[tuple[int, int]]:
    """Conflicting pairs of different pipes that nothing orders."""
    items = works(stream)
    done_before = ordered(stream)
    return {
        (a, b) for a, b in conflicts(items) if items[a].pipe is not items[b].pipe and not done_before[a][b]
    }


def longest_paths(items: list[Work]) -> list[float]:
    """Starts when any number of events is free: after its pipe, its conflicts, and scalar work before it."""
    must = conflicts(items)
    starts: list[float] = []
    for b, work in enumerate(items):
        ends = [0.0]
        for a in range(b):
            same = items[a].pipe is work.pipe or items[a].pipe is PipeType.S
            if same or (a, b) in must:
                ends.append(starts[a] + items[a].cycles)
        starts.append(max(ends))
    return starts


def without_event(stream: list[Item], removed: SetFlag) -> list[Item]:
    """The stream without one event: the set, and the wait that takes it."""
    before = [i for i in stream[: stream.index(removed)] if isinstance(i, SetFlag) and i.flag == removed.flag]
    waits = [i for i in stream if isinstance(i, WaitFlag) and i.flag == removed.flag]
    gone = {removed, waits[len(before)]}
    return [item for item in stream if item not in gone]


def outstanding(stream: list[Item]) -> Counter[Any]:
    """The most events of each pair of pipes that are set and not waited for, in the order of the program."""
    now: Counter[Any] = Counter()
    most: Counter[Any] = Counter()
    for item in stream:
        if isinstance(item, SetFlag | WaitFlag):
            route = (item.flag.source, item.flag.target)
            now[route] += 1 if isinstance(item, SetFlag) else -1
            most[route] = max(most[route], now[route])
    return most
