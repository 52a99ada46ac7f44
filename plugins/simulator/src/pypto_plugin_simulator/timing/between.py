"""Races between blocks: those of a launch run in any order, and all of them see global memory.

Two blocks that touch a byte of it, one writing, are a race, unless both add to it atomically. The cores of one block
hand data to each other and are not compared. Launches whose blocks wait for each other are left out, as what their
flags order is not followed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from pypto_plugin_simulator.timing.cores import Core
from pypto_plugin_simulator.timing.hazards import Hazard
from pypto_plugin_simulator.timing.pieces import Access, cut
from pypto_plugin_simulator.timing.stream import Extent, Item, Work, works

GLOBAL = "DDR"


@attrs.frozen(eq=False)
class BlockRace:
    """Two works of two blocks, and the first byte that they share."""

    first: Work
    first_core: Core
    second: Work
    second_core: Core
    area: str
    start: int


def find_block_races(streams: Mapping[Core, Sequence[Item]]) -> list[BlockRace]:
    """Works of different blocks of one launch that touch a byte of global memory, at least one of them writing.

    Empty exactly when there are none; of each access at most one other per kind is listed.
    """
    found: list[BlockRace] = []
    launches: dict[int, list[tuple[Core, Work]]] = {}
    for core, stream in streams.items():
        launches.setdefault(core.launch, []).extend((core, work) for work in works(stream))
    for members in launches.values():
        if len({core.block for core, _ in members}) > 1:
            found += _in_launch(members)
    return found


def _in_launch(members: list[tuple[Core, Work]]) -> Iterator[BlockRace]:
    block_of = np.array([core.block for core, _ in members], np.int64)
    shared = [
        attrs.evolve(work, reads=_global(work.reads), writes=_global(work.writes)) for _, work in members
    ]
    pieced = cut(shared)
    plain, adding, reading = ({area: _Seen(len(s)) for area, s in pieced.starts.items()} for _ in range(3))
    for number, work in enumerate(shared):
        reads, writes = pieced.reads[number], pieced.writes[number]
        before = [
            (access, seen[access.area]) for access in reads for seen in (plain, adding) if not work.atomic
        ]
        before += [
            (a, s[a.area]) for a in writes for s in (plain, reading, *(() if work.atomic else (adding,)))
        ]
        for access, seen in before:
            hit = seen.of_another(access, block_of, number)
            if hit is not None:
                other, piece = hit
                yield BlockRace(
                    members[other][1], members[other][0], members[number][1], members[number][0],
                    access.area, int(pieced.starts[access.area][piece]),
                )  # fmt: skip
        for access in writes:
            (adding if work.atomic else plain)[access.area].note(access, block_of, number)
        for access in () if work.atomic else reads:
            reading[access.area].note(access, block_of, number)


class _Seen:
    """For each piece of a memory one work that touched it, and one of another block if there was any."""

    def __init__(self, count: int) -> None:
        self.one = np.full(count, -1, np.int64)
        self.other = np.full(count, -1, np.int64)

    def note(self, access: Access, block_of: Any, number: int) -> None:
        one, other = self.one[access.pieces], self.other[access.pieces]
        second = (one >= 0) & (other < 0) & (block_of[one] != block_of[number])
        self.other[access.pieces] = np.where(second, number, other)
        self.one[access.pieces] = np.where(one < 0, number, one)

    def of_another(self, access: Access, block_of: Any, number: int) -> tuple[int, int] | None:
        """A work of another block that touched one of these pieces before, and that piece."""
        for kept in (self.one, self.other):
            found = kept[access.pieces]
            bad = (found >= 0) & (block_of[found] != block_of[number])
            if bad.any():
                place = int(np.argmax(bad))
                return int(found[place]), access.numbers()[place]
        return None


def _global(extents: tuple[Extent, ...]) -> tuple[Extent, ...]:
    return tuple(extent for extent in extents if extent[0].startswith(GLOBAL))


def block_hazards(streams: Mapping[Core, Sequence[Item]]) -> Iterator[Hazard]:
    """The findings, those between the same two statements as one."""
    groups: dict[tuple[object, ...], list[BlockRace]] = {}
    for race in find_block_races(streams):
        groups.setdefault((race.first.span, race.second.span, race.first.label, race.area), []).append(race)
    for group in groups.values():
        race = group[0]
        yield Hazard(
            code="SIM-046",
            message=(
                f"race between blocks: '{race.second.label}' of block {race.second_core.block} and "
                f"'{race.first.label}' of block {race.first_core.block} touch byte {race.start} of {race.area}, "
                "and blocks run in any order"
            ),
            spans=(race.first.span, race.second.span),
            times=len(group),
        )
