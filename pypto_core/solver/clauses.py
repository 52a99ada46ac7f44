"""Conflict-driven search over clauses and guarded edges that may not close a ring.

A literal is an even number for a statement and that number plus one for its denial; ``TRUE`` and ``FALSE``
are the constants. A *guarded edge* joins two nodes while its literal is true. Besides satisfying all clauses,
an answer keeps the graph of the edges that are in force free of rings. Every conflict, of a clause or of a
ring, teaches a clause that rules out its cause (first unique implication point), so no part of the space
fails twice for the same reason. The order of the nodes is kept as edges come (Pearce and Kelly 2006).

An answer need not set every literal: where the clauses leave room the search stops, and *duties* say where they
do not. All choices follow from the input: equal clauses give equal answers.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence

TRUE, FALSE = 0, 1
LEAST = 1e-200
"""The activity of a variable that is to be set and had no part in a conflict yet."""
RESTART = 64
"""Conflicts before the first restart; each later stretch is half as long again."""


class OutOfTurns(Exception):
    """A question stays open after the work that it was allowed."""


class Clauses:
    """A set of clauses and edges that only grows, asked again and again under assumptions.

    ``nodes`` are the numbers from 0 on in an order to start from: the closer to that of an answer, the less there
    is to do. When all that was asked to be set is set, ``unmet`` names a literal that still has to be tried, or a
    negative number when what is not set may be taken as false. ``turns`` counts the work: the conflicts met and
    the answers found.
    """

    def __init__(self, nodes: Sequence[int], unmet: Callable[[], int]) -> None:
        self.unmet = unmet
        self.turns = self.backs = 0
        self.consistent = True
        self.core: list[int] = []
        """After the answer no: assumptions that can't hold together."""
        self.value = [1, -1]
        self.level, self.reason, self.phase = [0], [self._none()], [0]
        self.watches: list[list[list[int]]] = [[], []]
        self.guarded: list[list[tuple[int, int]]] = [[], []]
        self.pair: dict[int, tuple[int, int]] = {}
        self.activity, self.bump = [0.0], 1.0
        self.heap: list[tuple[float, int]] = []
        self.queued = [0.0]
        """The activity with which a variable stands in the heap; 0 when it does not."""
        self.trail: list[int] = []
        self.head = 0
        self.marks: list[tuple[int, int]] = []
        self.place = [0] * len(nodes)
        for spot, node in enumerate(nodes):
            self.place[node] = spot
        self.after: list[list[tuple[int, int]]] = [[] for _ in nodes]
        self.ahead: list[list[tuple[int, int]]] = [[] for _ in nodes]
        self.edges: list[tuple[int, int]] = []

    @staticmethod
    def _none() -> Sequence[int] | None:
        return None

    # -- building ------------------------------------------------------------------------------------------

    def new(self, choose: bool = False) -> int:
        """A fresh literal; with ``choose`` every answer sets it, and its denial is tried first."""
        variable = len(self.level)
        self.value += (0, 0)
        self.level.append(0)
        self.reason.append(None)
        self.phase.append(1)
        self.watches += ([], [])
        self.guarded += ([], [])
        self.activity.append(LEAST if choose else 0.0)
        self.queued.append(self.activity[-1])
        if choose:
            heapq.heappush(self.heap, (-LEAST, variable))
        return 2 * variable

    def order(self, a: int, b: int) -> int:
        """A fresh literal that puts node a before b, and whose denial puts b before a."""
        literal = self.new()
        self.pair[literal >> 1] = (a, b)
        self.edge(a, b, literal)
        self.edge(b, a, literal ^ 1)
        return literal

    def edge(self, a: int, b: int, guard: int = TRUE) -> None:
        """Puts node a before b while ``guard`` is true."""
        self._cancel(0)
        if guard == FALSE:
            return
        if self.value[guard] > 0:
            self.consistent = self.consistent and self._insert(a, b, TRUE) is None
        else:
            self.guarded[guard].append((a, b))

    def add(self, clause: Iterable[int]) -> None:
        """Adds a clause: one of its literals is true."""
        self._cancel(0)
        value = self.value
        literals = sorted({x for x in clause if value[x] >= 0})
        if any(value[x] > 0 or x ^ 1 in literals for x in literals) or not self.consistent:
            return
        if len(literals) > 1:
            self._watch(literals)
        elif not literals:
            self.consistent = False
        else:
            self._assign(literals[0], None)
            self.consistent = self._propagate() is None

    def _watch(self, clause: list[int]) -> None:
        self.watches[clause[0]].append(clause)
        self.watches[clause[1]].append(clause)

    # -- asking --------------------------------------------------------------------------------------------

    def fixed(self, literal: int) -> int:
        """1 when a literal is true in every answer as far as is known, -1 when false, 0 otherwise."""
        return self.value[literal] if self.value[literal] and not self.level[literal >> 1] else 0

    def solve(self, assumptions: Sequence[int], turns: int) -> bool:
        """Whether an answer exists in which all ``assumptions`` are true; `value` and `place` then hold one.

        After a no, ``core`` holds assumptions that can't be true together. Raises OutOfTurns after so many.
        """
        self._cancel(0)
        self.core = []
        if not self.consistent:
            return False
        if turns <= 0:
            raise OutOfTurns
        last = self.turns + turns
        pause = RESTART
        until = self.turns + pause
        while True:
            conflict = self._propagate()
            if conflict is not None:
                self.turns += 1
                if not self.marks:
                    self.consistent = False
                    return False
                if len(self.marks) == 1:
                    self.core = self._blame(conflict)
                    return False
                self._learn(conflict)
                if self.turns >= last:
                    raise OutOfTurns
                if self.turns >= until:
                    pause += pause // 2
                    until = self.turns + pause
                    self._cancel(0)
            elif not self.marks:
                self.marks.append((len(self.trail), len(self.edges)))
                for literal in assumptions:
                    if self.value[literal] < 0:
                        self.core = (
                            [literal, *self._blame([literal])] if self.level[literal >> 1] else [literal]
                        )
                        return False
                    if not self.value[literal]:
                        self._assign(literal, None)
            else:
                literal = self._decide()
                if literal < 0:
                    self.turns += 1
                    return True
                self.marks.append((len(self.trail), len(self.edges)))
                self._assign(literal, None)

    def _decide(self) -> int:
        """The most active open literal, in its last phase; an order as the nodes stand. Negative when all is met."""
        heap, value = self.heap, self.value
        while heap:
            _, variable = heapq.heappop(heap)
            self.queued[variable] = 0.0
            if not value[2 * variable]:
                if variable in self.pair:
                    a, b = self.pair[variable]
                    return 2 * variable + (self.place[a] > self.place[b])
                return 2 * variable + self.phase[variable]
        return self.unmet()

    def _assign(self, literal: int, reason: Sequence[int] | None) -> None:
        self.value[literal], self.value[literal ^ 1] = 1, -1
        variable = literal >> 1
        self.level[variable], self.reason[variable] = len(self.marks), reason
        self.trail.append(literal)

    def _cancel(self, level: int) -> None:
        """Takes back everything above a level."""
        if len(self.marks) <= level:
            return
        self.backs += 1
        size, edges = self.marks[level]
        for literal in self.trail[size:]:
            self.value[literal] = self.value[literal ^ 1] = 0
            variable = literal >> 1
            self.phase[variable] = literal & 1
            if self.queued[variable] != self.activity[variable]:
                self.queued[variable] = self.activity[variable]
                heapq.heappush(self.heap, (-self.activity[variable], variable))
        while len(self.edges) > edges:
            a, b = self.edges.pop()
            self.after[a].pop()
            self.ahead[b].pop()
        del self.trail[size:]
        del self.marks[level:]
        self.head = size

    def _propagate(self) -> Sequence[int] | None:
        """Follows all that is forced; the literals of a conflict, all false, when there is one."""
        value, watches, trail, place = self.value, self.watches, self.trail, self.place
        while self.head < len(trail):
            literal = trail[self.head]
            self.head += 1
            for a, b in self.guarded[literal]:
                guard = literal if self.level[literal >> 1] else TRUE
                if place[a] > place[b]:
                    ring = self._insert(a, b, guard)
                    if ring is not None:
                        return ring
                else:
                    self._join(a, b, guard)
            false = literal ^ 1
            watching = watches[false]
            kept = 0
            for number, clause in enumerate(watching):
                other = clause[0]
                if other == false:
                    other = clause[0] = clause[1]
                    clause[1] = false
                if value[other] > 0:
                    watching[kept] = clause
                    kept += 1
                    continue
                for k in range(2, len(clause)):
                    if value[clause[k]] >= 0:
                        clause[1], clause[k] = clause[k], false
                        watches[clause[1]].append(clause)
                        break
                else:
                    watching[kept] = clause
                    kept += 1
                    if value[other] < 0:
                        watching[kept:] = watching[number + 1 :]
                        return clause
                    self._assign(other, clause)
            del watching[kept:]
        return None

    # -- learning ------------------------------------------------------------------------------------------

    def _learn(self, conflict: Sequence[int]) -> None:
        """Adds the clause that a conflict teaches and goes back to where it forces something."""
        here = len(self.marks)
        seen: set[int] = set()
        learnt: list[int] = []
        open_here, place = 0, len(self.trail)
        pivot, reason = -1, conflict
        while True:
            for literal in reason:
                variable = literal >> 1
                if literal != pivot and variable not in seen and self.level[variable]:
                    seen.add(variable)
                    self.activity[variable] += self.bump
                    if self.level[variable] == here:
                        open_here += 1
                    else:
                        learnt.append(literal)
            while True:
                place -= 1
                pivot = self.trail[place]
                if pivot >> 1 in seen:
                    break
            open_here -= 1
            cause = self.reason[pivot >> 1]
            if not open_here or cause is None:
                break
            reason = cause
        learnt = [x for x in learnt if not self._implied(x, seen)]
        learnt.sort(key=lambda x: (-self.level[x >> 1], x))
        self.bump *= 1.05
        if self.bump > 1e100:
            self._calm()
        self._cancel(self.level[learnt[0] >> 1] if learnt else 0)
        clause = [pivot ^ 1, *learnt]
        if learnt:
            self._watch(clause)
        self._assign(pivot ^ 1, clause if learnt else None)

    def _implied(self, literal: int, seen: set[int]) -> bool:
        """Whether a literal of a learnt clause follows from the others of it."""
        reason = self.reason[literal >> 1]
        if reason is None:
            return False
        return all(x >> 1 in seen or not self.level[x >> 1] for x in reason if x != literal ^ 1)

    def _calm(self) -> None:
        self.activity = [max(a * 1e-100, LEAST) if a else 0.0 for a in self.activity]
        self.bump *= 1e-100
        self.queued = list(self.activity)
        self.heap = [(-a, v) for v, a in enumerate(self.activity) if v]
        heapq.heapify(self.heap)

    def _blame(self, conflict: Sequence[int]) -> list[int]:
        """The assumptions that a conflict at their level rests on."""
        todo = [x >> 1 for x in conflict]
        seen: set[int] = set()
        found: list[int] = []
        while todo:
            variable = todo.pop()
            if variable in seen or not self.level[variable]:
                continue
            seen.add(variable)
            reason = self.reason[variable]
            if reason is None:
                found.append(2 * variable if self.value[2 * variable] > 0 else 2 * variable + 1)
            else:
                todo += [x >> 1 for x in reason]
        return sorted(found)

    # -- the order of nodes --------------------------------------------------------------------------------

    def _join(self, a: int, b: int, guard: int) -> None:
        self.after[a].append((b, guard))
        self.ahead[b].append((a, guard))
        if guard != TRUE:
            self.edges.append((a, b))

    def _insert(self, a: int, b: int, guard: int) -> list[int] | None:
        """Adds an edge against the present order and mends the order; or the denied guards of a ring."""
        place = self.place
        if place[a] < place[b]:
            self._join(a, b, guard)
            return None
        top, bottom = place[a], place[b]
        came: dict[int, tuple[int, int]] = {b: (a, guard)}
        stack = [b]
        while stack:
            node = stack.pop()
            if node == a:
                ring: set[int] = set()
                while True:
                    node, edge = came[node]
                    if edge != TRUE:
                        ring.add(edge ^ 1)
                    if node == a:
                        return sorted(ring)
            for other, edge in self.after[node]:
                if place[other] <= top and other not in came:
                    came[other] = (node, edge)
                    stack.append(other)
        back = {a}
        stack = [a]
        while stack:
            for other, _ in self.ahead[stack.pop()]:
                if place[other] >= bottom and other not in back:
                    back.add(other)
                    stack.append(other)
        nodes = sorted(back, key=place.__getitem__) + sorted(came, key=place.__getitem__)
        for node, spot in zip(nodes, sorted(place[n] for n in nodes), strict=True):
            place[node] = spot
        self._join(a, b, guard)
        return None
