"""A search as clauses: which atoms run, who makes what for whom, and in which order things that clash stand.

Each need of an atom, and each goal, has a *link* to one atom that makes it, or to the input. A link puts the
maker before the user; an atom that destroys the property stands before the maker or after the user (McAllester
and Rosenblitt 1991). A property that nothing destroys takes one *first maker* for all users. The links of
providers and the conditions on destroyers are added when an answer lacks them: most never matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import attrs

from pypto_core.solver.clauses import FALSE, TRUE, Clauses
from pypto_core.solver.model import bits

if TYPE_CHECKING:
    from pypto_core.solver.search import Search

INPUT, END = -1, -2
"""The input as a maker, and the end of the plan as a user."""


@attrs.frozen(eq=False)
class Need:
    """A contested property that an atom requires, with its links: who may make it, and the literal of that."""

    user: int
    bit: int
    links: tuple[tuple[int, int], ...]


@attrs.frozen(eq=False)
class Duty:
    """When all ``given`` literals are true, one of ``choices`` has to be."""

    given: tuple[int, ...]
    choices: tuple[int, ...]


class Links:
    """The clauses of a search and what their literals mean."""

    def __init__(self, search: Search, limit: int) -> None:
        self.search, self.limit = search, limit
        self.clauses = Clauses(_nodes(search), self._unmet)
        self.duties: list[Duty] = []
        self.at = self.set = self.backs = 0
        self.rests: dict[int, int] = {}
        """The literal of a link to the one that says that its maker runs."""
        self.runs = [FALSE] * len(search.model.atoms)
        self.first: dict[int, list[tuple[int, int]]] = {}
        """An uncontested property to its possible first makers."""
        self.needs: dict[tuple[int, int], Need] = {}
        self.needs_of: dict[int, list[Need]] = {}
        self.orders: dict[int, dict[int, int]] = {i: {} for i in search.order}
        """For an atom those whose order with it is open, each with the literal that puts it first."""
        self.spot: dict[int, int] = {}
        """Where the atoms stand that are known to come first, in this order."""
        for i in sorted(search.order):
            self.runs[i] = TRUE if search.must >> i & 1 else self.clauses.new(choose=True)
        for i in sorted(search.order):
            self._stated(i)
        for b in range(len(search.users)):
            self._property(b)

    # -- building ------------------------------------------------------------------------------------------

    def _stated(self, i: int) -> None:
        search, clauses, runs = self.search, self.clauses, self.runs
        for j in bits(search.model.chain[i]):
            clauses.add((runs[i] ^ 1, runs[j]))
        for j in bits(search.waits[i]):
            clauses.edge(j, i, runs[i])
        for j in bits(search.pred[i] & ~search.waits[i]):
            both = runs[j]
            if runs[i] != TRUE:
                both = clauses.new()
                clauses.add((runs[i] ^ 1, runs[j] ^ 1, both))
            clauses.edge(j, i, both)

    def _property(self, b: int) -> None:
        """What holds of every user of a property: some maker runs, unless the input has it."""
        search, clauses, runs = self.search, self.clauses, self.runs
        users, makers = list(bits(search.users[b])), list(bits(search.makers[b]))
        goal, start = search.model.goal >> b & 1, search.model.start >> b & 1
        wanted = TRUE if goal or any(runs[u] == TRUE for u in users) else FALSE
        if not start and (users or goal):
            if wanted != TRUE:
                wanted = runs[users[0]] if len(users) == 1 else clauses.new()
            for user in users:
                clauses.add((runs[user] ^ 1, wanted))
            clauses.add((wanted ^ 1, *(runs[m] for m in makers)))
        if search.contested >> b & 1:
            for user in users:
                if runs[user] == TRUE:
                    self._contested(user, b)
            if goal:
                self._contested(END, b)
        elif users and not start:
            self._kept(b, users, makers, wanted)

    def _kept(self, b: int, users: list[int], makers: list[int], wanted: int) -> None:
        """A property that stays once it is made."""
        node = len(self.search.model.atoms) + b
        for user in users:
            self.clauses.edge(node, user)
        alone = len(makers) == 1
        first = [(m, self.runs[m] if alone else self.clauses.new()) for m in makers]
        self.first[b] = first
        self._duty((wanted,), first)
        for m, literal in first:
            self.clauses.edge(m, node, literal)

    def _contested(self, user: int, b: int) -> None:
        search, clauses = self.search, self.clauses
        here = TRUE if user == END else self.runs[user]
        makers = [m for m in bits(search.makers[b]) if user == END or not search.before[m] >> user & 1]
        if search.model.start >> b & 1:
            makers.append(INPUT)
        links = [(m, here if len(makers) == 1 else clauses.new()) for m in makers]
        self._duty((here,), links)
        for m, literal in links:
            if m != INPUT and user != END:
                clauses.edge(m, user, literal)
        need = Need(user, b, tuple(links))
        self.needs[user, b] = need
        self.needs_of.setdefault(user, []).append(need)

    def _duty(self, given: tuple[int, ...], links: Sequence[tuple[int, int]]) -> None:
        """When what is given holds, one of the links does, and with a link its maker runs."""
        choices = tuple(literal for _, literal in links)
        self.clauses.add((*(x ^ 1 for x in given), *choices))
        if len(choices) > 1:
            self.duties.append(Duty(given, choices))
        for m, literal in links:
            if m != INPUT:
                self.clauses.add((literal ^ 1, self.runs[m]))
                self.rests[literal] = self.runs[m]

    def earlier(self, a: int, b: int) -> int:
        """The literal that says, of two atoms that both run, that a comes before b."""
        before, spot = self.search.before, self.spot
        if before[b] >> a & 1 or a in spot and (b not in spot or spot[a] < spot[b]):
            return TRUE
        if before[a] >> b & 1 or b in spot:
            return FALSE
        literal = self.orders[a].get(b)
        if literal is None:
            literal = self.clauses.order(a, b)
            self.orders[a][b], self.orders[b][a] = literal, literal ^ 1
        return literal

    # -- asking --------------------------------------------------------------------------------------------

    def answer(self, assumptions: Iterable[int] = ()) -> list[int] | None:
        """A plan in which the assumptions hold, None when there is none.

        Raises OutOfTurns when all questions together took more than the limit.
        """
        assumed = list(assumptions)
        return self._ask(lambda: assumed, -1)

    def answer_with(self, then: int) -> list[int] | None:
        """A plan in which the atom ``then`` comes next after the known ones, as `answer` gives it."""
        return self._ask(lambda: self._next(then), then)

    def settle(self, sequence: Iterable[int]) -> None:
        """Allows no other steps than these from now on."""
        present = set(sequence)
        for i in self.search.order:
            self.clauses.add([self.runs[i] ^ (i not in present)])

    def _ask(self, assumptions: Callable[[], list[int]], then: int) -> list[int] | None:
        while self.clauses.solve(assumptions(), self.limit - self.clauses.turns):
            sequence = self._sequence(then)
            broken = self._broken(sequence)
            if not broken:
                return sequence
            self._mend(sequence, broken)
        return None

    def _next(self, i: int) -> list[int]:
        """What it means that atom i comes next: before all that clash with it, and served by known ones."""
        found = [self.runs[i]]
        found += [literal for j, literal in self.orders[i].items() if j not in self.spot]
        found += [self.runs[j] ^ 1 for j in bits(self.search.pred[i]) if j not in self.spot]
        for need in self.needs_of.get(i, ()):
            found += [x ^ 1 for maker, x in need.links if maker != INPUT and maker not in self.spot]
        return found

    def fix(self, i: int, held: int, made_by: dict[int, int]) -> None:
        """Makes atom i the next of the known ones, for all later questions.

        ``held`` is what holds before it, ``made_by`` the last known maker of each property.
        """
        fixed = self._next(i)
        fixed += [
            literal
            for need in self.needs_of.get(i, ())
            for maker, literal in need.links
            if maker == made_by.get(need.bit, INPUT)
        ]
        for b in bits(self.search.model.makes[i] & ~held):
            fixed += [literal ^ (maker != i) for maker, literal in self.first.get(b, ())]
        self.spot[i] = len(self.spot)
        for literal in fixed:
            self.clauses.add([literal])

    # -- reading an answer ---------------------------------------------------------------------------------

    def _sequence(self, then: int) -> list[int]:
        """The atoms of the answer that was just found, in an order that it allows, ``then`` after the known ones."""
        value, place = self.clauses.value, self.clauses.place
        present = [i for i in self.search.order if value[self.runs[i]] > 0]
        size = len(self.spot)
        return sorted(present, key=lambda i: (self.spot.get(i, size if i == then else size + 1), place[i], i))

    def _unmet(self) -> int:
        """The best literal to try for a duty that nothing meets yet; negative when all are met.

        Duties before ``self.at`` are met as long as nothing is taken back, or what they are given is not set.
        """
        clauses, value = self.clauses, self.clauses.value
        if self.backs != clauses.backs:
            self.backs, self.at, self.set = clauses.backs, 0, len(clauses.trail)
        while True:
            for number in range(self.at, len(self.duties)):
                duty = self.duties[number]
                for x in duty.given:
                    if value[x] <= 0:
                        break
                else:
                    for x in duty.choices:
                        if value[x] > 0:
                            break
                    else:
                        self.at = number
                        return min((x for x in duty.choices if not value[x]), key=self._effort)
            if self.set == len(clauses.trail):
                self.at = len(self.duties)
                return -1
            self.at, self.set = 0, len(clauses.trail)

    def _effort(self, literal: int) -> tuple[bool, bool]:
        """How much a literal would change: whether its maker does not run yet, whether nodes have to move."""
        clauses = self.clauses
        moved = any(clauses.place[a] > clauses.place[b] for a, b in clauses.guarded[literal])
        return clauses.value[self.rests.get(literal, TRUE)] <= 0, moved

    def _broken(self, sequence: list[int]) -> list[tuple[int, int]]:
        """The needs that are not met in a sequence, as users and properties."""
        model, held = self.search.model, self.search.model.start
        found: list[tuple[int, int]] = []
        for i in sequence:
            if model.requires[i] & ~held:
                found += [(i, b) for b in bits(model.requires[i] & ~held)]
            held = held & ~model.kills[i] | model.makes[i]
        return found + [(END, b) for b in bits(model.goal & ~held)]

    def _mend(self, sequence: list[int], broken: list[tuple[int, int]]) -> None:
        """Gives the needs that an answer does not meet their links, and these the conditions that it breaks."""
        value = self.clauses.value
        at = {i: k for k, i in enumerate(sequence)}
        at[INPUT], at[END] = -1, len(sequence)
        threats: list[tuple[Need, int, int, int]] = []
        fresh: list[tuple[int, int]] = []
        for user, b in broken:
            need = self.needs.get((user, b))
            if need is None:
                fresh.append((user, b))
                continue
            killers = [i for i in sequence if self.search.model.kills[i] >> b & 1]
            for maker, literal in need.links:
                if value[literal] > 0:
                    threats += [(need, maker, literal, k) for k in killers if at[maker] < at[k] < at[user]]
        for user, b in fresh:
            self._contested(user, b)
        for threat in threats:
            condition = self._apart(*threat)
            self.clauses.add((*(x ^ 1 for x in condition.given), *condition.choices))
            self.duties.append(condition)

    def _apart(self, need: Need, maker: int, literal: int, killer: int) -> Duty:
        """A destroyer that runs comes before the maker of a link or after its user."""
        given = [literal, self.runs[killer]]
        choices: list[int] = []
        if maker != INPUT:
            choices.append(self.earlier(killer, maker))
        if need.user != END:
            given.append(self.runs[need.user])
            choices.append(self.earlier(need.user, killer))
        return Duty(tuple(given), tuple(choices))


def _nodes(search: Search) -> list[int]:
    """A node for each atom in firing order, behind the first maker of each property one for the property."""
    atoms = len(search.model.atoms)
    found: list[int] = []
    made = 0
    for i in search.order:
        found.append(i)
        found += [atoms + b for b in bits(search.model.makes[i] & ~made)]
        made |= search.model.makes[i]
    there = set(found)
    return found + [n for n in range(atoms + len(search.users)) if n not in there]
