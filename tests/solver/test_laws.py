"""Laws of plans: no needless step, safe installs, repair; and the words of every kind of failure."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from solver_problems import problems
from solver_reference import problem as reference

from pypto_core.contract import OrderFact, PassContract, Property, PropertyKind, Relation, Role, after, before
from pypto_core.solver import (
    FailedPlugin,
    Goal,
    NoPlanError,
    Origin,
    PassEntry,
    Plan,
    Problem,
    check_plan,
    check_sequence,
    explain_plan,
    parse_plan_line,
    plan_graph,
    plan_svg,
    solve,
)

LIGHT = settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))


def entry(name: str, **parts: object) -> PassEntry:
    return PassEntry(PassContract(name=name, **parts), Origin(f"pypto-plugin-{name.lower()}", "1.2"))  # type: ignore[arg-type]


def plan_or_none(problem: Problem) -> Plan | None:
    try:
        return solve(problem)
    except NoPlanError:
        return None


def failure(*passes: PassEntry, **parts: object) -> NoPlanError:
    with pytest.raises(NoPlanError) as caught:
        solve(Problem(passes=passes, **parts))  # type: ignore[arg-type]
    return caught.value


@LIGHT
@given(problems(kill=2, rerun=True))
def test_no_step_of_a_best_plan_can_be_left_out(problem: Problem) -> None:
    plan = plan_or_none(problem)
    if plan is None:
        return
    for k, step in enumerate(plan.steps):
        if step.role is Role.PROVIDE:
            shorter = [*plan.instances[:k], *plan.instances[k + 1 :]]
            assert check_sequence(problem, shorter, plan.contracted) is not None


@LIGHT
@given(problems(size=5, kill=1), problems(size=2, kill=2, roles=(Role.PROVIDE, Role.OPTIMISE)))
def test_installing_an_optional_pass_never_breaks_or_worsens(problem: Problem, extra: Problem) -> None:
    plan = plan_or_none(problem)
    if plan is None:
        return
    taken = {label for e in problem.passes for label in (e.name, *e.contract.runs)}
    added = [
        attrs.evolve(e, contract=attrs.evolve(e.contract, name=f"X{e.name}", runs=(f"X{e.name}",), order=()))
        for e in extra.passes
        if f"X{e.name}" not in taken
    ]
    grown = plan_or_none(attrs.evolve(problem, passes=[*problem.passes, *added]))
    assert grown is not None
    if not any(step.role is Role.OPTIMISE and step.name.startswith("X") for step in grown.steps):
        # An optimisation that got in may bring the providers that it needs; a provider makes nothing dearer.
        assert grown.cost <= plan.cost


def test_what_is_destroyed_and_needed_again_is_made_again() -> None:
    plan = solve(
        Problem(
            passes=[
                entry("Make", produces={"p"}, runs=("Make", "Make#2")),
                entry("Break", requires={"p"}, produces={"q"}, invalidates={"p"}),
            ],
            goals=["p", "q"],
        )
    )
    assert plan.instances == ("Make", "Break", "Make#2")
    [loss] = plan.steps[1].destroys
    assert (loss.property, loss.repaired_by) == ("p", "Make#2")


def test_a_one_way_door_waits_for_everybody_behind_it() -> None:
    users = [entry(f"Use{i}", requires={"ssa"}, role=Role.MUST) for i in range(4)]
    door = entry("ADoor", requires={"ssa"}, produces={"memory"}, invalidates={"ssa"})
    plan = solve(Problem(passes=[door, *users, entry("ZMake", produces={"ssa"})], goals=["memory"]))
    assert plan.instances == ("ZMake", "Use0", "Use1", "Use2", "Use3", "ADoor")


def test_an_effect_disturbs_a_property_that_its_pass_never_heard_of() -> None:
    known = Property(name="acme.Sorted", disturbed_by={"loops"}, kind=PropertyKind.NORMAL)
    sort = entry("Sort", produces={"acme.Sorted"})
    swap = entry("Swap", touches={"loops"}, role=Role.MUST)
    plan = solve(Problem(passes=[sort, swap], properties=[known], goals=["acme.Sorted"]))
    assert plan.instances == ("Swap", "Sort")


def test_forbidden_means_strictly_before_whoever_makes_it() -> None:
    tile = entry("ZTile", forbids={"placed"}, role=Role.MUST)
    place = entry("Place", produces={"placed"})
    assert solve(Problem(passes=[tile, place], goals=["placed"])).instances == ("ZTile", "Place")
    optional = entry("ZTile", forbids={"placed"}, role=Role.OPTIMISE)
    plan = solve(Problem(passes=[optional, place], initial={"placed"}, goals=["placed"]))
    assert plan.instances == ()
    assert "placed" in {s.instance: s.reason for s in plan.skipped}["ZTile"]


def test_gates_follow_capabilities_and_say_so() -> None:
    gated = entry("Slots", role=Role.OPTIMISE, needs={"planner:ptoas"})
    assert solve(Problem(passes=[gated], capabilities=["planner:ptoas"])).instances == ("Slots",)
    [skipped] = solve(Problem(passes=[gated], capabilities=["planner:pypto"])).skipped
    assert "planner:ptoas" in skipped.reason


def test_order_facts_reach_through_absent_passes() -> None:
    chain = [
        entry("Z", role=Role.MUST, order=[before("M")]),
        entry("M", excludes={"off"}, role=Role.MUST, order=[before("A")]),
        entry("A", role=Role.MUST),
    ]
    assert solve(Problem(passes=chain)).instances == ("Z", "M", "A")
    plan = solve(Problem(passes=chain, capabilities=["off"]))
    assert plan.instances == ("Z", "A")
    assert [str(f) for f in plan.contracted] == ["Z before A"]


def test_strict_orders_hold_for_repairs_too() -> None:
    passes = [
        entry(
            "Make",
            produces={"p"},
            runs=("Make", "Make#2"),
            order=[OrderFact(Relation.STRICTLY_BEFORE, "End")],
        ),
        entry("Kill", requires={"p"}, produces={"q"}, invalidates={"p"}),
        entry("End", role=Role.MUST),
    ]
    assert solve(Problem(passes=passes, goals=["p", "q"])).instances[-1] == "End"


def test_the_missing_producer_is_named_with_the_package_that_brings_it() -> None:
    error = failure(
        entry("Slots", requires={"TileMemoryInferred"}, role=Role.MUST),
        catalogue={"TileMemoryInferred": "pypto-plugin-tile"},
    )
    text = error.render()
    assert error.explanation.code == "PT301"
    for word in ("TileMemoryInferred", "Slots", "pypto-plugin-slots 1.2", "pip install pypto-plugin-tile"):
        assert word in text


def test_a_plugin_that_failed_to_load_is_named_instead() -> None:
    error = failure(
        goals=[Goal("Mem", "target pto")],
        catalogue={"Mem": "pypto-plugin-memory"},
        failed=[FailedPlugin("pypto-plugin-memory", "importing it failed: ImportError: no numpy")],
    )
    assert "no numpy" in error.render()
    assert "target pto" in error.render()


def test_a_plugin_that_was_left_out_is_not_said_to_be_broken() -> None:
    left_out = FailedPlugin("pypto-plugin-memory", "PYPTO_PLUGINS leaves it out", by_choice=True)
    error = failure(
        goals=[Goal("Mem", "target pto")], catalogue={"Mem": "pypto-plugin-memory"}, failed=[left_out]
    )
    assert "let pypto-plugin-memory take part, which makes Mem: PYPTO_PLUGINS leaves it out" in error.render()
    assert "failed to load" not in error.render() and "repair" not in error.render()


def test_a_near_name_is_suggested() -> None:
    error = failure(entry("Make", produces={"HasMemRefs"}), goals=["HasMemRef"])
    assert "HasMemRefs" in error.render()


def test_a_ring_of_orders_names_both_edges_and_who_said_them() -> None:
    error = failure(
        entry("Acme", role=Role.MUST, order=[before("Other", "acme wants it")]),
        entry("Other", role=Role.MUST, order=[before("Acme", "other wants it")]),
    )
    assert error.explanation.code == "PT303"
    for word in ("Acme before Other", "Other before Acme", "acme wants it", "pypto-plugin-acme 1.2"):
        assert word in error.render()


def conflict_facts(drop: Sequence[str] = ()) -> Problem:
    """The two goals that only one run can't both reach; without any one of the facts it can."""
    make = entry("Make", produces={"ssa"}, runs=("Make", "Make#2") if "runs" in drop else ())
    door = entry("Door", requires={"ssa"}, produces={"memory"}, invalidates=() if "kill" in drop else {"ssa"})
    goals = [g for g in (Goal("ssa", "--keep-ssa"), Goal("memory", "target pto")) if g.property not in drop]
    return Problem(passes=[make, door], goals=goals)


