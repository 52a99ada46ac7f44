"""Problems with a shape against trying every sequence, against clingo, and against what explanations promise."""

from __future__ import annotations

import random
from collections.abc import Iterable

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from solver_brute import World, judge
from solver_shapes import shaped, size_of, trimmed

from pypto_core.contract import PassContract, Role, before
from pypto_core.solver import (
    NoPlanError,
    Origin,
    PassEntry,
    Problem,
    check_plan,
    check_sequence,
    solve,
)
from pypto_core.solver.conflict import minimal_core
from pypto_core.solver.facts import Fact, FactKind, all_facts

SEEDS = st.integers(0, 10**6)
MANY = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


@MANY
@given(SEEDS, st.integers(3, 7), st.booleans())
def test_small_shapes_are_answered_as_by_brute_force(seed: int, size: int, plain: bool) -> None:
    problem = shaped(size, seed) if plain else trimmed(size, seed)
    if size_of(problem) > 7:
        return
    best = judge(problem)
    try:
        plan = solve(problem)
    except NoPlanError as error:
        assert best is None, error.render()
        return
    assert best is not None, plan.spec()
    must = World(problem).must
    wishes = {s.instance for s in plan.steps if s.role in (Role.OPTIMISE, Role.CHECK)} - must
    assert (plan.instances, plan.cost, wishes) == (best.plan, best.cost, best.wanted)
    assert plan.proved and check_plan(problem, plan) is None


@pytest.mark.parametrize("block", range(2))
def test_larger_shapes_cost_what_clingo_finds(block: int) -> None:
    pytest.importorskip("clingo")
    from solver_asp import clingo_cost

    answered = refused = 0
    for seed in range(block * 70, block * 70 + 70):
        problem = shaped(10 + seed % 14, seed)
        if size_of(problem) > 25:
            continue
        try:
            expected = clingo_cost(problem)
        except TimeoutError:
            continue
        try:
            plan = solve(problem)
        except NoPlanError as error:
            assert expected is None, (seed, error.render())
            refused += 1
            continue
        answered += 1
        assert plan.cost == expected, seed
        assert plan.proved and check_plan(problem, plan) is None
    assert answered > 20 and refused


@MANY
@given(SEEDS, st.randoms(use_true_random=False))
def test_shapes_do_not_depend_on_the_order_of_registration(seed: int, rng: random.Random) -> None:
    problem = trimmed(20, seed)
    passes, goals = list(problem.passes), list(problem.goals)
    rng.shuffle(passes)
    rng.shuffle(goals)
    assert _outcome(problem) == _outcome(attrs.evolve(problem, passes=passes, goals=goals))


@MANY
@given(SEEDS)
def test_no_step_of_a_large_plan_is_needless(seed: int) -> None:
    problem = shaped(30, seed)
    try:
        plan = solve(problem)
    except NoPlanError:
        return
    run = plan.instances
    for k in range(len(run)):
        assert check_sequence(problem, run[:k] + run[k + 1 :]) is not None, (plan.spec(), run[k])


def _outcome(problem: Problem) -> object:
    try:
        plan = solve(problem)
    except NoPlanError as error:
        return error.render()
    return plan, plan.states


# -- what explanations promise ---------------------------------------------------------------------------------


def without(problem: Problem, gone: Iterable[Fact]) -> Problem:
    """The problem without some facts, by editing its data as a user or an author would."""
    gone = list(gone)

    def has(kind: FactKind, subject: str, other: str = "", said_by: str | None = None) -> bool:
        return any(
            f.kind is kind
            and f.subject == subject
            and other in ("", f.object)
            and said_by in (None, f.said_by)
            for f in gone
        )

    def withdrawn(earlier: str, later: str, strict: bool) -> bool:
        return any(
            f.kind is FactKind.ORDER and (f.subject, f.object, f.strict) == (earlier, later, strict)
            for f in gone
        )

    entries: list[PassEntry] = []
    extra = dict(problem.extra_runs)
    for entry in problem.passes:
        c = entry.contract
        role, needs, excludes = c.role, c.needs, c.excludes
        if has(FactKind.GATE, c.name):
            needs = excludes = frozenset()
            role = Role.PROVIDE if role is Role.MUST else role
        if role is Role.MUST and has(FactKind.MUST, c.name, said_by=str(entry.origin)):
            role = Role.PROVIDE
        order = []
        for fact in c.order:
            me = fact.instance or c.name
            ends = (me, fact.other) if fact.relation.forward else (fact.other, me)
            if not withdrawn(*ends, fact.relation.strict):
                order.append(fact)
        if has(FactKind.ONCE, c.name):
            extra[c.name] = extra.get(c.name, 0) + 1
        changed = attrs.evolve(
            c,
            role=role,
            needs=needs,
            excludes=excludes,
            order=order,
            invalidates={p for p in c.invalidates if not has(FactKind.KILL, c.name, p)},
            forbids={p for p in c.forbids if not has(FactKind.FORBID, c.name, p)},
        )
        entries.append(PassEntry(changed, entry.origin))
    return attrs.evolve(
        problem,
        passes=entries,
        goals=[g for g in problem.goals if not has(FactKind.GOAL, g.property)],
        must=[m for m in problem.must if not has(FactKind.MUST, m.name, said_by=m.wanted_by)],
        order=[o for o in problem.order if not withdrawn(o.earlier, o.later, o.strict)],
        extra_runs=extra,
    )


