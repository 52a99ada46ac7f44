from __future__ import annotations

import pytest
from memory_machine import context, machine
from memory_parts import pipeline, prepared, tile, use, where

from pypto_core.ir import (
    PIPELINE_MEMBERSHIP,
    AssignStmt,
    Call,
    DataType,
    MemorySpace,
    ParamDirection,
    Var,
    walk_stmts,
)
from pypto_core.testing import build as b
from pypto_plugin_memory.aliases import materialize_semantic_aliases
from pypto_plugin_memory.allocate import allocate_memory_addr
from pypto_plugin_memory.audit import audit
from pypto_plugin_memory.init_memref import init_mem_ref
from pypto_plugin_memory.reuse import memory_reuse

VEC, RIGHT = MemorySpace.Vec, MemorySpace.Right
KIB = 1024


def shared(stmts, ctx=None, params=()):
    ctx = ctx or context()
    out = memory_reuse(prepared(stmts, ctx, params), ctx)
    assert audit(out, addressed=False) == ()
    return out


def chain(*names, first):
    """Each operator reads the one before: x -> names[0] -> names[1] ..."""
    out, last = [first], first.var
    for name, operator in names:
        out.append(b.let(name, b.op(operator, last)))
        last = out[-1].var
    return out


def test_a_result_takes_over_an_operand_that_dies():
    x, out = b.tensor("x", [16, 8]), b.tensor("out", [16, 8])
    t = b.let("t", b.op("tile.load", x, b.dims(0, 0), b.dims(16, 8), target_memory=VEC))
    stmts = chain(("u", "tile.exp"), ("v", "tile.neg"), first=t)
    stmts.append(b.do(b.op("tile.store", stmts[-1].var, b.dims(0, 0), out)))
    places = where(shared(stmts, params=[x, (out, ParamDirection.Out)]))
    assert places["t"] == places["u"] == places["v"] == ("mem_vec_2", 0)


@pytest.mark.parametrize("operator", ["tile.recip", "tile.rsqrt"])
def test_operators_that_cannot_write_over_their_operand(operator):
    t = tile("t", 16)
    u = b.let("u", b.op(operator, t.var))
    v = b.let("v", b.op("tile.neg", u.var))
    places = where(shared([t, u, v, *use(v.var)]))
    assert places["u"][0] != places["t"][0]
    # Nothing forbids the next one.
    assert places["v"][0] == places["u"][0] or places["v"][0] == places["t"][0]


def test_a_cast_to_wider_elements_takes_other_storage():
    t = tile("t", 16, 16, dtype=DataType.FP16)
    wide = b.let("wide", b.op("tile.cast", t.var, target_type=DataType.FP32))
    thin = b.let("thin", b.op("tile.cast", wide.var, target_type=DataType.FP16))
    places = where(shared([t, wide, thin, *use(thin.var)]))
    assert places["wide"][0] != places["t"][0]
    assert places["thin"][0] in (places["wide"][0], places["t"][0])


def test_a_result_never_lies_over_the_window_that_it_reads():
    big = tile("big", 64)
    part = b.let("part", b.op("tile.slice", big.var, b.dims(32, 8), b.dims(16, 0)))
    u = b.let("u", b.op("tile.exp", part.var))
    places = where(shared([big, part, u, *use(u.var)]))
    assert places["u"][0] != places["big"][0]


def test_what_is_loaded_ahead_of_a_loop_lives_to_its_end():
    invariant = tile("invariant", 16)
    early = b.let("early", b.op("tile.neg", invariant.var))

    def body(i):
        scratch = b.let("scratch", b.op("tile.create", b.dims(16, 8), dtype=DataType.FP32, target_memory=VEC))
        top = b.let("top", b.op("tile.exp", invariant.var))
        return [top, *use(top.var), scratch, *use(scratch.var)]

    places = where(shared([invariant, early, *use(early.var), b.loop(4, body)]))
    assert places["scratch"][0] != places["invariant"][0]
    assert places["scratch"][0] == places["top"][0] == places["early"][0]


