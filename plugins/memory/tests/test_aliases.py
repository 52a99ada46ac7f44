"""Programs that systems of this kind are known to get wrong, and what has to come out instead."""

from __future__ import annotations

import numpy as np
import pytest
from memory_kernels import inputs
from memory_machine import context
from memory_replay import ByValue, OnBytes

from pypto_core.diagnostics import UserError
from pypto_core.ir import (
    AssignStmt,
    Call,
    ConstInt,
    DataType,
    ForStmt,
    MemorySpace,
    ParamDirection,
    TileType,
    Var,
    add,
    defined_vars,
    eq,
    floormod,
    lt,
    walk_stmts,
)
from pypto_core.testing import build as b
from pypto_plugin_memory.aliases import materialize_semantic_aliases
from pypto_plugin_memory.allocate import allocate_memory_addr
from pypto_plugin_memory.audit import audit
from pypto_plugin_memory.init_memref import init_mem_ref
from pypto_plugin_memory.reuse import memory_reuse

VEC, ACC = MemorySpace.Vec, MemorySpace.Acc


class Kernel:
    """A kernel under construction with two tensors, and stores of its results."""

    def __init__(self):
        self.source, self.out = b.tensor("source", [64, 16]), b.tensor("out", [64, 16])
        self.stmts = []
        self.row = 0

    def load(self, name, row=0):
        stmt = b.let(name, b.op("tile.load", self.source, b.dims(row, 0), b.dims(4, 8), target_memory=VEC))
        self.stmts.append(stmt)
        return stmt.var

    def add(self, *stmts):
        self.stmts += stmts
        return stmts[0]

    def store(self, *tiles):
        for tile in tiles:
            self.stmts.append(b.do(b.op("tile.store", tile, b.dims(self.row, 0), self.out)))
            self.row += 4

    def function(self):
        params = [self.source, (self.out, ParamDirection.Out)]
        return b.kernel("k", params, [*self.stmts, b.ret()])


def proven(function, planners=("pypto", "dsa_rp")):
    """The closed function; every stage is audited, the planned bytes are run and compared with the values."""
    array = inputs(function, 3)
    by_value = ByValue(array)
    by_value.run(function)
    want = by_value.tensors[function.params[1]]
    closed = None
    for planner in planners:
        ctx = context(planner)
        closed = materialize_semantic_aliases(init_mem_ref(function, ctx), ctx)
        assert audit(closed, addressed=False) == ()
        assert materialize_semantic_aliases(closed, ctx) is closed
        shared = memory_reuse(closed, ctx) if planner == "pypto" else closed
        assert audit(shared, addressed=False) == ()
        placed = allocate_memory_addr(shared, ctx)
        assert audit(placed, addressed=True) == ()
        run = OnBytes({p: array[q] for p, q in zip(placed.params, function.params, strict=True)}, 184 * 1024)
        run.run(placed)
        np.testing.assert_array_equal(run.tensors[placed.params[1]], want)
    return closed


def moves(function):
    return [
        s.var.name_hint
        for s in walk_stmts(function.body)
        if isinstance(s, AssignStmt) and isinstance(s.value, Call) and s.value.op.name == "tile.move"
    ]


def base(function, name):
    for stmt in walk_stmts(function.body):
        for var in (
            getattr(stmt, "var", None),
            *getattr(stmt, "iter_args", ()),
            *getattr(stmt, "return_vars", ()),
        ):
            if var is not None and var.name_hint == name:
                return var.type.memref.name
    raise AssertionError(name)


def test_the_value_of_an_accumulating_loop_is_made_in_the_carry():
    k = Kernel()
    x, y = k.load("x"), k.load("y", 4)

    def body(i, c):
        z = b.let("z", b.op("tile.add", c, y))
        return [z, b.give(z.var)]

    loop = k.add(b.loop(3, body, carries={"c": x}))
    k.store(loop.return_vars[0])
    closed = proven(k.function())
    assert moves(closed) == []
    assert base(closed, "z") == base(closed, "x") == base(closed, "c_out")


