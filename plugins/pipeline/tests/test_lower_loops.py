"""LowerPipelineLoops: what comes out, word for word, and that it computes the same."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pypto_core.diagnostics import UserError
from pypto_core.ir import (
    PIPELINE_DOUBLE_BUFFER_C,
    AssignStmt,
    Call,
    ConstInt,
    DataType,
    ForKind,
    ForStmt,
    IfStmt,
    Mutator,
    Var,
    assert_structural_equal,
    flatten,
    replace,
    substitute,
    walk_stmts,
)
from pypto_core.testing import SSA_FEATURES, Feature, random_program
from pypto_core.testing import build as b
from pypto_plugin_pipeline.lower_loops import lower_pipeline_loops
from pypto_plugin_pipeline.verify import verify_loops_replicated

A, OUT = "a: pl.Tensor[[64, 16], pl.FP32]", "out: pl.Out[pl.Tensor[[64, 16], pl.FP32]]"
N = "n: pl.Scalar[pl.INDEX]"
T = "pl.Tensor[[64, 16], pl.FP32]"
ROWS = "    t = pl.load(a, [i, 0], [1, 16])\n    pl.store(t, [i, 0], out)"


def copy(i: str, source: str, tag: str) -> str:
    """The body of the copying kernel for index ``i``; in the text of a result, with its tags."""
    note = f', attrs={{"pipeline_membership": "{tag}"}}' if tag else ""
    return f"""t = pl.tile.load(a, [{i}, 0], [1, 16], [1, 16], target_memory=pl.Mem.Vec{note})
