"""What each pipe knows to be done, as a walk through a stream in some order of execution finds out.

A pipe's clock holds a number for every pipe: all work of that pipe with a smaller number is done before the next
item of this one begins. Flags hand clocks on, a barrier gives everybody everything, and whatever is issued knows
what the scalar unit has waited for. It does not know the scalar unit's own work: a scalar store may still be on its
way to memory when the next instruction is issued.
"""

from __future__ import annotations

import attrs

from pypto_core.ir import PipeType
from pypto_plugin_simulator.timing.stream import PIPES, Barrier, Flag, Item, SetFlag, WaitFlag

NUMBER: dict[PipeType, int] = {pipe: number for number, pipe in enumerate(PIPES)}
"""Row of a pipe in clocks and tables."""

Clock = list[int]


def merge(clock: Clock, other: Clock) -> None:
    """Let ``clock`` know what ``other`` knows."""
    for number, known in enumerate(other):
        if known > clock[number]:
            clock[number] = known


@attrs.define(eq=False)
class Clocks:
    """The clocks of all pipes of a core, and those that flags carry.

    ``waited``: what the scalar unit has learnt by waiting, which is what everything issued later knows.
    """

    of: list[Clock] = attrs.field(factory=lambda: [[0] * len(PIPES) for _ in PIPES])
    carried: dict[Flag, list[Clock]] = attrs.field(factory=dict[Flag, list[Clock]])
    owed: dict[Flag, int] = attrs.field(factory=dict[Flag, int])
    waited: Clock = attrs.field(factory=lambda: [0] * len(PIPES))
    issued: int = 0

    def before(self, pipe: PipeType) -> Clock:
        """The clock that the next work of ``pipe`` begins with."""
        clock = self.of[NUMBER[pipe]]
        merge(clock, self.waited)
        return clock

    def after(self, pipe: PipeType, index: int) -> Clock:
        """The clock of ``pipe`` once work ``index`` of it is done."""
        clock = self.of[NUMBER[pipe]]
        clock[NUMBER[pipe]] = index + 1
        self.issued = max(self.issued, index + 1)
        return clock

    def pass_mark(self, item: Item) -> None:
        """Walk over a flag or a barrier. A wait that the walk meets before its set teaches nothing."""
        if isinstance(item, SetFlag):
            if self.owed.get(item.flag):
                self.owed[item.flag] -= 1
            else:
                self.carried.setdefault(item.flag, []).append(list(self.before(item.pipe)))
        elif isinstance(item, WaitFlag):
            carried = self.carried.get(item.flag)
            if carried:
                learnt = carried.pop(0)
                merge(self.of[NUMBER[item.pipe]], learnt)
                if item.pipe is PipeType.S:
                    merge(self.waited, learnt)
            else:
                self.owed[item.flag] = self.owed.get(item.flag, 0) + 1
        elif isinstance(item, Barrier):
            self.waited = [self.issued] * len(PIPES)
