"""Random problems of up to 25 passes against clingo, which knows nothing of this search."""

from __future__ import annotations

import random

import pytest

from pypto_core.contract import OrderFact, PassContract, Relation, Role
from pypto_core.solver import Goal, NoPlanError, PassEntry, Problem, check_plan, solve

pytest.importorskip("clingo")
from solver_asp import clingo_cost


def walked(seed: int) -> Problem:
    """A problem made along a sequence that mostly works, then disturbed, so that about half have a plan."""
    rng = random.Random(seed)
    count = rng.randint(8, 22)
    names = [f"n{k:02d}" for k in range(count)]
    rng.shuffle(names)
    props = [f"p{k}" for k in range(count)]
    held = [props[0]]
    entries: list[PassEntry] = []
    for k, name in enumerate(names):
        needs = rng.sample(held[-5:], min(len(held[-5:]), rng.randint(0, 2)))
        makes = {props[min(k, count - 1)] if rng.random() < 0.6 else rng.choice(props[: k + 1])}
        kills = {rng.choice(held)} if rng.random() < 0.25 else set[str]()
        order = [
            OrderFact(
                rng.choice((Relation.BEFORE, Relation.STRICTLY_BEFORE)),
                rng.choice(names[k + 1 :] if k + 1 < count and rng.random() < 0.85 else names),
            )
            for _ in range(rng.random() < 0.5)
        ]
        contract = PassContract(
            name=name,
            requires=needs,
            produces=makes,
            invalidates=kills,
            order=[o for o in order if o.other != name],
            role=Role.MUST if rng.random() < 0.25 else Role.PROVIDE,
            runs=(name, f"{name}#2") if rng.random() < 0.15 and count < 20 else (),
        )
        entries.append(PassEntry(contract))
        held = [p for p in held if p not in kills - makes] + sorted(makes - set(held))
    rng.shuffle(entries)
    goals = [Goal(p) for p in rng.sample(held, min(3, len(held)))]
    if rng.random() < 0.5:
        goals.append(Goal(rng.choice(props)))
    return Problem(passes=entries, initial={props[0]}, goals=goals)


@pytest.mark.parametrize("block", range(3))
def test_solvable_and_cost_as_clingo_finds_them(block: int) -> None:
    solved = unsolvable = 0
    for seed in range(block * 40, block * 40 + 40):
        problem = walked(seed)
        try:
            expected = clingo_cost(problem)
        except TimeoutError:
            continue
        try:
            plan = solve(problem)
        except NoPlanError as error:
            assert expected is None, (seed, error.render())
            unsolvable += 1
            continue
        solved += 1
        assert plan.cost == expected, seed
        assert check_plan(problem, plan) is None
    assert solved and unsolvable
