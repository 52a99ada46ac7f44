"""What a rotated loop looks like, and which slot each of its trips takes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pypto_core.ir import (
    AssignStmt,
    ConstInt,
    DataType,
    Expr,
    FloorDiv,
    FloorMod,
    ForKind,
    ForStmt,
    Function,
    Sub,
    TileType,
    Var,
    assert_structural_equal,
    flatten,
    replace,
    walk_stmts,
)
from pypto_core.testing import build as b
from pypto_core.text import print_expr, print_program
from pypto_plugin_slots.rotate import lower_pipeline_to_slots

A, OUT = "a: pl.Tensor[[64, 16], pl.FP32]", "out: pl.Out[pl.Tensor[[64, 16], pl.FP32]]"
INT64_MAX = 2**63 - 1


def copying(head: str, extra: str = "") -> str:
    return f"for i in pl.{head}:\n    t = pl.load(a, [i % 64, 0], [1, 16])\n{extra}    pl.store(t, [i % 64, 0], out)"


def test_load_then_store_becomes_one_body_over_two_slots(kit: Any) -> None:
    params = "a: pl.Tensor[[8192], pl.FP32], out: pl.Out[pl.Tensor[[8192], pl.FP32]]"
    before = kit.kernel(params, """
        for i in pl.pipeline(64, stage=2):
            x: pl.Tile[[128], pl.FP32, pl.Mem.Vec] = pl.tile.load(a, [i * 128], [128])
            pl.tile.store(x, [i * 128], out)
    """)  # fmt: skip
    wanted = kit.kernel(params, """
        for i in pl.range(64):
            x: pl.Tile[[128], pl.FP32, pl.MemRef("pipe_x", slots=2)[i % 2], pl.Mem.Vec] = \\
                pl.tile.load(a, [i * 128], [128])
            pl.tile.store(x, [i * 128], out)
    """)  # fmt: skip
    done = kit.rotate(before)
    assert_structural_equal(done.after, wanted)
    assert done.hints == ()


def test_only_the_variable_and_the_kind_of_the_loop_change(kit: Any) -> None:
    before = kit.kernel(f"{A}, {OUT}", copying("pipeline(2, 9, 1, stage=2)", "    e = pl.exp(t)\n"))
    after = kit.rotate(before).after
    [old], [new] = (
        [s for s in walk_stmts(p["main"].body) if isinstance(s, ForStmt)] for p in (before, after)
    )
    assert all(getattr(new, f) is getattr(old, f) for f in ("loop_var", "start", "stop", "step", "iter_args"))
    for was, now in zip(flatten(old.body), flatten(new.body), strict=True):
        assert type(was) is type(now) and was.span == now.span
    [load, _, _] = flatten(new.body)
    assert isinstance(load, AssignStmt) and load.value is flatten(old.body)[0].value


def test_notes_of_a_pipelined_loop_go_and_others_stay(kit: Any) -> None:
    before = kit.kernel(f"{A}, {OUT}", copying("pipeline(0, 8, 1, stage=2)"))
    [loop] = [s for s in walk_stmts(before["main"].body) if isinstance(s, ForStmt)]
    notes = {**loop.attrs, "pipeline_overlap_stores": False, "pipeline_double_buffer_c": True, "mine": 3}
    function = replace(before["main"], body=replace(loop, attrs=notes))
    after = lower_pipeline_to_slots(function, kit.context())
    [new] = flatten(after.body)
    assert isinstance(new, ForStmt) and dict(new.attrs) == {"mine": 3}


def test_comments_and_carries_stay(kit: Any) -> None:
    before = kit.kernel(f"{A}, {OUT}", """
        # around
        for i, (acc,) in pl.pipeline(0, 8, 1, stage=2, init_values=(out,)):
            # inside
            t = pl.load(a, [i, 0], [1, 16])
            nxt = pl.store(t, [i, 0], acc)
            y = pl.yield_(nxt)
        return y
    """, "pl.Tensor[[64, 16], pl.FP32]")  # fmt: skip
    done = kit.rotate(before)
    text = print_program(done.after)
    assert "# around" in text and "# inside" in text
    assert done.rings == {"t": ("pipe_t", 2, "i % 2")}


def test_every_load_gets_a_ring_of_its_own(kit: Any) -> None:
    body = """
        for i in pl.pipeline(0, 8, 1, stage=3):
            t = pl.load(a, [i, 0], [1, 16])
            u = pl.load(a, [0, 0], [1, 16])
            w = pl.add(t, u)
            pl.store(w, [i, 0], out)
    """
    done = kit.rotate(kit.kernel(f"{A}, {OUT}", body))
    # The second load reads the same elements in every trip; it would be replicated as well.
    assert done.rings == {"t": ("pipe_t", 3, "i % 3"), "u": ("pipe_u", 3, "i % 3")}
    [loop] = [s for s in walk_stmts(done.after["main"].body) if isinstance(s, ForStmt)]
    first, second = (s.var.type.memref for s in flatten(loop.body)[:2])
    assert first.base is not second.base and first.slot_index is not second.slot_index
    assert (first.size, first.is_pinned) == (0, True)
    assert isinstance(first.byte_offset, ConstInt) and first.byte_offset.dtype is DataType.INT64


def test_rings_of_one_function_have_different_names(kit: Any) -> None:
    body = copying("pipeline(0, 8, 1, stage=2)")
    program = kit.kernel(f"{A}, {OUT}", f"{body}\n{body}\npipe_t_2 = pl.load(a, [0, 0], [1, 16])")
    loops = [s for s in flatten(program["main"].body) if isinstance(s, ForStmt)]
    done = kit.apply(program)
    made = [
        s.var.type.memref.name
        for loop in flatten(done.after["main"].body)[:2]
        for s in flatten(loop.body)
        if isinstance(s, AssignStmt) and isinstance(s.var.type, TileType) and s.var.type.memref
    ]
    assert len(loops) == 2 and made == ["pipe_t", "pipe_t_1"]


def test_loads_in_cube_memory_rotate(kit: Any) -> None:
    square = "pl.Tensor[[64, 64], pl.{}]".format
    body = """
        for i in pl.pipeline(0, 4, 1, stage=2):
            l = pl.load(a, [i * 16, 0], [16, 64], target_memory=pl.Mem.Mat)
            r = pl.load(b, [0, 0], [64, 64], target_memory=pl.Mem.Mat)
            x = pl.move(l, target_memory=pl.Mem.Left)
            y = pl.move(r, target_memory=pl.Mem.Right)
            c = pl.matmul(x, y)
            pl.store(c, [i * 16, 0], out)
    """
    params = f"a: {square('FP16')}, b: {square('FP16')}, out: pl.Out[{square('FP32')}]"
    done = kit.rotate(kit.kernel(params, body))
    assert done.rings == {"l": ("pipe_l", 2, "i % 2"), "r": ("pipe_r", 2, "i % 2")}


@pytest.mark.parametrize(
    ("bounds", "stages", "index"),
    [
        ("0, 8, 1", 2, "i % 2"),
        ("4, 8, 1", 2, "i % 2"),
        ("6, 8, 1", 3, "i % 3"),
        ("1, 5, 1", 2, "(i - 1) % 2"),
        ("2, 9, 1", 4, "(i - 2) % 4"),
        ("0, 256, 64", 2, "i // 64 % 2"),
        ("3, 512, 64", 2, "(i - 3) // 64 % 2"),
        # The start is a multiple of the stages, but not of what the division leaves out.
        ("4, 64, 3", 2, "(i - 4) // 3 % 2"),
    ],
)
def test_the_index_has_no_superfluous_part(kit: Any, bounds: str, stages: int, index: str) -> None:
    done = kit.rotate(kit.kernel(f"{A}, {OUT}", copying(f"pipeline({bounds}, stage={stages})")))
    assert done.rings == {"t": ("pipe_t", stages, index)}
    assert done.loops == [("i", ForKind.Sequential, None)]


# -- executed slots


def wrapped(value: int) -> int:
    """As 64 bits hold it."""
    return (value + 2**63) % 2**64 - 2**63


def machine(expr: Expr, counter: Var, value: int) -> int:
    """The value of a slot index by the plain instructions: wrapping differences, division towards zero."""
    if expr is counter:
        return value
    if isinstance(expr, ConstInt):
        return expr.value
    assert isinstance(expr, Sub | FloorDiv | FloorMod)
    left, right = machine(expr.left, counter, value), machine(expr.right, counter, value)
    if isinstance(expr, Sub):
        return wrapped(left - right)
    quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
    return quotient if isinstance(expr, FloorDiv) else left - quotient * right


def built(start: int, stop: int, step: int, stages: int, dtype: DataType = DataType.INDEX) -> Function:
    a, out = b.tensor("a", (64, 16)), b.tensor("out", (64, 16))

    def body(i: Var) -> list[Any]:
        load = b.op("tile.load", a, b.dims(0, 0), b.dims(1, 16), b.dims(1, 16))
        t = AssignStmt(b.tile("t", (1, 16)), load)
        return [t, b.do(b.op("tile.store", t.var, b.dims(0, 0), out))]

    loop = b.loop(
        stop, body, start=start, step=step, kind=ForKind.Pipeline, attrs={"pipeline_stages": stages}
    )
    if dtype is not DataType.INDEX:
        loop = replace(loop, loop_var=b.scalar("i", dtype))
    return b.kernel("main", [a, out], [loop])


def sequence(function: Function, trips: int) -> list[int]:
    """The slots of the first trips, run as the loop runs."""
    [loop] = flatten(function.body)
    assert isinstance(loop, ForStmt) and loop.kind is ForKind.Sequential
    load = flatten(loop.body)[0]
    assert isinstance(load, AssignStmt) and isinstance(load.var.type, TileType) and load.var.type.memref
    index = load.var.type.memref.slot_index
    start, stop, step = (e.value for e in (loop.start, loop.stop, loop.step))  # type: ignore[attr-defined]
    slots: list[int] = []
    value = start
    while value < stop and len(slots) < trips:
        slots.append(machine(index, loop.loop_var, value))
        value = wrapped(value + step)
    return slots


EDGE = st.sampled_from([0, 1, 2, 63, 64, 2**31 - 1, 2**31, 2**62, INT64_MAX - 200])


@settings(max_examples=500, deadline=None)
@given(
    start=EDGE | st.integers(0, INT64_MAX - 200),
    step=st.integers(1, 70) | st.sampled_from([64, 128, 2**31, 2**61]),
    trips=st.integers(0, 40),
    slack=st.integers(0, 69),
    stages=st.integers(2, 16),
)
def test_trips_take_the_slots_one_after_the_other(
    kit: Any, start: int, step: int, trips: int, slack: int, stages: int
) -> None:
    most = INT64_MAX - (step - 1)
    stop = min(start + trips * step + min(slack, step - 1), most if step > 1 else INT64_MAX)
    function = built(start, stop, step, stages)
    after = lower_pipeline_to_slots(function, kit.context())
    have = sequence(after, 48)
    want = [(iv - start) // step % stages for iv in range(start, stop, step)[:48]]
    assert have == want == [k % stages for k in range(len(want))]
    # As many loads as there are stages may be under way without one taking the place of another.
    assert all(len(set(have[k : k + stages])) == len(have[k : k + stages]) for k in range(len(have)))


def test_a_counter_of_64_bits_is_computed_with_in_its_own_type(kit: Any) -> None:
    after = lower_pipeline_to_slots(built(3, 99, 4, 5, DataType.INT64), kit.context())
    [loop] = flatten(after.body)
    load = flatten(loop.body)[0]
    index = load.var.type.memref.slot_index
    assert print_expr(index).count("INT64") >= 1
    assert index.type.dtype is index.left.type.dtype is index.left.left.type.dtype is DataType.INT64
    assert sequence(after, 48) == [k % 5 for k in range(24)]
