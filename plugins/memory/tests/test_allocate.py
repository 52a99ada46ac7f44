from __future__ import annotations

from types import ModuleType

import attrs
import pytest
from memory_machine import context, machine
from memory_parts import pipeline, prepared, tile, use, where

import pypto_core.language as pl
from pypto_core.contract import NoPlacementError, Placement, PlacementBlock, PlacementProblem, Planner
from pypto_core.diagnostics import InternalError, UserError
from pypto_core.host import PluginInfo, hookimpl, load_host
from pypto_core.ir import (
    PIPELINE_MEMBERSHIP,
    PTR,
    Add,
    AssignStmt,
    Call,
    ConstInt,
    DataType,
    Function,
    FunctionType,
    MemorySpace,
    MemRef,
    ParamDirection,
    TileType,
    Var,
    floormod,
    seq,
    walk_stmts,
)
from pypto_core.ops import create_call
from pypto_core.run import compile, memory_table
from pypto_core.testing import build as b
from pypto_plugin_memory import penalties
from pypto_plugin_memory.allocate import allocate_memory_addr
from pypto_plugin_memory.audit import audit
from pypto_plugin_memory.planners import dsa
from pypto_plugin_memory.problem import planning_of
from pypto_plugin_memory.reuse import memory_reuse

VEC, LEFT, RIGHT = MemorySpace.Vec, MemorySpace.Left, MemorySpace.Right


def placed(stmts, ctx=None, params=()):
    ctx = ctx or context()
    closed = prepared(stmts, ctx, params)
    out = allocate_memory_addr(memory_reuse(closed, ctx) if ctx.planner == "pypto" else closed, ctx)
    assert audit(out, addressed=True) == ()
    return out


def addresses(function):
    return {name: at for name, (_, at) in where(function).items()}


def test_buffers_lie_in_the_order_of_their_names():
    # Twelve tiles alive together, numbered 0 to 11: as text, 10 and 11 come before 2.
    tiles = [tile(f"t{i}", 4) for i in range(12)]
    at = addresses(placed([*tiles, *use(*[t.var for t in tiles])]))
    order = sorted((name for name in at if name != "_"), key=lambda name: at[name])
    assert order == ["t0", "t1", "t10", "t11", *[f"t{i}" for i in range(2, 10)]]
    assert at["t10"] == 2 * 128


def test_the_stricter_of_both_alignments_counts():
    left = [tile(f"l{i}", 1, 16, LEFT, DataType.FP16) for i in range(3)]
    vec = [tile(f"v{i}", 1, 3) for i in range(3)]
    at = addresses(placed([*left, *vec, *use(*[t.var for t in left + vec])]))
    assert [at[f"l{i}"] for i in range(3)] == [0, 512, 1024]
    assert [at[f"v{i}"] for i in range(3)] == [0, 32, 64]


def test_a_window_keeps_its_distance_and_a_runtime_one_its_expression():
    i = b.scalar("i")
    first, big = tile("first", 16), tile("big", 64)
    part = b.let("part", b.op("tile.slice", big.var, b.dims(8, 8), b.dims(4, 0)))
    turn = b.let("turn", b.op("tile.slice", big.var, b.dims(8, 8), b.dims(i, 0)))
    f = placed([first, big, part, turn, *use(first.var, part.var, turn.var)], params=[i])
    memrefs = {
        s.var.name_hint: s.var.type.memref
        for s in walk_stmts(f.body)
        if isinstance(s, AssignStmt) and getattr(s.var.type, "memref", None)
    }
    assert memrefs["part"].byte_offset.value == 512 + 4 * 32
    assert memrefs["part"].byte_offset.dtype is DataType.INT64
    runtime = memrefs["turn"].byte_offset
    assert isinstance(runtime, Add) and runtime.left.value == 512


def test_a_slot_chosen_at_run_time_is_added_to_its_ring():
    i = b.scalar("i")
    ahead = tile("ahead", 16)
    memref = MemRef(Var("ring", PTR), ConstInt(0, DataType.INT64), 0, True, 2, floormod(i, 2))
    kind = ahead.var.type
    turn = AssignStmt(Var("turn", TileType(kind.shape, kind.dtype, memref, None, VEC)), ahead.value)
    f = placed([ahead, turn, *use(ahead.var, turn.var)], params=[i])
    [found] = [
        s.var.type.memref
        for s in walk_stmts(f.body)
        if isinstance(s, AssignStmt) and s.var.name_hint == "turn"
    ]
    # By name, mem_vec_0 and the 32 bytes of what `use` makes come before the ring.
    assert isinstance(found.byte_offset, Add) and found.byte_offset.left.value == 544
    assert found.byte_offset.right.right.value == 512 and found.slot_count == 2
    [row] = [r for r in memory_table(f) if r.name == "ring"]
    assert (row.bytes, row.address, row.used) == (1024, 544, 1568)


