"""A plan's other forms: JSON, lock, graph, picture, ambiguities, and the reasons for what is left out."""

from __future__ import annotations

import json
import pickle
import xml.etree.ElementTree as ElementTree

import attrs
import networkx as nx
import pytest
from solver_reference import problem as reference

from pypto_core.contract import PassContract, Role, after, before
from pypto_core.diagnostics import UserError
from pypto_core.solver import (
    Ambiguity,
    ExtraOrder,
    Goal,
    Must,
    NoPlanError,
    Origin,
    PassEntry,
    Problem,
    ambiguities,
    explain_plan,
    fact_hash,
    lock_text,
    parse_plan_line,
    plan_graph,
    plan_line,
    plan_svg,
    solve,
    why_not,
)


def entry(name: str, **parts: object) -> PassEntry:
    return PassEntry(PassContract(name=name, **parts), Origin(f"pypto-plugin-{name.lower()}", "1.2"))  # type: ignore[arg-type]


def small(**parts: object) -> Problem:
    fields: dict[str, object] = {
        "passes": [
            entry("Ssa", produces={"ssa"}, runs=("Ssa", "Ssa#2")),
            entry("Door", requires={"ssa"}, produces={"memory"}, invalidates={"ssa"}),
            entry("Fold", role=Role.OPTIMISE, order=(before("Door", "folding reads SSA"),)),
            entry("Late", role=Role.MUST),
        ],
        "goals": [Goal("memory", "target pto"), Goal("ssa", "--keep-ssa")],
    }
    return Problem(**{**fields, **parts})  # type: ignore[arg-type]


def test_the_whole_explanation() -> None:
    assert explain_plan(solve(small())) == (
        "goals  memory (wanted by target pto), ssa (wanted by --keep-ssa)\n"
        "input  holds nothing\n"
        "1. Fold  [optimise, pypto-plugin-fold 1.2]\n"
        "   here      an optimisation that fits, offered by pypto-plugin-fold 1.2\n"
        "   place     it is first\n"
        "2. Late  [must, pypto-plugin-late 1.2]\n"
        "   here      it must run, says pypto-plugin-late 1.2\n"
        "   place     nothing keeps it from the front; the tie-break puts it behind Fold\n"
        "3. Ssa  [provide, pypto-plugin-ssa 1.2]\n"
        "   makes     ssa\n"
        "   here      makes ssa for Door, which makes the goal memory, wanted by target pto\n"
        "   place     nothing keeps it from the front; the tie-break puts it behind Late\n"
        "4. Door  [provide, pypto-plugin-door 1.2]\n"
        "   needs     ssa <- Ssa\n"
        "   makes     memory\n"
        "   destroys  ssa (invalidates it); Ssa#2 makes it again\n"
        "   here      makes the goal memory, wanted by target pto\n"
        "   place     Ssa makes ssa, which it needs\n"
        "5. Ssa#2  [provide, pypto-plugin-ssa 1.2]\n"
        "   makes     ssa\n"
        "   here      makes the goal ssa, wanted by --keep-ssa\n"
        "   place     Door would destroy ssa, which it makes\n"
        "plan   Fold,Late,Ssa,Door,Ssa#2"
    )


def test_ambiguous_neighbours_are_those_that_could_change_places() -> None:
    asked = small()
    assert ambiguities(asked, solve(asked)) == (Ambiguity("Fold", "Late"), Ambiguity("Late", "Ssa"))
    ordered = attrs.evolve(
        asked, order=[ExtraOrder("Fold", "Late", "--order"), ExtraOrder("Late", "Ssa", "--order")]
    )
    assert ambiguities(ordered, solve(ordered)) == ()


def test_json_holds_every_step_and_survives_dumping() -> None:
    data = json.loads(json.dumps(solve(small()).to_json()))
    assert [step["instance"] for step in data["steps"]] == ["Fold", "Late", "Ssa", "Door", "Ssa#2"]
    assert data["steps"][3]["destroys"] == [
        {"property": "ssa", "reason": "invalidates it", "repaired_by": "Ssa#2"}
    ]
    assert data["steps"][3]["needs"] == [{"property": "ssa", "made_by": "Ssa"}]
    assert data["steps"][2]["chain"] == ["Door", "memory"]
    assert data["cost"] == 3


def test_the_line_reads_back() -> None:
    plan = solve(small())
    assert plan_line(plan) == plan.spec() == "Fold,Late,Ssa,Door,Ssa#2"
    assert parse_plan_line(" Fold, Late ,Ssa,Door,Ssa#2") == plan.instances
    assert parse_plan_line("") == ()
    with pytest.raises(UserError, match="empty step"):
        parse_plan_line("A,,B")


