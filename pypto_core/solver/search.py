"""Exact search for the least plan of a model.

The search only branches where something can be lost. A demanded atom that can run now and whose run destroys
nothing that is still needed, whose products nothing can destroy while they are still needed, and before which
no other atom may still have to come, can be moved to the front of any completion (the exchange law): the
states before its old place only gain properties, those after it are the same. Such atoms run at once. What
is left are the destroyers, the makers of what they destroy, and providers that are a choice.

Whether a state can be completed within a budget of chosen providers is decided by a depth-first search with
memory; the least budget is found from an admissible bound upwards; the least sequence is then read off, as
at each step the first atom in key order whose successor state can be completed. A refusal stays valid while
only atoms run that neither need, make nor destroy anything contested, so that it is not asked again.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator

import attrs

from pypto_core.solver.closure import landmarks, relaxed, relevant
from pypto_core.solver.model import Model, bits

UNBOUNDED = 1 << 30


class BudgetExceeded(Exception):
    """More states were opened than the problem allows."""

    def __init__(self, states: int) -> None:
        super().__init__(f"more than {states} states")
        self.states = states


@attrs.define(eq=False)
class _Frame:
    """A state that has to be decided: what may run next, and what is left to spend."""

    key: tuple[int, int]
    left: list[int]
    budget: int
    candidates: Iterator[int]


@attrs.define(eq=False)
class Answer:
    """The least plan: atoms in order, and how many of them were chosen providers."""

    sequence: list[int]
    cost: int
    states: int


class Search:
    """One model with demands fixed. ``alive`` are the atoms that may occur; ``extra`` further predecessors."""

    def __init__(
        self,
        model: Model,
        alive: int,
        must: int,
        budget: int,
        extra: dict[int, int] | None = None,
    ) -> None:
        self.model, self.limit, self.states = model, budget, 0
        self.must = self._with_chains(must)
        self.alive = relevant(model, alive, self.must)
        pred = [p & self.alive for p in model.pred]
        for i, mask in (extra or {}).items():
            pred[i] |= mask & self.alive
        self.pred = pred
        self.possible = self.must & ~alive == 0
        waits = [p & self.must | c for p, c in zip(pred, model.chain, strict=True)]
        held, order = relaxed(model, self.alive, waits, model.start)
        reached = sum(1 << i for i in order)
        self.possible = self.possible and not model.goal & ~held and not self.must & ~reached
        self.alive &= reached
        # Chosen providers that are in every plan are no choice.
        self.base = 0
        if self.possible and self.alive & ~self.must:
            forced = self._with_chains(landmarks(model, self.alive, self.must, order))
            self.base = (forced & ~self.must).bit_count()
            self.must |= forced
        self._prepare(order)

    def _with_chains(self, must: int) -> int:
        for i in bits(must):
            must |= self.model.chain[i]
        return must

    def _prepare(self, order: list[int]) -> None:
        model, alive = self.model, self.alive
        count = len(model.atoms)
        self.optional = alive & ~self.must
        self.pred = [p & alive for p in self.pred]
        self.waits = [p & self.must | c for p, c in zip(self.pred, model.chain, strict=True)]
        self.order = [i for i in order if alive >> i & 1]
        self.is_must = bytearray(count)
        for i in bits(self.must):
            self.is_must[i] = 1
        # Running one of these ends the hope of an optional atom that has to precede it.
        self.blocked_by: dict[int, int] = {}
        for j in self.order:
            for i in bits(self.pred[j] & self.optional):
                self.blocked_by[i] = self.blocked_by.get(i, 0) | 1 << j
        self.contested = 0
        for i in self.order:
            self.contested |= model.kills[i]
        self.users: dict[int, int] = {}
        self.makers: dict[int, int] = {}
        self.killers: dict[int, int] = {}
        for i in self.order:
            bit = 1 << i
            for table, mask in (
                (self.users, model.requires[i]),
                (self.makers, model.makes[i]),
                (self.killers, model.kills[i]),
            ):
                for b in bits(mask & self.contested):
                    table[b] = table.get(b, 0) | bit
        self.plain = bytearray(count)
        self.quiet = bytearray(count)
        for i in self.order:
            loses = model.kills[i] | model.makes[i] & self.contested
            self.plain[i] = self.is_must[i] and not loses and not self.pred[i] & self.optional
            self.quiet[i] = self.plain[i] and not model.requires[i] & self.contested
        self.all_makers: dict[int, int] = {}
        if self.optional:
            for i in self.order:
                for b in bits(model.makes[i]):
                    self.all_makers[b] = self.all_makers.get(b, 0) | 1 << i
        self.dead: dict[tuple[int, int], int] = {}
        self.fine: dict[tuple[int, int], int] = {}

    # -- the laws of one step ------------------------------------------------------------------------------

    def runnable(self, i: int, held: int, ran: int) -> bool:
        """Whether atom i may run now without breaking a demand or an order."""
        if self.model.requires[i] & ~held or self.waits[i] & ~ran:
            return False
        return not self.blocked_by.get(i, 0) & ran

    def safe(self, i: int, held: int, ran: int) -> bool:
        """Whether running the demanded, runnable atom i now loses nothing (the exchange law)."""
        if self.plain[i]:
            return True
        model, others = self.model, ~ran & ~(1 << i)
        if self.pred[i] & others:
            return False
        for b in bits(model.kills[i] & held):
            if model.goal >> b & 1 or self.users.get(b, 0) & others:
                return False
        for b in bits(model.makes[i] & self.contested):
            if self.killers[b] & others and (model.goal >> b & 1 or self.users.get(b, 0) & others):
                return False
        return True

    def hopeless(self, i: int, held: int, ran: int) -> bool:
        """Whether atom i now would destroy what a demand still needs and nothing can make again."""
        others = ~ran & ~(1 << i)
        for b in bits(self.model.kills[i] & held):
            if self.model.goal >> b & 1 or self.users.get(b, 0) & self.must & others:
                if not self.makers.get(b, 0) & others:
                    return True
        return False

    # -- deciding a state ----------------------------------------------------------------------------------

    def completable(self, held: int, ran: int, budget: int) -> bool:
        """Whether all demands and goals can be met from here with at most ``budget`` chosen providers."""
        first = self._enter(held, ran, [i for i in self.order if not ran >> i & 1], budget)
        if isinstance(first, bool):
            return first
        stack = [first]
        while stack:
            frame = stack[-1]
            for i in frame.candidates:
                held, ran = frame.key
                child = self._enter(
                    held & ~self.model.kills[i] | self.model.makes[i],
                    ran | 1 << i,
                    [j for j in frame.left if j != i],
                    frame.budget - (not self.is_must[i]),
                )
                if child is True:
                    for open_frame in stack:
                        known = self.fine.get(open_frame.key, UNBOUNDED + 1)
                        self.fine[open_frame.key] = min(known, open_frame.budget)
                    return True
                if child is not False:
                    stack.append(child)
                    break
            else:
                self.dead[frame.key] = max(self.dead.get(frame.key, -1), frame.budget)
                stack.pop()
        return False

    def _enter(self, held: int, ran: int, left: list[int], budget: int) -> _Frame | bool:
        if budget < 0:
            return False
        held, ran, left = self._saturate(held, ran, left)
        if budget >= (self.optional & ~ran).bit_count():
            budget = UNBOUNDED  # one entry in the memory stands for every budget that can't run out
        if not self.model.goal & ~held and not self.must & ~ran:
            return True
        key = (held, ran)
        if self.dead.get(key, -1) >= budget:
            return False
        if self.fine.get(key, UNBOUNDED + 1) <= budget:
            return True
        self.states += 1
        if self.states > self.limit:
            raise BudgetExceeded(self.limit)
        if not self._reaches(held, ran, left):
            self.dead[key] = UNBOUNDED
            return False
        if self.optional and self._bound(held, ran) > budget:
            self.dead[key] = max(self.dead.get(key, -1), budget)
            return False
        return _Frame(key, left, budget, iter(self._candidates(held, ran, left, budget)))

    def _saturate(self, held: int, ran: int, left: list[int]) -> tuple[int, int, list[int]]:
        requires, makes, kills = self.model.requires, self.model.makes, self.model.kills
        waits, is_must, plain = self.waits, self.is_must, self.plain
        size = -1
        while size != len(left):
            size = len(left)
            rest: list[int] = []
            for i in left:
                if requires[i] & ~held or waits[i] & ~ran or not is_must[i]:
                    rest.append(i)
                elif plain[i] or self.safe(i, held, ran):
                    held = held & ~kills[i] | makes[i]
                    ran |= 1 << i
                else:
                    rest.append(i)
            left = rest
        return held, ran, left

    def _reaches(self, held: int, ran: int, left: list[int]) -> bool:
        """Whether goals and demands are in the relaxed closure of a state."""
        requires, makes, waits = self.model.requires, self.model.makes, self.waits
        left = [i for i in left if not self.blocked_by.get(i, 0) & ran]
        size = -1
        while size != len(left):
            size = len(left)
            rest: list[int] = []
            for i in left:
                if requires[i] & ~held or waits[i] & ~ran:
                    rest.append(i)
                else:
                    held |= makes[i]
                    ran |= 1 << i
            left = rest
        return not self.model.goal & ~held and not self.must & ~ran

    def _bound(self, held: int, ran: int) -> int:
        """A number of chosen providers that no completion can do without; UNBOUNDED when there is none.

        Sole makers are followed backwards; of the remaining choices, as many as share no maker are counted.
        """
        model = self.model
        usable = self.alive & ~ran
        taken, want, seen = 0, model.goal & ~held, 0
        for i in bits(self.must & ~ran):
            want |= model.requires[i] & ~held
        choices: list[int] = []
        while want & ~seen:
            fresh = want & ~seen
            seen |= fresh
            for b in bits(fresh):
                able = self.all_makers.get(b, 0) & usable
                if able & self.must:
                    continue
                if not able:
                    return UNBOUNDED
                if able & (able - 1):
                    choices.append(able)
                elif not able & taken:
                    taken |= able
                    want |= model.requires[able.bit_length() - 1] & ~held
        count, used = taken.bit_count(), taken
        for able in sorted(choices, key=lambda m: (m.bit_count(), m)):
            if not able & used:
                used |= able
                count += 1
        return count

    def _candidates(self, held: int, ran: int, left: list[int], budget: int) -> list[int]:
        """What may run next, most promising first: makers of something new, then destroyers, then the rest."""
        model = self.model
        ranked: list[tuple[int, int]] = []
        useful = self._useful(held, ran) if self.optional else 0
        for i in left:
            if not self.runnable(i, held, ran) or self.hopeless(i, held, ran):
                continue
            new = model.makes[i] & ~held
            if not self.is_must[i] and (budget < 1 or not new or not useful >> i & 1):
                continue
            harm = model.kills[i] & held
            ranked.append(((1 if harm else 0) if new else 2 + (1 if harm else 0), i))
        ranked.sort()
        return [i for _, i in ranked]

    def _useful(self, held: int, ran: int) -> int:
        """Optional atoms that can still serve something: makers, backwards, of what may be needed again."""
        model = self.model
        usable = self.alive & ~ran
        want = model.goal
        for i in bits(self.must & ~ran):
            want |= model.requires[i]
        secure = held
        for b, killers in self.killers.items():
            if killers & usable:
                secure &= ~(1 << b)
        keep, seen = 0, secure
        while want & ~seen:
            fresh = want & ~seen
            seen |= fresh
            for b in bits(fresh):
                for i in bits(self.all_makers.get(b, 0) & usable & ~keep):
                    keep |= 1 << i
                    want |= model.requires[i]
        return keep

    # -- the least plan ------------------------------------------------------------------------------------

    def feasible(self) -> bool:
        """Whether any plan exists."""
        return self.possible and self.completable(self.model.start, 0, UNBOUNDED)

    def least_cost(self) -> int | None:
        """The fewest chosen providers of any plan, those in every plan not counted; None without a plan."""
        if not self.feasible():
            return None
        if not self.optional:
            return 0
        cost = self._bound(self.model.start, 0)
        while not self.completable(self.model.start, 0, cost):
            cost += 1
        return cost

    def best(self) -> Answer | None:
        """The least plan, or None when there is none."""
        cost = self.least_cost()
        if cost is None:
            return None
        return Answer(_Extraction(self, cost).sequence(), self.base + cost, self.states)


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
        price = 0 if search.is_must[i] else 1
        if price > self.budget or search.blocked_by.get(i, 0) & self.ran:
            return False
        if search.is_must[i] and search.safe(i, self.held, self.ran):
            return True
        if search.hopeless(i, self.held, self.ran):
            return False
        kills, makes = search.model.kills[i], search.model.makes[i]
        return search.completable(self.held & ~kills | makes, self.ran | 1 << i, self.budget - price)

    def _run(self, i: int) -> None:
        search = self.search
        self.budget -= 0 if search.is_must[i] else 1
        new = search.model.makes[i] & ~self.held
        self.held = self.held & ~search.model.kills[i] | search.model.makes[i]
        self.ran |= 1 << i
        woken = self.by_atom.pop(1 << i, [])
        for b in bits(new):
            woken += self.by_property.pop(1 << b, [])
        if not search.quiet[i]:
            woken += self.refused
            self.refused = []
        for j in woken:
            self._watch(j)
