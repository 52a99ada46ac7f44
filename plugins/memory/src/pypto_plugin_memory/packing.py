"""Whole buffers shared by tiles that are never alive together: first fit, largest first.

Tiles of one pipeline group keep apart by stage as far as capacity allows: stages that are equal modulo the depth that
fits may share, the others may not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import attrs

from pypto_core.ir import round_up
from pypto_plugin_memory.buffers import Buffer, pipeline_depths
from pypto_plugin_memory.spans import Interval, include, meet


@attrs.define(eq=False)
class Gate:
    """The depth of each pipeline group in one memory. ``slots``: bytes of its largest tile."""

    depths: dict[int, int]
    stages: dict[int, list[int]]
    slots: dict[int, int]

    @classmethod
    def of(cls, buffers: list[Buffer], capacity: int, alignment: int) -> Gate:
        """As deep as each group may be on its own."""
        stages = pipeline_depths(buffers)
        slots = {group: max(b.size for b in buffers if group in b.stages) for group in stages}
        depths = {
            group: max(1, min(len(found), capacity // slots[group] if capacity else len(found)))
            for group, found in stages.items()
        }
        return cls(depths, stages, {g: round_up(s, alignment) for g, s in slots.items()})

    def lane(self, group: int, stage: int) -> int:
        """Which of the group's copies a stage uses."""
        return self.stages[group].index(stage) % self.depths[group]

    def lanes(self, buffer: Buffer) -> dict[int, int]:
        """The lanes of a buffer by group."""
        return {group: self.lane(group, stage) for group, stage in buffer.stages.items()}

    def shed(self) -> bool:
        """Lower by one the depth that frees most; False when all are one."""
        deep = [group for group, depth in self.depths.items() if depth > 1]
        if not deep:
            return False
        chosen = max(deep, key=lambda group: (self.slots[group], -group))
        self.depths[chosen] -= 1
        return True


@attrs.define(eq=False)
class Host:
    """A buffer that others moved into. ``first``: the largest, which keeps its place."""

    first: Buffer
    closed: bool
    live: list[Interval] = attrs.field(factory=list)
    members: set[int] = attrs.field(factory=set)
    apart: set[int] = attrs.field(factory=set)
    lanes: dict[int, int] = attrs.field(factory=dict)
    guests: list[Buffer] = attrs.field(factory=list)

    def admits(self, buffer: Buffer, lanes: Mapping[int, int]) -> bool:
        """Whether a buffer may move in."""
        if self.closed or buffer.index in self.apart or meet(buffer.live, self.live):
            return False
        return all(self.lanes.get(group, lane) == lane for group, lane in lanes.items())

    def take(self, buffer: Buffer, lanes: Mapping[int, int]) -> None:
        """Let it move in."""
        self.guests.append(buffer)
        self.members.add(buffer.index)
        self.apart.update(buffer.apart)
        include(self.live, buffer.live)
        self.lanes.update(lanes)


def pack(buffers: Iterable[Buffer], gate: Gate) -> list[Host]:
    """The hosts in the order in which they were opened."""
    hosts: list[Host] = []
    for buffer in sorted(buffers, key=lambda b: (-b.size, b.begin, b.index)):
        lanes = gate.lanes(buffer)
        declared = buffer.allocation.declared
        host = None if declared else next((h for h in hosts if h.admits(buffer, lanes)), None)
        if host is None:
            host = Host(first=buffer, closed=declared)
            hosts.append(host)
        host.take(buffer, lanes)
    return hosts


def footprint(hosts: Iterable[Host], alignment: int, start: int = 0) -> int:
    """Where the last of the hosts ends when they lie one behind the other by name."""
    cursor = start
    for host in sorted(hosts, key=lambda h: h.first.allocation.name):
        cursor = round_up(cursor, alignment) + host.first.size
    return cursor


def apart_lanes(a: Buffer, b: Buffer, gate: Gate) -> bool:
    """Whether the pipeline keeps two buffers apart."""
    return any(
        gate.lane(group, stage) != gate.lane(group, b.stages[group])
        for group, stage in a.stages.items()
        if group in b.stages
    )