def test_a_conflict_is_explained_by_a_minimal_set_of_facts() -> None:
    with pytest.raises(NoPlanError) as caught:
        solve(conflict_facts())
    explanation = caught.value.explanation
    assert explanation.code == "PT302"
    assert explanation.minimal and explanation.sufficient
    assert len(explanation.lines) == 4
    for gone in ("runs", "kill", "ssa", "memory"):
        assert plan_or_none(conflict_facts([gone])) is not None


def test_the_budget_ends_with_an_error_and_not_with_a_guess() -> None:
    asked = reference(goals=("AllocatedMemoryAddr",), goal_directed=True)
    states = solve(asked).states
    assert states > 1
    with pytest.raises(NoPlanError) as caught:
        solve(attrs.evolve(asked, node_budget=states - 1))
    assert caught.value.explanation.code == "PT309"
    assert solve(attrs.evolve(asked, node_budget=states)) == solve(asked)


@LIGHT
@given(st.data())
def test_the_checker_refuses_a_spoilt_plan(data: st.DataObject) -> None:
    problem = data.draw(problems(kill=1, roles=(Role.PROVIDE, Role.MUST)))
    plan = plan_or_none(problem)
    if plan is None or not plan.steps:
        return
    assert check_plan(problem, plan) is None
    step = data.draw(st.sampled_from(plan.steps))
    doubled = attrs.evolve(plan, steps=(*plan.steps, step))
    # A pass that may run once and is written down twice is no plan.
    assert check_plan(problem, doubled) is not None


def test_a_plan_explains_each_step_and_reads_back_from_one_line() -> None:
    problem = Problem(
        passes=[
            entry("ToSSA", produces={"ssa"}),
            entry("Door", requires={"ssa"}, produces={"memory"}, invalidates={"ssa"}),
            entry("Late", role=Role.MUST, order=[after("Door", "it reads memory")]),
        ],
        goals=[Goal("memory", "target pto")],
    )
    plan = solve(problem)
    text = explain_plan(plan)
    for word in ("ssa <- ToSSA", "destroys  ssa", "target pto", "pypto-plugin-door 1.2", "it reads memory"):
        assert word in text
    assert parse_plan_line(plan.spec()) == plan.instances == ("ToSSA", "Door", "Late")
    graph = plan_graph(problem, plan)
    assert graph.has_edge("ToSSA", "Door")
    assert plan_svg(problem, plan).count("<rect") >= len(plan.steps)
