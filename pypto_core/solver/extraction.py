"""Reads the least sequence off a search: at each step the first atom in key order that leaves a completion."""

from __future__ import annotations

import heapq

from pypto_core.solver.model import bits
from pypto_core.solver.search import Answer, Search


def best_plan(search: Search) -> Answer | None:
    """The least plan of a search, or None when there is none."""
    cost = search.least_cost()
    if cost is None:
        return None
    return Answer(_Extraction(search, cost).sequence(), search.base + cost, search.states)


class _Extraction:
    """Reads the least sequence off a search that has a completion within ``budget``."""

    def __init__(self, search: Search, budget: int) -> None:
        self.search, self.budget = search, budget
        self.held, self.ran = search.model.start, 0
        self.ready: list[int] = []
        self.refused: list[int] = []
        self.by_property: dict[int, list[int]] = {}
        self.by_atom: dict[int, list[int]] = {}

    def sequence(self) -> list[int]:
        search = self.search
        for i in sorted(search.order):
            self._watch(i)
        found: list[int] = []
        while search.model.goal & ~self.held or search.must & ~self.ran:
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
        search = self.search
        demanded = search.must >> i & 1
        price = 1 - demanded
        if price > self.budget or search.blocked_by.get(i, 0) & self.ran:
            return False
        if demanded and search.safe(i, self.held, self.ran):
            return True
        if search.hopeless(i, self.held, self.ran):
            return False
        kills, makes = search.model.kills[i], search.model.makes[i]
        ready = self.ready + self.refused + search.after[i]
        return search.completable(self.held & ~kills | makes, self.ran | 1 << i, self.budget - price, ready)

    def _run(self, i: int) -> None:
        search = self.search
        self.budget -= 1 - (search.must >> i & 1)
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
