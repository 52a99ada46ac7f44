from __future__ import annotations

import attrs
import pytest
from memory_machine import context, machine

from pypto_core.diagnostics import UserError
from pypto_core.ir import (
    PTR,
    Add,
    AssignStmt,
    ConstInt,
    DataType,
    MemorySpace,
    MemRef,
    Mul,
    TileLayout,
    TileType,
    Var,
    add,
    as_dims,
    flatten,
    floormod,
    lt,
    replace,
    walk_stmts,
)
from pypto_core.testing import build as b
from pypto_plugin_memory.init_memref import init_mem_ref

VEC = MemorySpace.Vec


def load(name, tensor, shape, space=VEC):
    return b.let(
        name, b.op("tile.load", tensor, b.dims(*[0] * len(shape)), b.dims(*shape), target_memory=space)
    )


def places(function):
    """Memref by variable name."""
    found = {p.name_hint: p.type.memref for p in function.params if hasattr(p.type, "memref")}
    for stmt in walk_stmts(function.body):
        for var in (
            *([stmt.var] if isinstance(stmt, AssignStmt) else []),
            *getattr(stmt, "iter_args", ()),
            *getattr(stmt, "return_vars", ()),
        ):
            if getattr(var.type, "memref", None) is not None:
                found[var.name_hint] = var.type.memref
    return found


def allocs(function):
    """(name, space, bytes, declared) of the alloc statements, in order."""
    return [
        (
            s.var.name_hint,
            s.value.kwargs["memory_space"],
            s.value.kwargs["size"],
            s.value.kwargs.get("pinned", False),
        )
        for s in flatten(function.body)
        if isinstance(s, AssignStmt) and s.var.type is PTR
    ]


def offset(memref):
    assert isinstance(memref.byte_offset, ConstInt)
    return memref.byte_offset.value


def test_numbers_count_parameters_then_values_and_leave_gaps():
    x, y, n, out = b.tensor("x", [64, 64]), b.tensor("y", [64, 64]), b.scalar("n"), b.tensor("out", [64, 64])
    t = load("t", x, [64, 64])
    u = b.let("u", b.op("tile.add", t.var, t.var))
    stmt = b.loop(4, lambda i, c: [b.let("v", b.op("tile.add", c, t.var)), b.give(c)], carries={"c": u.var})
    w = b.let("w", b.op("tile.exp", stmt.return_vars[0]))
    f = init_mem_ref(b.kernel("k", [x, y, n, out], [t, u, stmt, w, b.ret()]), context())
    names = {name: memref.name for name, memref in places(f).items()}
    assert names == {
        "x": "mem_ddr_0", "y": "mem_ddr_1", "out": "mem_ddr_2",
        "t": "mem_vec_3", "u": "mem_vec_4", "v": "mem_vec_5",
        "c": "mem_vec_4", "c_out": "mem_vec_4", "w": "mem_vec_7",
    }  # fmt: skip
    assert allocs(f) == [(f"mem_vec_{n}", VEC, 16384, False) for n in (3, 4, 5, 7)]


def test_window_is_an_offset_and_an_envelope():
    x = b.tensor("x", [32, 128])
    t = load("t", x, [32, 128])
    s = b.let("s", b.op("tile.slice", t.var, b.dims(8, 64), b.dims(4, 64)))
    inner = b.let("inner", b.op("tile.slice", s.var, b.dims(2, 8), b.dims(1, 8)))
    f = init_mem_ref(b.kernel("k", [x], [t, s, inner, b.ret()]), context())
    where = places(f)
    assert (offset(where["s"]), where["s"].size) == (2304, 3840)
    # Row 4 + 1 and column 64 + 8 at a pitch of 128 elements; one row further down and 8 elements.
    assert (offset(where["inner"]), where["inner"].size) == ((5 * 128 + 72) * 4, (128 + 8) * 4)
    assert where["s"].base is where["t"].base is where["inner"].base
    assert where["s"].byte_offset.dtype is DataType.INDEX and where["t"].byte_offset.dtype is DataType.INT64


def test_window_at_a_runtime_row_multiplies_out():
    x = b.tensor("x", [256, 64])
    n = b.scalar("n")
    t = load("t", x, [256, 64])
    s = b.let("s", b.op("tile.slice", t.var, b.dims(8, 64), b.dims(n, 0)))
    memref = places(init_mem_ref(b.kernel("k", [x, n], [t, s, b.ret()]), context()))["s"]
    outer = memref.byte_offset
    assert isinstance(outer, Mul) and outer.right.value == 4
    assert isinstance(outer.left, Mul) and outer.left.left is n and outer.left.right.value == 64
    assert memref.size == 8 * 64 * 4