def test_a_loop_that_begins_with_a_loop_hands_its_carry_on():
    """Nothing stands between the two headers; the inner carry takes over where the outer one ends."""
    k = Kernel()
    x, y = k.load("x"), k.load("y", 4)

    def inner(i, c):
        z = b.let("z", b.op("tile.add", c, y))
        return [z, b.give(z.var)]

    def outer(i, c):
        loop = b.loop(2, inner, carries={"d": c})
        return [loop, b.give(loop.return_vars[0])]

    loop = k.add(b.loop(3, outer, carries={"c": x}))
    k.store(loop.return_vars[0])
    closed = proven(k.function())
    assert moves(closed) == []
    assert len({base(closed, name) for name in ("x", "z", "c", "d", "c_out", "d_out")}) == 1


def test_an_initial_value_that_is_read_after_the_loop_is_kept():
    k = Kernel()
    x, y = k.load("x"), k.load("y", 4)

    def body(i, c):
        z = b.let("z", b.op("tile.add", c, y))
        return [z, b.give(z.var)]

    loop = k.add(b.loop(3, body, carries={"c": x}))
    k.store(loop.return_vars[0], x)
    closed = proven(k.function())
    assert moves(closed) == ["carry_input_0"]
    assert base(closed, "c") == base(closed, "carry_input_0") == base(closed, "z") != base(closed, "x")


def test_one_value_that_starts_two_carries_is_copied_once():
    k = Kernel()
    x, y = k.load("x"), k.load("y", 4)

    def body(i, p, q):
        u, v = b.let("u", b.op("tile.add", p, y)), b.let("v", b.op("tile.sub", q, y))
        return [u, v, b.give(u.var, v.var)]

    loop = k.add(b.loop(3, body, carries={"p": x, "q": x}))
    k.store(*loop.return_vars)
    assert moves(proven(k.function())) == ["carry_input_0"]


@pytest.mark.parametrize("trips", [0, 1, 2, 5])
def test_carries_that_change_places(trips):
    k = Kernel()
    x, y = k.load("x"), k.load("y", 4)
    loop = k.add(b.loop(trips, lambda i, p, q: [b.give(q, p)], carries={"p": x, "q": y}))
    k.store(*loop.return_vars)
    closed = proven(k.function())
    # A cycle of two needs one value saved, then two transfers.
    assert moves(closed) == ["q_spill", "p_mv", "q_spill_mv"]


def test_a_shift_register_of_three():
    k = Kernel()
    x, y, z = k.load("x"), k.load("y", 4), k.load("z", 8)

    def body(i, p, q, r):
        new = b.let("new", b.op("tile.add", p, r))
        return [new, b.give(q, r, new.var)]

    loop = k.add(b.loop(5, body, carries={"p": x, "q": y, "r": z}))
    k.store(*loop.return_vars)
    assert moves(proven(k.function())) == ["q_mv", "r_mv", "new_mv"]


def test_one_value_into_several_carries():
    k = Kernel()
    x, y, z = k.load("x"), k.load("y", 4), k.load("z", 8)

    def body(i, p, q, r):
        new = b.let("new", b.op("tile.add", p, q))
        return [new, b.give(new.var, new.var, r)]

    loop = k.add(b.loop(4, body, carries={"p": x, "q": y, "r": z}))
    k.store(*loop.return_vars)
    proven(k.function())


@pytest.mark.parametrize("trips", [0, 1, 3])
def test_while_carries_are_closed(trips):
    k = Kernel()
    x, y = k.load("x"), k.load("y", 4)

    def body(n, p, q):
        more = b.let("more", add(n, 1))
        z = b.let("z", b.op("tile.add", p, q))
        return [more, z, b.give(more.var, q, z.var)]

    loop = b.repeat(lambda n, p, q: lt(n, trips), body, {"n": ConstInt(0), "p": x, "q": y})
    k.add(loop)
    k.store(*loop.return_vars[1:], x)
    proven(k.function())


def test_a_loop_inside_a_while():
    k = Kernel()
    x, y = k.load("x"), k.load("y", 4)

    def inner(i, c):
        z = b.let("z", b.op("tile.add", c, y))
        return [z, b.give(z.var)]

    def body(n, p):
        more = b.let("more", add(n, 1))
        loop = b.loop(2, inner, carries={"c": p})
        return [more, loop, b.give(more.var, loop.return_vars[0])]

    loop = b.repeat(lambda n, p: lt(n, 3), body, {"n": ConstInt(0), "p": x})
    k.add(loop)
    k.store(loop.return_vars[1])
    assert moves(proven(k.function())) == []


