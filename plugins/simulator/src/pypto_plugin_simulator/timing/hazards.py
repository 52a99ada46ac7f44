"""What is wrong with the order of a stream, whatever the times are.

Shares nothing with the derivation of flags or with the schedule: the queues are walked through in some order that the
flags allow, each pipe with a clock of what it knows to be done, and each access is held against the last ones of the
other pipes. Work of one pipe is done in order, so that the last access of each pipe stands for all before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import attrs
import numpy as np

from pypto_core.diagnostics import Span
from pypto_core.ir import PipeType
from pypto_plugin_simulator.timing.clocks import NUMBER, Clocks
from pypto_plugin_simulator.timing.pieces import Access, cut
from pypto_plugin_simulator.timing.schedule import Schedule, unbalanced
from pypto_plugin_simulator.timing.stream import (
    EVENT_IDS,
    PIPES,
    Barrier,
    Flag,
    Item,
    SetFlag,
    Stream,
    WaitFlag,
    Work,
    works,
)


@attrs.frozen(eq=False)
class Race:
    """Two works of different pipes that touch a byte, at least one writing, in no order or against the program's.

    ``kind``: what the second does after what the first did: ``RAW``, ``WAR`` or ``WAW``. ``area``, ``start``,
    ``stop``: the first bytes concerned.
    """

    kind: str
    first: Work
    second: Work
    area: str
    start: int
    stop: int


@attrs.frozen(eq=False, kw_only=True)
class Hazard:
    """A finding. ``code``: SIM-040 for races, SIM-041 for flags. ``spans``: the statements; ``times``: how often."""

    code: str
    message: str
    spans: tuple[Span, ...]
    times: int = 1

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "code": self.code,
            "message": self.message,
            "at": [str(span) for span in self.spans],
            "times": self.times,
        }


@attrs.define(eq=False)
class _Walk:
    """The items of a stream in an order that the flags allow: that of the program, as far as it is one.

    ``queues``: for each pipe its items, with their places in the program and how many items of the scalar unit come
    before. ``needs``: for each barrier how many items of each pipe come before.
    """

    queues: dict[PipeType, list[tuple[int, Item, int]]]
    needs: dict[Barrier, dict[PipeType, int]]
    at: dict[PipeType, int]
    up: dict[Flag, int] = attrs.field(factory=dict[Flag, int])

    def __iter__(self) -> Iterator[Item]:
        while heads := [(q[self.at[p]], p) for p, q in self.queues.items() if self.at[p] < len(q)]:
            for (_, item, issued_after), pipe in sorted(heads, key=lambda head: head[0][0]):
                if self.at[PipeType.S] >= issued_after and self._may_go(item):
                    self.at[pipe] += 1
                    yield item
                    break
            else:
                return  # the rest waits for ever

    def _may_go(self, item: Item) -> bool:
        if isinstance(item, SetFlag):
            self.up[item.flag] = self.up.get(item.flag, 0) + 1
        elif isinstance(item, WaitFlag):
            if not self.up.get(item.flag):
                return False
            self.up[item.flag] -= 1
        elif isinstance(item, Barrier):
            return all(self.at[pipe] >= count for pipe, count in self.needs[item].items())
        return True


def _walk(stream: Stream) -> _Walk:
    queues: dict[PipeType, list[tuple[int, Item, int]]] = {pipe: [] for pipe in PIPES}
    needs: dict[Barrier, dict[PipeType, int]] = {}
    for place, item in enumerate(stream):
        if isinstance(item, Barrier):
            needs[item] = {pipe: len(queue) for pipe, queue in queues.items()}
        queues[item.pipe].append((place, item, len(queues[PipeType.S])))
    return _Walk(queues, needs, dict.fromkeys(PIPES, 0))


def find_races(stream: Stream) -> list[Race]:
    """Conflicting works without order; empty exactly when every conflicting pair is ordered as in the program.

    Not every pair of works is listed, but of each access the last one of each pipe that it is not ordered with.
    """
    items = works(stream)
    pieced = cut(items)
    number_of = {item.index: number for number, item in enumerate(items)}
    clocks, found = Clocks(), list[Race]()
    tables: dict[bool, dict[str, Any]] = {True: {}, False: {}}

    def table(written: bool, area: str) -> Any:
        if area not in tables[written]:
            tables[written][area] = np.full((len(PIPES), pieced.count(area)), -1, np.int64)
        return tables[written][area]

    for item in _walk(stream):
        if not isinstance(item, Work):
            clocks.pass_mark(item)
            continue
        number, here = number_of[item.index], NUMBER[item.pipe]
        limits = np.minimum(np.array(clocks.before(item.pipe)), item.index)
        limits[here] = np.iinfo(np.int64).max
        reads, writes = pieced.reads[number], pieced.writes[number]
        for kind, before_writes, accesses in (
            ("RAW", True, reads),
            ("WAW", True, writes),
            ("WAR", False, writes),
        ):
            for access in accesses:
                seen = _unordered(table(before_writes, access.area), access, limits)
                found += _races(kind, item, access, seen, items, pieced.starts, number_of)
        for written, accesses in ((False, reads), (True, writes)):
            for access in accesses:
                table(written, access.area)[here, access.pieces] = item.index
        clocks.after(item.pipe, item.index)
    return found


def _unordered(table: Any, access: Access, limits: Any) -> dict[int, int]:
    """Works (by index) that the access is in no order with, and the first of its pieces that each one touched."""
    rows: Any = table[:, access.pieces]
    bad: Any = rows >= limits[:, None]
    if not bad.any():
        return {}
    numbers = access.numbers()
    found: dict[int, int] = {}
    for pipe, column in zip(*np.nonzero(bad), strict=True):
        found.setdefault(int(rows[pipe, column]), numbers[int(column)])
    return found


def _races(
    kind: str,
    item: Work,
    access: Access,
    seen: dict[int, int],
    items: list[Work],
    starts: Mapping[str, Any],
    number_of: Mapping[int, int],
) -> Iterator[Race]:
    for index, place in seen.items():
        first, second, what = items[number_of[index]], item, kind
        if first.index > second.index:  # it ran before what the program has before it
            first, second, what = second, first, {"RAW": "WAR", "WAR": "RAW"}.get(kind, kind)
        ends = starts[access.area]
        yield Race(what, first, second, access.area, int(ends[place]), int(ends[place + 1]))


def hazards_of(stream: Stream, schedule: Schedule) -> list[Hazard]:
    """All findings about one core: races, then flags; those of one kind between the same statements as one."""
    return [*_race_hazards(find_races(stream)), *_flag_hazards(stream, schedule)]


_WHAT = {
    "RAW": "reads what the other writes",
    "WAR": "overwrites what the other reads",
    "WAW": "overwrites what the other writes",
}


def _race_hazards(races: list[Race]) -> Iterator[Hazard]:
    groups: dict[tuple[object, ...], list[Race]] = {}
    for race in races:
        groups.setdefault((race.kind, race.first.span, race.second.span, race.first.label), []).append(race)
    for group in groups.values():
        race = group[0]
        yield Hazard(
            code="SIM-040",
            message=(
                f"race: '{race.second.label}' on {race.second.pipe.name} {_WHAT[race.kind]}, "
                f"'{race.first.label}' on {race.first.pipe.name}, and no event orders the two; "
                f"bytes {race.start} to {race.stop} of {race.area}"
            ),
            spans=(race.first.span, race.second.span),
            times=len(group),
        )


def _flag_hazards(stream: Stream, schedule: Schedule) -> Iterator[Hazard]:
    marks = [item for item in stream if isinstance(item, SetFlag | WaitFlag) and not item.derived]
    where: dict[Flag, list[Span]] = {}
    for mark in marks:
        where.setdefault(mark.flag, []).append(mark.span)

    def hazard(message: str, spans: tuple[Span, ...], times: int = 1) -> Hazard:
        return Hazard(code="SIM-041", message=message, spans=tuple(dict.fromkeys(spans)), times=times)

    for flag, spans in where.items():
        if not 0 <= flag.id < EVENT_IDS:
            yield hazard(
                f"event {flag}: there are {EVENT_IDS} ids for two pipes, 0 to {EVENT_IDS - 1}", tuple(spans)
            )
    for flag, sets, waits in unbalanced(stream):
        what = "set and never waited for" if sets > waits else "waited for and never set"
        yield hazard(
            f"event {flag} is {what}: {sets} sets, {waits} waits", tuple(where[flag]), abs(sets - waits)
        )
    for item in schedule.stuck:
        if isinstance(item, SetFlag | WaitFlag):
            what = "sets an event that is still set" if isinstance(item, SetFlag) else "waits for an event"
            yield hazard(f"the run stops: {item.pipe.name} {what}, {item.flag}, for ever", (item.span,))
    again: dict[Span, list[SetFlag]] = {}
    for mark in schedule.stalled:
        again.setdefault(mark.span, []).append(mark)
    for span, group in again.items():
        yield hazard(f"event {group[0].flag} is set again before it was waited for", (span,), len(group))
