"""Exact search for the least plan of a model.

The search only branches where something can be lost. A demanded atom that can run now and whose run destroys
nothing that is still needed, whose products nothing can destroy while they are still needed, and before which
no other atom may still have to come, can be moved to the front of any completion (the exchange law): the
states before its old place only gain properties, those after it are the same. Such atoms run at once. A
provider that is the last one able to make what a demanded atom needs is demanded as well. What is left are
choices between providers and the order of destroyers and of the makers of what they destroy.

Whether a state can be completed within a budget of chosen providers is decided by a depth-first search with
memory. The least budget is found from an admissible bound upwards. The least sequence is then read off: at
each step the first atom in key order whose successor state can be completed.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator

import attrs

from pypto_core.solver.branching import State, branches
from pypto_core.solver.closure import relevant
from pypto_core.solver.inference import infer, with_chains
from pypto_core.solver.model import Model, bits

UNBOUNDED = 1 << 30

Key = tuple[int, int]
"""What holds and what ran."""


class BudgetExceeded(Exception):
    """More states were opened than the problem allows."""

    def __init__(self, states: int) -> None:
        super().__init__(f"more than {states} states")
        self.states = states


@attrs.define(eq=False)
class _Frame:
    """A state that has to be decided, what is left to spend, and the atoms still to try next.

    ``chosen`` are unrun optional atoms that every completion contains; they are paid for.
    """

    key: Key
    chosen: int
    budget: int
    branches: Iterator[int]


@attrs.define(eq=False)
class Answer:
    """The least plan: atoms in order, how many of them were chosen providers, and the states opened."""

    sequence: list[int]
    cost: int
    states: int


class Search:
    """One model with demands fixed. ``alive`` are the atoms that may occur; ``extra`` further predecessors."""

    def __init__(
        self, model: Model, alive: int, must: int, budget: int, extra: dict[int, int] | None = None
    ) -> None:
        self.model, self.limit, self.states = model, budget, 0
        must = with_chains(model, must)
        alive = relevant(model, alive, must)
        pred = [p & alive for p in model.pred]
        for i, mask in (extra or {}).items():
            pred[i] |= mask & alive
        law = infer(model, alive, must, pred)
        self.possible, self.must, self.alive = law.possible, law.must, law.alive
        self.waits, self.before, self.order = law.waits, law.before, law.order
        self.repairs = law.repairs
        # Providers that are in every plan are no choice.
        self.base = (self.must & ~must).bit_count()
        self.optional = self.alive & ~self.must
        self.free = 0
        self.pred = [p & self.alive for p in pred]
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
        self.plain = bytearray(count)
        for i in self.order:
            loses = model.kills[i] | model.makes[i] & self.contested
            self.plain[i] = not loses and not self.pred[i] & self.optional
        self.touchy = [i for i in self.order if not self.plain[i]]
        self.touchy_mask = sum(1 << i for i in self.touchy)
        self.clash = [0] * count
        for i in self.order:
            self.clash[i] = self._clashes(i)
        # For an atom that makes something contested: those that can't run before it anyway.
        self.behind: dict[int, int] = dict.fromkeys(self.touchy, 0)
        for j in self.order:
            for i in self.touchy:
                if self.before[j] >> i & 1:
                    self.behind[i] |= 1 << j
        # The bits whose makers have to be looked at: any other one stays once its demanded maker has run.
        self.open_bits = 0
        for b in range(width):
            if self.contested >> b & 1 or not self.makers[b] & self.must:
                self.open_bits |= 1 << b
        self.dead: dict[int, list[tuple[int, int]]] = {}
        self.fine: dict[int, list[tuple[int, int]]] = {}

    def _clashes(self, i: int) -> int:
        """The atoms whose order with atom i matters: one ends what the other needs or makes, or its hope."""
        model = self.model
        found = self.pred[i] & self.optional | self.blocked_by.get(i, 0)
        for b in bits(model.kills[i]):
            found |= self.users[b] | self.makers[b]
        for b in bits((model.requires[i] | model.makes[i]) & self.contested):
            found |= self.killers[b]
        return found & ~(1 << i)

    # -- the laws of one step ------------------------------------------------------------------------------

    def runnable(self, i: int, held: int, ran: int, chosen: int) -> bool:
        """Whether atom i may run now without breaking a demand or an order."""
        if self.model.requires[i] & ~held or (self.waits[i] | self.pred[i] & chosen) & ~ran:
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
            if model.goal >> b & 1 or self.users[b] & others:
                return False
        for b in bits(model.makes[i] & self.contested):
            if self.killers[b] & others & ~self.behind[i] and (model.goal >> b & 1 or self.users[b] & others):
                return False
        return True

    def hopeless(self, i: int, held: int, ran: int) -> bool:
        """Whether atom i now would destroy what a demand still needs and nothing can make again in time."""
        others = ~ran & ~(1 << i)
        for b in bits(self.model.kills[i] & held):
            makers = self.makers[b] & others
            if not makers and self.model.goal >> b & 1:
                return True
            for user in bits(self.users[b] & self.must & others):
                if all(self.before[maker] >> user & 1 for maker in bits(makers)):
                    return True
        return False

    # -- deciding a state ----------------------------------------------------------------------------------

    def completable(self, held: int, ran: int, budget: int, ready: list[int] | None = None) -> bool:
        """Whether all demands and goals can be met from here with at most ``budget`` chosen providers.

        ``ready`` has at least the atoms that lack nothing, when the caller knows them.
        """
        woken = list(reversed(self.order)) if ready is None else ready
        first = self._enter(held, ran, 0, budget, woken)
        if isinstance(first, bool):
            return first
        stack = [first]
        while stack:
            frame = stack[-1]
            for i in frame.branches:
                child = self._branch(frame, i)
                if child is True:
                    for done in stack:
                        self._remember(self.fine, *done.key, done.budget)
                    return True
                if child is not False:
                    stack.append(child)
                    break
            else:
                self._remember(self.dead, *frame.key, frame.budget)
                stack.pop()
        return False

    def _live(self, held: int, ran: int) -> int:
        """What of a state still matters: contested properties that somebody may need. The rest follows from ``ran``."""
        live = 0
        for b in bits(held & self.contested):
            if self.model.goal >> b & 1 or self.users[b] & ~ran:
                live |= 1 << b
        return live

    def _known(self, held: int, ran: int, budget: int) -> bool | None:
        """The remembered answer: more properties or a higher budget never hurt."""
        live = self._live(held, ran)
        for other, spent in self.dead.get(ran, ()):
            if not live & ~other and budget <= spent:
                return False
        for other, spent in self.fine.get(ran, ()):
            if not other & ~live and budget >= spent:
                return True
        return None

    def _remember(self, table: dict[int, list[tuple[int, int]]], held: int, ran: int, budget: int) -> None:
        table.setdefault(ran, []).append((self._live(held, ran), budget))

    def _branch(self, frame: _Frame, i: int) -> _Frame | bool:
        held, ran = frame.key
        bit = 1 << i
        price = 0 if (self.must | self.free | frame.chosen) & bit else 1
        budget = frame.budget - frame.chosen.bit_count() - price
        woken = list(self.after[i])
        held = held & ~self.model.kills[i] | self.model.makes[i]
        return self._enter(held, ran | bit, frame.chosen & ~bit, budget, woken)

    def _enter(self, held: int, ran: int, chosen: int, budget: int, woken: list[int]) -> _Frame | bool:
        """Follows all that is forced; then the state's frame, or the answer when it is known at once."""
        choices: list[int] = []
        while budget >= 0:
            held, ran, chosen = self._settle(held, ran, chosen, woken)
            if not self.model.goal & ~held and not (self.must | chosen) & ~ran:
                return True
            forced, choices = self._needs(held, ran, chosen)
            if forced < 0:
                return False
            if not forced:
                forced = self._best_choice(held, ran, chosen, choices)
            if not forced:
                break
            chosen |= forced
            budget -= forced.bit_count()
            woken = list(bits(forced))
        least = _packing(choices)
        if budget < least:
            return False
        key, slack = (held, ran), budget - least
        if budget >= (self.optional & ~ran & ~chosen & ~self.free).bit_count():
            budget = UNBOUNDED  # one entry in the memory stands for every budget that can't run out
        else:
            budget += chosen.bit_count()
        known = self._known(held, ran, budget)
        if known is not None:
            return known
        self.states += 1
        if self.states > self.limit:
            raise BudgetExceeded(self.limit)
        if not self._reaches(held, ran):
            self._remember(self.dead, held, ran, UNBOUNDED)
            return False
        return _Frame(key, chosen, budget, iter(branches(self, State(held, ran, chosen), choices, slack)))

    def _best_choice(self, held: int, ran: int, chosen: int, choices: list[int]) -> int:
        """An atom of an open choice that serves as well as any other of it, as a mask; 0 when there is none.

        It can run now and lose nothing by it; what the others would add to it holds already, and nothing can
        destroy what they make. So a completion with another one is as good with this one instead, run now.
        """
        makes, contested = self.model.makes, self.contested
        for able in choices:
            for i in bits(able):
                if not self.plain[i] or not self.runnable(i, held, ran, chosen):
                    continue
                if all(not makes[j] & (contested | ~held & ~makes[i]) for j in bits(able) if j != i):
                    return 1 << i
        return 0

    def _settle(self, held: int, ran: int, chosen: int, woken: list[int]) -> tuple[int, int, int]:
        """Runs every demanded atom that loses nothing by it, and what this makes possible."""
        requires, makes, kills, waits = self.model.requires, self.model.makes, self.model.kills, self.waits
        plain, demanded = self.plain, self.must | self.free | chosen
        again = True
        while again:
            again = False
            for i in (-1, *bits(self.touchy_mask & demanded & ~ran)):
                if i >= 0:
                    bit = 1 << i
                    if requires[i] & ~held or waits[i] & ~ran:
                        continue
                    if not self.runnable(i, held, ran, chosen) or not self.safe(i, held, ran):
                        continue
                    ran |= bit
                    woken += self.after[i]
                    held = held & ~kills[i] | makes[i]
                    again = True  # it may have made an earlier touchy atom safe
                while woken:
                    j = woken.pop()
                    bit = 1 << j
                    if not plain[j] or ran & bit or not demanded & bit:
                        continue
                    if not requires[j] & ~held and not waits[j] & ~ran:
                        ran |= bit
                        woken += self.after[j]
                        held |= makes[j]
                        again = True
        return held, ran, chosen & ~ran

    def usable(self, ran: int) -> int:
        """The atoms that may still run as far as orders go."""
        usable = self.alive & ~ran
        for i, later in self.blocked_by.items():
            if later & ran:
                usable &= ~(1 << i)
        return usable

    def _needs(self, held: int, ran: int, chosen: int) -> tuple[int, list[int]]:
        """Optional atoms that are the last makers of a need, and the open choices; -1 for a hopeless state."""
        usable = self.usable(ran)
        demanded = (self.must | chosen) & ~ran
        given = demanded | self.free & ~ran
        goal, forced = self.model.goal, 0
        choices: list[int] = []
        open_needs = [
            self.makers[b] for b in bits(self.open_bits & ~held) if goal >> b & 1 or self.users[b] & demanded
        ]
        open_needs += [able for killer, able in self.repairs if not ran >> killer & 1]
        for makers in open_needs:
            able = makers & usable
            if able & given:
                continue
            if not able:
                return -1, []
            if able & (able - 1):
                choices.append(able)
            else:
                forced |= able
        return forced, choices

    def _reaches(self, held: int, ran: int) -> bool:
        """Whether goals and demands are in the relaxed closure of a state."""
        requires, makes, waits = self.model.requires, self.model.makes, self.waits
        usable = self.usable(ran)
        left = [i for i in self.order if usable >> i & 1]
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

    # -- the least plan ------------------------------------------------------------------------------------

    def feasible(self) -> bool:
        """Whether any plan exists."""
        return self.possible and self.completable(self.model.start, 0, UNBOUNDED)

    def least_cost(self) -> int | None:
        """The fewest chosen providers of any plan, those in every plan not counted; None without a plan."""
        if not self.feasible():
            return None
        cost = self._loss_bound()
        while not self.completable(self.model.start, 0, cost):
            cost += 1
        return cost

    def _loss_bound(self) -> int:
        """A cost below which there is no plan, from two parts of it that share no provider.

        Providers that neither destroy nor make anything contested are taken as free: what the others cost at
        least is then the price of the losses alone, and is found without branching on any free one. To it
        comes what the free ones cost at least.
        """
        free = sum(1 << i for i in bits(self.optional) if self.plain[i])
        if not free or not self.contested:
            return 0
        start = self.model.start
        held, ran, chosen = self._settle(start, 0, 0, list(reversed(self.order)))
        forced, choices = self._needs(held, ran, chosen)
        apart = (max(forced, 0) & free).bit_count() + _packing([c for c in choices if not c & ~free])
        relaxed = copy.copy(self)
        relaxed.free, relaxed.dead, relaxed.fine, relaxed.states = free, {}, {}, 0
        cost = 0
        while not relaxed.completable(start, 0, cost):
            cost += 1
        self.states += relaxed.states
        return cost + apart


def _packing(choices: list[int]) -> int:
    """How many of the choices share no atom, taken greedily: so many providers are needed at least."""
    used = count = 0
    for able in sorted(choices, key=lambda able: (able.bit_count(), able)):
        if not able & used:
            used |= able
            count += 1
    return count