def test_an_arm_that_hands_on_what_the_other_reads():
    # if c: q = p + w, else: q = p, carried by a loop: the carry is its own result and needs no transfer at all.
    k = Kernel()
    x, w = k.load("x"), k.load("w", 4)

    def body(i, p):
        q = b.let("q", b.op("tile.add", p, w))
        r = Var("r", p.type)
        return [b.branch(eq(floormod(i, 2), 0), [q, b.give(q.var)], [b.give(p)], [r]), b.give(r)]

    loop = k.add(b.loop(4, body, carries={"p": x}))
    k.store(loop.return_vars[0])
    closed = proven(k.function())
    assert moves(closed) == []
    assert base(closed, "q") == base(closed, "x")


def test_arms_that_hand_on_values_still_needed_are_copied():
    k = Kernel()
    x, y = k.load("x"), k.load("y", 4)
    r = Var("r", x.type)
    k.add(b.branch(lt(1, 2), [b.give(x)], [b.give(y)], [r]))
    k.store(r, x, y)
    closed = proven(k.function())
    assert base(closed, "r") == "mem_branch_result_0"
    assert moves(closed) == ["x_mv", "y_mv"]


def test_both_arms_make_their_value_where_the_result_lies():
    k = Kernel()
    x = k.load("x")
    one, two, r = b.let("one", b.op("tile.neg", x)), b.let("two", b.op("tile.abs", x)), Var("r", x.type)
    k.add(b.branch(lt(1, 2), [one, b.give(one.var)], [two, b.give(two.var)], [r]))
    k.store(r, x)
    closed = proven(k.function())
    assert moves(closed) == []
    assert base(closed, "one") == base(closed, "two") == base(closed, "r") != base(closed, "x")


def test_an_operand_that_is_overwritten_in_place_and_read_again_is_copied():
    k = Kernel()
    big = b.let("big", b.op("tile.load", k.source, b.dims(0, 0), b.dims(8, 8), target_memory=VEC))
    k.add(big)
    x = k.load("x", 8)
    put = b.let("put", b.op("tile.assemble", big.var, x, b.dims(4, 0)))
    k.add(put)
    k.store(put.var)
    k.row = 16
    k.store(big.var)
    closed = proven(k.function())
    assert moves(closed) == ["big_mv"]
    # In a loop the operand is read by every trip, whether or not anything follows.
    k = Kernel()
    big = b.let("big", b.op("tile.load", k.source, b.dims(0, 0), b.dims(8, 8), target_memory=VEC))
    k.add(big)
    put = b.let("put", b.op("tile.assemble", big.var, k.load("x", 8), b.dims(4, 0)))
    k.add(b.loop(2, lambda i: [put, b.do(b.op("tile.store", put.var, b.dims(0, 0), k.out))]))
    assert moves(proven(k.function())) == ["big_mv"]


def test_a_chain_in_place_needs_no_copy():
    k = Kernel()
    big = b.let("big", b.op("tile.load", k.source, b.dims(0, 0), b.dims(8, 8), target_memory=VEC))
    k.add(big)
    x = k.load("x", 8)
    tile = big.var
    for row in (0, 4):
        stmt = b.let(f"put{row}", b.op("tile.assemble", tile, x, b.dims(row, 0)))
        k.add(stmt)
        tile = stmt.var
    k.store(tile)
    assert moves(proven(k.function())) == []


@pytest.mark.parametrize(
    ("read", "written", "copied"),
    [
        ((0, 0), (4, 0), []),  # apart
        ((4, 0), (4, 0), []),  # the part itself
        ((0, 0), (3, 0), ["big_mv"]),
        ((2, 0), (0, 0), ["big_mv"]),
        ((0, 0), (0, 8), ["big_mv"]),  # side by side: the bytes between the rows of one are the other's
    ],
)
def test_a_part_that_is_written_from_another_part(read, written, copied):
    k = Kernel()
    big = b.let("big", b.op("tile.load", k.source, b.dims(0, 0), b.dims(8, 16), target_memory=VEC))
    wide = 8 if written[1] else 16
    part = b.let("part", b.op("tile.slice", big.var, b.dims(4, wide), b.dims(*read)))
    put = b.let("put", b.op("tile.assemble", big.var, part.var, b.dims(*written)))
    k.add(big, part, put)
    k.store(put.var)
    assert moves(proven(k.function())) == copied


