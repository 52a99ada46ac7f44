"""InferTileMemorySpace: where tiles go, which moves are made, and that the numbers stay."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))

from forgetting import without_spaces

from pypto_core.diagnostics import UserError
from pypto_core.ir import (
    AssignStmt,
    Call,
    DataType,
    ForStmt,
    IfStmt,
    MemorySpace,
    ParamDirection,
    TileLayout,
    TileType,
    Var,
    eq,
    flatten,
    walk_stmts,
)
from pypto_core.testing import SSA_FEATURES, Feature, assert_same_behaviour, random_program
from pypto_core.testing import build as b
from pypto_core.verify import STRUCTURAL, verify_or_raise
from pypto_plugin_tile.infer_memory_space import infer_tile_memory_space

A, B = "a: pl.Tensor[[64, 64], pl.FP16]", "b: pl.Tensor[[64, 64], pl.FP16]"
X, OUT = "x: pl.Tensor[[64, 64], pl.FP32]", "out: pl.Out[pl.Tensor[[64, 64], pl.FP32]]"
OPEN = "target_memory=None"
INFERRED = ("TileMemoryInferred", "AccToGmStoreValid")


def inferred(kit: Any, program: Any, backend: str = "a5", **options: Any) -> Any:
    transform = kit.run(infer_tile_memory_space, backend)
    options.setdefault("kept", ("SSAForm", "NoNestedCalls", "NormalizedStmtStructure"))
    after = kit.prove(transform, program, (*INFERRED, "AssignTypeSymmetry", "TileTypeCoherence"), **options)
    assert transform(after) is after
    return after


def spaces(program: Any) -> dict[str, str | None]:
    """Memory by variable of the kernel; carries and results too."""
    out: dict[str, str | None] = {}
    for s in walk_stmts(program["main"].body):
        found = [s.var] if isinstance(s, AssignStmt) else []
        found += [*getattr(s, "iter_args", ()), *getattr(s, "return_vars", ())]
        for var in found:
            if isinstance(var.type, TileType):
                out[var.name_hint] = var.type.memory_space.name if var.type.memory_space else None
    return out


def moves(program: Any) -> list[str]:
    return [
        f"{s.value.args[0].name_hint}>{s.var.type.memory_space.name}"
        for s in walk_stmts(program["main"].body)
        if isinstance(s, AssignStmt) and isinstance(s.value, Call) and s.value.name == "tile.move"
    ]


@pytest.mark.parametrize("backend", ["910b", "a5", None])
def test_operands_of_the_matrix_unit_come_through_l1(kit: Any, backend: str | None) -> None:
    body = f"""
    l = pl.load(a, [0, 0], [64, 64], {OPEN})
    r = pl.load(b, [0, 0], [64, 64], {OPEN})
    # the product
    c = pl.matmul(l, r)
    pl.store(c, [0, 0], out)
    """
    after = inferred(kit, kit.kernel(f"{A}, {B}, {OUT}", body), backend)
    wanted = """
    l = pl.load(a, [0, 0], [64, 64], target_memory=pl.Mem.Mat)
    r = pl.load(b, [0, 0], [64, 64], target_memory=pl.Mem.Mat)
    # the product
    left = pl.move(l, target_memory=pl.Mem.Left)
    right = pl.move(r, target_memory=pl.Mem.Right)
    c = pl.matmul(left, right)
    pl.store(c, [0, 0], out)
    """
    kit.equal(after, f"{A}, {B}, {OUT}", wanted)
    lines = [c.strip("# ") for s in walk_stmts(after["main"].body) for c in s.leading_comments]
    assert lines == ["the product"]


def test_vector_code_stays_on_the_vector_core(kit: Any) -> None:
    body = f"""
    t = pl.load(x, [0, 0], [64, 64], {OPEN})
    z = pl.create_tile([64, 64], pl.FP32, {OPEN})
    u = pl.add(t, z)
    pl.store(u, [0, 0], out)
    """
    after = inferred(kit, kit.kernel(f"{X}, {OUT}", body), "910b", run=False)
    assert spaces(after) == {"t": "Vec", "z": "Vec", "u": "Vec"} and moves(after) == []


def test_demand_goes_back_through_views_names_carries_and_branches(kit: Any) -> None:
    """The load at the far end goes to L1 because of the product at this one."""
    body = f"""
    t = pl.load(a, [0, 0], [64, 64], {OPEN})
    r = pl.load(b, [0, 0], [64, 64], {OPEN})
    s = pl.tile.slice(t, [32, 64], [32, 0])
    n = s
    for i, (k,) in pl.range(0, 2, 1, init_values=(n,)):
        if i == 0:
            w = pl.load(a, [0, 0], [32, 64], {OPEN})
            v = pl.tile.reshape(w, [32, 64])
            p = pl.yield_(v)
        else:
            p = pl.yield_(k)
        q = pl.yield_(p)
    c = pl.matmul(q, r)
    pl.store(c, [0, 0], out)
    """
    after = inferred(kit, kit.kernel(f"{A}, {B}, {OUT}", body), "910b")
    assert {spaces(after)[name] for name in ["t", "s", "n", "k", "w", "v", "p", "q", "r"]} == {"Mat"}
    assert moves(after) == ["q>Left", "r>Right"]


def test_what_a_body_wants_of_its_carry_reaches_both_its_sources(kit: Any) -> None:
    body = f"""
    t = pl.load(a, [0, 0], [64, 64], {OPEN})
    r = pl.load(b, [0, 0], [64, 64], {OPEN})
    for i, (k,) in pl.range(0, 2, 1, init_values=(t,)):
        c = pl.matmul(k, r)
        pl.store(c, [0, 0], out)
        w = pl.load(b, [0, 0], [64, 64], {OPEN})
        q = pl.yield_(w)
    """
    after = inferred(kit, kit.kernel(f"{A}, {B}, {OUT}", body), "910b")
    assert {spaces(after)[name] for name in ["t", "k", "w", "q"]} == {"Mat"}


PHI = f"""
l = pl.load(a, [0, 0], [64, 64], target_memory=pl.Mem.Mat)
r = pl.load(b, [0, 0], [64, 64], target_memory=pl.Mem.Mat)
zero = pl.create_tile([64, 64], pl.FP32, {OPEN})
for kb, (acc,) in pl.range(0, 3, 1, init_values=(zero,)):
    if kb == 0:
        first = pl.matmul(l, r)
        c = pl.yield_(first)
    else:
        more = pl.matmul_acc(acc, l, r)
        c = pl.yield_(more)
    half = pl.cast(c, pl.BF16, mode="rint")
    wide = pl.cast(half, pl.FP32)
    pl.store(wide, [0, 0], out)
    d = pl.yield_(c)