e = pl.tile.exp(t{note})
nxt = pl.store(e, [{i}, 0], {source})
"""


def indented(text: str, by: int) -> str:
    return "".join(" " * by + line + "\n" for line in text.splitlines())


def copying(kit: Any, bounds: str, stage: int, params: str = f"{A}, {OUT}") -> Any:
    body = f"for i, (acc,) in pl.pipeline({bounds}, stage={stage}, init_values=(out,)):\n"
    body += indented(copy("i", "acc", ""), 4) + "    y = pl.yield_(nxt)\nreturn y"
    return kit.kernel(params, body, T)


def lower(kit: Any, program: Any, **options: Any) -> Any:
    after = kit.prove(kit.on_functions(lower_pipeline_loops), program, **options)
    assert list(verify_loops_replicated(after)) == []
    again = kit.on_functions(lower_pipeline_loops)(after)
    assert again is after, "a loop of one stage is left alone"
    return after


def test_trips_that_the_stages_divide(kit: Any) -> None:
    after = lower(kit, copying(kit, "0, 4, 1", 2))
    body = "for i, (acc,) in pl.pipeline(0, 4, 2, stage=1, init_values=(out,)):\n"
    body += indented(copy("i", "acc", "0:0") + copy("i + 1", "nxt", "0:1"), 4)
    kit.equal(after, f"{A}, {OUT}", body + "    y = pl.yield_(nxt)\nreturn y", T)


def test_a_tail_stands_behind_the_loop_with_literal_indices(kit: Any) -> None:
    after = lower(kit, copying(kit, "1, 12, 2", 4))
    body = "for i, (acc,) in pl.pipeline(1, 9, 8, stage=1, init_values=(out,)):\n"
    inside = "".join(
        copy("i" if k == 0 else f"i + {2 * k}", "acc" if k == 0 else "nxt", f"0:{k}") for k in range(4)
    )
    body += indented(inside, 4) + "    y_main = pl.yield_(nxt)\n"
    body += copy("9", "y_main", "1:0") + copy("11", "nxt", "1:1")
    kit.equal(after, f"{A}, {OUT}", body + "y = nxt\nreturn y", T)


def test_fewer_trips_than_stages_leave_no_loop(kit: Any) -> None:
    after = lower(kit, copying(kit, "3, 5, 1", 4))
    body = copy("3", "out", "0:0") + copy("4", "nxt", "0:1") + "y = nxt\nreturn y"
    kit.equal(after, f"{A}, {OUT}", body, T)


def test_no_trips_leave_a_sequential_loop(kit: Any) -> None:
    after = lower(kit, copying(kit, "5, 5, 1", 2), holds=["PipelineResolved"])
    body = "for i, (acc,) in pl.range(5, 5, 1, init_values=(out,)):\n"
    body += indented(copy("i", "acc", ""), 4) + "    y = pl.yield_(nxt)\nreturn y"
    kit.equal(after, f"{A}, {OUT}", body, T)


def test_counting_down_subtracts(kit: Any) -> None:
    after = lower(kit, copying(kit, "6, 0, -2", 2))
    body = "for i, (acc,) in pl.pipeline(6, 2, -4, stage=1, init_values=(out,)):\n"
    body += (
        indented(copy("i", "acc", "0:0") + copy("i + -2", "nxt", "0:1"), 4) + "    y_main = pl.yield_(nxt)\n"
    )
    kit.equal(after, f"{A}, {OUT}", body + copy("2", "y_main", "1:0") + "y = nxt\nreturn y", T)


TRIPS = [{"n": n} for n in (-3, 0, 1, 2, 3, 4, 5, 6, 7)]


def scaled(cases: list[dict[str, int]]) -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    array = rng.standard_normal((64, 16)).astype(np.float32)
    return [{"a": array, "out": np.zeros_like(array), **case} for case in cases]


def test_bounds_of_run_time_end_in_a_cascade(kit: Any) -> None:
    after = lower(kit, copying(kit, "0, n, 1", 3, f"{A}, {OUT}, {N}"), inputs=scaled(TRIPS))
    end = "unroll_main_end"
    body = f"{end}: pl.Scalar[pl.INDEX] = 0 + pl.max(n - 0, 0) // 3 * 3\n"
    body += f"for i, (acc,) in pl.pipeline(0, {end}, 3, stage=1, init_values=(out,)):\n"
    inside = copy("i", "acc", "0:0") + copy("i + 1", "nxt", "0:1") + copy("i + 2", "nxt", "0:2")
    body += indented(inside, 4) + "    y_main = pl.yield_(nxt)\n"
    body += f"unroll_rem: pl.Scalar[pl.INDEX] = n - {end}\n"
    body += "if unroll_rem == 1:\n" + indented(copy(end, "y_main", "2:0"), 4) + "    y = pl.yield_(nxt)\n"
    body += "else:\n    if unroll_rem == 2:\n"
    body += indented(copy(end, "y_main", "1:0") + copy(f"{end} + 1", "nxt", "1:1"), 8)
    body += "        y_rem2 = pl.yield_(nxt)\n    else:\n        y_rem2 = pl.yield_(y_main)\n"
    kit.equal(after, f"{A}, {OUT}, {N}", body + "    y = pl.yield_(y_rem2)\nreturn y", T)


def test_a_step_of_run_time_bounds_counts_trips(kit: Any) -> None:
    program = copying(kit, "n, 9, 4", 2, f"{A}, {OUT}, {N}")
    after = lower(kit, program, inputs=scaled([{"n": n} for n in (0, 1, 2, 4, 5, 8, 9, 10, 30)]))
    [end, left] = [s.value for s in walk_stmts(after["main"].body) if _named(s, "unroll")]
    trips = "(pl.max(9 - n, 0) + 3) // 4"
    wanted = kit.kernel(
        N,
        f"e: pl.Scalar[pl.INDEX] = n + {trips} // 2 * 8\nr: pl.Scalar[pl.INDEX] = {trips} - {trips} // 2 * 2\nreturn",
    )
    mine = {after["main"].params[2]: wanted["main"].params[0]}
    e, r = [s.value for s in walk_stmts(wanted["main"].body) if isinstance(s, AssignStmt)]
    assert_structural_equal(substitute(end, mine), e)
    assert_structural_equal(substitute(left, mine), r)


def _named(stmt: Any, start: str) -> bool:
    return isinstance(stmt, AssignStmt) and stmt.var.name_hint.startswith(start)


def test_without_carries_nothing_is_left_to_the_last_case(kit: Any) -> None:
    body = f"for i in pl.pipeline(0, n, 1, stage=2):\n{ROWS}"
    after = lower(kit, kit.kernel(f"{A}, {OUT}, {N}", body), inputs=scaled(TRIPS))
    [branch] = [s for s in walk_stmts(after["main"].body) if isinstance(s, IfStmt)]
    assert branch.else_body is None and branch.return_vars == ()


def test_scalar_carries_and_swaps(kit: Any) -> None:
    """What is handed on may be a constant, another carry or the counter."""
    body = """
    for i, (acc, p, q) in pl.pipeline(0, 7, 1, stage=3, init_values=(out, 3, 5)):
        t = pl.load(a, [(p + q + i) % 64, 0], [1, 16])
        nxt = pl.store(t, [i, 0], acc)
        y, x, z = pl.yield_(nxt, q + i, p)
    u = pl.load(a, [(x + 2 * z) % 64, 0], [1, 16])
    r = pl.store(u, [60, 0], y)
    return r
    """
    lower(kit, kit.kernel(f"{A}, {OUT}", body, T))


def test_nested_loops_are_lowered_from_the_inside(kit: Any) -> None:
    body = """
    for i in pl.pipeline(0, 4, 1, stage=2):
        for j in pl.pipeline(0, 5, 1, stage=2):
            t = pl.load(a, [i * 8 + j, 0], [1, 16])
            pl.store(t, [i * 8 + j, 0], out)
    """
    after = lower(kit, kit.kernel(f"{A}, {OUT}", body))
    loops = [s for s in walk_stmts(after["main"].body) if isinstance(s, ForStmt)]
    assert [(s.loop_var.name_hint, s.step.value, s.kind) for s in loops] == [
        ("i", 2, ForKind.Pipeline), ("j", 2, ForKind.Pipeline), ("j", 2, ForKind.Pipeline),
    ]  # fmt: skip
    tags = [
        s.value.attrs["pipeline_membership"]
        for s in walk_stmts(after["main"].body)
        if isinstance(s, AssignStmt) and isinstance(s.value, Call)
    ]
    # Group 0 is the inner loop, 1 its tail, 2 the outer loop: innermost first.
    assert tags == ["0:0;2:0", "0:1;2:0", "1:0;2:0", "0:0;2:1", "0:1;2:1", "1:0;2:1"]
    assert len({s.loop_var for s in loops}) == 3, "copies have counters of their own"


def test_products_into_one_accumulator_are_not_tagged(kit: Any) -> None:
    square = "pl.Tensor[[64, 64], pl.{}]".format
    params = f"a: {square('FP16')}, b: {square('FP16')}, out: pl.Out[{square('FP32')}]"
    body = """
    la = pl.load(a, [0, 0], [64, 64], target_memory=pl.Mem.Mat)
    lb = pl.load(b, [0, 0], [64, 64], target_memory=pl.Mem.Mat)
    zero = pl.create_tile([64, 64], pl.FP32, target_memory=pl.Mem.Acc)
    for k, (c,) in pl.pipeline(0, 64, 16, stage=2, init_values=(zero,)):
        l = pl.tile.extract(la, 0, k, [64, 16], target_memory=pl.Mem.Left)
        r = pl.tile.extract(lb, k, 0, [16, 64], target_memory=pl.Mem.Right)
        m = pl.tile.matmul_acc(c, l, r, k == 0)
        d = pl.yield_(m)
    pl.store(d, [0, 0], out)
    """
    program = kit.kernel(params, body)
    for double in (False, True):
        loop = next(s for s in walk_stmts(program["main"].body) if isinstance(s, ForStmt))
        if double:
            program = _with_note(program, loop)
        after = lower(kit, program)
        calls = [
            s.value for s in walk_stmts(after["main"].body)
            if isinstance(s, AssignStmt) and isinstance(s.value, Call)
        ]  # fmt: skip
        tags = [c.attrs.get("pipeline_membership") for c in calls if c.name == "tile.matmul_acc"]
        assert tags == (["0:0", "0:1"] if double else [None, None])
        extracts = [c.attrs["pipeline_membership"] for c in calls if c.name == "tile.extract"]
        assert extracts == ["0:0", "0:0", "0:1", "0:1"]


def _with_note(program: Any, loop: ForStmt) -> Any:
    class Noting(Mutator):
        def visit_for_stmt(self, stmt: ForStmt) -> Any:
            return replace(stmt, attrs={**stmt.attrs, PIPELINE_DOUBLE_BUFFER_C: True})

    return Noting().visit(program)


def test_declared_allocations_are_shared_by_the_copies(kit: Any) -> None:
    body = """
    for i in pl.pipeline(0, 4, 1, stage=2):
        t: pl.Tile[[1, 16], pl.FP32, pl.MemRef("ring", slots=2)[i % 2], pl.Mem.Vec] = pl.load(a, [i, 0], [1, 16])
        pl.store(t, [i, 0], out)
    """
    after = lower(kit, kit.kernel(f"{A}, {OUT}", body))
    one, two = [
        s.var.type.memref for s in walk_stmts(after["main"].body)
        if isinstance(s, AssignStmt) and s.var.name_hint == "t"
    ]  # fmt: skip
    assert one.base is two.base and one.slot_count == two.slot_count == 2
    [loop] = [s for s in walk_stmts(after["main"].body) if isinstance(s, ForStmt)]
    index = two.slot_index.left
    assert one.slot_index.left is loop.loop_var and index.left is loop.loop_var and index.right.value == 1


def test_comments_and_spans_stay(kit: Any) -> None:
    source = f"# over rows\nfor i in pl.pipeline(0, STOP, 1, stage=2):\n    # bring in\n{ROWS}"
    for stop, comments in (("4", ["over rows", "bring in", "bring in"]), ("1", ["over rows", "bring in"])):
        after = lower(kit, kit.kernel(f"{A}, {OUT}", source.replace("STOP", stop)))
        stmts = list(walk_stmts(after["main"].body))
        assert [line.strip("# ") for s in stmts for line in s.leading_comments] == comments
        assert all(s.span.is_valid for s in stmts)


def test_programs_without_such_loops_come_back_as_they_are(kit: Any) -> None:
    for bounds in ("pl.range(0, 4, 1)", "pl.pipeline(0, 4, 1, stage=1)"):
        body = f"for i in {bounds}:\n{ROWS}"
        program = kit.kernel(f"{A}, {OUT}", body)
        assert kit.on_functions(lower_pipeline_loops)(program) is program


@pytest.mark.parametrize(
    ("bounds", "code", "text"),
    [
        ("0, 8, n", "PT350", "the step of the pipelined loop over 'i' is not a constant"),
        ("n, 0, -1", "PT351", "counts down between bounds that are not constant"),
    ],
)
def test_loops_that_cannot_be_replicated(kit: Any, bounds: str, code: str, text: str) -> None:
    body = f"for i in pl.pipeline({bounds}, stage=2):\n{ROWS}"
    with pytest.raises(UserError, match=text) as caught:
        kit.on_functions(lower_pipeline_loops)(kit.kernel(f"{A}, {OUT}, {N}", body))
    [found] = caught.value.diagnostics
    assert found.code == code and "pl.pipeline" in found.span.line_text() and found.remedy


def test_a_step_of_zero() -> None:
    function = b.kernel("k", [], [marking(0, 8, 0, 2), b.ret()])
    with pytest.raises(UserError, match="the step of the pipelined loop over 'i' is 0"):
        lower_pipeline_loops(function, None)


# -- bounds against a plain count


def visited(stmt: Any, env: dict[Any, int], out: list[int]) -> None:
    """Run the control flow by hand; bodies record the offset that they store at."""
    for one in flatten(stmt):
        if isinstance(one, ForStmt):
            start, stop, step = (value(e, env) for e in (one.start, one.stop, one.step))
            limits = (-(2**63), 2**63 - 1)
            i = start
            while i < stop if step > 0 else i > stop:
                visited(one.body, {**env, one.loop_var: i}, out)
                i += step
                assert limits[0] <= i <= limits[1], "the counter overflows"
        elif isinstance(one, IfStmt):
            arm = one.then_body if value(one.condition, env) else one.else_body
            if arm is not None:
                visited(arm, env, out)
        elif isinstance(one, AssignStmt):
            env[one.var] = value(one.value, env)
            if one.var.name_hint == "mark":
                out.append(env[one.var])


def value(expr: Any, env: dict[Any, int]) -> int:
    if isinstance(expr, ConstInt):
        return expr.value
    if isinstance(expr, Var):
        return env[expr]
    a, c = value(expr.left, env), value(expr.right, env)
    return {
        "Add": lambda: a + c, "Sub": lambda: a - c, "Mul": lambda: a * c, "FloorDiv": lambda: a // c,
        "Max": lambda: max(a, c), "Eq": lambda: a == c,
    }[type(expr).__name__]()  # fmt: skip


def marking(start: Any, stop: Any, step: int, stages: int) -> Any:
    loop = b.loop(
        stop, lambda i: [AssignStmt(Var("mark", i.type), i)], start=start, step=step,
        kind=ForKind.Pipeline, attrs={"pipeline_stages": stages},
    )  # fmt: skip
    return loop


EDGES = st.one_of(
    st.integers(-20, 20), st.integers(2**63 - 40, 2**63 - 1), st.integers(-(2**63), -(2**63) + 40)
)


@settings(max_examples=300)
@given(EDGES, st.integers(0, 30), st.integers(-5, 5).filter(bool), st.integers(2, 17))
def test_constant_bounds_visit_the_same_indices(start: int, span: int, step: int, stages: int) -> None:
    stop = start + span if step > 0 else start - span
    if not -(2**63) <= stop < 2**63:
        return
    function = b.kernel("k", [], [marking(start, stop, step, stages), b.ret()])
    out: list[int] = []
    visited(lower_pipeline_loops(function, None).body, {}, out)
    assert out == list(range(start, stop, step))


@pytest.mark.parametrize(("span", "step", "stages"), [(4, 3, 2), (8, 5, 2), (4, 2, 2), (26, 9, 3)])
def test_the_counter_stays_in_range_behind_the_last_trip(span: int, step: int, stages: int) -> None:
    """The stages divide the trips, and one more step of the main loop would overflow."""
    high = 2**63 - 1
    assert len(range(high - span, high, step)) % stages == 0
    for sign in (1, -1):
        first, last = (high - span, high) if sign > 0 else (-high + span, -high - 1)
        function = b.kernel("k", [], [marking(first, last, sign * step, stages), b.ret()])
        out: list[int] = []
        visited(lower_pipeline_loops(function, None).body, {}, out)
        assert out == list(range(first, last, sign * step))


def test_steps_too_wide_to_multiply_are_spelt_out() -> None:
    low, high, step = -(2**63), 2**63 - 1, 2**62
    function = b.kernel("k", [], [marking(low, high, step, 8), b.ret()])
    out: list[int] = []
    visited(lower_pipeline_loops(function, None).body, {}, out)
    assert out == [low, low + step, low + 2 * step, low + 3 * step]


@settings(max_examples=200)
@given(st.integers(-9, 9), st.integers(-9, 40), st.integers(1, 5), st.integers(2, 9))
def test_bounds_of_run_time_visit_the_same_indices(start: int, stop: int, step: int, stages: int) -> None:
    first, last = b.scalar("first"), b.scalar("last")
    function = b.kernel("k", [first, last], [marking(first, last, step, stages), b.ret()])
    out: list[int] = []
    visited(lower_pipeline_loops(function, None).body, {first: start, last: stop}, out)
    assert out == list(range(start, stop, step))


def test_the_counter_keeps_its_type() -> None:
    i32 = b.scalar("n", DataType.INT32)
    loop = marking(ConstInt(0, DataType.INT32), i32, 1, 2)
    counter = Var("i", i32.type)
    loop = replace(
        loop,
        loop_var=counter,
        step=ConstInt(1, DataType.INT32),
        body=AssignStmt(Var("mark", i32.type), counter),
    )
    after = lower_pipeline_loops(b.kernel("k", [i32], [loop, b.ret()]), None)
    for stmt in walk_stmts(after.body):
        if isinstance(stmt, AssignStmt):
            assert stmt.value.type is i32.type and stmt.var.type is i32.type


@settings(max_examples=25)
@given(st.integers(0, 1 << 30), st.integers(5, 40))
def test_random_programs_compute_the_same(kit: Any, seed: int, size: int) -> None:
    program = random_program(seed, size, SSA_FEATURES | {Feature.PIPELINE})
    lower(kit, program, kept=())


def test_time_grows_with_the_program(kit: Any) -> None:
    def seconds(loops: int) -> float:
        out = b.tensor("out", [64, 16])
        stmts = []
        for _ in range(loops):

            def body(i: Any) -> Any:
                t = b.let("t", b.op("tile.load", out, b.dims(i, 0), b.dims(1, 16)))
                return [t, b.do(b.op("tile.store", t.var, b.dims(i, 0), out))]

            stmts.append(b.loop(7, body, kind=ForKind.Pipeline, attrs={"pipeline_stages": 2}))
        function = b.kernel("k", [out], [*stmts, b.ret()])
        best = float("inf")
        for _ in range(3):
            begin = time.process_time()
            lower_pipeline_loops(function, None)
            best = min(best, time.process_time() - begin)
        return best

    assert seconds(320) < 8 * 2.5 * max(seconds(40), 1e-3)