def test_a_part_that_is_read_once_more_is_copied_all_the_same():
    k = Kernel()
    big = b.let("big", b.op("tile.load", k.source, b.dims(0, 0), b.dims(8, 16), target_memory=VEC))
    part = b.let("part", b.op("tile.slice", big.var, b.dims(4, 16), b.dims(0, 0)))
    put = b.let("put", b.op("tile.assemble", big.var, part.var, b.dims(4, 0)))
    k.add(big, part, put)
    k.store(put.var)
    k.row = 16
    k.store(part.var)
    assert moves(proven(k.function())) == ["big_mv"]


def test_a_window_as_initial_value_gets_storage_of_its_own():
    # The loop writes dense rows where the window has gaps that belong to others.
    k = Kernel()
    big = b.let("big", b.op("tile.load", k.source, b.dims(0, 0), b.dims(8, 16), target_memory=VEC))
    part = b.let("part", b.op("tile.slice", big.var, b.dims(4, 8), b.dims(2, 4)))
    k.add(big, part)

    def body(i, c):
        z = b.let("z", b.op("tile.neg", c))
        return [z, b.give(z.var)]

    loop = k.add(b.loop(3, body, carries={"c": part.var}))
    k.store(loop.return_vars[0])
    assert moves(proven(k.function())) == ["carry_input_0"]


def test_windows_of_a_part_that_gets_storage_of_its_own_are_cut_at_its_own_pitch():
    # A row of the large tile takes 64 bytes, one of the part that is kept 32.
    k = Kernel()
    big = b.let("big", b.op("tile.load", k.source, b.dims(0, 0), b.dims(8, 16), target_memory=VEC))
    part = b.let("part", b.op("tile.slice", big.var, b.dims(4, 8), b.dims(2, 4)))
    k.add(big, part)
    put = k.add(b.let("put", b.op("tile.assemble", part.var, k.load("new"), b.dims(0, 0))))
    inner = k.add(b.let("inner", b.op("tile.slice", put.var, b.dims(2, 4), b.dims(1, 4))))
    deeper = k.add(b.let("deeper", b.op("tile.slice", inner.var, b.dims(1, 4), b.dims(1, 0))))
    k.store(inner.var, deeper.var, big.var)
    places = {
        var.name_hint: (var.type.memref.name, var.type.memref.byte_offset.value, var.type.memref.size)
        for var in defined_vars(proven(k.function()).body)
        if isinstance(var.type, TileType)
    }
    home = places["put"][0]
    assert home != places["big"][0] == places["part"][0]
    assert places["part"] == (places["big"][0], 2 * 64 + 4 * 4, 3 * 64 + 32)
    assert places["put"] == (home, 0, 128)
    assert places["inner"] == (home, 1 * 32 + 4 * 4, 32 + 16)
    assert places["deeper"] == (home, 2 * 32 + 4 * 4, 16)


def matmul_parts():
    left = b.let(
        "l", b.op("tile.create", b.dims(16, 16), dtype=DataType.FP16, target_memory=MemorySpace.Left)
    )
    right = b.let(
        "r", b.op("tile.create", b.dims(16, 16), dtype=DataType.FP16, target_memory=MemorySpace.Right)
    )
    acc = b.let("a", b.op("tile.create", b.dims(16, 16), dtype=DataType.FP32, target_memory=ACC))
    return left, right, acc


@pytest.mark.parametrize("planner", ["pypto", "dsa_rp", "ptoas"])
def test_a_peeled_accumulator_is_one_allocation(planner):
    left, right, acc = matmul_parts()

    def body(i, c):
        first = b.let("first", b.op("tile.matmul", left.var, right.var))
        more = b.let("more", b.op("tile.matmul_acc", c, left.var, right.var))
        phi = Var("phi", c.type)
        return [b.branch(eq(i, 0), [first, b.give(first.var)], [more, b.give(more.var)], [phi]), b.give(phi)]

    loop = b.loop(4, body, carries={"c": acc.var})
    out = b.tensor("out", [16, 16])
    store = b.let("s", b.op("tile.store", loop.return_vars[0], b.dims(0, 0), out))
    f = b.kernel("k", [(out, ParamDirection.Out)], [left, right, acc, loop, store, b.ret()])
    ctx = context(planner)
    closed = materialize_semantic_aliases(init_mem_ref(f, ctx), ctx)
    assert moves(closed) == [] and audit(closed, addressed=False) == ()
    assert len({base(closed, n) for n in ("a", "c", "first", "more", "phi", "c_out")}) == 1


