"""Problems of up to 25 passes against an answer-set program: another author's search, another formulation."""

from __future__ import annotations

import random

import pytest

from pypto_core.contract import PassContract, Relation, Role, before
from pypto_core.solver import Goal, NoPlanError, Origin, PassEntry, Problem, check_plan, solve

# A pass runs at most once; time 1..n holds at most one pass a step, without gaps.
PROGRAM = """
{ at(P, T) : pass(P) } 1 :- time(T).
:- at(P, T), at(P, U), T < U.
used(T) :- at(_, T).
:- used(T), T > 1, not used(T - 1).
ran(P) :- at(P, _).
:- must(P), not ran(P).
holds(X, 0) :- initial(X).
holds(X, T) :- at(P, T), produces(P, X).
holds(X, T) :- used(T), holds(X, T - 1), not lost(X, T).
lost(X, T) :- at(P, T), kills(P, X).
:- at(P, T), requires(P, X), not holds(X, T - 1).
:- before(A, B), at(A, T), at(B, U), U < T.
last(T) :- used(T), not used(T + 1).
last(0) :- not used(1).
:- goal(X), last(T), not holds(X, T).
#minimize { 1, P : ran(P), optional(P) }.
"""


def draw_problem(seed: int) -> Problem:
    rng = random.Random(seed)
    count = rng.randint(8, 25)
    props = [f"p{i}" for i in range(rng.randint(4, 12))]
    killers = set(rng.sample(range(count), rng.randint(0, 3)))
    entries = []
    for i in range(count):
        name = f"n{i:02d}"
        needs = rng.sample(props, rng.choice([0, 1, 1, 2]))
        makes = rng.sample(props, rng.choice([1, 1, 2]))
        lost = rng.sample(props, 1) if i in killers else []
        others = [f"n{j:02d}" for j in range(count) if j != i]
        order = [before(rng.choice(others), "because")] if rng.random() < 0.3 else []
        role = Role.MUST if rng.random() < 0.15 else Role.PROVIDE
        contract = PassContract(
            name=name, requires=needs, produces=makes, invalidates=lost, order=order, role=role
        )
        entries.append(PassEntry(contract, Origin("test", "1")))
    goals = [Goal(p) for p in rng.sample(props, rng.randint(1, 3))]
    return Problem(passes=entries, goals=goals, initial=frozenset(rng.sample(props, 1)))


def facts_of(problem: Problem) -> str:
    lines = [f"time(1..{len(problem.passes)})."]
    lines += [f'initial("{p}").' for p in sorted(problem.initial)]
    lines += [f'goal("{g.property}").' for g in problem.goals]
    for entry in problem.passes:
        c = entry.contract
        lines.append(f'pass("{c.name}").')
        lines.append(f'{"must" if c.role is Role.MUST else "optional"}("{c.name}").')
        lines += [f'requires("{c.name}","{p}").' for p in sorted(c.requires)]
        lines += [f'produces("{c.name}","{p}").' for p in sorted(c.produces)]
        lines += [f'kills("{c.name}","{p}").' for p in sorted(c.invalidates - c.produces)]
        assert all(f.relation is Relation.BEFORE for f in c.order)
        lines += [f'before("{c.name}","{f.other}").' for f in c.order]
    return "\n".join(lines)


def asp_cost(problem: Problem) -> int | None:
    """The least number of optional passes, or None when there is no plan."""
    clingo = pytest.importorskip("clingo")
    control = clingo.Control(["--opt-mode=opt", "-Wnone"])
    control.add("base", [], PROGRAM + facts_of(problem))
    control.ground([("base", [])])
    best: list[int] = []
    with control.solve(yield_=True) as handle:
        for model in handle:
            best = list(model.cost)
        if not handle.get().satisfiable:
            return None
    return best[0] if best else 0


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_feasibility_and_cost(first: int) -> None:
    for seed in range(first, first + 10):
        problem = draw_problem(seed)
        wanted = asp_cost(problem)
        try:
            plan = solve(problem)
        except NoPlanError:
            assert wanted is None, f"seed {seed}: clingo finds a plan of cost {wanted}"
            continue
        assert wanted is not None, f"seed {seed}: clingo finds no plan, we {plan.spec()}"
        assert plan.cost == wanted, f"seed {seed}: {plan.spec()}"
        assert check_plan(problem, plan) is None


def test_both_answers_occur() -> None:
    answers = {asp_cost(draw_problem(seed)) is None for seed in range(20)}
    assert answers == {True, False}
