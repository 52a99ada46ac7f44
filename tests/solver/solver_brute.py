"""The meaning of a problem, word for word, by trying every sequence: an oracle for up to seven instances.

It shares nothing with the solver but the data classes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import attrs

from pypto_core.contract import PassContract, PropertyKind, Relation, Role
from pypto_core.solver import Problem

Sequence = tuple[str, ...]


@attrs.frozen
class Fact:
    earlier: str
    later: str
    strict: bool


@attrs.frozen
class Verdict:
    """The best plan by the definition, its cost and the optional instances it takes in."""

    plan: Sequence
    cost: int
    wanted: frozenset[str]


class World:
    """A problem unfolded into instances, demands and facts."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        caps = {c.name for c in problem.capabilities}
        self.structural = {p.name for p in problem.properties if p.kind is PropertyKind.STRUCTURAL}
        self.start = frozenset(problem.initial | self.structural)
        extra = dict(problem.extra_runs)
        self.runs: dict[str, list[str]] = {}
        self.contract: dict[str, PassContract] = {}
        self.must: set[str] = set()
        self.possible = True
        for entry in problem.passes:
            c = entry.contract
            if not c.needs <= caps or c.excludes & caps:
                continue
            if c.forbids & self.start:
                self.possible &= c.role is not Role.MUST
                continue
            ids = list(c.runs) + [f"{c.name}#{len(c.runs) + 1 + k}" for k in range(extra.get(c.name, 0))]
            self.runs[c.name] = ids
            self.contract.update(dict.fromkeys(ids, c))
            if c.role is Role.MUST:
                self.must |= set(c.runs)
        for must in problem.must:
            name = self.runs.get(must.name, [must.name])[0]
            self.possible &= name in self.contract
            self.must.add(name)
        self.anchors = list(problem.anchors)
        self.facts = sorted(self._facts(), key=lambda f: (f.earlier, f.later, f.strict))

    def _facts(self) -> set[Fact]:
        found = {Fact(o.earlier, o.later, o.strict) for o in self.problem.order}
        for entry in self.problem.passes:
            for o in entry.contract.order:
                me = o.instance or entry.name
                strict = o.relation in (Relation.STRICTLY_BEFORE, Relation.STRICTLY_AFTER)
                ahead = o.relation in (Relation.BEFORE, Relation.STRICTLY_BEFORE)
                found.add(Fact(me, o.other, strict) if ahead else Fact(o.other, me, strict))
        return found

    def key(self, run: str) -> tuple[int, str, int]:
        c = self.contract[run]
        spots = {a: i for i, a in enumerate(self.anchors)}
        ahead = [
            spots[o.other]
            for o in c.order
            if o.relation in (Relation.BEFORE, Relation.STRICTLY_BEFORE) and o.other in spots
        ]
        behind = [
            spots[o.other] + 1
            for o in c.order
            if o.relation in (Relation.AFTER, Relation.STRICTLY_AFTER) and o.other in spots
        ]
        rank = max(behind) if behind else min(ahead) if ahead else 0
        return rank, c.name, self.runs[c.name].index(run)

    # -- steps

    def after(self, state: frozenset[str], run: str) -> frozenset[str] | None:
        c = self.contract[run]
        if not c.requires <= state or c.forbids & state:
            return None
        lost = set(c.invalidates)
        for p in self.problem.properties:
            if (
                p.kind is PropertyKind.ANALYSIS
                and c.touches
                or p.kind is PropertyKind.NORMAL
                and p.disturbed_by & c.touches
            ):
                lost.add(p.name)
        return (state - (lost - self.structural)) | c.produces

    def sequences(self) -> Iterator[Sequence]:
        """Every sequence of distinct instances in which each may run."""
        ids = sorted(self.contract)

        def grow(done: Sequence, state: frozenset[str]) -> Iterator[Sequence]:
            if {g.property for g in self.problem.goals} <= state and self.must <= set(done):
                yield done
            for run in ids:
                if run not in done:
                    new = self.after(state, run)
                    if new is not None:
                        yield from grow((*done, run), new)

        if self.possible:
            yield from grow((), self.start)

    # -- orders

    def holds(self, fact: Fact, seq: Sequence) -> bool:
        ids = self.runs.get(fact.earlier, [fact.earlier])
        first = [seq.index(r) for r in (ids if fact.strict else ids[:1]) if r in seq]
        second = [seq.index(r) for r in self.runs.get(fact.later, [fact.later]) if r in seq]
        return not first or not second or max(first) < min(second)

    def in_order(self, seq: Sequence) -> bool:
        plain = [f for f in self.facts if f.earlier not in self.anchors and f.later not in self.anchors]
        if not all(self.holds(f, seq) for f in plain):
            return False
        for c in {r: self.contract[r] for r in seq}.values():
            ids = [r for r in self.runs[c.name] if r in seq]
            if [r for r in seq if r in ids] != ids:
                return False
            if c.role in (Role.MUST, Role.PROVIDE) and ids != self.runs[c.name][: len(ids)]:
                return False
            for p in c.forbids:
                makers = [r for r in seq if p in self.contract[r].produces - self.contract[r].requires]
                if any(seq.index(m) < seq.index(r) for m in makers for r in ids if m != r):
                    return False
        return self.anchors_fit(seq)

    def anchors_fit(self, seq: Sequence) -> bool:
        """Whether points for the anchors exist, tried one by one: point k lies before step k."""
        if not any(f.earlier in self.anchors or f.later in self.anchors for f in self.facts):
            return True
        points = range(len(seq) + 1)
        for spots in itertools.combinations_with_replacement(points, len(self.anchors)):
            at = dict(zip(self.anchors, spots, strict=True))
            if all(self._anchored(f, seq, at) for f in self.facts):
                return True
        return False

    def _anchored(self, fact: Fact, seq: Sequence, at: dict[str, int]) -> bool:
        if fact.later in at:
            ids = self.runs.get(fact.earlier, [fact.earlier])
            first = [seq.index(r) for r in (ids if fact.strict else ids[:1]) if r in seq]
            return all(k < at[fact.later] for k in first)
        if fact.earlier in at:
            second = [seq.index(r) for r in self.runs.get(fact.later, [fact.later]) if r in seq]
            return not second or min(second) >= at[fact.earlier]
        return True

    def contracted(self, seq: Sequence) -> list[Fact]:
        """Orders between present names that run through absent ones, by transitive closure over those."""
        present = set(seq) | {self.contract[r].name for r in seq}
        owner = {r: c.name for r, c in self.contract.items()}
        edges = {(f.earlier, f.later): f.strict for f in reversed(self.facts)}
        for f in self.facts:
            edges[f.earlier, f.later] |= f.strict
        edges.update(dict.fromkeys(itertools.pairwise(self.anchors), False))
        absent = {n for pair in edges for n in pair} - present
        paths = {(a, b, strict): b not in self.anchors for (a, b), strict in edges.items() if b in absent}
        grown = True
        while grown:
            grown = False
            for (a, b, strict), real in list(paths.items()):
                for c, d in edges:
                    step = (a, d, strict)
                    if c == b and d in absent:
                        value = real or d not in self.anchors
                        if step not in paths or (value and not paths[step]):
                            paths[step] = value
                            grown = True
        found: dict[tuple[str, str], bool] = {}
        for (a, b, strict), real in paths.items():
            for c, d in edges:
                if not real or c != b or a not in present or d not in present or (a, d) in edges:
                    continue
                if owner.get(a, a) != owner.get(d, d):
                    found[a, d] = found.get((a, d), False) or strict
        return [Fact(a, d, strict) for (a, d), strict in sorted(found.items())]