def test_a_core_conflicts_by_itself_and_not_without_any_of_its_facts() -> None:
    """Judged by trying every sequence of the problem that a reader would edit by hand."""
    sizes: list[int] = []
    for seed in range(400):
        problem = (trimmed if seed % 2 else shaped)(3 + seed % 4, seed)
        core = None if size_of(problem) > 6 else minimal_core(problem)
        if core is None or any(f.kind is FactKind.HOLDS for f in all_facts(problem)):
            continue
        rest = [f for f in all_facts(problem) if f not in core.facts]
        if size_of(without(problem, rest)) > 7:
            continue
        assert core.minimal
        assert judge(without(problem, rest)) is None, (seed, core)
        for fact in core.facts:
            fewer = without(problem, [*rest, fact])
            assert size_of(fewer) > 7 or judge(fewer) is not None, (seed, core, str(fact))
            if core.sufficient:
                mended = without(problem, [fact])
                assert size_of(mended) > 7 or judge(mended) is not None, (seed, core, str(fact))
        sizes.append(len(core.facts))
    assert len(sizes) > 30 and max(sizes) > 3


def test_what_a_missing_producer_asks_for_helps() -> None:
    asked = 0
    for seed in range(200):
        problem = trimmed(3 + seed % 9, seed)
        try:
            solve(problem)
            continue
        except NoPlanError as error:
            explanation = error.explanation
        if explanation.code != "PT301" or not explanation.properties:
            continue
        asked += 1
        new = PassEntry(PassContract(name="New", produces=set(explanation.properties)), Origin("new", "1"))
        try:
            solve(attrs.evolve(problem, passes=[*problem.passes, new]))
        except NoPlanError as other:
            assert other.explanation.code != "PT301", (seed, explanation.render(), other.render())
    assert asked > 30


def test_makers_that_need_one_another_are_called_so() -> None:
    passes = [
        PassEntry(PassContract(name="A", requires={"q"}, produces={"p"})),
        PassEntry(PassContract(name="B", requires={"p"}, produces={"q"})),
    ]
    with pytest.raises(NoPlanError) as caught:
        solve(Problem(passes=passes, goals=["p"]))
    assert "nothing can be the first to make p, which B needs" in caught.value.render()
    assert "p, q are made only from one another" in caught.value.render()
    assert "nothing installed makes" not in caught.value.render()


def test_a_ring_names_the_demands_that_it_rests_on() -> None:
    passes = [
        PassEntry(PassContract(name="A", requires={"q"}, produces={"p"}, order=(before("B", "why"),))),
        PassEntry(PassContract(name="B", produces={"q"})),
    ]
    with pytest.raises(NoPlanError) as caught:
        solve(Problem(passes=passes, goals=["p"]))
    explanation = caught.value.explanation
    assert explanation.code == "PT303" and explanation.minimal and explanation.sufficient
    assert [line.text for line in explanation.lines] == ["p", "A before B: why"]
    assert [line.text for line in explanation.context] == ["A needs q, which only B makes"]


# -- what can only be a slip -----------------------------------------------------------------------------------


def test_wrong_numbers_and_strings_are_refused() -> None:
    with pytest.raises(ValueError, match="A can't be allowed -1 more runs"):
        Problem(passes=[PassEntry(PassContract(name="A"))], extra_runs={"A": -1})
    with pytest.raises(TypeError, match="not the one string 'SSA'"):
        Problem(goals="SSA")
    with pytest.raises(TypeError, match="not the one string 'SSA'"):
        Problem(initial="SSA")
    with pytest.raises(ValueError, match="need a name"):
        PassContract(name="")


def test_long_chains_are_told_in_short() -> None:
    chain = [
        PassEntry(PassContract(name=f"c{k:02d}", requires={f"p{k}"} if k else (), produces={f"p{k + 1}"}))
        for k in range(40)
    ]
    plan = solve(Problem(passes=chain, goals=["p40"]))
    assert plan.instances == tuple(f"c{k:02d}" for k in range(40))
    assert plan.steps[0].here.endswith("which by 29 more steps makes the goal p40")
    assert plan.steps[0].chain[-1] == "p40"
    assert plan.steps[36].here == (
        "makes p37 for c37, which makes p38 for c38, which makes p39 for c39, which makes the goal p40"
    )


def test_a_ring_of_many_passes_is_found() -> None:
    ring = [
        PassEntry(PassContract(name=f"c{k}", role=Role.MUST, order=(before(f"c{(k + 1) % 300}"),)))
        for k in range(300)
    ]
    with pytest.raises(NoPlanError) as caught:
        solve(Problem(passes=ring))
    assert caught.value.explanation.code == "PT303"
    assert len(caught.value.explanation.lines) == 300
