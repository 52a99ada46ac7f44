"""One model with its demands fixed: what is known of it beforehand, and the questions asked of it.

Before any search, `inference` finds the atoms and orders that every plan shares. What is left, the choice
between providers and the order of destroyers and of what they destroy, is decided by `clauses` over `links`.
"""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from pypto_core.solver.clauses import OutOfTurns
from pypto_core.solver.closure import relevant
from pypto_core.solver.inference import infer, with_chains
from pypto_core.solver.links import Links
from pypto_core.solver.model import Model, bits


class BudgetExceeded(Exception):
    """More states were opened than the problem allows."""

    def __init__(self, states: int) -> None:
        super().__init__(f"more than {states} states")
        self.states = states


@attrs.define(eq=False)
class Answer:
    """The least plan: atoms in order, how many of them were chosen providers, and the states opened.

    ``proved``: it is the least one for sure, and not only the least that was found within the budget.
    """

    sequence: list[int]
    cost: int
    states: int
    proved: bool = True


class Search:
    """One model with demands fixed.

    ``alive`` are the atoms that may occur; of those that nobody needs only ``offers`` are kept. ``extra`` are
    further predecessors.
    """

    def __init__(
        self,
        model: Model,
        alive: int,
        must: int,
        budget: int,
        extra: dict[int, int] | None = None,
        offers: int = 0,
    ) -> None:
        self.model, self.limit = model, budget
        must = with_chains(model, must)
        alive = relevant(model, alive, with_chains(model, must | offers))
        pred = [p & alive for p in model.pred]
        for i, mask in (extra or {}).items():
            pred[i] |= mask & alive
        law = infer(model, alive, must, pred)
        self.possible, self.must, self.alive = law.possible, law.must, law.alive
        self.waits, self.before, self.order = law.waits, law.before, law.order
        # Providers that are in every plan are no choice.
        self.base = (self.must & ~must).bit_count()
        self.optional = self.alive & ~self.must
        self.pred = [p & self.alive for p in pred]
        self.links: Links | None = None
        self.witness: list[int] | None = None
        self._index()

    def _index(self) -> None:
        model = self.model
        count, width = len(model.atoms), len(model.properties)
        self.users: list[int] = [0] * width
        self.makers: list[int] = [0] * width
        self.killers: list[int] = [0] * width
        # The atoms that may have waited for an atom: those that follow it by an order and users of what it makes.
        self.after: list[list[int]] = [[] for _ in range(count)]
        self.contested = 0
        # Running one of these ends the hope of an optional atom that has to precede it.
        self.blocked_by: dict[int, int] = {}
        for i in self.order:
            self.contested |= model.kills[i]
            for b in bits(model.requires[i]):
                self.users[b] |= 1 << i
            for b in bits(model.makes[i]):
                self.makers[b] |= 1 << i
            for b in bits(model.kills[i]):
                self.killers[b] |= 1 << i
            for j in bits(self.waits[i]):
                self.after[j].append(i)
            for j in bits(self.pred[i] & self.optional):
                self.blocked_by[j] = self.blocked_by.get(j, 0) | 1 << i
        for i in self.order:
            for b in bits(model.makes[i]):
                self.after[i] += bits(self.users[b])
        self.clash = [0] * count
        for i in self.order:
            self.clash[i] = self._clashes(i)

    def _clashes(self, i: int) -> int:
        """The atoms whose order with atom i matters: one ends what the other needs or makes, or its hope."""
        model = self.model
        found = self.pred[i] & self.optional | self.blocked_by.get(i, 0)
        for b in bits(model.kills[i]):
            found |= self.users[b] | self.makers[b]
        for b in bits((model.requires[i] | model.makes[i]) & self.contested):
            found |= self.killers[b]
        return found & ~(1 << i)

    @property
    def states(self) -> int:
        """The work so far: conflicts met and answers found."""
        return self.links.clauses.turns if self.links else 0

    def feasible(self) -> bool:
        """Whether any plan exists; ``witness`` is one. Raises BudgetExceeded when that stays open."""
        if self.witness is None and self.possible:
            self.links = Links(self, self.limit)
            try:
                self.witness = self.links.answer()
            except OutOfTurns:
                raise BudgetExceeded(self.limit) from None
            self.possible = self.witness is not None
        return self.possible

    def goes(self, sequence: Iterable[int], held: int, ran: int) -> bool:
        """Whether all of ``sequence`` may run in this order from a state, and leads to the goals."""
        model = self.model
        for i in sequence:
            if model.requires[i] & ~held or self.waits[i] & ~ran or self.blocked_by.get(i, 0) & ran:
                return False
            held = held & ~model.kills[i] | model.makes[i]
            ran |= 1 << i
        return not model.goal & ~held