"""


def test_a_conversion_of_an_accumulator_inside_the_loop(kit: Any) -> None:
    """The branch result is an accumulator, which the conversion can't read: it gets a copy, in rows."""
    after = inferred(kit, kit.kernel(f"{A}, {B}, {OUT}", PHI))
    found = spaces(after)
    assert {found[name] for name in ("zero", "acc", "first", "more", "c", "d")} == {"Acc"}
    assert moves(after) == ["l>Left", "r>Right", "l>Left", "r>Right", "c>Vec"]
    [copy] = [
        s.var.type for s in walk_stmts(after["main"].body)
        if isinstance(s, AssignStmt) and isinstance(s.value, Call) and s.value.name == "tile.move"
        and s.var.type.memory_space is MemorySpace.Vec
    ]  # fmt: skip
    assert (copy.view.blayout, copy.view.slayout) == (TileLayout.row_major, TileLayout.none_box)


def test_the_same_where_the_cores_share_no_memory(kit: Any) -> None:
    """The 910B's cores hand tiles over through a buffer outside: one step for the kernel."""
    after = inferred(kit, kit.kernel(f"{A}, {B}, {OUT}", PHI), "910b")
    assert moves(after) == ["l>Left", "r>Right", "l>Left", "r>Right", "c>Vec"]


def test_cores_that_hand_nothing_over(kit: Any) -> None:
    """A machine without that buffer says so."""
    machine = kit.host.backend("910b")
    apart = attrs.evolve(machine, features=tuple(f for f in machine.features if f != "isa.gm_pipe_buffer"))
    with pytest.raises(UserError, match="nothing moves tile 'c' from Acc to Vec on Ascend 910B") as caught:
        inferred(kit, kit.kernel(f"{A}, {B}, {OUT}", PHI), apart)
    [found] = caught.value.diagnostics
    assert found.code == "PT340" and "pl.cast(c" in found.span.line_text() and "tensor" in found.remedy


