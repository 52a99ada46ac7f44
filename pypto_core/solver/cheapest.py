"""The fewest chosen providers, from below: cores of what can't all stay out (Andres et al. 2012, OLL).

At first every provider is assumed to stay out. A set of assumptions that can't hold together costs one, and
is replaced by a counter of those that fail, of which a second one is assumed not to. Once there is an answer
under all that is left assumed, the least cost is the number of cores.
"""

from __future__ import annotations

import attrs

from pypto_core.solver.clauses import FALSE, Clauses, OutOfTurns
from pypto_core.solver.links import Links
from pypto_core.solver.model import bits

TRIAL = 1
"""Turns that may be spent on leaving one literal out of a core."""


def cheapest(links: Links, optional: int, witness: list[int]) -> tuple[list[int], bool]:
    """A plan with the fewest atoms of ``optional``, and whether that is proved; ``witness`` is any plan.

    When it is proved, the links allow no other cost any more.
    """
    search = _Descent(links, optional, witness)
    try:
        search.run()
    except OutOfTurns:
        return search.best, False
    return search.best, True


class _Descent:
    def __init__(self, links: Links, optional: int, witness: list[int]) -> None:
        self.links, self.clauses, self.optional = links, links.clauses, optional
        self.best, self.least = witness, 0
        self.hopes = [links.runs[i] ^ 1 for i in bits(optional)]
        self.counters: dict[int, _Counter] = {}
        self.waiting: list[_Counter] = []

    def run(self) -> None:
        while self._price(self.best) > self.least:
            found = self.links.answer(self.hopes)
            if found is None:
                self._pay(self._shrunk(self.clauses.core))
                continue
            if self._price(found) < self._price(self.best):
                self.best = found
            self._count()
        self._count()
        for hope in self.hopes:
            self.clauses.add([hope])

    def _price(self, sequence: list[int]) -> int:
        return (sum(1 << i for i in sequence) & self.optional).bit_count()

    def _pay(self, core: list[int]) -> None:
        """One of the core fails; that it is no more than one is hoped once all cores without a counter are known."""
        self.least += 1
        self.hopes = [x for x in self.hopes if x not in core]
        self.clauses.add([x ^ 1 for x in core])
        for x in core:
            if x in self.counters:
                self._hope(self.counters.pop(x))
        if len(core) > 1:
            self.waiting.append(_Counter([x ^ 1 for x in core]))

    def _count(self) -> None:
        for counter in self.waiting:
            self._hope(counter)
        self.waiting = []

    def _hope(self, counter: _Counter) -> None:
        more = counter.more(self.clauses)
        if more != FALSE:
            self.counters[more ^ 1] = counter
            self.hopes.append(more ^ 1)

    def _shrunk(self, core: list[int]) -> list[int]:
        """The core without what little work shows to be superfluous."""
        for x in list(core):
            rest = [y for y in core if y != x]
            try:
                if x in core and not self.clauses.solve(rest, TRIAL):
                    core = self.clauses.core
            except OutOfTurns:
                continue
        return core


@attrs.define(eq=False)
class _Counter:
    """How many literals of a core are true; what is known is that one is.

    ``column`` holds for each number of first inputs whether at least ``number`` of them are true.
    """

    inputs: list[int]
    number: int = 0
    column: list[int] = attrs.field(factory=list[int])

    def more(self, clauses: Clauses) -> int:
        """The literal that one more input is true than the last such literal said, at first two."""
        if not self.number:
            self._next(clauses)
        self._next(clauses)
        return self.column[-1]

    def _next(self, clauses: Clauses) -> None:
        self.number += 1
        fewer = self.column or [-1] * (len(self.inputs) + 1)
        column = [FALSE] * (len(self.inputs) + 1)
        for k in range(self.number, len(column)):
            column[k] = clauses.new()
            clauses.add((column[k - 1] ^ 1, column[k]))
            given = () if self.number == 1 else (fewer[k - 1] ^ 1,)
            clauses.add((self.inputs[k - 1] ^ 1, *given, column[k]))
        self.column = column
