"""The 49 pass instances of the C++ compiler's default pipeline as a problem, from data/reference_passes.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pypto_core.contract import PassContract, Role, before
from pypto_core.solver import Goal, Origin, PassEntry, Problem

DATA: dict[str, Any] = json.loads((Path(__file__).parent / "data" / "reference_passes.json").read_text())
PLANNERS = ("PYPTO", "DSA_RP", "PTOAS")
ORIGIN = Origin("reference", "1")
FACTS = tuple((fact["before"], fact["after"]) for fact in DATA["facts"])


def expected(planner: str) -> tuple[str, ...]:
    """The instances in the order of the pipeline, without what the planner drops."""
    gone = set(DATA["planner_drops"][planner])
    return tuple(row["instance"] for row in DATA["order"] if row["pass"] not in gone)


def entries(facts: tuple[tuple[str, str], ...] = FACTS, goal_directed: bool = False) -> tuple[PassEntry, ...]:
    """One contract per pass: facts are stated by their earlier side, drops are gates on the planner."""
    rows: dict[str, list[dict[str, Any]]] = {}
    for row in DATA["order"]:
        rows.setdefault(row["pass"], []).append(row)
    found: list[PassEntry] = []
    made: set[str] = set()
    for name, group in rows.items():
        runs = tuple(row["instance"] for row in group)
        order = tuple(before(b, f"{a} comes first", instance=a) for a, b in facts if a in runs)
        # What an earlier pass establishes is kept here and not provided.
        first = set(group[0]["produced"]) - set(group[0]["required"]) - made
        made |= first
        optional = Role.PROVIDE if first else Role.OPTIMISE
        found.append(
            PassEntry(
                PassContract(
                    name=name,
                    requires=group[0]["required"],
                    produces=group[0]["produced"],
                    invalidates=group[0]["invalidated"],
                    excludes={f"planner:{p}" for p in PLANNERS if name in DATA["planner_drops"][p]},
                    order=order,
                    runs=runs,
                    role=optional if goal_directed else Role.MUST,
                ),
                ORIGIN,
            )
        )
    return tuple(found)


def problem(
    planner: str = "PYPTO",
    facts: tuple[tuple[str, str], ...] = FACTS,
    goals: tuple[str, ...] = (),
    goal_directed: bool = False,
) -> Problem:
    """The reference problem for one planner."""
    return Problem(
        passes=entries(facts, goal_directed),
        goals=tuple(Goal(g, "the target") for g in goals),
        capabilities=(f"planner:{planner}",),
        purpose=f"planner {planner}",
    )
