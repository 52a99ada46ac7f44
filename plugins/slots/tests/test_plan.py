"""When the pass is scheduled and why not, and what kernels compile to with it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from pypto_core.contract import OrderFact
from pypto_core.diagnostics import UserError
from pypto_core.ir import ForKind, ForStmt, walk_stmts
from pypto_core.run import Compiled, compile, resolve
from pypto_core.solver import Goal, Plan
from pypto_core.testing import assert_same_behaviour
from pypto_plugin_slots.passes import PASSES

SLOTS, ADDRESSED, COPIES = "LowerPipelineToSlots", "LowerPipelineToAddressedSlots", "LowerPipelineLoops"
A, OUT = "a: pl.Tensor[[64, 16], pl.FP32]", "out: pl.Out[pl.Tensor[[64, 16], pl.FP32]]"
N = "n: pl.Scalar[pl.INDEX]"
T = "pl.Tensor[[64, 16], pl.FP32]"
RING = "!pto.multi_tile_buf<"


def kernel(kit: Any, bounds: str = "0, 8, 1", stage: int = 2, extra: str = "") -> Any:
    body = (
        f"for i in pl.pipeline({bounds}, stage={stage}):\n    t = pl.load(a, [i, 0], [1, 16])\n{extra}"
        "    e = pl.exp(t)\n    pl.store(e, [i, 0], out)"
    )
    return kit.kernel(f"{A}, {OUT}, {N}", body)


def planned(kit: Any, program: Any, planner: str, **options: Any) -> Plan:
    context = kit.context("910b", planner, **options)
    goals = [Goal(name, "the test") for name in ("PipelineResolved", "HasMemRefs")]
    with context:
        plan = resolve(context, kit.host, goals, program).plan
    assert plan is not None
    return plan


def names(plan: Plan) -> list[str]:
    return [step.name for step in plan.steps]


def written(kit: Any, program: Any, planner: str, **options: Any) -> Compiled:
    options = {"emit_source_loc": False, **options}
    return compile(
        program, backend="910b", planner=planner, goal="pto", host=kit.host, verification="BASIC", **options
    )


def text(compiled: Compiled) -> str:
    [artifact] = compiled.artifacts
    return str(artifact.data)


def test_it_stands_where_the_loops_are_still_pipelined(kit: Any) -> None:
    order = names(planned(kit, kernel(kit), "ptoas"))
    assert order.index("InferTileMemorySpace") < order.index(SLOTS) < order.index(COPIES)
    assert order.index(SLOTS) < order.index("InitMemRef")
    assert ADDRESSED not in order and order.index(COPIES) == order.index(SLOTS) + 1


def test_it_stands_behind_the_skew(kit: Any) -> None:
    crossing = (
        "    pl.tile.tpush_to_aic(t)\n    g = pl.tile.tpop_from_aic([1, 16], pl.FP32)\n"
        "    pl.store(g, [i, 0], out)\n"
    )
    order = names(planned(kit, kernel(kit, extra=crossing), "ptoas"))
    assert order.index("SkewCrossCorePipeline") < order.index(SLOTS) < order.index(COPIES)


@pytest.mark.parametrize("planner", ["pypto", "dsa_rp"])
def test_elsewhere_it_is_off_and_the_plan_says_why(kit: Any, planner: str) -> None:
    plan = planned(kit, kernel(kit), planner)
    assert not {SLOTS, ADDRESSED} & set(names(plan))
    reasons = {skipped.name: skipped.reason for skipped in plan.skipped}
    assert "planner:ptoas" in reasons[SLOTS] and planner in reasons[SLOTS]
    assert "option:enable_addressed_slots" in reasons[ADDRESSED]


@pytest.mark.parametrize(
    ("planner", "wanted"), [("pypto", ADDRESSED), ("dsa_rp", ADDRESSED), ("ptoas", SLOTS)]
)
def test_the_option_turns_exactly_one_on(kit: Any, planner: str, wanted: str) -> None:
    order = names(planned(kit, kernel(kit), planner, enable_addressed_slots=True))
    assert {SLOTS, ADDRESSED} & set(order) == {wanted}
    assert order.index(wanted) < order.index(COPIES)


def test_every_fact_has_a_reason() -> None:
    facts: list[OrderFact] = [fact for p in PASSES for fact in p.contract.order]
    assert facts and all(len(fact.reason.split()) > 4 for fact in facts)


# -- what is written


def test_one_body_without_remainders(kit: Any) -> None:
    out = text(written(kit, kernel(kit, "0, n, 1", 4), "ptoas"))
    assert out.count("pto.tload") == out.count("pto.tstore") == out.count("scf.for") == 1
    assert "scf.if" not in out
    assert out.count("pto.alloc_multi_tile") == out.count("pto.multi_tile_get") == 1
    assert "count=4>" in out and "addr" not in out


@pytest.mark.parametrize(
    ("bounds", "wanted"),
    [
        ("0, 8, 1", ["arith.remsi %i, %c2_index : index"]),
        ("1, 8, 1", ["arith.subi %i, %c1_index : index", "arith.remsi %0, %c2_index : index"]),
        ("3, 60, 16", ["arith.subi %i, %c3_index : index", "arith.divsi %0, %c16_index : index",
                       "arith.remsi %1, %c2_index : index"]),
        ("0, 60, 16", ["arith.divsi %i, %c16_index : index", "arith.remsi %0, %c2_index : index"]),
    ],
)  # fmt: skip
def test_the_slot_operand_needs_no_correction(kit: Any, bounds: str, wanted: list[str]) -> None:
    lines = [line.strip() for line in text(written(kit, kernel(kit, bounds), "ptoas")).splitlines()]
    at = next(k for k, line in enumerate(lines) if line.startswith("scf.for"))
    assert lines[at + 1 : at + 1 + len(wanted)] == [f"%{k} = {op}" for k, op in enumerate(wanted)]
    assert f"multi_tile_get %pipe_t_mb[%{len(wanted) - 1}]" in lines[at + 1 + len(wanted)]


@pytest.mark.parametrize("planner", ["pypto", "dsa_rp"])
def test_without_the_option_the_text_does_not_know_of_slots(kit: Any, planner: str) -> None:
    plain = text(written(kit, kernel(kit), planner))
    assert text(written(kit, kernel(kit), planner, enable_addressed_slots=False)) == plain
    assert RING not in plain and plain.count("pto.tload") == 2


@pytest.mark.parametrize("planner", ["pypto", "dsa_rp"])
def test_a_ring_with_an_address_is_reserved_as_a_whole(kit: Any, planner: str) -> None:
    body = """
        for i in pl.pipeline(0, 8, 1, stage=3):
            t = pl.load(a, [i, 0], [1, 16])
            u = pl.load(a, [i + 1, 0], [2, 16])
            e = pl.exp(t)
            f = pl.exp(u)
            pl.store(e, [i, 0], out)
            pl.store(f, [i, 0], out)
    """
    out = text(written(kit, kit.kernel(f"{A}, {OUT}", body), planner, enable_addressed_slots=True))
    shape = r"addr = %c(\d+)_i64 .*rows=(\d+), cols=(\d+),"
    rings = re.findall(rf"%(\w+)_mb = pto.alloc_multi_tile {shape}.*count=(\d+)", out)
    singles = re.findall(rf"%\w+ = pto.alloc_tile {shape}", out)
    spans = [(int(at), int(at) + int(r) * int(c) * 4 * int(k)) for _, at, r, c, k in rings]
    spans += [(int(at), int(at) + int(r) * int(c) * 4) for at, r, c in singles]
    assert [name for name, *_ in rings] == ["pipe_t", "pipe_u"] and len(singles) == 2
    # The two results may share bytes with each other, but nothing lies in a ring.
    for low, high in spans[:2]:
        assert sum(low < other and mine < high for mine, other in spans) == 1
    assert out.count("pto.multi_tile_get") == 2 and out.count("pto.tload") == 2


def test_declared_allocations_that_are_no_rings_keep_their_buffers(kit: Any) -> None:
    """Two slots in one trip: the assembler could not guard them, but at addresses they are right."""
    body = """
        for i in pl.range(0, 8, 1):
            t: pl.Tile[[1, 16], pl.FP32, pl.MemRef("mine", slots=2)[0], pl.Mem.Vec] = pl.load(a, [i, 0], [1, 16])
            u: pl.Tile[[1, 16], pl.FP32, pl.MemRef("mine", slots=2)[1], pl.Mem.Vec] = pl.load(a, [i, 0], [1, 16])
            w = pl.add(t, u)
            pl.store(w, [i, 0], out)
    """
    program = kit.kernel(f"{A}, {OUT}", body)
    done = written(kit, program, "pypto", enable_addressed_slots=True)
    assert text(done) == text(written(kit, program, "pypto"))
    [hint] = [d for d in done.diagnostics if d.code == "PTO-022"]
    assert "two of its slots are live at once" in hint.message
    with pytest.raises(UserError, match="two of its slots are live at once") as error:
        written(kit, program, "ptoas")
    [refusal] = error.value.diagnostics
    assert refusal.code == "PTO-011" and refusal.span.is_valid


REFUSED = {
    "single-slot": ('pl.MemRef("mine")', "[1, 16]", "", "single-slot declared allocation"),
    "no slot": ('pl.MemRef("mine", slots=2)', "[1, 16]", "", "without selecting a slot"),
    "too many": ('pl.MemRef("mine", slots=17)[i % 17]', "[1, 16]", "", "2 to 16"),
    "extents": ('pl.MemRef("mine", slots=2)[i % 2]', "[1, 16]", ", valid_shape=[1, n]", "runtime valid shape"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_declarations_that_the_assembler_can_not_take(kit: Any, case: str) -> None:
    ring, shape, option, message = REFUSED[case]
    view = ", pl.TileView(valid_shape=[1, n])" if option else ""
    body = f"""
        for i in pl.range(0, 8, 1):
            t: pl.Tile[{shape}, pl.FP32, {ring}, pl.Mem.Vec{view}] = pl.load(a, [i, 0], {shape}{option})
            e = pl.exp(t)
            pl.store(e, [i, 0], out)
    """
    with pytest.raises(UserError, match=re.escape(message)) as error:
        written(kit, kit.kernel(f"{A}, {OUT}, {N}", body), "ptoas")
    assert error.value.diagnostics[0].span.is_valid and error.value.diagnostics[0].remedy


def test_hints_come_out_of_a_compilation(kit: Any) -> None:
    compiled = written(kit, kernel(kit, "n, 8, 1"), "ptoas")
    [hint] = [d for d in compiled.diagnostics if d.code.startswith("PH-LS")]
    assert hint.code == "PH-LS-004" and "start" in hint.message
    assert text(compiled).count("pto.tload") > 1, "the loop is replicated as before"


# -- what is computed


@pytest.mark.parametrize("planner", ["ptoas", "pypto", "dsa_rp"])
@pytest.mark.parametrize(
    ("bounds", "stage"), [("0, 8, 1", 2), ("1, 9, 1", 3), ("0, 14, 3", 4), ("2, n, 1", 2)]
)
def test_compiled_kernels_compute_the_same(kit: Any, planner: str, bounds: str, stage: int) -> None:
    """What planners assign is checked on the way by the properties that they promise."""
    body = f"""
        for i, (acc,) in pl.pipeline({bounds}, stage={stage}, init_values=(out,)):
            t = pl.load(a, [i * 4, 0], [4, 16])
            e = pl.exp(t)
            w = pl.add(e, t)
            nxt = pl.store(w, [i * 4, 0], acc)
            y = pl.yield_(nxt)
        return y
    """
    program = kit.kernel(f"{A}, {OUT}, {N}", body, T)
    context = kit.context("910b", planner, enable_addressed_slots=True).derive(verification="BASIC")
    addresses = () if planner == "ptoas" else ("AllocatedMemoryAddr",)
    goals = [Goal(name, "the test") for name in ("PipelineResolved", "HasMemRefs", *addresses)]
    with context:
        after = resolve(context, kit.host, goals, program).run(program, context).program
    loops = [s for s in walk_stmts(after["main"].body) if isinstance(s, ForStmt)]
    assert len(loops) == 1 and loops[0].kind is ForKind.Sequential
    array = np.random.default_rng(1).standard_normal((64, 16)).astype(np.float32)
    for n in (0, 3, 9):
        given = {"a": array, "out": np.zeros_like(array), "n": n}
        assert_same_behaviour(program, after, given, host=kit.host)
