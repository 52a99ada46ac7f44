"""The laws of the solver on random problems: each plan is needed, stable and safe to install beside."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import attrs
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from solver_brute import judge
from solver_problems import LETTERS, PROPS, corner_problems, problems

from pypto_core.contract import OrderFact, PassContract, Relation, Role, before
from pypto_core.solver import (
    NoPlanError,
    PassEntry,
    Plan,
    Problem,
    check_plan,
    check_sequence,
    solve,
    stated_orders,
)
from pypto_core.solver.conflict import minimal_core
from pypto_core.solver.facts import all_facts
from pypto_core.solver.model import compile_problem
from pypto_core.solver.search import Search

LOOSE = settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))


def attempt(problem: Problem) -> Plan | None:
    try:
        return solve(problem)
    except NoPlanError:
        return None


@LOOSE
@given(corner_problems(), st.randoms(use_true_random=False))
def test_order_of_registration_never_matters(problem: Problem, rng: random.Random) -> None:
    shuffled = list(problem.passes)
    rng.shuffle(shuffled)
    goals = list(problem.goals)
    rng.shuffle(goals)
    assert attempt(problem) == attempt(attrs.evolve(problem, passes=shuffled, goals=goals))


@LOOSE
@given(problems(kill=1, rerun=True, roles=(Role.PROVIDE, Role.PROVIDE, Role.MUST)))
def test_no_step_is_needless(problem: Problem) -> None:
    plan = attempt(problem)
    assume(plan is not None and plan.steps)
    for k in range(len(plan.instances)):
        shorter = plan.instances[:k] + plan.instances[k + 1 :]
        assert check_sequence(problem, shorter) is not None, (plan.spec(), plan.instances[k])


@st.composite
def optional_passes(draw: st.DrawFn) -> PassEntry:
    """A pass that nobody demands, with any claims and any orders about itself."""
    names = st.sampled_from((*LETTERS, "Absent"))
    facts = draw(st.lists(st.tuples(st.sampled_from(list(Relation)), names), max_size=4))
    return PassEntry(
        PassContract(
            name="New",
            requires=draw(st.frozensets(st.sampled_from(PROPS), max_size=2)),
            produces=draw(st.frozensets(st.sampled_from(PROPS), max_size=2)),
            invalidates=draw(st.frozensets(st.sampled_from(PROPS), max_size=2)),
            forbids=draw(st.frozensets(st.sampled_from(PROPS), max_size=1)),
            needs=draw(st.sampled_from((frozenset[str](), frozenset({"never"})))),
            order=tuple(OrderFact(relation, other, "mine") for relation, other in facts),
            role=draw(st.sampled_from((Role.PROVIDE, Role.OPTIMISE, Role.CHECK))),
        )
    )


@LOOSE
@given(corner_problems(), optional_passes())
def test_installing_an_optional_pass_never_breaks_or_worsens(problem: Problem, new: PassEntry) -> None:
    before_it = attempt(problem)
    assume(before_it is not None)
    after_it = attempt(attrs.evolve(problem, passes=[*problem.passes, new]))
    assert after_it is not None
    if new.contract.needs or new.name not in after_it.instances:
        # A pass that stays out moves steps at most.
        if new.contract.role is not Role.PROVIDE or new.contract.needs:
            assert sorted(after_it.instances) == sorted(before_it.instances)
    if new.contract.role is Role.PROVIDE and not any(
        e.contract.role in (Role.OPTIMISE, Role.CHECK) for e in problem.passes
    ):
        assert after_it.cost <= before_it.cost


def test_a_disabled_pass_does_not_force_its_neighbours_against_the_properties() -> None:
    make = PassEntry(PassContract(name="Make", produces={"p"}, order=(before("Use"),)))
    use = PassEntry(PassContract(name="Use", requires={"p"}, produces={"q"}))
    asked = Problem(passes=[make, use], goals=["q"])
    rival = PassEntry(
        PassContract(name="Rival", needs={"never"}, order=(before("Make"), OrderFact(Relation.AFTER, "Use")))
    )
    plan = solve(attrs.evolve(asked, passes=[make, use, rival]))
    assert plan.instances == solve(asked).instances == ("Make", "Use")
    assert plan.contracted == ()
    assert plan.notes == (
        "gave up the order Use before Make (through Rival, absent): no order of these steps keeps it",
    )


@LOOSE
@given(corner_problems())
def test_a_core_conflicts_and_loses_its_conflict_with_any_fact(problem: Problem) -> None:
    assume(not compile_problem(problem).missing and attempt(problem) is None)
    core = minimal_core(problem)
    assert core is not None and core.minimal
    facts = all_facts(problem)

    def solvable(kept: list[object]) -> bool:
        model = compile_problem(problem, frozenset(f for f in facts if f not in kept))
        return Search(model, (1 << len(model.atoms)) - 1, model.must, 10**6).feasible()

    assert not solvable(list(core.facts))
    for fact in core.facts:
        assert solvable([f for f in core.facts if f != fact])


@LOOSE
@given(problems(kill=2, strict=True, roles=(Role.MUST, Role.PROVIDE)), st.data())
def test_the_judge_agrees_with_brute_force_on_any_sequence(problem: Problem, data: st.DataObject) -> None:
    """Sequences that are no plans are refused, whatever is wrong with them."""
    from solver_brute import World

    world = World(problem)
    runs = sorted(world.contract)
    sequence = tuple(data.draw(st.permutations(runs)))[: data.draw(st.integers(0, len(runs)))]
    plans = {seq for seq in world.sequences() if world.in_order(seq)}
    assert (check_sequence(problem, sequence) is None) == (sequence in plans)


@LOOSE
@given(corner_problems(), st.data())
def test_a_damaged_plan_is_refused(problem: Problem, data: st.DataObject) -> None:
    plan = attempt(problem)
    assume(plan is not None and len(plan.steps) > 1)
    k = data.draw(st.integers(0, len(plan.steps) - 1))
    run = plan.instances
    assert check_sequence(problem, (*run[:k], run[k], *run[k:])) is not None
    assert check_sequence(problem, (*run[:k], "Ghost", *run[k:])) is not None
    assert check_plan(problem, plan) is None


def test_the_judge_knows_each_kind_of_fault() -> None:
    def make(**fields: object) -> Problem:
        base = {
            "passes": [
                PassEntry(PassContract(name="A", produces={"p"}, order=(before("B"),))),
                PassEntry(PassContract(name="B", requires={"p"}, produces={"q"}, invalidates={"p"})),
                PassEntry(PassContract(name="C", forbids={"q"}, role=Role.MUST)),
                PassEntry(PassContract(name="D", needs={"x"})),
                PassEntry(PassContract(name="E", produces={"r"}, runs=("E", "E#2"))),
            ]
        }
        return Problem(**{**base, **fields})  # type: ignore[arg-type]

    asked = make(goals=["q"])
    assert check_sequence(asked, ("C", "A", "B")) is None
    assert "can't run in this state" in str(check_sequence(asked, ("C", "B")))
    assert "because of q" in str(check_sequence(asked, ("A", "B", "C")))
    assert "C must run" in str(check_sequence(asked, ("A", "B")))
    assert "q do not hold" in str(check_sequence(asked, ("C", "A")))
    assert "switched off" in str(check_sequence(asked, ("C", "D", "A", "B")))
    assert "runs again" in str(check_sequence(asked, ("C", "A", "A", "B")))
    assert "out of order" in str(check_sequence(asked, ("C", "E#2", "A", "B")))
    loose = make(goals=["q"], initial={"p"})
    assert "'A before B' is broken" in str(check_sequence(loose, ("C", "B", "A")))
    assert "p do not hold" in str(check_sequence(make(goals=["p"]), ("C", "A", "B")))


SCRIPT = """
import json, random, sys
sys.path[:0] = [sys.argv[1], sys.argv[2]]
from test_clingo import walked
from pypto_core.solver import NoPlanError, solve, explain_plan
out = []
for seed in range(12):
    try:
        plan = solve(walked(seed))
        out.append([plan.to_json(), explain_plan(plan)])
    except NoPlanError as error:
        out.append([error.to_json(), error.render()])
