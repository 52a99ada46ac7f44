"""Where the passes stand, and that nothing of this plugin runs where there is nothing to do for it."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from pypto_core.contract import Role
from pypto_core.run import PassContext, resolve
from pypto_core.solver import Goal
from pypto_core.verify import PROPERTIES_BY_NAME
from pypto_plugin_tensor.codes import PAGES
from pypto_plugin_tensor.passes import PASSES

CONTRACTS = {p.name: p.contract for p in PASSES}
ORDER = (
    "FlattenCallExpr", "OutlineHierarchyScopes", "OutlineIncoreScopes", "OutlineClusterScopes",
    "ConvertTensorToTileOps", "OptimizeOrchTensors", "LowerCompositeOps", "FlattenTileNdTo2D", "LegalizeTileCast",
    "AutoTileMatmulL0", "CanonicalizeTileSlice", "InferTileMemorySpace", "InitMemRef",
)  # fmt: skip
T = "pl.Tensor[[16, 64], pl.FP32]"
SCOPES = """
with pl.at(level=pl.Level.HOST):
    for core in pl.spmd(4):
        out[core * 4:(core + 1) * 4, :] = pl.sin(a[core * 4:(core + 1) * 4, :])
return out
"""


def steps(kit: Any, program: Any, *goals: str) -> list[str]:
    context = PassContext(backend=kit.host.backend("910b"), host=kit.host)
    found = resolve(context, kit.host, [Goal(g, "the test") for g in goals], program)
    return [step.name for step in found.plan.steps]


def test_the_order_of_a_whole_pipeline(kit: Any) -> None:
    program = kit.main(f"a: {T}, out: pl.Out[{T}]", SCOPES, T)
    found = steps(kit, program, "AllocatedMemoryAddr", "HierarchyOutlined", "ClusterOutlined", "TileOps2D")
    assert set(CONTRACTS) <= set(found)
    assert all(a < b for a, b in pairwise(found.index(name) for name in ORDER))


def test_kernels_on_tiles_need_none_of_the_conversions(kit: Any) -> None:
    body = "t = pl.load(a, [0, 0], [16, 64])\nout = pl.store(pl.exp(t), [0, 0], out)\nreturn out"
    found = steps(
        kit, kit.main(f"a: {T}, out: pl.Out[{T}]", body, T, kind="InCore"), "AllocatedMemoryAddr", "TileOps2D"
    )
    provided = {p.name for p in PASSES if p.contract.role is Role.PROVIDE}
    assert not provided & set(found)


@pytest.mark.parametrize("name", CONTRACTS)
def test_contracts_name_known_properties(name: str) -> None:
    contract = CONTRACTS[name]
    assert (contract.requires | contract.produces) <= set(PROPERTIES_BY_NAME)
    assert all(fact.reason for fact in contract.order)


def test_every_code_has_a_page() -> None:
    source = Path(__file__).resolve().parents[1] / "src" / "pypto_plugin_tensor"
    raised = {
        word
        for path in source.glob("*.py")
        if path.name != "codes.py"
        for line in path.read_text(encoding="utf-8").splitlines()
        for word in line.split('"')[1::2]
        if re.fullmatch(r"PT3\d\d|PH-OT-\d+", word)
    }
    assert raised == {page.code for page in PAGES}


def test_the_catalogue_of_distributions_knows_the_passes() -> None:
    path = Path(__file__).resolve().parents[3] / "pypto_core" / "host" / "catalogue.json"
    entry = json.loads(path.read_text(encoding="utf-8"))["pypto-plugin-tensor"]
    assert set(entry["pass"]) == set(CONTRACTS)
    made = {p for c in CONTRACTS.values() for p in c.produces - c.requires} - {
        "SSAForm",
        "NormalizedStmtStructure",
        "NoNestedCalls",
    }
    assert set(entry["property"]) == made
