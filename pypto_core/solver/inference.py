"""What follows before any search: atoms that every plan contains, and orders that losses force.

A destroyer k of p and a user u of p are either apart by a new making of p, or the user comes first. So when no
maker can run between them, u precedes k; when k is known to precede u, some maker runs between the two, and
the only one that can is demanded there. Each such order can force the next, so this is repeated until nothing
follows.
"""

from __future__ import annotations

import attrs

from pypto_core.solver.closure import landmarks, relaxed
from pypto_core.solver.model import Model, bits


@attrs.define(eq=False)
class Law:
    """What holds for every plan of a model with its demands.

    ``possible`` is False when there is no plan for sure. ``before`` gives for each atom those that precede
    it. ``repairs`` are pairs of a destroyer and makers of which one has to run after it.
    """

    possible: bool
    alive: int
    must: int
    waits: list[int]
    order: list[int] = attrs.field(factory=list[int])
    before: dict[int, int] = attrs.field(factory=dict[int, int])
    repairs: list[tuple[int, int]] = attrs.field(factory=list[tuple[int, int]])


def with_chains(model: Model, must: int) -> int:
    """The demanded atoms with the earlier instances that they rest on."""
    for i in bits(must):
        must |= model.chain[i]
    return must


def infer(model: Model, alive: int, must: int, pred: list[int]) -> Law:
    """All that follows; ``pred`` are the atoms that precede each atom wherever both occur."""
    law = Law(True, alive, must, list(model.chain))
    users, makers = _tables(model, alive)
    forced: dict[int, int] = {}
    while True:
        law.waits = [
            p & law.must | c | forced.get(i, 0)
            for i, (p, c) in enumerate(zip(pred, model.chain, strict=True))
        ]
        held, law.order = relaxed(model, law.alive, law.waits, model.start)
        law.alive = sum(1 << i for i in law.order)
        if law.must & ~law.alive or model.goal & ~held:
            law.possible = False
            law.before = dict.fromkeys(law.order, 0)
            return law
        found, law.before = landmarks(model, law.must, law.order, law.waits)
        found = with_chains(model, found)
        if found != law.must:
            law.must = found
            continue
        if not _Losses(model, law, users, makers, forced).follow():
            return law


def _tables(model: Model, alive: int) -> tuple[dict[int, int], dict[int, int]]:
    """Users and makers of each property that some atom destroys."""
    lost = 0
    for i in bits(alive):
        lost |= model.kills[i]
    users, makers = dict.fromkeys(bits(lost), 0), dict.fromkeys(bits(lost), 0)
    for i in bits(alive):
        for b in bits(model.requires[i] & lost):
            users[b] |= 1 << i
        for b in bits(model.makes[i] & lost):
            makers[b] |= 1 << i
    return users, makers


class _Losses:
    """One round over all demanded destroyers."""

    def __init__(
        self,
        model: Model,
        law: Law,
        users: dict[int, int],
        makers: dict[int, int],
        forced: dict[int, int],
    ) -> None:
        self.model, self.law, self.users, self.makers, self.forced = model, law, users, makers, forced
        self.changed = False
        law.repairs = []

    def follow(self) -> bool:
        """Adds what follows from the losses; whether anything new did."""
        law = self.law
        for k in bits(law.must):
            for b in bits(self.model.kills[k]):
                able = [m for m in bits(self.makers[b] & law.alive & ~(1 << k)) if not law.before[k] >> m & 1]
                if self.model.goal >> b & 1:
                    self._between(k, able, None)
                for u in bits(self.users[b] & law.must & ~(1 << k) & ~law.before[k]):
                    served = [m for m in able if not law.before[m] >> u & 1 and m != u]
                    if law.before[u] >> k & 1:
                        self._between(k, served, u)
                    elif not served:
                        self._wait(k, u)
        return self.changed and law.possible

    def _between(self, killer: int, able: list[int], user: int | None) -> None:
        """Some atom of ``able`` runs after the killer, and before the user when there is one."""
        law = self.law
        if not able:
            law.possible = False
        elif len(able) == 1:
            maker = able[0]
            if not law.must >> maker & 1:
                law.must = with_chains(self.model, law.must | 1 << maker)
                self.changed = True
            self._wait(maker, killer)
            if user is not None:
                self._wait(user, maker)
        else:
            law.repairs.append((killer, sum(1 << m for m in able)))

    def _wait(self, later: int, earlier: int) -> None:
        if not self.law.before[later] >> earlier & 1 and not self.forced.get(later, 0) >> earlier & 1:
            self.forced[later] = self.forced.get(later, 0) | 1 << earlier
            self.changed = True
