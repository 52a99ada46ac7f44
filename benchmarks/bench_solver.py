"""How long a plan takes: the 49 reference instances, and synthetic problems of growing size.

A synthetic problem is made along a hidden sequence, so that it has a plan, and then hides it: names are drawn
at random, so the tie-break knows nothing of it. As in the reference pipeline most passes keep what they need,
about a third establish a property, some properties have a second maker, and a few passes destroy; half of
what is destroyed is made again later and needed afterwards.
"""

from __future__ import annotations

import json
import random
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure, best_of, clock, growth
from pypto_core.contract import OrderFact, PassContract, Role, before
from pypto_core.solver import Goal, Origin, PassEntry, Problem, solve

ROOT = Path(__file__).resolve().parent.parent
SIZES = (100, 300, 1000, 3000)
DESTROYERS = 12
SEEDS = range(5)


def reference_problem(planner: str = "PYPTO") -> Problem:
    """The default pipeline of the C++ compiler as 49 demanded instances with 39 order facts."""
    path = ROOT / "tests" / "solver" / "data" / "reference_passes.json"
    data: dict[str, Any] = json.loads(path.read_text())
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in data["order"]:
        groups.setdefault(row["pass"], []).append(row)
    entries: list[PassEntry] = []
    for name, rows in groups.items():
        runs = tuple(row["instance"] for row in rows)
        order = tuple(before(f["after"], instance=f["before"]) for f in data["facts"] if f["before"] in runs)
        drops = [p for p, names in data["planner_drops"].items() if name in names]
        contract = PassContract(
            name=name,
            requires=rows[0]["required"],
            produces=rows[0]["produced"],
            invalidates=rows[0]["invalidated"],
            excludes=[f"planner:{p}" for p in drops],
            order=order,
            runs=runs,
            role=Role.MUST,
        )
        entries.append(PassEntry(contract, Origin("reference", "1")))
    return Problem(passes=entries, capabilities=(f"planner:{planner}",))


def synthetic(
    passes: int, seed: int, *, goal_directed: bool = False, destroyers: int = DESTROYERS
) -> Problem:
    """A solvable problem of ``passes`` passes over 0.3 times as many properties.

    All passes are demanded, or (``goal_directed``) makers are chosen for twenty goals, passes that make
    nothing are optimisations, and only the destroyers are demanded.
    """
    rng = random.Random(seed)
    names = [f"pass{k:04d}" for k in range(passes)]
    rng.shuffle(names)
    fresh = [f"prop{k:04d}" for k in range(passes * 3 // 10)]
    rng.shuffle(fresh)
    doors = sorted(rng.sample(range(passes // 10, passes), destroyers))
    held: list[str] = []
    broken: list[str] = []
    rows: list[tuple[set[str], set[str], set[str]]] = []
    for k in range(passes):
        needs = set(rng.sample(held[-40:], min(len(held), rng.randint(0, 3))))
        makes, kills = set[str](), set[str]()
        if k in doors and held:
            kills = set(rng.sample(held, min(len(held), 2)))
            held = [p for p in held if p not in kills]
            broken += [p for p in sorted(kills) if rng.random() < 0.5]
        elif broken and rng.random() < 0.2:
            makes.add(broken.pop())
        elif fresh and rng.random() < len(fresh) / (passes - k):
            makes.add(fresh.pop())
        elif held and rng.random() < 0.02:
            makes.add(rng.choice(held))
        rows.append((needs, makes, kills))
        held += [p for p in sorted(makes) if p not in held]
    orders: list[list[OrderFact]] = [[] for _ in names]
    for _ in range(passes * 4 // 5):
        a, b = sorted(rng.sample(range(passes), 2))
        orders[a].append(before(names[min(b, a + 12)]))
    entries = [
        PassEntry(_contract(name, row, order, goal_directed), Origin("synthetic", "1"))
        for name, row, order in zip(names, rows, orders, strict=True)
    ]
    rng.shuffle(entries)
    goals = [Goal(p, "the target") for p in held[-20:]]
    return Problem(passes=entries, goals=goals if goal_directed else [])


def _contract(
    name: str, row: tuple[set[str], set[str], set[str]], order: list[OrderFact], goal_directed: bool
) -> PassContract:
    needs, makes, kills = row
    role = Role.MUST
    if goal_directed and not kills:
        role = Role.PROVIDE if makes else Role.OPTIMISE
    return PassContract(
        name=name,
        requires=needs,
        produces=needs | makes,
        invalidates=kills - needs,
        order=tuple(order),
        role=role,
    )


def _seconds(make: Callable[[int], Problem]) -> list[float]:
    found: list[float] = []
    for seed in SEEDS:
        problem = make(seed)
        start = clock()
        solve(problem)
        found.append(clock() - start)
    return found


def run() -> list[Figure]:
    """The figures of the table."""
    reference = reference_problem()
    figures = [
        Figure(
            name="49 reference instances",
            value=best_of(lambda: solve(reference)) * 1e3,
            unit="ms",
            target=20,
            note=f"{solve(reference).states} states",
        )
    ]
    for label, goal_directed in (("all demanded", False), ("20 goals", True)):
        medians: list[float] = []
        for size in SIZES:
            times = _seconds(lambda seed, n=size, g=goal_directed: synthetic(n, seed, goal_directed=g))
            medians.append(statistics.median(times))
            figures.append(
                Figure(
                    name=f"{size} passes over {size * 3 // 10} properties, {DESTROYERS} destroyers, {label}",
                    value=medians[-1],
                    unit="s",
                    target=1.0 if size == 1000 else None,
                    note=f"median of {len(times)} seeds, slowest {max(times):.2f}",
                )
            )
        figures.append(
            Figure(name=f"growth with size, {label}", value=growth(SIZES, medians), unit="exponent")
        )
    return figures
