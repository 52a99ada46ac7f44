"""The C++ compiler's pipeline from its declarations and order facts alone."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import attrs
import pytest
from solver_reference import FACTS, PLANNERS, expected, problem

from pypto_core.contract import Role
from pypto_core.solver import ambiguities, check_plan, solve


@pytest.mark.parametrize("planner", PLANNERS)
def test_the_one_order(planner: str) -> None:
    asked = problem(planner)
    plan = solve(asked)
    assert plan.instances == expected(planner)
    assert check_plan(asked, plan) is None
    assert ambiguities(asked, plan) == ()


def test_the_numbers_of_instances_are_those_of_the_table() -> None:
    assert [len(expected(p)) for p in PLANNERS] == [49, 48, 47]
    assert len(FACTS) == 39


@pytest.mark.parametrize("gone", FACTS, ids=lambda fact: f"{fact[0]}-{fact[1]}")
def test_an_order_fact_less_shows(gone: tuple[str, str]) -> None:
    """Without a fact the answer is told to be one of several, or properties force the same order."""
    asked = problem(facts=tuple(fact for fact in FACTS if fact != gone))
    plan = solve(asked)
    assert check_plan(asked, plan) is None
    if not ambiguities(asked, plan):
        assert plan.instances == expected("PYPTO")


def test_most_facts_matter() -> None:
    told = 0
    for gone in FACTS:
        asked = problem(facts=tuple(fact for fact in FACTS if fact != gone))
        told += bool(ambiguities(asked, solve(asked)))
    # Nine neighbours of the 48 are forced by properties; the facts are one per remaining pair.
    assert told == 39


@pytest.mark.parametrize("seed", range(12))
def test_the_order_of_registration_is_nothing(seed: int) -> None:
    asked = problem()
    shuffled = list(asked.passes)
    random.Random(seed).shuffle(shuffled)
    assert solve(attrs.evolve(asked, passes=shuffled)) == solve(asked)


def test_simplify_is_placed_twice() -> None:
    plan = solve(problem())
    places = [plan.instances.index(name) for name in ("Simplify", "Simplify#2")]
    assert places == [4, 44]


def test_goal_directed_selection_leaves_out_what_nobody_needs() -> None:
    full = problem(goals=("AllocatedMemoryAddr",), goal_directed=True)
    asked = attrs.evolve(full, passes=[e for e in full.passes if e.contract.role is Role.PROVIDE])
    plan = solve(asked)
    assert check_plan(asked, plan) is None
    assert "AllocatedMemoryAddr" in plan.final
    # SSA, normal form, outlining, conversion, 2-D tiles, memory spaces, MemRefs, addresses.
    assert list(plan.instances) == [
        "ConvertToSSA",
        "NormalizeStmtStructure",
        "OutlineIncoreScopes",
        "ConvertTensorToTileOps",
        "FlattenTileNdTo2D",
        "InferTileMemorySpace",
        "InitMemRef",
        "AllocateMemoryAddr",
    ]
    assert plan.cost == 8


def test_plans_are_equal_under_five_hash_seeds() -> None:
    code = (
        "from solver_reference import problem; from pypto_core.solver import solve, lock_text;"
        "print(lock_text(solve(problem())))"
    )
    texts = set()
    for seed in range(5):
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            cwd=Path(__file__).parent,
            env={"PYTHONHASHSEED": str(seed), "PYTHONPATH": str(Path(__file__).parents[2])},
        )
        texts.add(done.stdout)
    assert len(texts) == 1
