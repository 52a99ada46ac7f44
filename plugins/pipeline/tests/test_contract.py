"""When the passes are scheduled, in which order, and that kernels with pipelines compile under every planner."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest

from pypto_core.contract import OrderFact
from pypto_core.host import Host
from pypto_core.ir import ForKind, ForStmt, walk_stmts
from pypto_core.run import PassContext, resolve
from pypto_core.solver import Goal
from pypto_core.testing import assert_same_behaviour
from pypto_plugin_pipeline.passes import PASSES

SKEW, COPIES, ORDER = "SkewCrossCorePipeline", "LowerPipelineLoops", "CanonicalizeIOOrder"
A, OUT = "a: pl.Tensor[[64, 16], pl.FP32]", "out: pl.Out[pl.Tensor[[64, 16], pl.FP32]]"
GOALS = ("SSAForm", "TileMemoryInferred", "PipelineResolved")


def planned(host: Host, program: Any, *goals: str) -> list[str]:
    context = PassContext(backend=host.backend("910b"), planner="pypto", host=host)
    with context:
        plan = resolve(context, host, [Goal(name, "the test") for name in goals or GOALS], program).plan
    assert plan is not None
    return [step.name for step in plan.steps]


def rows(kit: Any, head: str, extra: str = "") -> Any:
    body = f"for i in pl.{head}:\n    t = pl.load(a, [i, 0], [1, 16])\n{extra}    pl.store(t, [i, 0], out)"
    return kit.kernel(f"{A}, {OUT}", body)


def without(host: Host, *names: str) -> Host:
    kept = {name: row for name, row in host.passes.rows.items() if name not in names}
    return attrs.evolve(host, passes=type(host.passes).of("pass", kept))


def test_a_kernel_without_pipelines_costs_nothing(kit: Any) -> None:
    host = without(kit.host, "AutoTileMatmulL0")
    names = planned(host, rows(kit, "range(0, 8, 1)"))
    assert not {SKEW, COPIES, ORDER} & set(names)


def test_a_pipelined_loop_brings_both(kit: Any) -> None:
    for host in (kit.host, without(kit.host, "AutoTileMatmulL0")):
        names = planned(host, rows(kit, "pipeline(0, 8, 1, stage=2)"))
        assert names.index("InferTileMemorySpace") < names.index(COPIES) < names.index(ORDER)
        assert SKEW not in names


def test_loops_that_another_pass_makes_are_seen(kit: Any) -> None:
    """The tiler's loops are not there yet when the input is looked at."""
    names = planned(kit.host, rows(kit, "range(0, 8, 1)"))
    if "AutoTileMatmulL0" in names:
        assert names.index("AutoTileMatmulL0") < names.index(COPIES) < names.index(ORDER)


def test_a_loop_that_goes_both_ways_is_skewed_first(kit: Any) -> None:
    crossing = (
        "    pl.tile.tpush_to_aic(t)\n    g = pl.tile.tpop_from_aic([1, 16], pl.FP32)\n"
        "    pl.store(g, [i, 0], out)\n"
    )
    host = without(kit.host, "AutoTileMatmulL0")
    names = planned(host, rows(kit, "pipeline(0, 8, 1, stage=2)", crossing))
    assert names.index(SKEW) < names.index(COPIES) < names.index(ORDER)


def test_every_fact_has_a_reason() -> None:
    facts: list[OrderFact] = [fact for p in PASSES for fact in p.contract.order]
    assert len(facts) == 11
    assert all(len(fact.reason.split()) > 4 for fact in facts)
    chain = {(p.name, f.relation.value, f.other) for p in PASSES for f in p.contract.order}
    assert {
        (SKEW, "before", "LowerPipelineToSlots"), (COPIES, "after", "LowerPipelineToSlots"),
        (COPIES, "before", ORDER), (ORDER, "before", "MaterializeTensorStrides"), (ORDER, "before", "InitMemRef"),
    } <= chain  # fmt: skip


@pytest.mark.parametrize("planner", ["pypto", "dsa_rp", "ptoas"])
@pytest.mark.parametrize("backend", ["910b", "a5"])
@pytest.mark.parametrize("bounds", ["0, 8, 1", "0, 7, 1", "0, n, 1", "1, n, 3"])
def test_pipelines_compile_to_what_they_mean(kit: Any, planner: str, backend: str, bounds: str) -> None:
    body = f"""
    for i, (acc,) in pl.pipeline({bounds}, stage=3, init_values=(out,)):
        t = pl.load(a, [i * 4, 0], [4, 16])
        e = pl.exp(t)
        w = pl.add(e, t)
        nxt = pl.store(w, [i * 4, 0], acc)
        y = pl.yield_(nxt)
    return y
    """
    program = kit.kernel(f"{A}, {OUT}, n: pl.Scalar[pl.INDEX]", body, "pl.Tensor[[64, 16], pl.FP32]")
    context = PassContext(
        backend=kit.host.backend(backend), planner=planner, host=kit.host, verification="BASIC"
    )
    addresses = () if planner == "ptoas" else ("AllocatedMemoryAddr",)
    goals = [Goal(name, "the test") for name in ("PipelineResolved", "HasMemRefs", *addresses)]
    with context:
        after = resolve(context, kit.host, goals, program).run(program, context).program
    assert all(s.kind is ForKind.Sequential for s in walk_stmts(after["main"].body) if isinstance(s, ForStmt))
    array = np.random.default_rng(1).standard_normal((64, 16)).astype(np.float32)
    for n in (0, 5, 10):
        given = {"a": array, "out": np.zeros_like(array), "n": n}
        assert_same_behaviour(program, after, given, host=kit.host)