def judge(problem: Problem) -> Verdict | None:
    """The best plan of a problem by the definition, or None when it has none."""
    world = World(problem)
    plans = [seq for seq in world.sequences() if world.in_order(seq)]
    if not plans:
        return None
    wanted: set[str] = set()
    for role in (Role.OPTIMISE, Role.CHECK):
        for run in sorted(world.contract, key=world.key):
            if world.contract[run].role is role and run not in world.must:
                fewer = [seq for seq in plans if run in seq]
                if fewer:
                    plans = fewer
                    wanted.add(run)

    def cost(seq: Sequence) -> int:
        # A run that an allowance adds to a MUST pass is no demand: it is chosen as a provider is.
        wishes = (Role.OPTIMISE, Role.CHECK)
        return sum(world.contract[r].role not in wishes and r not in world.must for r in seq)

    least = min(map(cost, plans))
    plans = [seq for seq in plans if cost(seq) == least]

    def order(seq: Sequence) -> list[tuple[int, str, int]]:
        return [world.key(r) for r in seq]

    first = min(plans, key=order)
    plans = [seq for seq in plans if set(seq) == set(first)]
    for fact in world.contracted(first):
        fewer = [seq for seq in plans if world.holds(fact, seq)]
        plans = fewer or plans
    return Verdict(min(plans, key=order), least, frozenset(wanted))