def test_two_accumulators_of_one_loop_keep_apart():
    left, right, acc = matmul_parts()
    other = b.let("b", b.op("tile.create", b.dims(16, 16), dtype=DataType.FP32, target_memory=ACC))

    def body(i, p, q):
        u = b.let("u", b.op("tile.matmul_acc", p, left.var, right.var))
        v = b.let("v", b.op("tile.matmul_acc", q, left.var, right.var))
        return [u, v, b.give(u.var, v.var)]

    loop = b.loop(4, body, carries={"p": acc.var, "q": other.var})
    out = b.tensor("out", [16, 16])
    stores = [b.do(b.op("tile.store", v, b.dims(0, 0), out)) for v in loop.return_vars]
    f = b.kernel("k", [(out, ParamDirection.Out)], [left, right, acc, other, loop, *stores, b.ret()])
    ctx = context()
    shared = memory_reuse(materialize_semantic_aliases(init_mem_ref(f, ctx), ctx), ctx)
    assert audit(shared, addressed=False) == ()
    assert base(shared, "u") == base(shared, "a") != base(shared, "v") == base(shared, "b")


def test_an_accumulator_that_would_need_a_copy_is_refused_with_its_line():
    left, right, acc = matmul_parts()
    more = b.let("more", b.op("tile.matmul_acc", acc.var, left.var, right.var))
    out = b.tensor("out", [16, 16])
    stores = [b.do(b.op("tile.store", v, b.dims(0, 0), out)) for v in (more.var, acc.var)]
    f = b.kernel("k", [(out, ParamDirection.Out)], [left, right, acc, more, *stores, b.ret()])
    ctx = context()
    with pytest.raises(UserError, match="copied within Acc") as caught:
        materialize_semantic_aliases(init_mem_ref(f, ctx), ctx)
    assert caught.value.diagnostics[0].code == "PT640"
    assert dict(caught.value.diagnostics[0].facts)["memory"] == "Acc"


def test_halves_of_an_accumulator_written_in_turn():
    # Each matmul_acc writes one half; the other half of the old content is still to be read, and is not touched.
    left, right, _ = matmul_parts()
    acc = b.let("a", b.op("tile.create", b.dims(32, 16), dtype=DataType.FP32, target_memory=ACC))
    out = b.tensor("out", [32, 16])
    stmts = [left, right, acc]
    for row in (0, 16):
        half = b.let(f"half{row}", b.op("tile.slice", acc.var, b.dims(16, 16), b.dims(row, 0)))
        more = b.let(f"more{row}", b.op("tile.matmul_acc", half.var, left.var, right.var))
        stmts += [half, more, b.do(b.op("tile.store", more.var, b.dims(row, 0), out))]
    f = b.kernel("k", [(out, ParamDirection.Out)], [*stmts, b.ret()])
    ctx = context()
    closed = materialize_semantic_aliases(init_mem_ref(f, ctx), ctx)
    assert moves(closed) == [] and audit(closed, addressed=False) == ()


def test_orchestration_is_left_alone():
    from pypto_core.ir import FunctionType

    f = b.function("k", [], [b.ret()], kind=FunctionType.Orchestration)
    assert materialize_semantic_aliases(f, context()) is f


def test_comments_stay_ahead_of_what_they_speak_of():
    from pypto_core.ir import replace

    k = Kernel()
    x, y = k.load("x"), k.load("y", 4)

    def body(i, c):
        z = b.let("z", b.op("tile.add", c, y))
        return [z, b.give(z.var)]

    loop = replace(b.loop(3, body, carries={"c": x}), leading_comments=("sum up",))
    k.add(loop)
    k.store(loop.return_vars[0], x)
    closed = proven(k.function())
    [commented] = [s for s in walk_stmts(closed.body) if s.leading_comments]
    assert commented.leading_comments == ("sum up",) and not isinstance(commented, ForStmt)
