"""Problems with a shape: chains, grids, rivals, repairs, doors, walks; made from a seed, of any size.

Where `solver_problems` draws each contract by itself, here passes hang together as pipelines do, so that most
problems have plans of many steps and the choice among them is not obvious. ``trimmed`` adds what a shape does
not have: gates of options, backends and planners, orders that contradict one another, anchors, several runs.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable

import attrs

from pypto_core.contract import OrderFact, PassContract, Relation, Role
from pypto_core.solver import ExtraOrder, Goal, Must, Origin, PassEntry, Problem

OFFERED = ("backend:910b", "planner:ptoas", "option:fast")
ABSENT = ("backend:a5", "planner:dsa", "option:slow")


class Shape:
    """Collects passes under names that say nothing of their place."""

    def __init__(self, size: int, rng: random.Random) -> None:
        self.rng, self.size = rng, size
        self.names = [f"x{k:04d}" for k in range(2 * size + 9)]
        rng.shuffle(self.names)
        self.passes: list[PassContract] = []

    def add(
        self,
        requires: Iterable[str],
        produces: Iterable[str],
        invalidates: Iterable[str] = (),
        role: Role = Role.PROVIDE,
        twice: float = 0.0,
    ) -> None:
        """One more pass; a second run is allowed with the probability ``twice``."""
        name = self.names[len(self.passes)]
        runs = (name, f"{name}#2") if self.rng.random() < twice else ()
        self.passes.append(
            PassContract(
                name=name,
                requires=set(requires),
                produces=set(produces),
                invalidates=set(invalidates),
                role=role,
                runs=runs,
            )
        )

    def some(self, values: list[str], most: int, least: int = 0) -> set[str]:
        """A few of ``values``."""
        return set(self.rng.sample(values, min(len(values), self.rng.randint(least, most))))

    def end(self, goals: Iterable[str], initial: Iterable[str] = ()) -> Problem:
        self.rng.shuffle(self.passes)
        origin = Origin("shapes", "1.0")
        return Problem(
            passes=[PassEntry(p, origin) for p in self.passes],
            goals=[Goal(g, "the target") for g in sorted(set(goals))],
            initial=initial,
        )


def cascade(size: int, rng: random.Random) -> Problem:
    """A chain, each property from the one before; destroyers knock out stretches that second runs rebuild."""
    shape = Shape(size, rng)
    links = size - max(1, size // 6)
    for k in range(links):
        broken = {f"p{rng.randrange(links)}"} if rng.random() < 0.2 else set[str]()
        shape.add({f"p{k - 1}"} if k else (), {f"p{k}"}, broken, twice=0.6)
    for j in range(size - links):
        start = rng.randrange(links)
        lost = {f"p{k}" for k in range(start, min(links, start + rng.randint(1, 3)))}
        role = rng.choice((Role.MUST, Role.PROVIDE))
        shape.add({f"p{rng.randrange(links)}"}, {f"d{j}"}, lost, role)
    return shape.end({f"p{links - 1}", *(f"d{j}" for j in range(size - links) if rng.random() < 0.6)})


def grid(size: int, rng: random.Random) -> Problem:
    """Each property from its neighbours above and to the left; some steps use up what they stand on."""
    width = max(2, round(size**0.5))
    shape = Shape(size, rng)
    for i in range(width):
        for j in range(width):
            above = {f"g{i - 1}_{j}"} if i else set[str]()
            left = {f"g{i}_{j - 1}"} if j else set[str]()
            used = above if rng.random() < 0.15 else set[str]()
            shape.add(above | left, {f"g{i}_{j}"}, used, twice=0.15)
            if rng.random() < 0.15 and len(shape.passes) < size:
                shape.add(above, {f"g{i}_{j}"})
    return shape.end({f"g{width - 1}_{width - 1}", f"g{width - 1}_{rng.randrange(width)}"})


def rivals(size: int, rng: random.Random) -> Problem:
    """Many makers of each property, with different needs: the cheapest set is a choice."""
    shape, count = Shape(size, rng), max(3, size // 3)
    props = [f"p{k}" for k in range(count)]
    for _ in range(size):
        k = rng.randrange(count)
        made = {props[k]} | shape.some(props, 1)
        lost = {rng.choice(props)} if rng.random() < 0.2 else set[str]()
        shape.add(shape.some(props[:k], 2) - made, made, lost - made)
    return shape.end(shape.some(props, max(2, count // 2), 1))


def foes(size: int, rng: random.Random) -> Problem:
    """Pairs that destroy each other's product, with users of both."""
    shape = Shape(size, rng)
    props: list[str] = []
    goals: set[str] = set()
    for k in range(max(1, size // 4)):
        one, other = f"a{k}", f"b{k}"
        shape.add(shape.some(props, 1), {one}, {other}, twice=0.5)
        shape.add(shape.some(props, 1), {other}, {one} if rng.random() < 0.7 else (), twice=0.4)
        shape.add({one}, {f"u{k}"}, shape.some(props, 1) if rng.random() < 0.2 else ())
        shape.add({other}, {f"v{k}"}, {one} if rng.random() < 0.3 else ())
        goals |= shape.some([f"u{k}", f"v{k}", one], 2)
        props += [one, f"u{k}", f"v{k}"]
    return shape.end(goals or {"u0"})


def doors(size: int, rng: random.Random) -> Problem:
    """Phases that end at a one-way door: what it destroys few passes, or none, can make again."""
    shape = Shape(size, rng)
    held, lost = ["in"], list[str]()
    for k in range(size):
        needs, kind = shape.some(held[-8:], 2), rng.random()
        if kind < 0.2 and len(held) > 2:
            gone = shape.some(held, 2, 1)
            held = [p for p in held if p not in gone]
            lost += sorted(gone)
            shape.add(needs - gone, {f"s{k}"}, gone, rng.choice((Role.MUST, Role.PROVIDE)))
            held.append(f"s{k}")
        elif kind < 0.35 and lost:
            again = rng.choice(lost)
            shape.add(needs - {again}, {again})
            held.append(again)
        else:
            shape.add(needs, {f"s{k}"}, (), rng.choice((Role.MUST, Role.PROVIDE, Role.PROVIDE)))
            held.append(f"s{k}")
    return shape.end(shape.some(sorted(set(held)), max(1, size // 5), 1), ["in"])


def tangle(size: int, rng: random.Random) -> Problem:
    """Anything needs, makes and destroys anything; every second pass can do without much."""
    shape = Shape(size, rng)
    props = [f"p{k}" for k in range(max(3, size // 2))]
    for k in range(size):
        made = {props[k * len(props) // size]} | (shape.some(props, 1) if rng.random() < 0.3 else set())
        lost = shape.some(props, 2, 1) if rng.random() < 0.4 else set[str]()
        role = rng.choice((Role.MUST, *(Role.PROVIDE,) * 5))
        shape.add(shape.some(props[: k * len(props) // size], 2), made, lost, role, twice=0.1)
    return shape.end(shape.some(props, max(1, len(props) // 3), 1))


def walk(size: int, rng: random.Random) -> Problem:
    """A walk that has to see every place once: a pass for each way from place to place."""
    places = max(3, round(size**0.5))
    shape = Shape(size, rng)
    ways = [(a, b) for a in range(places) for b in range(1, places) if a != b]
    for a, b in sorted(rng.sample(ways, min(len(ways), size))):
        shape.add({f"at{a}", f"new{b}"}, {f"at{b}", f"seen{b}"}, {f"at{a}", f"new{b}"})
    places = range(1, places)
    return shape.end({f"seen{b}" for b in places}, {"at0", *(f"new{b}" for b in places)})


SHAPES: tuple[Callable[[int, random.Random], Problem], ...] = (
    cascade,
    grid,
    rivals,
    foes,
    doors,
    tangle,
    walk,
)


def shaped(size: int, seed: int) -> Problem:
    """One of the shapes with about ``size`` passes and a few order facts; for each seed another."""
    rng = random.Random(f"{size}/{seed}")
    problem = SHAPES[seed % len(SHAPES)](size, rng)
    return _ordered(problem, rng, (Relation.BEFORE, Relation.STRICTLY_BEFORE, Relation.AFTER), 0.15)


def trimmed(size: int, seed: int) -> Problem:
    """A shape with all the rest: wishes, gates, bans, anchors, contradicting orders, demands, more runs."""
    rng = random.Random(f"trimmed {size}/{seed}")
    problem = SHAPES[seed % len(SHAPES)](size, rng)
    problem = _ordered(problem, rng, tuple(Relation), 0.3)
    props = sorted({p for e in problem.passes for p in e.contract.produces})
    entries: list[PassEntry] = []
    for entry in problem.passes:
        contract = entry.contract
        if rng.random() < 0.15:
            contract = attrs.evolve(contract, role=rng.choice((Role.OPTIMISE, Role.CHECK, Role.MUST)))
        if rng.random() < 0.15:
            contract = attrs.evolve(contract, needs={rng.choice(OFFERED + ABSENT)})
        if rng.random() < 0.1:
            contract = attrs.evolve(contract, excludes={rng.choice(OFFERED + ABSENT)})
        if rng.random() < 0.1:
            contract = attrs.evolve(contract, forbids={rng.choice(props)})
        entries.append(PassEntry(contract, entry.origin))
    names = [e.name for e in entries]
    orders = [ExtraOrder(*rng.sample(names, 2), "--order") for _ in range(rng.random() < 0.3)]
    return attrs.evolve(
        problem,
        passes=entries,
        capabilities=OFFERED,
        anchors=("@one", "@two"),
        order=orders,
        must=[Must(rng.choice(names), "--must")] if rng.random() < 0.15 else (),
        extra_runs={rng.choice(names): 1} if rng.random() < 0.2 else {},
    )


def _ordered(problem: Problem, rng: random.Random, relations: tuple[Relation, ...], share: float) -> Problem:
    """With order facts on some passes, which may contradict one another; those of all relations name anchors too."""
    others = [label for e in problem.passes for label in {e.name, *e.contract.runs}]
    others += ["absent", "@one", "@two"] if len(relations) == len(Relation) else []
    others.sort()
    entries: list[PassEntry] = []
    for entry in problem.passes:
        contract = entry.contract
        other = rng.choice(others)
        if rng.random() < share and other not in (entry.name, *contract.runs):
            fact = OrderFact(rng.choice(relations), other, "because", rng.choice(("", contract.runs[-1])))
            contract = attrs.evolve(contract, order=(fact,))
        entries.append(PassEntry(contract, entry.origin))
    return attrs.evolve(problem, passes=entries)


def size_of(problem: Problem) -> int:
    """How many instances a problem has, with the runs that were added."""
    return sum(len(e.contract.runs) for e in problem.passes) + sum(n for _, n in problem.extra_runs)