@pytest.mark.parametrize(
    ("layout", "at", "shape", "start", "span"),
    [
        # Boxes of 16 x 16 fp16 one below the other (NZ): column 16 starts after 64 rows of 16.
        ((TileLayout.col_major, TileLayout.row_major, 512), (16, 16), (16, 16), 64 * 16 + 16 * 16, 256),
        ((TileLayout.col_major, TileLayout.row_major, 512), (0, 0), (64, 32), 0, 64 * 32),
        ((TileLayout.col_major, TileLayout.row_major, 512), (16, 0), (16, 32), 256, 64 * 16 + 256),
        # Boxes side by side (ZN): row 16 starts after 64 columns of 16.
        ((TileLayout.row_major, TileLayout.col_major, 512), (16, 16), (16, 16), 64 * 16 + 16 * 16, 256),
        # Plain columns: column 2 starts after 2 x 64 rows.
        ((TileLayout.col_major, TileLayout.none_box, 512), (3, 2), (5, 1), 2 * 64 + 3, 5),
    ],
)
def test_window_of_other_layouts(layout, at, shape, start, span):
    blayout, slayout, fractal = layout
    kind = b.tile_type([64, 64], DataType.FP16, VEC, blayout=blayout, slayout=slayout, fractal=fractal)
    t = AssignStmt(Var("t", kind), b.raw_op("tile.full", [b.dims(64, 64), 0.0], kind))
    s = b.let("s", b.op("tile.slice", t.var, b.dims(*shape), b.dims(*at)))
    memref = places(init_mem_ref(b.kernel("k", [], [t, s, b.ret()]), context()))["s"]
    assert (offset(memref), memref.size) == (start * 2, span * 2)