def test_a_carry_that_only_takes_products_is_an_accumulator(kit: Any) -> None:
    """Nothing but a store ever reads it, which would be content with the vector buffer."""
    body = f"""
    l = pl.load(a, [0, 0], [64, 64], {OPEN})
    r = pl.load(b, [0, 0], [64, 64], {OPEN})
    zero = pl.create_tile([64, 64], pl.FP32, {OPEN})
    for i, (acc,) in pl.range(0, 2, 1, init_values=(zero,)):
        c = pl.matmul(l, r)
        d = pl.yield_(c)
    pl.store(d, [0, 0], out)
    """
    after = inferred(kit, kit.kernel(f"{A}, {B}, {OUT}", body), "910b")
    assert {spaces(after)[name] for name in ("zero", "acc", "d")} == {"Acc"}
    assert not any(move.endswith(">Acc") for move in moves(after))


def test_one_way_round_serves_all_readers(kit: Any) -> None:
    """On the A5 the vector buffer reaches L0 through L1; on the 910B L1 gets it from the other core."""
    body = """
    t = pl.load(a, [0, 0], [64, 64])
    e = pl.exp(t)
    c = pl.matmul(e, e)
    pl.store(c, [0, 0], out)
    """
    for backend in ("a5", "910b"):
        after = inferred(kit, kit.kernel(f"{A}, {OUT}", body), backend)
        assert moves(after) == ["e>Mat", "e__mat_tile_v0>Left", "e__mat_tile_v0>Right"]


def test_wanted_on_both_cores(kit: Any) -> None:
    """Vec, where it can go on to the cube; where it can't, the cube's side wins and the other reader has no way."""
    body = f"""
    t = pl.load(a, [0, 0], [64, 64], {OPEN})
    r = pl.load(b, [0, 0], [64, 64], {OPEN})
    c = pl.matmul(t, r)
    pl.store(c, [0, 0], out)
    e = pl.exp(t)
    w = pl.cast(e, pl.FP32)
    pl.store(w, [0, 0], out)
    """
    program = kit.kernel(f"{A}, {B}, {OUT}", body)
    after = inferred(kit, program)
    assert spaces(after)["t"] == "Vec" and spaces(after)["r"] == "Mat"
    assert moves(after) == ["t>Mat", "t__mat_tile_v0>Left", "r>Right"]
    with pytest.raises(UserError, match="from Mat to Vec") as caught:
        inferred(kit, program, "910b")
    assert "a second time where both are needed" in caught.value.diagnostics[0].remedy


def test_an_explicit_copy_over_two_transfers_gets_both(kit: Any) -> None:
    body = """
    t = pl.load(a, [0, 0], [64, 64])
    l = pl.move(t, target_memory=pl.Mem.Left)
    r = pl.tile.extract(t, 0, 0, [64, 64], target_memory=pl.Mem.Right)
    c = pl.matmul(l, r)
    pl.store(c, [0, 0], out)
    """
    after = inferred(kit, kit.kernel(f"{A}, {OUT}", body), kept=())
    assert moves(after) == ["t>Mat", "t__mat_tile_v0>Left"]


CHAIN = """
l = pl.load(x, [0, 0], [64, 64], target_memory=pl.Mem.Mat)
c = pl.matmul(l, l)
d = pl.matmul(c, l)
pl.store(d, [0, 0], out)
"""


def test_accumulators_parked_in_l1(kit: Any) -> None:
    program = kit.kernel(f"{X}, {OUT}", CHAIN)
    assert "c>Mat" in moves(inferred(kit, program))
    with pytest.raises(UserError, match="can't move the fp32 accumulator 'c' to Mat as it is") as caught:
        inferred(kit, program, "910b")
    [found] = caught.value.diagnostics
    assert found.code == "PT342" and "mode='rint'" in found.remedy


