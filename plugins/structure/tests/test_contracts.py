"""What the plugin registers: contracts, places in the order, effects, pages for its codes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pypto_core.contract import Relation, Role
from pypto_core.host import load_host
from pypto_core.run import PassContext, compile
from pypto_core.testing import ALL_FEATURES, random_program
from pypto_core.verify import EFFECTS, PROPERTIES_BY_NAME
from pypto_plugin_structure import codes, passes, plugin

ORDER = [
    "InlineFunctions", "UnrollLoops", "CtrlFlowTransform", "ConvertToSSA", "Simplify", "NormalizeStmtStructure",
    "FlattenCallExpr",
]  # fmt: skip
PRODUCES = {
    "InlineFunctions": {"InlineFunctionsEliminated"},
    "UnrollLoops": {"UnrollResolved"},
    "CtrlFlowTransform": {"StructuredCtrlFlow"},
    "ConvertToSSA": {"SSAForm"},
    "Simplify": set(),
    "NormalizeStmtStructure": {"NormalizedStmtStructure"},
    "FlattenCallExpr": {"SSAForm", "NormalizedStmtStructure", "NoNestedCalls"},
}
SOURCES = Path(codes.__file__).parent


def test_contracts_name_known_properties_and_effects() -> None:
    for entry in passes.PASSES:
        contract = entry.contract
        assert contract.produces == PRODUCES[entry.name]
        assert contract.touches <= set(EFFECTS)
        for name in contract.requires | contract.produces | contract.invalidates:
            assert name in PROPERTIES_BY_NAME
        assert contract.role is Role.MUST
        assert all(fact.reason for fact in contract.order)
        assert entry.summary and callable(entry.load())
    assert [p.name for p in passes.PASSES] == ORDER


def test_the_pipeline_has_them_in_the_order_of_the_facts() -> None:
    done = compile(random_program(3, features=ALL_FEATURES), backend="910b", goal="AllocatedMemoryAddr")
    names = [step.instance for step in done.plan.steps]
    assert names[: len(ORDER)] == ORDER
    assert names.index("Simplify#2") > max(names.index(n) for n in ("FlattenCallExpr", "AllocateMemoryAddr"))


def test_nothing_else_brings_simplify_into_its_places() -> None:
    """Both runs are placed by facts, as they make no property that something could wait for."""
    (entry,) = (p for p in passes.PASSES if p.name == "Simplify")
    assert entry.contract.runs == ("Simplify", "Simplify#2")
    for instance, other, relation in [
        ("Simplify", "ConvertToSSA", Relation.AFTER),
        ("Simplify", "NormalizeStmtStructure", Relation.BEFORE),
        ("Simplify", "FlattenCallExpr", Relation.BEFORE),
        ("Simplify#2", "AllocateMemoryAddr", Relation.AFTER),
        ("Simplify#2", "MaterializeDistTensorCtx", Relation.AFTER),
        ("Simplify#2", "MaterializeRuntimeScopes", Relation.BEFORE),
    ]:
        assert any(
            (f.instance, f.other, f.relation) == (instance, other, relation) for f in entry.contract.order
        )


def test_every_code_has_a_page() -> None:
    raised: set[str] = set()
    for path in SOURCES.glob("*.py"):
        if path.name != "codes.py":
            raised.update(re.findall(r'"((?:PT|PH-ST-)\d+)"', path.read_text()))
    pages = {page.code for page in codes.PAGES}
    assert raised == pages
    assert all(page.title and len(page.text) > 60 for page in codes.PAGES)


def test_the_plugin_loads_alone() -> None:
    host = load_host(entry_points=[], extra_plugins=[plugin])
    assert not [record for record in host.health if record.failed]
    assert {p.name for p in passes.PASSES} <= set(host.passes)


def test_a_pass_runs_with_a_context(run_pass: Any) -> None:
    from pypto_core.language import parse

    text = (
        "@pl.function\ndef main(n: pl.Scalar[pl.INDEX]):\n    a = n\n"
        "    for i in pl.pipeline(4, stage=2):\n        a = a + i\n        if a > 9:\n            break\n    return a\n"
    )
    context = PassContext(host=load_host(entry_points=[], extra_plugins=[plugin]))
    body = next(p for p in passes.PASSES if p.name == "CtrlFlowTransform").load()
    body(parse(text), context)
    assert [d.code for d in context.log] == ["PH-ST-001"]
