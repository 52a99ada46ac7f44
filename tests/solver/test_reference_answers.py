"""What the solver says of the C++ compiler's pipeline beside its order: drops, forced pairs, cores, gaps."""

from __future__ import annotations

import attrs
import pytest
from solver_reference import DATA, FACTS, entries, expected, problem

from pypto_core.contract import Role, before
from pypto_core.solver import Goal, NoPlanError, Origin, Problem, ambiguities, solve

# Neighbours of the real order that the properties alone force, as measured on the C++ compiler's pass objects.
FORCED = {
    ("NormalizeStmtStructure", "FlattenCallExpr"),
    ("ConvertTensorToTileOps", "OptimizeOrchTensors"),
    ("InferTileMemorySpace", "InsertMxScaleAddr"),
    ("ExpandMixedKernel", "InjectGMPipeBuffer"),
    ("MaterializeTensorStrides", "InitMemRef"),
    ("InitMemRef", "MaterializeSemanticAliases"),
    ("DeriveCallDirections", "AutoDeriveTaskDependencies"),
    ("MaterializeCommDomainScopes", "LowerHostTensorCollectives"),
    ("MaterializeRuntimeScopes", "ClassifyIterArgCarry"),
}


def test_what_a_planner_drops_is_listed_with_the_planner() -> None:
    plan = solve(problem("PTOAS"))
    reasons = {s.name: s.reason for s in plan.skipped}
    assert reasons == {
        "MemoryReuse": "is switched off by planner:PTOAS",
        "AllocateMemoryAddr": "is switched off by planner:PTOAS",
    }


def test_orders_through_dropped_passes_survive() -> None:
    kept = [(f.earlier, f.later) for f in solve(problem("PTOAS")).contracted]
    assert kept == [("MaterializeSemanticAliases", "FoldNoOpReshape")]


def test_goals_alone_select_every_maker_and_keep_the_order() -> None:
    made = {p for row in DATA["order"] for p in row["produced"]}
    goals = tuple(sorted(made - {"SSAForm", "AivSplitValid"}))
    plan = solve(problem(goals=goals, goal_directed=True))
    assert plan.instances == expected("PYPTO")
    optional = {s.name for s in plan.steps if s.role is Role.OPTIMISE}
    assert {"AutoTileMatmulL0", "LowerPipelineToSlots", "ResolveBackendOpLayouts", "Simplify"} <= optional
    assert plan.cost == len(plan.steps) - sum(s.role is Role.OPTIMISE for s in plan.steps)


@pytest.mark.parametrize("fact", FACTS, ids=lambda f: f"{f[0]}-{f[1]}")
def test_without_a_fact_the_answer_is_ambiguous_or_the_properties_force_it(fact: tuple[str, str]) -> None:
    asked = problem(facts=tuple(f for f in FACTS if f != fact))
    plan = solve(asked)
    if not ambiguities(asked, plan):
        assert plan.instances == expected("PYPTO")
        assert fact in FORCED
    assert fact not in FORCED


def test_without_any_fact_only_the_forced_neighbours_are_certain() -> None:
    real = expected("PYPTO")
    ranked = problem(facts=tuple(zip(real, real[1:], strict=False)))
    bare = problem(facts=())
    free = {(a.earlier, a.later) for a in ambiguities(bare, attrs.evolve(solve(ranked), contracted=()))}
    assert (
        set(zip(real, real[1:], strict=False)) - free == FORCED | {("Simplify", "Simplify#2")} & free | FORCED
    )


def test_the_core_of_addresses_with_ssa_is_the_door_and_the_single_run() -> None:
    asked = attrs.evolve(
        problem(goal_directed=True),
        goals=[Goal("AllocatedMemoryAddr", "backend 910b"), Goal("SSAForm", "--keep-ssa")],
        purpose="backend '910b'",
    )
    with pytest.raises(NoPlanError) as caught:
        solve(asked)
    assert caught.value.render() == (
        "error[PT302]: no order of the enabled passes reaches the goals of backend '910b'\n"
        "  goal      AllocatedMemoryAddr                          (wanted by backend 910b)\n"
        "  goal      SSAForm                                      (wanted by --keep-ssa)\n"
        "  because   InitMemRef destroys SSAForm: invalidates it  (says reference 1)\n"
        "  and       ConvertToSSA may run only once               (says reference 1)\n"
        "  as        SSAForm: only ConvertToSSA of reference 1 can make it\n"
        "  fix       allow another run:  --allow-rerun ConvertToSSA\n"
        "      or    drop the goal AllocatedMemoryAddr\n"
        "      or    drop the goal:  remove --keep-ssa\n"
        "  this set is minimal: without any one of these 4 facts a plan exists.  "
        "details: pypto explain PT302"
    )
    plan = solve(attrs.evolve(asked, extra_runs={"ConvertToSSA": 1}))
    assert "SSAForm" in plan.final
    assert plan.instances.index("ConvertToSSA#2") > plan.instances.index("InitMemRef")


def test_a_missing_provider_is_named_with_its_user_and_its_plugin() -> None:
    asked = problem(goal_directed=True)
    slots = next(e for e in asked.passes if e.name == "LowerPipelineToSlots")
    slots = attrs.evolve(
        slots,
        contract=attrs.evolve(slots.contract, role=Role.MUST),
        origin=Origin("pypto-plugin-slots", "0.1.0"),
    )
    rest = [e for e in asked.passes if e.name not in ("InferTileMemorySpace", slots.name)]
    asked = attrs.evolve(
        asked, passes=[*rest, slots], catalogue={"TileMemoryInferred": "pypto-plugin-tile"}, purpose="910b"
    )
    with pytest.raises(NoPlanError) as caught:
        solve(asked)
    assert caught.value.render() == (
        "error[PT301]: nothing makes TileMemoryInferred, which LowerPipelineToSlots needs, for 910b\n"
        "  must      LowerPipelineToSlots                           (says pypto-plugin-slots 0.1.0)\n"
        "  because   LowerPipelineToSlots needs TileMemoryInferred  (says pypto-plugin-slots 0.1.0)\n"
        "  and       nothing installed makes TileMemoryInferred\n"
        "  fix       install pypto-plugin-tile, which makes TileMemoryInferred:  pip install pypto-plugin-tile\n"
        "  details: pypto explain PT301"
    )


def test_a_pass_of_another_plugin_lands_where_its_facts_allow() -> None:
    asked = problem()
    mine = entries((), goal_directed=True)[4]
    mine = attrs.evolve(
        mine,
        contract=attrs.evolve(
            mine.contract, name="acme.Fold", runs=("acme.Fold",), order=(before("InitMemRef", "needs SSA"),)
        ),
    )
    plan = solve(Problem(passes=[*asked.passes, mine], capabilities=asked.capabilities))
    assert set(plan.instances) == {*expected("PYPTO"), "acme.Fold"}
    assert tuple(i for i in plan.instances if i != "acme.Fold") == expected("PYPTO")
    assert plan.instances.index("acme.Fold") < plan.instances.index("InitMemRef")