print(json.dumps(out))
"""


def test_the_hash_seed_changes_nothing() -> None:
    pytest.importorskip("clingo")
    here = Path(__file__).resolve()
    answers = set()
    for seed in ("0", "4711"):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, str(here.parents[2]), str(here.parent)],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
        )
        answers.add(done.stdout)
    assert len(answers) == 1
    assert len(json.loads(answers.pop())) == 12


def hamiltonian(nodes: int, edges: list[tuple[int, int]], budget: int) -> Problem:
    """A walk that sees every node: a pass per edge that moves on and uses the goal up."""
    entries = [
        PassEntry(
            PassContract(
                name=f"e{a}{b}",
                requires={f"at{a}", f"fresh{b}"},
                produces={f"at{b}", f"seen{b}"},
                invalidates={f"at{a}", f"fresh{b}"},
            )
        )
        for a, b in edges
    ]
    fresh = {f"fresh{n}" for n in range(1, nodes)}
    return Problem(
        passes=entries,
        initial=fresh | {"at0"},
        goals=[f"seen{n}" for n in range(1, nodes)],
        node_budget=budget,
    )


def test_a_spent_budget_is_an_error_and_never_a_guess() -> None:
    rng = random.Random(3)
    edges = [(a, b) for a in range(8) for b in range(1, 8) if a != b and rng.random() < 0.5]
    with pytest.raises(NoPlanError) as caught:
        solve(hamiltonian(8, edges, budget=3))
    assert caught.value.explanation.code == "PT309"
    assert "gave up after 3 states" in caught.value.render()


def test_a_walk_through_every_node_is_found_when_there_is_one() -> None:
    ring = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 3), (3, 1), (2, 5), (5, 4)]
    plan = solve(hamiltonian(6, ring, budget=10**5))
    assert plan.instances == ("e01", "e12", "e23", "e34", "e45")
    assert attempt(hamiltonian(6, [e for e in ring if e[1] != 5], budget=10**5)) is None


def test_later_facts_count_by_the_first_run_and_strict_ones_by_the_last() -> None:
    maker = PassContract(name="Make", produces={"p"}, runs=("Make", "Make#2"))
    user = PassContract(name="Use", requires={"p"}, produces={"q"}, invalidates={"p"})

    def asked(fact: OrderFact) -> Problem:
        passes = [PassEntry(attrs.evolve(maker, order=(fact,))), PassEntry(user)]
        return Problem(passes=passes, goals=["p", "q"])

    assert solve(asked(OrderFact(Relation.BEFORE, "Use"))).instances == ("Make", "Use", "Make#2")
    assert attempt(asked(OrderFact(Relation.STRICTLY_BEFORE, "Use"))) is None
    assert judge(asked(OrderFact(Relation.STRICTLY_BEFORE, "Use"))) is None


def test_stated_orders_are_all_listed() -> None:
    found = stated_orders(
        Problem(passes=[PassEntry(PassContract(name="A", order=(OrderFact(Relation.AFTER, "B", "why"),)))])
    )
    assert [(f.earlier, f.later, f.reason) for f in found] == [("B", "A", "why")]