def test_what_is_made_in_a_loop_is_free_once_it_is_read():
    def body(i):
        outer = b.let("outer", b.op("tile.create", b.dims(16, 8), dtype=DataType.FP32, target_memory=VEC))
        inner = b.loop(2, lambda j: use(outer.var), var="j")
        after = b.let("after", b.op("tile.create", b.dims(16, 8), dtype=DataType.FP32, target_memory=VEC))
        return [outer, inner, after, *use(after.var)]

    places = where(shared([b.loop(4, body)]))
    assert places["outer"][0] == places["after"][0]


def test_the_largest_is_the_host_and_the_first_fit_wins():
    small, large = tile("small", 4), tile("large", 64)
    later = tile("later", 16)
    f = shared([small, *use(small.var), large, *use(large.var), later, *use(later.var)])
    places = where(f)
    assert {places[n] for n in ("small", "large", "later")} == {("mem_vec_2", 0)}
    # Beside it, only the 32 bytes of what `use` makes.
    assert [s.value.kwargs["size"] for s in walk_stmts(f.body) if _alloc(s)] == [32, 64 * 8 * 4]


def _alloc(stmt):
    return (
        isinstance(stmt, AssignStmt) and isinstance(stmt.value, Call) and stmt.value.op.name == "tile.alloc"
    )


def bases_of(function, names):
    places = where(function)
    return [places[n] for n in names]


@pytest.mark.parametrize(
    ("stages", "pairs", "limit", "needed"),
    [(4, [(0, 2), (1, 3)], 16384, 131072), (3, [(0, 2)], 21845, 98304)],
)
def test_a_pipeline_gets_the_depth_that_fits(stages, pairs, limit, needed):
    ctx = context()
    f = shared(pipeline(stages), ctx)
    places = where(f)
    assert len({places[f"p{s}"] for s in range(stages)}) == 2
    for a, c in pairs:
        assert places[f"p{a}"] == places[f"p{c}"]
    [hint] = [d for d in ctx.log if d.code == "PH-MR-001"]
    assert f"gets 2 of {stages} buffers in Right" in hint.message
    facts = dict(hint.facts)
    assert facts["limit per stage"] == f"{limit} bytes"
    assert facts["needed"].startswith(f"{needed} bytes")
    assert facts["slot"] == "32768 bytes"


def test_stages_keep_apart_while_there_is_room_and_the_tags_go():
    ctx = context()
    f = shared(pipeline(2), ctx)
    assert len(set(bases_of(f, ["p0", "p1"]))) == 2
    assert not [d for d in ctx.log if d.code.startswith("PH")]
    assert not any(
        PIPELINE_MEMBERSHIP in s.value.attrs
        for s in walk_stmts(f.body)
        if isinstance(s, AssignStmt) and isinstance(s.value, Call)
    )


def test_the_group_that_frees_most_gives_up_a_stage():
    # 2 x 32 KiB and 2 x 16 KiB beside 16 KiB that live through all of it: 80 KiB in a memory of 64.
    ctx = context()
    through = tile("through", 32, 256, RIGHT, DataType.FP16)
    stmts = [through, *pipeline(2, 0, 32 * KIB, "p"), *pipeline(2, 1, 16 * KIB, "q"), *use(through.var)]
    f = shared(stmts, ctx)
    places = where(f)
    assert places["p0"] == places["p1"]
    assert places["q0"] != places["q1"]
    [hint] = [d for d in ctx.log if d.code == "PH-MR-001"]
    assert "gets 1 of 2 buffers" in hint.message and "free Right" in hint.remedy
    placed = allocate_memory_addr(f, ctx)
    assert audit(placed, addressed=True) == ()


