"""Deciding whether a placement exists, by trying all that matter.

In every placement blocks can be pushed down until each stands on the ground, on a block that it must not share with, or
level with one that it may share with from the same start. So it is enough to place blocks in the order of their
offsets, each as low as those before allow. A block whose lowest place ends above the capacity ends a branch, as
does a moment in time at which what is still to come does not fit above what stands there.
"""

from __future__ import annotations

import enum

import attrs

from pypto_plugin_memory.planners.instance import UNPLACED, Instance


class Outcome(enum.Enum):
    """What is known at the end."""

    FOUND = "found"
    IMPOSSIBLE = "impossible"
    GAVE_UP = "gave up"


def decide(instance: Instance, nodes: int) -> tuple[Outcome, list[int] | None]:
    """A placement, or that there is none, or that ``nodes`` steps were not enough to tell."""
    search = _Search(instance, nodes)
    if not search.start():
        return Outcome.IMPOSSIBLE, None
    done = search.run()
    if done:
        return Outcome.FOUND, search.at
    return (Outcome.GAVE_UP if search.left <= 0 else Outcome.IMPOSSIBLE), None


@attrs.define(eq=False)
class _Search:
    instance: Instance
    left: int
    at: list[int] = attrs.field(init=False)
    low: list[int] = attrs.field(init=False)
    floor: int = 0
    sections: list[list[int]] = attrs.field(init=False)
    inside: list[list[int]] = attrs.field(init=False)
    rest: list[int] = attrs.field(init=False)
    near: list[frozenset[int]] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        n = self.instance.count
        self.at = [UNPLACED] * n
        self.low = [0] * n
        hard, joint = self.instance.hard, self.instance.joint
        self.near = [frozenset((*hard[i], *joint[i])) for i in range(n)]
        self.sections, self.inside = _sections(self.instance)
        self.rest = [sum(self.instance.size[i] for i in members) for members in self.sections]

    def start(self) -> bool:
        """Put down the fixed blocks and find where each other one can stand at first; False when that fails."""
        for i in range(self.instance.count):
            self.low[i] = self.lowest(i, 0)
            if self.instance.fixed[i] >= 0:
                if self.low[i] > self.instance.fixed[i] or not self.fits_at(i, self.instance.fixed[i]):
                    return False
                self.at[i] = self.instance.fixed[i]
                for s in self.inside[i]:
                    self.rest[s] -= self.instance.size[i]
        for i in range(self.instance.count):
            if self.at[i] < 0:
                self.low[i] = self.lowest(i, 0)
        return all(
            self.low[i] + self.instance.size[i] <= self.instance.capacity
            for i in range(self.instance.count)
            if self.at[i] < 0
        )

    def fits_at(self, i: int, place: int) -> bool:
        instance = self.instance
        end = place + instance.size[i]
        return end <= instance.capacity and not any(
            self.at[j] >= 0 and place < self.at[j] + instance.size[j] and self.at[j] < end
            for j in instance.hard[i]
        )

    def lowest(self, i: int, at_least: int) -> int:
        """The lowest place of block ``i`` that the blocks placed so far allow."""
        instance = self.instance
        size, align = instance.size[i], instance.align[i]
        ranges = [
            (self.at[j], self.at[j] + instance.size[j])
            for j in (*instance.hard[i], *instance.joint[i])
            if self.at[j] >= 0
        ]
        ranges += instance.reserved
        ranges.sort()
        place = -(-at_least // align) * align
        for low, high in ranges:
            if low >= place + size:
                break
            if high > place:
                place = -(-high // align) * align
        return place

    def places(self, i: int) -> list[int]:
        """Where block ``i`` may stand next: as low as it can, or level with one it shares its start with."""
        instance = self.instance
        out = [self.low[i]]
        for j in instance.joint[i]:
            level = self.at[j]
            if level >= self.floor and level % instance.align[i] == 0 and self.level_ok(i, level):
                out.append(level)
        return sorted(set(out))

    def level_ok(self, i: int, place: int) -> bool:
        instance = self.instance
        end = place + instance.size[i]
        if not self.fits_at(i, place):
            return False
        if any(place < high and low < end for low, high in instance.reserved):
            return False
        return all(
            self.at[j] < 0
            or self.at[j] == place
            or self.at[j] >= end
            or self.at[j] + instance.size[j] <= place
            for j in instance.joint[i]
        )

    def run(self) -> bool:
        """Depth first, the lowest places and the largest blocks first."""
        waiting = [i for i in range(self.instance.count) if self.at[i] < 0]
        if not waiting:
            return True
        if not self.roomy(waiting):
            return False
        choices = [(place, -self.instance.size[i], i) for i in waiting for place in self.places(i)]
        choices.sort()
        # Some block stands lowest of all: it starts below where every waiting block would end at its lowest.
        ceiling = min(self.low[i] + self.instance.size[i] for i in waiting)
        for place, _, i in choices:
            if place >= ceiling and place != choices[0][0]:
                break
            self.left -= 1
            if self.left <= 0:
                return False
            if place + self.instance.size[i] <= self.instance.capacity and self.descend(i, place):
                return True
        return False

    def descend(self, i: int, place: int) -> bool:
        saved_floor = self.floor
        self.at[i], self.floor = place, place
        for s in self.inside[i]:
            self.rest[s] -= self.instance.size[i]
        saved: list[tuple[int, int]] = []
        possible = True
        near = self.near[i]
        for j in range(self.instance.count):
            if self.at[j] >= 0:
                continue
            low = self.low[j]
            if j in near:
                low = self.lowest(j, max(low, place))
            elif low < place:
                low = self.lowest(j, place)
            if low != self.low[j]:
                saved.append((j, self.low[j]))
                self.low[j] = low
                if low + self.instance.size[j] > self.instance.capacity and not self.instance.joint[j]:
                    possible = False
                    break
        if possible and self.run():
            return True
        for j, low in saved:
            self.low[j] = low
        self.at[i], self.floor = UNPLACED, saved_floor
        for s in self.inside[i]:
            self.rest[s] += self.instance.size[i]
        return False

    def roomy(self, waiting: list[int]) -> bool:
        """Whether at each moment the blocks to come fit above the lowest place of any of them."""
        if any(self.instance.joint):
            return True
        for s, members in enumerate(self.sections):
            if not self.rest[s]:
                continue
            base = min(self.low[i] for i in members if self.at[i] < 0)
            if base + self.rest[s] > self.instance.capacity:
                return False
        return True


def _sections(instance: Instance) -> tuple[list[list[int]], list[list[int]]]:
    """(blocks alive per moment, moments per block), a moment standing for a time between two events."""
    times = sorted({t for b in instance.blocks for span in b.live for t in span})
    sections: list[list[int]] = []
    inside: list[list[int]] = [[] for _ in instance.blocks]
    seen: set[tuple[int, ...]] = set()
    for moment in times[:-1]:
        members = [i for i, b in enumerate(instance.blocks) if any(s <= moment < e for s, e in b.live)]
        if tuple(members) in seen or not members:
            continue
        seen.add(tuple(members))
        for i in members:
            inside[i].append(len(sections))
        sections.append(members)
    return sections, inside