def test_exactly_full_is_accepted_and_one_more_is_not():
    full = [tile("a", 64, 256, RIGHT, DataType.FP16), tile("c", 64, 256, RIGHT, DataType.FP16)]
    f = placed([*full, *use(*[t.var for t in full])])
    assert sorted(addresses(f)[n] for n in ("a", "c")) == [0, 32768]
    more = [*full, tile("d", 1, 16, RIGHT, DataType.FP16)]
    with pytest.raises(NoPlacementError) as caught:
        placed([*more, *use(*[t.var for t in more])])
    error = caught.value
    assert isinstance(error, ValueError) and error.proven and error.space is RIGHT
    assert error.message == "Right buffer usage (65568 bytes) exceeds platform limit (65536 bytes)"
    facts = dict(error.diagnostics[0].facts)
    assert facts["alive at once"].startswith("65568 bytes at statement ")
    assert facts["available"] == "65536 bytes in Right"
    assert facts["a"] == facts["c"] == "32768 bytes" and facts["d"] == "32 bytes"
    assert error.diagnostics[0].remedy == "free 32 bytes: a of at most 32736 bytes"
    assert not any("stage" in name for name in facts)  # nothing here has stages


@pytest.mark.parametrize(
    ("rows", "stages", "fact", "remedy"),
    [
        # 184 KiB hold two tiles of 64 KiB, and of the four that there are each may take 46 KiB.
        (128, 4, ("with stage=2", "131072 bytes instead of 262144: fits"),
         "free 73728 bytes: x (k.py:7:9) of at most 47104 bytes, or fewer pipeline stages"),
        (376, 2, ("with stage=1", "192512 bytes instead of 385024: 4096 too many"),
         "free 196608 bytes: x (k.py:7:9) of at most 94208 bytes, or fewer pipeline stages"),
    ],
)  # fmt: skip
def test_the_depth_and_the_size_that_would_fit_are_named(rows, stages, fact, remedy):
    blocks = [
        PlacementBlock(name=f"x{i}", space=VEC, size=rows * 512, live=((0, 4),), label="x (k.py:7:9)")
        for i in range(stages)
    ]
    with pytest.raises(NoPlacementError) as caught:
        dsa.plan(PlacementProblem(blocks=blocks, capacities={VEC: 184 * 1024}))
    [found] = caught.value.diagnostics
    assert fact in found.facts and found.remedy == remedy


def test_tiles_that_can_never_fit_get_a_measure():
    blocks = [
        PlacementBlock(name=n, space=VEC, size=100, live=((0, 2),), label=n) for n in ("a", "c", "d", "e")
    ]
    with pytest.raises(NoPlacementError) as caught:
        dsa.plan(PlacementProblem(blocks=blocks, capacities={VEC: 160}))
    assert caught.value.diagnostics[0].remedy == "free 240 bytes: tiles of 40 % of their bytes"


def test_the_search_says_so_in_its_own_words():
    more = [tile(n, 64, 256, RIGHT, DataType.FP16) for n in ("a", "c", "d")]
    with pytest.raises(NoPlacementError, match="DSA-RP could not find a placement for function 'k' within"):
        placed([*more, *use(*[t.var for t in more])], context("dsa_rp"))


@pytest.mark.parametrize(("stages", "shared", "pairs"), [(4, 2, 6), (3, 1, 3)])
def test_the_search_lets_stages_share_when_they_must(stages, shared, pairs):
    ctx = context("dsa_rp")
    f = placed(pipeline(stages), ctx)
    [hint] = [d for d in ctx.log if d.code == "PH-DSA-001"]
    assert hint.message == f"{shared} of {pairs} relaxed pair(s) reuse physical storage"
    assert not any(
        PIPELINE_MEMBERSHIP in s.value.attrs
        for s in walk_stmts(f.body)
        if isinstance(s, AssignStmt) and isinstance(s.value, Call)
    )


def test_the_search_avoids_waits_while_there_is_room():
    x, out = b.tensor("x", [64, 8]), b.tensor("out", [64, 8])

    def body(i):
        t = b.let("t", b.op("tile.load", x, b.dims(0, 0), b.dims(16, 8), target_memory=VEC))
        u = b.let("u", b.op("tile.exp", t.var))
        v = b.let("v", b.op("tile.mul", u.var, u.var))
        return [t, u, v, b.do(b.op("tile.store", v.var, b.dims(0, 0), out))]

    def at(ctx):
        found = addresses(placed([b.loop(4, body)], ctx, [x, (out, ParamDirection.Out)]))
        return [found[n] for n in ("t", "u", "v")]

    # The load of the next trip would wait for whoever still reads or writes where it wants to write.
    roomy = at(context("dsa_rp"))
    assert roomy[0] not in roomy[1:]
    assert len(set(at(context("pypto")))) == 1
    tight = machine(Vec=512)
    assert at(context("dsa_rp", backend=tight)) == [0, 0, 0]


