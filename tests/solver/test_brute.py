"""Random problems of up to seven instances against trying every sequence."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from solver_brute import World, judge
from solver_problems import corner_problems

from pypto_core.contract import Role
from pypto_core.solver import NoPlanError, Problem, check_plan, solve


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(corner_problems())
def test_every_answer_is_that_of_brute_force(problem: Problem) -> None:
    best = judge(problem)
    try:
        plan = solve(problem)
    except NoPlanError as error:
        assert best is None, error.render()
        return
    assert best is not None, plan.spec()
    world = World(problem)
    wanted = {
        step.instance
        for step in plan.steps
        if step.role in (Role.OPTIMISE, Role.CHECK) and step.instance not in world.must
    }
    assert wanted == best.wanted
    assert plan.cost == best.cost
    assert plan.instances == best.plan
    assert check_plan(problem, plan) is None