def test_four_bit_windows_start_on_a_byte():
    x = b.tensor("x", [8, 64], DataType.INT4)
    t = load("t", x, [8, 64])
    good = b.let("s", b.op("tile.slice", t.var, b.dims(8, 32), b.dims(0, 32)))
    memref = places(init_mem_ref(b.kernel("k", [x], [t, good, b.ret()]), context()))["s"]
    assert (offset(memref), memref.size) == (16, (7 * 64 + 32) // 2)
    bad = b.let("s", b.op("tile.slice", t.var, b.dims(8, 32), b.dims(0, 31)))
    with pytest.raises(UserError, match="even element") as caught:
        init_mem_ref(b.kernel("k", [x], [t, bad, b.ret()]), context())
    assert caught.value.diagnostics[0].code == "PT624"


@pytest.mark.parametrize(("rows", "size"), [(32, 8192), (16, 4096)])
def test_accumulators_take_the_rows_of_the_machine(rows, size):
    acc = b.let(
        "acc", b.op("tile.create", b.dims(16, 64), dtype=DataType.INT32, target_memory=MemorySpace.Acc)
    )
    f = init_mem_ref(b.kernel("k", [], [acc, b.ret()]), context(backend=machine(rows=rows)))
    assert allocs(f) == [("mem_acc_0", MemorySpace.Acc, size, False)]


def test_without_a_machine_the_larger_footprint_is_assumed():
    acc = b.let(
        "acc", b.op("tile.create", b.dims(16, 64), dtype=DataType.INT32, target_memory=MemorySpace.Acc)
    )
    assert allocs(init_mem_ref(b.kernel("k", [], [acc, b.ret()]), None))[0][2] == 8192


def test_views_aliases_and_results_in_place_share():
    x, out = b.tensor("x", [16, 16]), b.tensor("out", [16, 16])
    t = load("t", x, [16, 16])
    alias = b.let("alias", t.var)
    flat = b.let("flat", b.op("tile.reshape", alias.var, b.dims(8, 32)))
    part = b.let("part", b.op("tile.set_validshape", t.var, 3, 4))
    put = b.let("put", b.op("tile.assemble", t.var, t.var, b.dims(0, 0)))
    turned = b.let("turned", b.op("tile.extract", t.var, 0, 0, b.dims(8, 8), target_memory=VEC))
    stored = b.let("stored", b.op("tile.store", put.var, b.dims(0, 0), out))
    f = init_mem_ref(b.kernel("k", [x, out], [t, alias, flat, part, put, turned, stored, b.ret()]), context())
    where = places(f)
    assert where["t"] is where["alias"] is where["flat"] is where["part"] is where["put"]
    assert where["stored"] is where["out"]
    assert where["turned"].base is not where["t"].base
    assert [name for name, *_ in allocs(f)] == ["mem_vec_2", "mem_vec_3"]


def test_branch_result_lies_where_the_first_arm_leaves_it():
    x, n = b.tensor("x", [16, 16]), b.scalar("n")
    t = load("t", x, [16, 16])
    one, two = b.let("one", b.op("tile.exp", t.var)), b.let("two", b.op("tile.neg", t.var))
    r = Var("r", t.var.type)
    stmt = b.branch(lt(n, 1), [one, b.give(one.var)], [two, b.give(two.var)], [r])
    where = places(init_mem_ref(b.kernel("k", [x, n], [t, stmt, b.ret()]), context()))
    assert where["r"] is where["one"] and where["two"].base is not where["one"].base


def test_an_allocation_is_as_large_as_what_a_branch_cuts_its_result_from():
    x, out, n = b.tensor("x", [64, 64]), b.tensor("out", [64, 64]), b.scalar("n")
    whole, other = load("whole", x, [8, 8]), load("other", x, [4, 8])
    window = b.let("window", b.op("tile.slice", whole.var, b.dims(4, 8), b.dims(2, 0)))
    result = Var("result", other.var.type)
    choice = b.branch(lt(n, 1), [whole, window, b.give(window.var)], [other, b.give(other.var)], [result])
    store = b.do(b.op("tile.store", result, b.dims(0, 0), out))
    done = init_mem_ref(b.kernel("k", [x, out, n], [choice, store, b.ret()]), context())
    place = places(done)
    assert place["result"].base is place["whole"].base and place["result"].size == 128
    sizes = {name: size for name, _, size, _ in allocs(done)}
    assert sizes[place["whole"].base.name_hint] == 256 and sizes[place["other"].base.name_hint] == 128


def test_while_results_lie_where_the_carry_does():
    x = b.tensor("x", [16, 16])
    t = load("t", x, [16, 16])

    def body(n, c):
        more = b.let("more", add(n, 1))
        return [more, b.let("d", b.op("tile.exp", c)), b.give(more.var, c)]

    stmt = b.repeat(lambda n, c: lt(n, 3), body, {"n": ConstInt(0), "c": t.var})
    where = places(init_mem_ref(b.kernel("k", [x], [t, stmt, b.ret()]), context()))
    assert where["t"] is where["c"] is where["c_out"]


def ring(name, slots, index=None):
    return MemRef(Var(name, PTR), ConstInt(0, DataType.INT64), 0, True, slots, index)


def bound(name, memref, shape=(16, 8), space=VEC, dtype=DataType.FP32):
    kind = TileType(as_dims(shape), dtype, memref, None, space)
    return AssignStmt(Var(name, kind), b.op("tile.create", b.dims(*shape), dtype=dtype, target_memory=space))


def test_slots_are_equal_parts_as_large_as_the_largest_tile():
    declared = ring("ring", 2)
    i = b.scalar("i")
    stmts = [
        bound("first", replace(declared, slot_index=ConstInt(0))),
        bound("other", replace(declared, slot_index=ConstInt(1)), (8, 8)),
        bound("turn", replace(declared, slot_index=floormod(i, 2))),
        b.let("free", b.op("tile.create", b.dims(4, 8), dtype=DataType.FP32, target_memory=VEC)),
    ]
    f = init_mem_ref(b.kernel("k", [i], [*stmts, b.ret()]), context())
    where = places(f)
    assert allocs(f) == [("ring", VEC, 1024, True), ("mem_vec_0", VEC, 128, False)]
    assert [(offset(where[n]), where[n].size) for n in ("first", "other")] == [(0, 512), (512, 512)]
    assert where["turn"].slot_count == 2 and where["turn"].slot_index is stmts[2].var.type.memref.slot_index
    runtime = where["turn"].byte_offset
    assert (
        isinstance(runtime, Mul) and runtime.left is where["turn"].slot_index and runtime.right.value == 512
    )
    assert not any(m.is_pinned for m in where.values())


def test_a_window_of_a_slot_loses_the_slot():
    declared = ring("ring", 2)
    i = b.scalar("i")
    first = bound("first", replace(declared, slot_index=ConstInt(1)))
    turn = bound("turn", replace(declared, slot_index=floormod(i, 2)))
    low = b.let("low", b.op("tile.slice", first.var, b.dims(4, 8), b.dims(4, 0)))
    high = b.let("high", b.op("tile.slice", turn.var, b.dims(4, 8), b.dims(4, 0)))
    where = places(init_mem_ref(b.kernel("k", [i], [first, turn, low, high, b.ret()]), context()))
    assert offset(where["low"]) == 512 + 4 * 8 * 4 and where["low"].byte_offset.dtype is DataType.INDEX
    assert where["low"].slot_count == 1 and where["low"].slot_index is None
    assert isinstance(where["high"].byte_offset, Add) and where["high"].byte_offset.right.value == 128


@pytest.mark.parametrize(
    ("stmts", "message"),
    [
        (lambda r: [bound("p", r), bound("q", replace(r, slot_count=3))], "disagree on how many slots"),
        (lambda r: [bound("p", r), bound("q", r, (16, 16), MemorySpace.Mat)], "same memory space"),
        (lambda r: [bound("p", replace(r, slot_count=1 << 62))], "overflows a 64-bit size"),
        (lambda r: _view_bound_to(r), "lands in its source tile's allocation"),
    ],
)
def test_declarations_that_contradict_themselves(stmts, message):
    with pytest.raises(UserError, match=message):
        init_mem_ref(b.kernel("k", [], [*stmts(ring("ring", 2)), b.ret()]), context())


def _view_bound_to(memref):
    first = b.let("first", b.op("tile.create", b.dims(16, 8), dtype=DataType.FP32, target_memory=VEC))
    call = b.op("tile.reshape", first.var, b.dims(8, 16))
    return [first, AssignStmt(Var("second", replace(call.type, memref=memref)), call)]


def test_a_single_slot_needs_a_planner_with_addresses():
    f = b.kernel("k", [], [bound("p", ring("ring", 1)), b.ret()])
    assert allocs(init_mem_ref(f, context())) == [("ring", VEC, 512, True)]
    assert allocs(init_mem_ref(f, context("dsa_rp"))) == [("ring", VEC, 512, True)]
    with pytest.raises(UserError, match="single-slot declared allocation") as caught:
        init_mem_ref(f, context("ptoas"))
    assert "slots=N" in caught.value.diagnostics[0].remedy


def test_an_author_name_is_passed_over_by_the_numbering():
    f = b.kernel(
        "k", [],
        [bound("p", ring("mem_vec_0", 2)), b.let("q", b.op("tile.create", b.dims(4, 8), dtype=DataType.FP32,
                                                           target_memory=VEC)), b.ret()],
    )  # fmt: skip
    assert [name for name, *_ in allocs(init_mem_ref(f, context()))] == ["mem_vec_0", "mem_vec_1"]


def test_tiles_need_a_space_and_a_constant_shape():
    n = b.scalar("n")
    open_kind = b.tile_type([8, 8], space=None)
    f = b.kernel("k", [], [AssignStmt(Var("t", open_kind), b.raw_op("tile.full", [], open_kind)), b.ret()])
    with pytest.raises(UserError, match="no memory space"):
        init_mem_ref(f, context())
    run_time = b.tile_type([n, 8])
    f = b.kernel("k", [n], [AssignStmt(Var("t", run_time), b.raw_op("tile.full", [], run_time)), b.ret()])
    with pytest.raises(UserError, match="positive constant"):
        init_mem_ref(f, context())


def test_a_second_run_returns_the_same_object():
    x = b.tensor("x", [16, 16])
    t = load("t", x, [16, 16])
    s = b.let("s", b.op("tile.slice", t.var, b.dims(8, 8), b.dims(4, 4)))
    stmt = b.loop(3, lambda i, c: [b.let("v", b.op("tile.add", c, t.var)), b.give(c)], carries={"c": t.var})
    f = init_mem_ref(b.kernel("k", [x], [t, s, stmt, b.ret()]), context())
    assert init_mem_ref(f, context()) is f


@pytest.mark.parametrize("planner", ["pypto", "ptoas"])
def test_a_memory_that_the_machine_lacks_is_refused_by_its_name(planner):
    where = b.tensor("x", [16, 16])

    def kernel(space):
        return b.kernel("k", [where], [load("t", where, (16, 16), space), b.ret()])

    ctx = context(planner)
    bare = machine()
    bare = attrs.evolve(
        bare,
        memories=[m for m in bare.memories if m.space is not MemorySpace.Mat],
        paths=[p for p in bare.paths if MemorySpace.Mat not in (p.src, p.dst)],
    )
    assert places(init_mem_ref(kernel(MemorySpace.Mat), ctx))  # there it is
    with pytest.raises(UserError, match="tile 't' lies in Mat, which test does not have") as caught:
        init_mem_ref(kernel(MemorySpace.Mat), context(planner, backend=bare))
    assert caught.value.diagnostics[0].code == "PT628"
    assert places(init_mem_ref(kernel(VEC), context(planner, backend=bare)))