@pytest.fixture
def in_turn():
    """Loads and stores in turn: each load waits for the store of whatever lies where it writes."""

    def planning(count, looped):
        x, out = b.tensor("x", [64, 8]), b.tensor("out", [64, 8])
        stmts = []
        for i in range(count):
            t = b.let(f"t{i}", b.op("tile.load", x, b.dims(0, 0), b.dims(16, 8), target_memory=VEC))
            stmts += [t, b.do(b.op("tile.store", t.var, b.dims(0, 0), out))]
        body = [b.loop(4, lambda i: stmts)] if looped else stmts
        found = planning_of(prepared(body, context("dsa_rp"), [x, out]), context("dsa_rp"))
        assert len(found.problem.blocks) == count
        number = {block.name: i for i, block in enumerate(found.problem.blocks)}
        return {(number[p.a], number[p.b]) for p in found.problem.penalties}, found.waits.near

    return planning


@pytest.mark.parametrize("looped", [False, True])
def test_whoever_is_used_in_one_region_may_wait_for_each_other(in_turn, looped):
    count = 300
    assert in_turn(count, looped) == ({(i, j) for j in range(count) for i in range(j)}, [])


@pytest.mark.parametrize("looped", [False, True])
def test_who_waits_for_whom_grows_with_the_length_of_a_kernel_when_it_is_long(in_turn, looped, monkeypatch):
    """In a loop the first load of a trip waits for the last store of the trip before."""
    monkeypatch.setattr(penalties, "PAIRS", 500)
    monkeypatch.setattr(penalties, "REACH", 7)
    for count, reach in ((32, None), (40, 15), (100, 7)):
        apart = {
            (i, j): min(j - i, count - j + i) if looped else j - i for j in range(count) for i in range(j)
        }
        pairs, near = in_turn(count, looped)
        assert pairs == {pair for pair, steps in apart.items() if reach is None or steps <= reach}
        assert near == ([] if reach is None else [(VEC, count, reach)])


def test_a_long_kernel_is_told_that_not_all_pairs_are_weighed(monkeypatch):
    monkeypatch.setattr(penalties, "PAIRS", 1)
    monkeypatch.setattr(penalties, "REACH", 1)
    x, out = b.tensor("x", [64, 8]), b.tensor("out", [64, 8])
    tiles = [
        b.let(f"t{i}", b.op("tile.load", x, b.dims(0, 0), b.dims(16, 8), target_memory=VEC)) for i in range(3)
    ]
    stores = [b.do(b.op("tile.store", t.var, b.dims(0, 0), out)) for t in tiles]
    ctx = context("dsa_rp")
    placed([s for pair in zip(tiles, stores, strict=True) for s in pair], ctx, [x, (out, ParamDirection.Out)])
    [hint] = [d for d in ctx.log if d.code == "PH-DSA-002"]
    assert dict(hint.facts) == {"Vec": "3 tiles in one region, those up to 1 definitions apart"}


def test_other_functions_and_the_planner_without_addresses_are_left_alone():
    t = tile("t", 16)
    f = prepared([t, *use(t.var)], context("ptoas"))
    assert allocate_memory_addr(f, context("ptoas")) is f
    host = b.function("k", [], [t, *use(t.var), b.ret()], kind=FunctionType.Opaque)
    assert allocate_memory_addr(host, context()) is host


def reserve(name, size, base=-1):
    call = create_call("system.reserve_buffer", (), {"name": name, "size": size, "base": base})
    return b.let(f"h_{name}", call)


def test_reserved_buffers_come_first_and_are_written_down():
    t = tile("t", 16)
    for planner in ("pypto", "dsa_rp"):
        f = placed([reserve("one", 100), reserve("two", 64), t, *use(t.var)], context(planner))
        bases = [
            s.value.kwargs["base"]
            for s in walk_stmts(f.body)
            if isinstance(s, AssignStmt)
            and isinstance(s.value, Call)
            and s.value.op.name.endswith("reserve_buffer")
        ]
        assert bases == [0, 128]
        assert addresses(f)["t"] == 192
    with pytest.raises(UserError, match="'one' and 'two' overlap"):
        placed([reserve("one", 100), reserve("two", 64, 64), t, *use(t.var)])


class Mine:
    """A third party's plugin with one planner."""

    def __init__(self, plan):
        self.found = Planner("mine", "a third party's", plan=plan)

    @hookimpl
    def pypto_plugin(self):
        return PluginInfo(name="mine", requires_api=">=1,<2", summary="a planner")

    @hookimpl
    def pypto_planners(self):
        return (self.found,)