def test_moves_are_made_once_in_a_region_and_not_across_branches(kit: Any) -> None:
    body = """
    l = pl.load(a, [0, 0], [64, 64], target_memory=pl.Mem.Mat)
    for i in pl.range(0, 2, 1):
        if i == 0:
            c = pl.matmul(l, l)
            d = pl.matmul_acc(c, l, l)
            pl.store(d, [0, 0], out)
        else:
            e = pl.matmul(l, l)
            pl.store(e, [0, 0], out)
        f = pl.matmul(l, l)
        g = pl.matmul(l, l)
        pl.store(f, [0, 0], out)
        pl.store(g, [0, 0], out)
    """
    after = inferred(kit, kit.kernel(f"{A}, {OUT}", body), "910b")
    assert moves(after) == ["l>Left", "l>Right"] * 3
    [loop] = [s for s in walk_stmts(after["main"].body) if isinstance(s, ForStmt)]
    [branch, *rest] = flatten(loop.body)
    assert isinstance(branch, IfStmt) and len(rest) == 6


def test_moves_made_outside_are_seen_inside(kit: Any) -> None:
    body = """
    l = pl.load(a, [0, 0], [64, 64], target_memory=pl.Mem.Mat)
    c = pl.matmul(l, l)
    pl.store(c, [0, 0], out)
    for i in pl.range(0, 2, 1):
        if i == 0:
            d = pl.matmul(l, l)
            pl.store(d, [0, 0], out)
    """
    assert moves(inferred(kit, kit.kernel(f"{A}, {OUT}", body), "910b")) == ["l>Left", "l>Right"]


def test_copies_of_a_tile_that_was_changed_are_made_again(kit: Any) -> None:
    body = """
    t = pl.load(a, [0, 0], [64, 64])
    c = pl.matmul(t, t)
    pl.store(c, [0, 0], out)
    pl.write(t, [0, 0], 2.0)
    d = pl.matmul(t, t)
    pl.store(d, [0, 0], out)
    """
    after = inferred(kit, kit.kernel(f"{A}, {OUT}", body))
    assert moves(after).count("t>Mat") == 2


def test_a_change_at_the_end_of_a_body_reaches_its_beginning(kit: Any) -> None:
    body = """
    t = pl.load(a, [0, 0], [64, 64])
    c = pl.matmul(t, t)
    pl.store(c, [0, 0], out)
    for i in pl.range(0, 3, 1):
        d = pl.matmul(t, t)
        pl.store(d, [0, 0], out)
        if i == 1:
            pl.write(t, [0, 0], 2.0)
    e = pl.matmul(t, t)
    pl.store(e, [0, 0], out)
    """
    after = inferred(kit, kit.kernel(f"{A}, {OUT}", body))
    assert moves(after).count("t>Mat") == 3


def test_a_branch_result_goes_where_both_ways_lead(kit: Any) -> None:
    a, out, n = b.tensor("x", [64, 64]), b.tensor("out", [64, 64]), b.scalar("n")
    mat = b.let("l", b.op("tile.load", a, b.dims(0, 0), b.dims(64, 64), target_memory=MemorySpace.Mat))
    product = b.let("c", b.op("tile.matmul", mat.var, mat.var))
    loaded = b.let("v", b.op("tile.load", a, b.dims(0, 0), b.dims(64, 64)))
    phi = Var("p", loaded.var.type)
    branch = b.branch(eq(n, 0), [product, b.give(product.var)], [loaded, b.give(loaded.var)], [phi])
    e = b.let("e", b.op("tile.exp", phi))
    store = b.do(b.op("tile.store", e.var, b.dims(0, 0), out))
    params = [a, (out, ParamDirection.Out), n]
    program = b.program(b.kernel("main", params, [mat, branch, e, store, b.ret()]))
    after = infer_tile_memory_space(program, kit.context("a5"))
    verify_or_raise(after, (*STRUCTURAL, *INFERRED, "SSAForm"), after="the pass")
    assert spaces(after)["p"] == "Vec" and "c>Vec" in moves(after)
    array = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32) / 8
    for way in (0, 1):
        assert_same_behaviour(program, after, {"x": array, "out": array * 0, "n": way}, host=kit.host)


