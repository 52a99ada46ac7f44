"""Reads the least sequence off a search: at each step the first atom in key order that some plan goes on with."""

from __future__ import annotations

import heapq

from pypto_core.solver.cheapest import cheapest
from pypto_core.solver.clauses import OutOfTurns
from pypto_core.solver.links import Links
from pypto_core.solver.model import bits
from pypto_core.solver.search import Answer, Search


def best_plan(search: Search) -> Answer | None:
    """The least plan of a search, or None when there is none."""
    if not search.feasible() or search.links is None or search.witness is None:
        return None
    witness, proved = cheapest(search.links, search.optional, search.witness)
    if not proved:
        witness = _spared(search, witness)
        search.links.settle(witness)
    reading = _Extraction(search, search.links, witness)
    sequence = reading.sequence()
    cost = search.base + (sum(1 << i for i in sequence) & search.optional).bit_count()
    return Answer(sequence, cost, search.states, proved and reading.proved)


def _spared(search: Search, sequence: list[int]) -> list[int]:
    """A plan without the steps that it can do without, looked for from its end."""
    for i in reversed(sequence):
        fewer = [j for j in sequence if j != i]
        if search.optional >> i & 1 and search.goes(fewer, search.model.start, 0):
            sequence = fewer
    return sequence


class _Extraction:
    """Reads the least sequence; ``rest`` is always a way to go on."""

    def __init__(self, search: Search, links: Links, witness: list[int]) -> None:
        self.search, self.links = search, links
        self.held, self.ran = search.model.start, 0
        self.rest = witness
        self.proved = True
        self.made_by: dict[int, int] = {}
        self.unfixed: list[tuple[int, int, dict[int, int]]] = []
        """Steps that the links don't know of yet, each with what held before it and who made it."""
        self.ready: list[int] = []
        self.refused: list[int] = []
        self.by_property: dict[int, list[int]] = {}
        self.by_atom: dict[int, list[int]] = {}

    def sequence(self) -> list[int]:
        search = self.search
        for i in sorted(search.order):
            self._watch(i)
        found: list[int] = []
        while self.rest:
            i = heapq.heappop(self.ready)
            if self._lacks(i):
                self._watch(i)
            elif self._acceptable(i):
                found.append(i)
                self._run(i)
            else:
                self.refused.append(i)
        return found

    def _lacks(self, i: int) -> bool:
        return bool(self.search.model.requires[i] & ~self.held or self.search.waits[i] & ~self.ran)

    def _watch(self, i: int) -> None:
        """Queue atom i, or leave it with one thing that it waits for."""
        lacking = self.search.model.requires[i] & ~self.held
        behind = self.search.waits[i] & ~self.ran
        if lacking:
            self.by_property.setdefault(lacking & -lacking, []).append(i)
        elif behind:
            self.by_atom.setdefault(behind & -behind, []).append(i)
        else:
            heapq.heappush(self.ready, i)

    def _acceptable(self, i: int) -> bool:
        """Whether some plan goes on with atom i; if so the rest begins with it."""
        if self.rest[0] == i:
            return True
        if i in self.rest:
            moved = [i, *(j for j in self.rest if j != i)]
            passed = sum(1 << j for j in self.rest[: self.rest.index(i)])
            if not self.search.clash[i] & passed or self.search.goes(moved, self.held, self.ran):
                self.rest = moved
                return True
        elif self.links.clauses.fixed(self.links.runs[i]) < 0:
            return False
        for step in self.unfixed:
            self.links.fix(*step)
        self.unfixed = []
        try:
            other = self.links.answer_with(i)
        except OutOfTurns:
            self.proved = False
            return False
        if other is None:
            return False
        self.rest = other[self.ran.bit_count() :]
        return True

    def _run(self, i: int) -> None:
        search = self.search
        self.rest = self.rest[1:]
        needed = bits(search.model.requires[i])
        self.unfixed.append((i, self.held, {b: self.made_by[b] for b in needed if b in self.made_by}))
        self.made_by.update(dict.fromkeys(bits(search.model.makes[i]), i))
        new = search.model.makes[i] & ~self.held
        self.held = self.held & ~search.model.kills[i] | search.model.makes[i]
        self.ran |= 1 << i
        woken = self.by_atom.pop(1 << i, [])
        for b in bits(new):
            woken += self.by_property.pop(1 << b, [])
        # What was refused before stays refused where its order with this atom does not matter: a completion
        # that begins with the two would begin as well with the two exchanged.
        clash = search.clash[i]
        woken += [j for j in self.refused if clash >> j & 1]
        self.refused = [j for j in self.refused if not clash >> j & 1]
        for j in woken:
            self._watch(j)
