"""When everything happens: the queues of all pipes, played forward until none can go on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import attrs

from pypto_core.ir import PipeType
from pypto_plugin_simulator.timing.stream import PIPES, Barrier, Flag, Item, SetFlag, Stream, WaitFlag, Work

Moment = tuple[float, int]
"""A time, and the number of the work that ends there: what made it as late as that. -1 is the beginning."""

BEGINNING: Moment = (0.0, -1)


@attrs.frozen(eq=False)
class Handover:
    """A flag that was set and waited for.

    ``set_at``, ``taken_at``: when it was set, and when the waiting pipe went on. ``setter``: the work that ended when
    it was set, -1 for none. ``waited``: whether the pipe had to stand still for it.
    """

    flag: Flag
    set_at: float
    taken_at: float
    setter: int
    derived: bool
    waited: bool


@attrs.frozen(eq=False)
class Schedule:
    """Times in cycles of each work, by its position among the stream's works.

    ``causes``: the work whose end let this one begin, -1 for none; a chain of causes has no gap. ``handovers``: the
    flags in the order in which they were taken. ``stuck``: the item that each pipe could not get past, when the stream
    never ends. ``stalled``: where the program sets a flag that still is set, which waits here until it is not.
    """

    works: tuple[Work, ...]
    starts: tuple[float, ...]
    ends: tuple[float, ...]
    causes: tuple[int, ...]
    handovers: tuple[Handover, ...] = ()
    stuck: tuple[Item, ...] = ()
    stalled: tuple[SetFlag, ...] = ()

    @property
    def makespan(self) -> float:
        """Cycles from the first start to the last end."""
        return max(self.ends, default=0.0)

    def critical_path(self) -> tuple[int, ...]:
        """Positions of the works that make the run as long as it is, from the first to the last."""
        chain: list[int] = []
        at = self.ends.index(self.makespan) if self.ends else -1
        while at >= 0:
            chain.append(at)
            at = self.causes[at]
        return tuple(reversed(chain))


@attrs.define(eq=False)
class _Queue:
    """What is left for one pipe: item, its number among works, and how much of the scalar queue precedes it."""

    items: list[tuple[Item, int, int]] = attrs.field(factory=list[tuple[Item, int, int]])
    at: int = 0
    now: Moment = BEGINNING


@attrs.define(eq=False)
class _Player:
    queues: dict[PipeType, _Queue]
    needs: dict[Barrier, dict[PipeType, int]]
    works: list[Work]
    starts: list[float]
    ends: list[float]
    causes: list[int]
    scalar: list[Moment] = attrs.field(factory=lambda: [BEGINNING])
    raised: dict[Flag, tuple[Moment, bool]] = attrs.field(factory=dict[Flag, tuple[Moment, bool]])
    lowered: dict[Flag, Moment] = attrs.field(factory=dict[Flag, Moment])
    handovers: list[Handover] = attrs.field(factory=list[Handover])
    stalled: list[SetFlag] = attrs.field(factory=list[SetFlag])

    def play(self) -> None:
        going = True
        while going:
            going = False
            for queue in self.queues.values():
                while queue.at < len(queue.items) and self._step(queue):
                    going = True

    def _step(self, queue: _Queue) -> bool:
        """Take the first item of a queue; False when it has to wait for another pipe."""
        item, number, issued_after = queue.items[queue.at]
        if issued_after >= len(self.scalar):
            return False
        now = max(queue.now, self.scalar[issued_after], key=_time)
        if isinstance(item, Work):
            now = self._work(item, number, now)
        elif isinstance(item, SetFlag):
            if item.flag in self.raised:
                return False
            freed = self.lowered.get(item.flag, BEGINNING)
            if freed[0] > now[0]:
                self.stalled.append(item)
                now = freed
            self.raised[item.flag] = (now, item.derived)
        elif isinstance(item, WaitFlag):
            if item.flag not in self.raised:
                return False
            now = self._take(item.flag, now)
        else:
            counts = self.needs[item]
            if any(self.queues[pipe].at < count for pipe, count in counts.items()):
                return False
            now = max((now, *(self.queues[pipe].now for pipe in counts)), key=_time)
        queue.now = now
        queue.at += 1
        if item.pipe is PipeType.S:
            self.scalar.append(now)
        return True

    def _work(self, work: Work, number: int, now: Moment) -> Moment:
        start, cause = now
        self.starts[number], self.ends[number], self.causes[number] = start, start + work.cycles, cause
        return start + work.cycles, number

    def _take(self, flag: Flag, now: Moment) -> Moment:
        set_at, derived = self.raised.pop(flag)
        waited = set_at[0] > now[0]
        now = max(now, set_at, key=_time)
        self.lowered[flag] = now
        self.handovers.append(Handover(flag, set_at[0], now[0], set_at[1], derived, waited))
        return now


def _time(moment: Moment) -> float:
    return moment[0]


def simulate(stream: Stream) -> Schedule:
    """Play a stream whose flags are all there. Flags and barriers take no time of their own."""
    queues = {pipe: _Queue() for pipe in PIPES}
    needs: dict[Barrier, dict[PipeType, int]] = {}
    found: list[Work] = []
    scalar_items = 0
    for item in stream:
        queues[item.pipe].items.append((item, len(found), scalar_items))
        if isinstance(item, Work):
            found.append(item)
        elif isinstance(item, Barrier):
            needs[item] = {p: len(q.items) for p, q in queues.items() if p is not PipeType.S}
        scalar_items += item.pipe is PipeType.S
    count = len(found)
    player = _Player(queues, needs, found, [0.0] * count, [0.0] * count, [-1] * count)
    player.play()
    return Schedule(
        tuple(found),
        tuple(player.starts),
        tuple(player.ends),
        tuple(player.causes),
        tuple(player.handovers),
        tuple(q.items[q.at][0] for q in queues.values() if q.at < len(q.items)),
        tuple(item for item in player.stalled if not item.derived),
    )


def unbalanced(stream: Stream) -> Iterator[tuple[Flag, int, int]]:
    """Flags that are not waited for as often as they are set: the flag, sets, waits."""
    sets = Counter(item.flag for item in stream if isinstance(item, SetFlag))
    waits = Counter(item.flag for item in stream if isinstance(item, WaitFlag))
    for flag in dict.fromkeys((*sets, *waits)):
        if sets[flag] != waits[flag]:
            yield flag, sets[flag], waits[flag]
