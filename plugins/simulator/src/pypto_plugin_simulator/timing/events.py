"""The flags that a stream needs, derived from the bytes that its work touches, as the assembler derives them.

Work that reads what another pipe writes, or writes what another pipe reads or writes, waits for that pipe's last such
work. A wait that others imply already is left out. A pipe has eight flags for each other one, handed out in turn: where
a ninth would be needed while eight are set, setting it waits until the first of them has been waited for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from pypto_core.diagnostics import UserError
from pypto_core.ir import PipeType
from pypto_plugin_simulator.timing.clocks import NUMBER, Clocks, merge
from pypto_plugin_simulator.timing.pieces import Access, Pieced, cut
from pypto_plugin_simulator.timing.stream import (
    EVENT_IDS,
    PIPES,
    Flag,
    Item,
    SetFlag,
    Stream,
    WaitFlag,
    Work,
    works,
)

Pair = tuple[Work, Work]
Route = tuple[PipeType, PipeType]


@attrs.define(eq=False)
class _LastTouched:
    """By memory: the number of the last work of each pipe (row) that wrote or read each piece (column), or -1."""

    pieced: Pieced
    writes: dict[str, NDArray[np.int64]] = attrs.field(factory=dict[str, Any])
    reads: dict[str, NDArray[np.int64]] = attrs.field(factory=dict[str, Any])

    def table(self, tables: dict[str, Any], area: str) -> Any:
        if area not in tables:
            tables[area] = np.full((len(PIPES), self.pieced.count(area)), -1, np.int64)
        return tables[area]

    def before(self, reads: Sequence[Access], writes: Sequence[Access]) -> Any:
        """For each pipe its last work that has to be done before these accesses, or -1."""
        last = np.full(len(PIPES), -1, np.int64)
        for access in (*reads, *writes):
            _raise_to(last, self.table(self.writes, access.area)[:, access.pieces])
        for access in writes:
            _raise_to(last, self.table(self.reads, access.area)[:, access.pieces])
        return last

    def note(self, number: int, pipe: int, reads: Sequence[Access], writes: Sequence[Access]) -> None:
        """Remember an access. What it overwrites needs no remembering: this work came after all of that."""
        for access in reads:
            self.table(self.reads, access.area)[pipe, access.pieces] = number
        for access in writes:
            for tables in (self.writes, self.reads):
                self.table(tables, access.area)[:, access.pieces] = -1
            self.table(self.writes, access.area)[pipe, access.pieces] = number


def _raise_to(last: Any, columns: Any) -> None:
    if columns.shape[1]:
        np.maximum(last, columns.max(axis=1), out=last)


def derive_events(stream: Stream) -> list[Item]:
    """The stream with the flags it lacks. Flags and barriers that are there already stay and are relied on.

    Raises UserError (SIM-043) when the stream itself uses all flags between two pipes that need one more.
    """
    pairs = _pairs(stream)
    taken = {item.flag for item in stream if isinstance(item, SetFlag | WaitFlag)}
    before: dict[int, list[Item]] = {}
    after: dict[int, list[Item]] = {}
    for (source, target), between in pairs.items():
        free = [flag for i in range(EVENT_IDS) if (flag := Flag(source, target, i)) not in taken]
        if not free:
            raise _no_flag_left(source, target, between[0])
        _place(between, free, before, after)
    out: list[Item] = []
    for item in stream:
        if isinstance(item, Work):
            out += (*before.get(item.index, ()), item, *after.get(item.index, ()))
        else:
            out.append(item)
    return out


def _place(
    between: list[Pair], flags: list[Flag], before: dict[int, list[Item]], after: dict[int, list[Item]]
) -> None:
    """Give the pairs of two pipes their flags in turn; neither side of two pairs ever cross."""
    for number, (first, second) in enumerate(between):
        flag = flags[number % len(flags)]
        mark = SetFlag(flag, first.span, derived=True)
        before.setdefault(second.index, []).append(WaitFlag(flag, second.span, derived=True))
        last_wait = between[number - len(flags)][1].index if number >= len(flags) else -1
        if last_wait > first.index:  # the flag is in use until there
            before[last_wait].append(mark)
        else:
            after.setdefault(first.index, []).append(mark)


def _pairs(stream: Stream) -> dict[Route, list[Pair]]:
    """For each two pipes the works to put a flag between, in order: no pair is implied by the others."""
    items = works(stream)
    pieced = cut(items)
    touched, clocks = _LastTouched(pieced), Clocks()
    done: list[list[int]] = []  # of each work so far, the clock of its pipe after it
    index_of = [work.index for work in items]
    found: dict[Route, list[Pair]] = {}
    for item in stream:
        if not isinstance(item, Work):
            clocks.pass_mark(item)
            continue
        number, here = len(done), NUMBER[item.pipe]
        reads, writes = pieced.reads[number], pieced.writes[number]
        clock = clocks.before(item.pipe)
        last = touched.before(reads, writes)
        for pipe in np.argsort(-last, kind="stable"):  # the latest first: it may know of the others
            earlier = int(last[pipe])
            if earlier < 0:
                break
            if pipe == here or index_of[earlier] < clock[pipe]:
                continue
            found.setdefault((PIPES[int(pipe)], item.pipe), []).append((items[earlier], item))
            merge(clock, done[earlier])
        touched.note(number, here, reads, writes)
        done.append(list(clocks.after(item.pipe, item.index)))
    return found


def _no_flag_left(source: PipeType, target: PipeType, pair: Pair) -> UserError:
    return UserError(
        f"the program uses all {EVENT_IDS} events from {source.name} to {target.name}, and needs one more",
        code="SIM-043",
        span=pair[1].span,
        facts={"set after": pair[0].label, "waited for before": pair[1].label},
        remedy="leave an id to the assembler, or order everything by the program's own events with sync='program'",
    )