def test_the_lock_names_versions_and_notices_changes() -> None:
    asked = small()
    text = lock_text(solve(asked))
    assert f"facts {fact_hash(asked)}" in text
    assert "Ssa#2 = Ssa of pypto-plugin-ssa 1.2" in text
    newer = [attrs.evolve(e, origin=Origin(e.origin.distribution, "1.3")) for e in asked.passes]
    assert fact_hash(attrs.evolve(asked, passes=newer)) != fact_hash(asked)
    assert fact_hash(attrs.evolve(asked, catalogue={"x": "y"})) == fact_hash(asked)


def test_the_graph_goes_forward_and_knows_what_a_step_rests_on() -> None:
    asked = reference("PTOAS")
    plan = solve(asked)
    graph = plan_graph(asked, plan)
    assert nx.is_directed_acyclic_graph(graph)
    place = {name: k for k, name in enumerate(plan.instances)}
    assert all(place[a] < place[b] for a, b in graph.edges if a in place and b in place)
    needs = graph.edge_subgraph([e for e in graph.edges if graph.edges[e]["kind"] == "needs"])
    assert {"ConvertToSSA", "NormalizeStmtStructure"} <= nx.ancestors(needs, "InitMemRef")
    assert graph.edges["ConvertToSSA", "FlattenCallExpr"]["properties"] == ("SSAForm",)


def test_the_picture_has_a_box_for_each_step() -> None:
    asked = small()
    root = ElementTree.fromstring(plan_svg(asked, solve(asked)))
    space = "{http://www.w3.org/2000/svg}"
    texts = [t.text for t in root.iter(f"{space}text")]
    assert texts == ["(input)", "Fold", "Late", "Ssa", "Door", "Ssa#2", "(goals)"]
    assert plan_svg(asked, solve(asked)) == plan_svg(asked, solve(asked))


def test_why_not_names_the_conflict() -> None:
    ring = Problem(
        passes=[
            entry("Fold", role=Role.OPTIMISE, order=(before("Fuse", "shapes first"),)),
            entry("Fuse", role=Role.OPTIMISE, order=(before("Fold", "more to fold"),)),
            entry("Spare", produces={"x"}),
            entry("Lost", role=Role.OPTIMISE, requires={"nothing"}),
        ]
    )
    plan = solve(ring)
    assert plan.instances == ("Fold",)
    assert {s.instance: s.reason for s in plan.skipped} == {
        "Fuse": "fits no plan beside: Fold is wanted in the plan; Fold before Fuse (pypto-plugin-fold 1.2); "
        "Fuse before Fold (pypto-plugin-fuse 1.2)",
        "Lost": "needs nothing, which nothing here makes",
    }
    assert "Fold before Fuse" in why_not(ring, "Fuse")
    assert why_not(ring, "Fold") == "Fold is in the plan"
    assert "nothing in the plan needs what Spare makes" in why_not(ring, "Spare")
    assert why_not(ring, "Ghost") == "no installed plugin has a pass named Ghost"


def test_an_anchor_ranks_and_orders() -> None:
    passes = [
        entry("A", role=Role.MUST, order=(after("@emit"),)),
        entry("B", role=Role.MUST, order=(before("@emit"),)),
        entry("C", role=Role.MUST, order=(before("@emitt"),)),
    ]
    plan = solve(Problem(passes=passes, anchors=("@lower", "@emit")))
    assert plan.instances == ("C", "B", "A")
    assert "the anchor @emitt, which does not exist" in plan.notes[0]
    assert "did you mean @emit?" in plan.notes[0]


def test_a_demand_for_an_unknown_pass_is_answered_with_the_likely_name() -> None:
    with pytest.raises(NoPlanError) as caught:
        solve(small(must=[Must("Lat", "--run Lat")]))
    assert caught.value.render() == (
        "error[PT301]: Lat has to run and can't, for this compilation\n"
        "  must      Lat                                       (says --run Lat)\n"
        "  because   no installed plugin has a pass named Lat\n"
        "  fix       did you mean Late?\n"
        "  details: pypto explain PT301"
    )


def test_an_error_travels_and_turns_into_json() -> None:
    with pytest.raises(NoPlanError) as caught:
        solve(small(extra_runs={}, passes=[entry("Door", requires={"ssa"}, produces={"memory"})]))
    again = pickle.loads(pickle.dumps(caught.value))
    assert again.render() == caught.value.render()
    [data] = json.loads(json.dumps(caught.value.to_json()))
    assert data["code"] == "PT301"
    assert data["explanation"]["properties"] == ["ssa"]
    assert isinstance(caught.value, UserError)


def test_two_passes_of_one_name_are_refused_with_both_origins() -> None:
    one, two = entry("A"), PassEntry(PassContract(name="A"), Origin("pypto-plugin-other", "2"))
    with pytest.raises(ValueError, match=r"A of pypto-plugin-other 2 and A of pypto-plugin-a 1.2"):
        Problem(passes=[one, two])
    with pytest.raises(ValueError, match="answer to A"):
        Problem(passes=[one, entry("B", runs=("B", "A"))])