def test_freed_bytes_are_cut_up_when_whole_buffers_overflow():
    # A panel of all 64 KiB, then two of 32 KiB that are alive together.
    ctx = context()
    panel = tile("panel", 128, 256, RIGHT, DataType.FP16)
    tails = [tile(f"tail{i}", 64, 256, RIGHT, DataType.FP16) for i in range(2)]
    f = shared([panel, *use(panel.var), *tails, *use(*[t.var for t in tails])], ctx)
    places = where(f)
    assert places["panel"][1] == 0
    assert sorted([places["tail0"], places["tail1"]], key=lambda p: p[1]) == [
        (places["panel"][0], 0),
        (places["panel"][0], 32768),
    ]
    placed = allocate_memory_addr(f, ctx)
    assert audit(placed, addressed=True) == ()
    from pypto_core.run import memory_table

    [row] = [r for r in memory_table(placed, ctx.backend) if r.space is RIGHT]
    assert (row.bytes, row.address, row.used, row.capacity) == (65536, 0, 65536, 65536)


def test_whole_buffers_stay_as_they_are_while_they_fit():
    panel = tile("panel", 64, 256, RIGHT, DataType.FP16)
    tails = [tile(f"tail{i}", 32, 256, RIGHT, DataType.FP16) for i in range(2)]
    places = where(shared([panel, *use(panel.var), *tails, *use(*[t.var for t in tails])]))
    # The first tail moves into the panel's buffer; the second is alive beside it and keeps its own.
    assert places["tail0"] == (places["panel"][0], 0)
    assert places["tail1"][0] != places["panel"][0] and places["tail1"][1] == 0


def test_a_declared_allocation_is_nobody_elses():
    from pypto_core.ir import PTR, ConstInt, MemRef, TileType

    t = tile("t", 16)
    memref = MemRef(Var("mine", PTR), ConstInt(0, DataType.INT64), 0, True, 1)
    kind = t.var.type
    mine = AssignStmt(Var("m", TileType(kind.shape, kind.dtype, memref, None, VEC)), t.value)
    later = tile("later", 16)
    places = where(shared([mine, *use(mine.var), later, *use(later.var)]))
    assert places["m"][0] == "mine" != places["later"][0]


def test_two_live_tiles_in_one_slot_are_refused():
    from pypto_core.diagnostics import UserError
    from pypto_core.ir import PTR, ConstInt, MemRef, TileType

    base = Var("ring", PTR)

    def slot(name, k):
        made = tile(name, 16)
        kind = made.var.type
        memref = MemRef(base, ConstInt(0, DataType.INT64), 0, True, 2, ConstInt(k))
        return AssignStmt(Var(name, TileType(kind.shape, kind.dtype, memref, None, VEC)), made.value)

    one, two = slot("one", 1), slot("two", 1)
    for planner, after in (("pypto", memory_reuse), ("dsa_rp", allocate_memory_addr)):
        ctx = context(planner)
        closed = prepared([one, two, *use(one.var, two.var)], ctx)
        with pytest.raises(
            UserError, match=r"'one' and 'two' are both bound to the same slot.*live at the same time"
        ):
            after(closed, ctx)
    # One after the other, or in different slots, is what slots are for.
    shared([one, *use(one.var), two, *use(two.var)])
    other = slot("two", 0)
    shared([one, other, *use(one.var, other.var)])


def test_a_popped_tile_keeps_its_partner_in_place():
    from pypto_core.ir import SPLIT, FunctionType, SplitMode

    x = b.tensor("x", [16, 8])
    t = b.let("t", b.op("tile.load", x, b.dims(0, 0), b.dims(16, 8), target_memory=VEC))
    popped = AssignStmt(Var("popped", t.var.type), b.raw_op("tile.tpop_from_aic", [], t.var.type))
    u = b.let("u", b.op("tile.add", popped.var, t.var))
    f = b.function(
        "k", [x], [t, popped, u, *use(u.var), b.ret()], kind=FunctionType.AIV, attrs={SPLIT: SplitMode.UP_DOWN}
    )  # fmt: skip
    for features, together in (((), True), (("isa.split_load_tpop_workaround",), False)):
        ctx = context(backend=machine(features=features))
        closed = materialize_semantic_aliases(init_mem_ref(f, ctx), ctx)
        places = where(memory_reuse(closed, ctx))
        assert (places["u"] == places["t"]) is together
        assert "popped" not in places