def with_planner(plan, **capacity):
    host = load_host(entry_points=(), extra_plugins=[Mine(plan)])
    return attrs.evolve(context("mine", backend=machine(**capacity)), host=host)


def test_anybodys_planner_is_asked_and_judged():
    tiles = [tile(f"t{i}", 16) for i in range(3)]
    stmts = [*tiles, *use(*[t.var for t in tiles])]
    asked = []

    def topmost(problem):
        asked.append(problem)
        top, out = problem.capacities[VEC], {}
        for block in problem.blocks:
            top = (top - block.size) // block.alignment * block.alignment
            out[block.name] = top
        return Placement(offsets=out)

    closed = prepared(stmts, context("dsa_rp"))
    f = allocate_memory_addr(closed, with_planner(topmost, Vec=4096))
    assert addresses(f)["t0"] == 4096 - 512
    assert [b.label for b in asked[0].blocks][:3] == ["t0", "t1", "t2"]

    for wrong, kind in (
        (lambda p: Placement(offsets={blk.name: 0 for blk in p.blocks}), "overlap"),
        (lambda p: Placement(offsets={}), "missing"),
        (
            lambda p: Placement(offsets={blk.name: 8192 * i + 1 for i, blk in enumerate(p.blocks)}),
            "alignment",
        ),
    ):
        with pytest.raises(InternalError, match="planner mine") as caught:
            allocate_memory_addr(closed, with_planner(wrong))
        assert kind in [name for name, _ in caught.value.diagnostics[0].facts]


def test_allocations_that_share_an_address_are_placed_where_that_is_known():
    """Two of one memory at 0 look like none that has an address; who knows better says so."""
    base = [tile(name, 16) for name in ("a", "c")]
    kinds = [
        TileType(
            t.var.type.shape,
            t.var.type.dtype,
            MemRef(Var(n, PTR), ConstInt(0, DataType.INT64), 512),
            None,
            VEC,
        )
        for t, n in zip(base, ("left", "right"), strict=True)
    ]
    body = seq([AssignStmt(Var(n, kind), t.value) for n, kind, t in zip("ac", kinds, base, strict=True)])
    f = Function("k", (), (), body)
    assert {r.address for r in memory_table(f)} == {None}
    assert [(r.address, r.used) for r in memory_table(f, addressed=True)] == [(0, 512), (0, 512)]
    assert [(r.address, r.used) for r in memory_table(f, addressed=False)] == [(None, 1024), (None, 1024)]


def test_the_table_shows_sizes_before_and_addresses_after():
    tiles = [tile("a", 16), tile("c", 64)]
    ctx = context()
    closed = prepared([*tiles, *use(*[t.var for t in tiles])], ctx)
    before = memory_table(closed, ctx.backend)
    assert [(r.name, r.bytes, r.address) for r in before if r.space is VEC][:2] == [
        ("mem_vec_0", 512, None),
        ("mem_vec_1", 2048, None),
    ]
    after = memory_table(allocate_memory_addr(closed, ctx), ctx.backend)
    assert [(r.name, r.address, r.tiles) for r in after][:2] == [
        ("mem_vec_0", 0, ("a",)),
        ("mem_vec_1", 512, ("c",)),
    ]
    assert {r.capacity for r in after} == {184 * 1024}


KERNEL = """
import pypto_core.language as pl
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, a: pl.Tensor[[16, 16], pl.FP32], out: pl.Out[pl.Tensor[[16, 16], pl.FP32]]):
        x = pl.load(a, [0, 0], [16, 16])
        return pl.store(pl.exp(x), [0, 0], out)
"""


def _raise(problem):
    raise SystemExit("no plan today")


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        (_raise, "SystemExit: no plan today"),
        (lambda problem: None, "a NoneType where a Placement belongs"),
        ("no_such_module:plan", "no_such_module"),
        (None, "is said to assign addresses and has no plan"),
    ],
)
def test_a_planner_that_fails_is_blamed_itself(plan, said):
    plugin = ModuleType("acme")
    plugin.pypto_plugin = hookimpl(
        _named("pypto_plugin", PluginInfo(name="acme", requires_api=">=1", summary="s"))
    )
    plugin.pypto_planners = hookimpl(_named("pypto_planners", [Planner("acme", "nothing good", plan=plan)]))
    host = load_host(extra_plugins=[plugin])
    with pytest.raises(InternalError) as caught:
        compile(pl.parse(KERNEL), backend="910b", planner="acme", host=host)
    [error] = caught.value.diagnostics
    assert error.code == "PT930" and error.message.startswith("planner acme") and said in error.message
    assert ("planner", "acme of in-process") in error.facts


def _named(name, value):
    def hook():
        return value

    hook.__name__ = name
    return hook
