"""Where the passes stand in a pipeline, and that kernels compile through all of them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from pypto_core.contract import Role
from pypto_core.run import resolve
from pypto_core.solver import Goal
from pypto_core.testing import assert_same_behaviour
from pypto_core.verify import PROPERTIES_BY_NAME
from pypto_plugin_tile.passes import PASSES

X, Y = "x: pl.Tensor[[64, 64], pl.FP32]", "y: pl.Out[pl.Tensor[[64, 64], pl.FP32]]"
SOFTMAX = """
t = pl.load(x, [0, 0], [64, 64])
tmp = pl.create_tile([64, 64], pl.FP32)
m = pl.row_max(t, tmp)
e = pl.exp(pl.row_expand_sub(t, m))
s = pl.row_sum(e, tmp)
w = pl.row_expand_mul(e, pl.recip(s))
r = pl.store(w, [0, 0], y)
return r
"""
T = "pl.Tensor[[64, 64], pl.FP32]"


def pipeline(kit: Any, program: Any, *goals: str, backend: str = "910b") -> Any:
    context = kit.context(backend)
    with context:
        return resolve(context, kit.host, [Goal(g, "the test") for g in goals], program), context


def names(kit: Any, *goals: str) -> list[str]:
    # A tensor stored transposed: its view lacks strides.
    view = "pl.TensorView(layout=pl.TensorLayout.DN)"
    params = f"{X}, {Y}, z: pl.Tensor[[64, 64], pl.FP32, {view}]"
    found, _ = pipeline(kit, kit.kernel(params, SOFTMAX, T), *goals)
    return [step.name for step in found.plan.steps]


def test_the_order_of_a_whole_pipeline(kit: Any) -> None:
    if "InitMemRef" not in kit.host.passes:
        pytest.skip("no plugin gives tiles a place")
    found = names(kit, "HasMemRefs", "ReturnParamsExplicit", "TensorViewCanonical")
    wanted = (
        "FlattenCallExpr", "LegalizeTileCast", "AutoTileMatmulL0", "CanonicalizeTileSlice", "InferTileMemorySpace",
        "ResolveBackendOpLayouts", "MaterializeTensorStrides", "InitMemRef", "FoldNoOpReshape",
        "MaterializeValidShapeSymbols",
    )  # fmt: skip
    assert all(a < b for a, b in pairwise(found.index(name) for name in wanted if name in found))
    assert found.index("NormalizeReturnOrder") < found.index("InitMemRef")
    assert found.index("FuseCreateAssembleToSlice") < found.index("InitMemRef")
    assert {name for name in wanted if name != "AutoTileMatmulL0"} <= set(found)


def test_what_nobody_asks_for_is_left_out(kit: Any) -> None:
    found = names(kit, "TileMemoryInferred")
    assert "NormalizeReturnOrder" not in found and "MaterializeTensorStrides" not in found


def test_every_fact_has_a_reason_and_every_property_a_verifier() -> None:
    for one in PASSES:
        assert one.summary and one.contract.role in (Role.MUST, Role.OPTIMISE, Role.PROVIDE)
        for fact in one.contract.order:
            assert len(fact.reason.split()) >= 3, (one.name, fact.other)
        for name in one.contract.requires | one.contract.produces:
            assert name in PROPERTIES_BY_NAME
        # A pass that is only taken for what it makes has to make something.
        assert one.contract.role is not Role.PROVIDE or one.contract.produces - one.contract.requires


@pytest.mark.parametrize("backend", ["910b", "a5"])
def test_a_kernel_through_all_of_them(kit: Any, backend: str) -> None:
    program = kit.kernel(f"{X}, {Y}", SOFTMAX, T)
    goals = ("TileMemoryInferred", "ReturnParamsExplicit", "TensorViewCanonical")
    found, context = pipeline(kit, program, *goals, backend=backend)
    with context.derive(verification="BASIC") as checked:
        after = found.run(program, checked).program
    array = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32)
    assert_same_behaviour(program, after, {"x": array, "y": array * 0}, host=kit.host)
