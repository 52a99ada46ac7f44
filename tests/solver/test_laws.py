"""Laws of plans: no needless step, safe installs, repair; and the words of every kind of failure."""

from __future__ import annotations

import re
from collections.abc import Sequence

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from solver_problems import problems
from solver_reference import problem as reference
from solver_shapes import shaped

from pypto_core.contract import OrderFact, PassContract, Property, PropertyKind, Relation, Role, after, before
from pypto_core.solver import (
    Explanation,
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


def test_fixes_that_are_needed_together_are_said_to_be() -> None:
    error = failure(
        goals=[Goal("Mem", "target pto"), Goal("Addr", "target pto"), Goal("Flat", "target pto")],
        catalogue={
            "Mem": "pypto-plugin-memory",
            "Addr": "pypto-plugin-memory",
            "Flat": "pypto-plugin-structure",
        },
    )
    assert error.explanation.joint
    assert (
        "  fix       install pypto-plugin-memory, which makes Addr and Mem:  pip install pypto-plugin-memory\n"
        "      and   install pypto-plugin-structure, which makes Flat:  pip install pypto-plugin-structure\n"
    ) in error.render()
    assert error.to_json()[0]["explanation"]["joint"] is True


def test_fixes_of_which_one_is_enough_are_alternatives() -> None:
    makers = [
        entry("One", requires={"X", "Y"}, produces={"G"}),
        entry("Two", requires={"Z"}, produces={"G"}),
        entry("Three", requires={"W"}, produces={"G"}),
    ]
    error = failure(*makers, goals=["G"], catalogue={p: f"pypto-plugin-{p.lower()}" for p in "WXYZ"})
    assert not error.explanation.joint
    assert [fix.split(",")[0] for fix in error.explanation.fixes] == [
        "install pypto-plugin-w",
        "install pypto-plugin-z",
    ]
    assert "      or    install pypto-plugin-z" in error.render()


@LIGHT
@given(problems(kill=1, rerun=True), st.data())
def test_fixes_are_enough_and_all_that_is_needed(problem: Problem, data: st.DataObject) -> None:
    """What the fixes promise, tried out: a pass that needs nothing for each property that is to be made."""
    kept = data.draw(st.lists(st.sampled_from(problem.passes), unique=True)) if problem.passes else []
    names = {p for e in problem.passes for p in (*e.contract.requires, *e.contract.produces)}
    names |= {goal.property for goal in problem.goals}
    problem = attrs.evolve(problem, passes=kept, catalogue={name: f"dist-of-{name}" for name in names})

    def explanation(made: Sequence[str]) -> Explanation | None:
        givers = [entry(f"Give{name}", produces={name}) for name in made]
        try:
            solve(attrs.evolve(problem, passes=[*problem.passes, *givers]))
        except NoPlanError as error:
            return error.explanation if error.explanation.code == "PT301" else None
        return None

    found = explanation(())
    if found is None or not found.fixes:
        return
    wanted = [re.findall(r"install dist-of-(\w+), ", fix) for fix in found.fixes]
    if not all(len(names) == 1 for names in wanted):
        return  # passes that are off have other ways out
    makes = [names[0] for names in wanted]
    if found.joint:
        assert explanation(makes) is None
        for at in range(len(makes)):
            assert explanation([*makes[:at], *makes[at + 1 :]]) is not None
    else:
        for name in makes:
            assert explanation([name]) is None


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
    assert "unblock pypto-plugin-memory, which makes Mem: PYPTO_PLUGINS leaves it out" in error.render()
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


def test_a_spent_budget_is_an_error_or_a_plan_that_says_so() -> None:
    asked = reference(goals=("AllocatedMemoryAddr",), goal_directed=True)
    best = solve(asked)
    assert best.proved and not best.notes
    assert solve(attrs.evolve(asked, node_budget=best.states)) == best
    outcomes = set[str]()
    for seed in range(12):
        wide = shaped(60, seed)
        least = plan_or_none(wide)
        if least is None:
            continue
        for budget in (1, 4, 16, 64):
            try:
                plan = solve(attrs.evolve(wide, node_budget=budget))
            except NoPlanError as error:
                assert error.explanation.code == "PT309"
                outcomes.add("gave up")
                continue
            assert check_plan(wide, plan) is None
            if plan.proved:
                assert plan.instances == least.instances and not plan.notes
            else:
                assert plan.cost >= least.cost
                assert plan.notes[-1].startswith("not proved to be the best plan")
            outcomes.add("proved" if plan.proved else "not proved")
    assert outcomes == {"gave up", "not proved", "proved"}


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