def test_nothing_goes_into_an_accumulator(kit: Any) -> None:
    a, out = b.tensor("x", [64, 64]), b.tensor("out", [64, 64])
    mat = b.let("l", b.op("tile.load", a, b.dims(0, 0), b.dims(64, 64), target_memory=MemorySpace.Mat))
    zero = b.let("zero", b.op("tile.matmul", mat.var, mat.var))

    def body(i: Any, acc: Any) -> Any:
        v = b.let("v", b.op("tile.load", a, b.dims(0, 0), b.dims(64, 64)))
        return [v, b.give(v.var)]

    loop = b.loop(2, body, carries={"acc": zero.var})
    store = b.do(b.op("tile.store", loop.return_vars[0], b.dims(0, 0), out))
    program = b.program(b.kernel("main", [a, (out, ParamDirection.Out)], [mat, zero, loop, store, b.ret()]))
    with pytest.raises(
        UserError, match="'v' lies in Vec, but the loop or branch hands on an Acc tile"
    ) as caught:
        infer_tile_memory_space(program, kit.context("a5"))
    assert caught.value.diagnostics[0].code == "PT341"


def test_bound_tiles_keep_their_binding(kit: Any) -> None:
    body = """
    t: {kind} = pl.load(a, [0, 0], [64, 64], target_memory=pl.Mem.Mat)
    c = pl.matmul(t, t)
    pl.store(c, [0, 0], out)
    """
    kind = 'pl.Tile[[64, 64], pl.FP16, pl.MemRef("mine"), pl.Mem.Mat]'
    after = inferred(kit, kit.kernel(f"{A}, {OUT}", body.format(kind=kind)), "910b")
    memrefs = {
        s.var.name_hint: s.var.type.memref
        for s in walk_stmts(after["main"].body)
        if isinstance(s, AssignStmt)
    }
    assert memrefs["t"].is_pinned and [k for k, m in memrefs.items() if m is not None] == ["t"]


def test_programs_without_open_tiles_come_back_as_they_are(kit: Any) -> None:
    program = kit.kernel(f"{X}, {OUT}", "t = pl.load(x, [0, 0], [64, 64])\npl.store(t, [0, 0], out)")
    assert infer_tile_memory_space(program, kit.context("910b")) is program
    other = kit.kernel(
        f"{A}, {OUT}", f"t = pl.load(a, [0, 0], [64, 64], {OPEN})\nc = pl.matmul(t, t)", kind="AIC"
    )
    assert infer_tile_memory_space(other, kit.context("910b")) is other


@settings(max_examples=40)
@given(st.integers(0, 1 << 30), st.integers(5, 45), st.sampled_from(["910b", "a5"]))
def test_random_programs_without_spaces_get_them_back(kit: Any, seed: int, size: int, backend: str) -> None:
    program = random_program(seed, size, SSA_FEATURES - {Feature.NESTED_CALLS})
    opened = without_spaces(program)
    after = infer_tile_memory_space(opened, kit.context(backend))
    verify_or_raise(after, (*STRUCTURAL, *INFERRED, "SSAForm", "AssignTypeSymmetry"), after="the pass")
    assert infer_tile_memory_space(after, kit.context(backend)) is after
    assert_same_behaviour(program, after, seed=seed, host=kit.host)


def test_time_grows_with_the_program(kit: Any) -> None:
    import time

    def seconds(count: int) -> float:
        a, out = b.tensor("a", [64, 64], DataType.FP16), b.tensor("out", [64, 64])
        stmts: list[Any] = []
        for _ in range(count):
            t = b.let("t", b.op("tile.load", a, b.dims(0, 0), b.dims(64, 64)))
            c = b.let("c", b.op("tile.matmul", t.var, t.var))
            inner = b.branch(b.scalar("q", DataType.BOOL), [t, c])
            stmts += [inner, b.do(b.op("tile.store", b.tile("w", [64, 64]), b.dims(0, 0), out))]
        program = b.program(b.kernel("main", [a, out], [*stmts, b.ret()]))
        best = float("inf")
        for _ in range(3):
            begin = time.process_time()
            infer_tile_memory_space(program, kit.context("910b"))
            best = min(best, time.process_time() - begin)
        return best

    assert seconds(320) < 8 * 2.5 * max(seconds(40), 1e-3)
