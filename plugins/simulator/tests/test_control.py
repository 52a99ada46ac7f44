"""Control flow, scalars, functions and launches."""

from __future__ import annotations

import operator
from textwrap import indent
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pypto_core.language as pl
from pypto_core.diagnostics import Span, UserError
from pypto_core.ir import (
    INDEX_ONE,
    INDEX_ZERO,
    Add,
    AssignStmt,
    BinaryExpr,
    BitAnd,
    BitShiftLeft,
    BitShiftRight,
    BreakStmt,
    Call,
    Cast,
    ConstFloat,
    ConstInt,
    ContinueStmt,
    DataType,
    FloatDiv,
    FloorDiv,
    FloorMod,
    ForKind,
    ForStmt,
    FunctionType,
    GlobalVar,
    InCoreScopeStmt,
    Max,
    Min,
    Mul,
    Neg,
    Not,
    ParamDirection,
    Pow,
    ScalarType,
    SplitAivScopeStmt,
    SplitMode,
    SpmdScopeStmt,
    Sub,
    Submit,
    TupleGetItemExpr,
    TupleType,
    Var,
    WhileStmt,
    add,
    and_,
    eq,
    floormod,
    ge,
    lt,
    mul,
    scalar_type,
    seq,
    walk_stmts,
)
from pypto_core.testing import build as b
from pypto_plugin_simulator.trips import least_per_trip, trips_of
from pypto_plugin_simulator.values import run

INDEX = scalar_type(DataType.INDEX)
I32, I8, U8 = (scalar_type(d) for d in (DataType.INT32, DataType.INT8, DataType.UINT8))


def returns(stmts: list[Any], *params: Var, inputs: Any = (), **options: Any) -> tuple[Any, ...]:
    return run(b.function("f", list(params), stmts), inputs, **options).returns


def value(expr: Any, *params: Var, inputs: Any = ()) -> Any:
    return returns([b.ret(expr)], *params, inputs=inputs)[0]


def var(name: str, kind: ScalarType = INDEX) -> Var:
    return Var(name, kind)


def const(v: int, kind: ScalarType) -> ConstInt:
    return ConstInt(v, kind.dtype)


def signed(v: int, bits: int) -> int:
    return (v + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


OPERATORS = {
    Add: operator.add, Sub: operator.sub, Mul: operator.mul, FloorDiv: operator.floordiv, FloorMod: operator.mod,
    Min: min, Max: max, BitAnd: operator.and_,
}  # fmt: skip


@pytest.mark.parametrize("cls", OPERATORS, ids=lambda c: c.__name__)
@settings(max_examples=60)
@given(a=st.integers(-(2**31), 2**31 - 1), c=st.integers(-(2**31), 2**31 - 1))
def test_int32_arithmetic_wraps_and_floors(cls: type[BinaryExpr], a: int, c: int) -> None:
    x, y = var("x", I32), var("y", I32)
    expr = cls(x, y, I32)
    if c == 0 and cls in (FloorDiv, FloorMod):
        with pytest.raises(UserError, match="by zero"):
            value(expr, x, y, inputs=[a, c])
        return
    assert value(expr, x, y, inputs=[a, c]) == signed(OPERATORS[cls](a, c), 32)


@pytest.mark.parametrize(
    ("expr", "want"),
    [
        (Add(const(127, I8), const(1, I8), I8), -128),
        (Sub(const(0, U8), const(1, U8), U8), 255),
        (Neg(const(-128, I8), I8), -128),
        (const(300, I8), 44),
        (lt(const(300, I8), const(100, I8)), True),
        (FloorDiv(const(-128, I8), const(-1, I8), I8), -128),
        (FloorMod(const(-128, I8), const(-1, I8), I8), 0),
        (Cast(ConstFloat(float("nan")), I32), 0),
        (Cast(ConstFloat(float("inf")), I8), 127),
        (Cast(ConstFloat(float("-inf")), U8), 0),
        (FloatDiv(const(-7, INDEX), const(2, INDEX), INDEX), -3),
        (FloorDiv(const(-7, INDEX), const(2, INDEX), INDEX), -4),
        (FloorMod(const(-7, INDEX), const(2, INDEX), INDEX), 1),
        (Pow(const(3, I32), const(4, I32), I32), 81),
        (BitShiftLeft(const(1, I8), const(7, I8), I8), -128),
        (BitShiftRight(const(-8, I8), const(1, I8), I8), -4),
        (Cast(ConstFloat(-2.7), I32), -2),
        (Cast(const(300, I32), I8), 44),
        (Cast(const(3, I32), scalar_type(DataType.FP32)), 3.0),
        (Add(ConstFloat(1.0, DataType.FP16), ConstFloat(2**-12, DataType.FP16), scalar_type(DataType.FP16)), 1.0),
        (FloatDiv(ConstFloat(1.0), ConstFloat(3.0), scalar_type(DataType.FP32)), float(np.float32(1) / np.float32(3))),
        (FloatDiv(ConstFloat(1.0), ConstFloat(0.0), scalar_type(DataType.FP32)), float("inf")),
        (Not(lt(INDEX_ONE, INDEX_ZERO), scalar_type(DataType.BOOL)), True),
    ],
)  # fmt: skip
def test_scalar_expressions(expr: Any, want: float) -> None:
    assert value(expr) == want


def test_shifts_are_checked() -> None:
    x = var("x", I8)
    with pytest.raises(UserError, match="a shift by 8"):
        value(BitShiftLeft(const(1, I8), x, I8), x, inputs=[8])


@settings(max_examples=40)
@given(
    start=st.integers(-9, 9), stop=st.integers(-9, 9), step=st.integers(-3, 3).filter(bool),
    kind=st.sampled_from([ForKind.Sequential, ForKind.Parallel, ForKind.Unroll, ForKind.Pipeline]),
)  # fmt: skip
def test_loops_count_like_range(start: int, stop: int, step: int, kind: ForKind) -> None:
    attrs = {"pipeline_stages": 2} if kind is ForKind.Pipeline else {}
    loop = b.loop(
        stop,
        lambda i, total: [b.give(add(mul(total, 3), i))],
        start=start,
        step=step,
        carries={"total": ConstInt(1)},
        kind=kind,
        attrs=attrs,
    )
    want = 1
    for i in range(start, stop, step):
        want = signed(want * 3 + i, 64)
    assert returns([loop, b.ret(loop.return_vars[0])]) == (want,)


def test_a_step_of_zero_is_an_error() -> None:
    step = var("step")
    loop = ForStmt(var("i"), INDEX_ZERO, INDEX_ONE, step, (), seq([]), ())
    with pytest.raises(UserError, match="never end"):
        returns([loop], step, inputs=[0])


def test_the_counter_may_end_at_the_last_int64() -> None:
    last = 2**63 - 1
    loop = b.loop(last, lambda i, n: [b.give(add(n, 1))], start=last - 4, step=3, carries={"n": ConstInt(0)})
    assert returns([loop, b.ret(loop.return_vars[0])]) == (2,)


def test_carries_are_exchanged_at_once() -> None:
    loop = b.loop(5, lambda i, x, y: [b.give(y, x)], carries={"x": ConstInt(1), "y": ConstInt(2)})
    assert returns([loop, b.ret(*loop.return_vars)]) == (2, 1)


def test_reassignment_break_and_continue() -> None:
    total, i = var("total"), var("i")
    body = seq(
        [
            b.branch(eq(floormod(i, 2), 1), [ContinueStmt()]),
            b.branch(ge(i, 7), [BreakStmt()]),
            AssignStmt(total, add(total, i)),
        ]
    )
    loop = ForStmt(i, INDEX_ZERO, ConstInt(100), INDEX_ONE, (), body, ())
    assert returns([AssignStmt(total, INDEX_ZERO), loop, b.ret(total, i)]) == (0 + 2 + 4 + 6, 8)


def test_carries_of_a_trip_that_is_cut_short_keep_their_values() -> None:
    def body(i: Any, x: Any) -> list[Any]:
        return [b.branch(eq(i, 3), [BreakStmt()]), b.give(add(x, 10))]

    loop = b.loop(10, body, carries={"x": ConstInt(1)})
    assert returns([loop, b.ret(loop.return_vars[0])]) == (31,)


def test_while_with_and_without_carries() -> None:
    loop = b.repeat(lambda x: lt(x, 100), lambda x: [b.give(mul(x, 3))], {"x": ConstInt(2)})
    assert returns([loop, b.ret(loop.return_vars[0])]) == (162,)
    x = var("x")
    plain = WhileStmt(lt(x, 5), (), AssignStmt(x, add(x, 2)), ())
    assert returns([AssignStmt(x, INDEX_ZERO), plain, b.ret(x)]) == (6,)


def test_a_loop_without_end_is_stopped() -> None:
    x = var("x")
    loop = WhileStmt(lt(x, 5), (), AssignStmt(x, x), (), span=Span("k.py", 7, 5))
    with pytest.raises(UserError, match="stopped after 1000 steps") as caught:
        returns([AssignStmt(x, INDEX_ZERO), loop], max_steps=1000)
    assert caught.value.span.begin_line == 7


def test_branches_and_phis() -> None:
    n, result = var("n"), var("result")
    inner = var("inner")
    nested = b.branch(lt(n, -5), [b.give(ConstInt(-2))], [b.give(ConstInt(-1))], [inner])
    choose = b.branch(lt(n, 0), [nested, b.give(inner)], [b.give(ConstInt(1))], [result])
    assert [returns([choose, b.ret(result)], n, inputs=[v])[0] for v in (-9, -1, 4)] == [-2, -1, 1]


def test_a_return_leaves_every_region() -> None:
    i = var("i")
    loop = ForStmt(i, INDEX_ZERO, ConstInt(9), INDEX_ONE, (), b.branch(eq(i, 4), [b.ret(i)]), ())
    assert returns([loop, b.ret(ConstInt(99))]) == (4,)


def test_variables_without_a_value() -> None:
    x, n = Var("x__ssa_v1", INDEX), var("n")
    stmts = [b.branch(lt(n, 0), [AssignStmt(x, INDEX_ONE)]), b.ret(x)]
    assert returns(stmts, n, inputs=[-1]) == (1,)
    with pytest.raises(UserError, match="'x' has no value here"):
        returns(stmts, n, inputs=[1])


def test_logic_evaluates_both_sides() -> None:
    x = var("x")
    both = and_(eq(x, 0), eq(FloorDiv(INDEX_ONE, x, INDEX), 1))
    with pytest.raises(UserError, match="division by zero"):
        value(both, x, inputs=[0])


def adder() -> Any:
    """Out = In + a scalar, a kernel with symbolic rows."""
    m, step = var("M"), var("step", scalar_type(DataType.FP32))
    x, out = b.tensor("x", (m, 4)), b.tensor("out", (m, 4))

    def body(i: Any) -> list[Any]:
        load = b.let("t", b.op("tile.load", x, b.dims(i, 0), b.dims(1, 4)))
        more = b.let("u", b.op("tile.adds", load.var, step))
        return [load, more, b.do(b.op("tile.store", more.var, b.dims(i, 0), out))]

    return b.kernel(
        "adder", [x, step, (out, ParamDirection.Out)], [b.loop(m, body), b.ret(out)], returns=[out.type]
    )


def test_functions_share_their_callers_tensors() -> None:
    kernel = adder()
    x = b.tensor("x", (3, 4))
    buffer = b.let("buf", b.op("tensor.create", b.dims(3, 4), dtype=DataType.FP32))
    first = b.let("r", b.call(kernel, x, ConstFloat(1.5), buffer.var, kind=x.type))
    second = b.let("s", b.call(kernel, first.var, ConstFloat(2.0), x, kind=x.type))
    main = b.function(
        "main", [(x, ParamDirection.InOut)], [buffer, first, second, b.ret(buffer.var)],
        returns=[x.type], kind=FunctionType.Orchestration,
    )  # fmt: skip
    data = np.arange(12, dtype=np.float32).reshape(3, 4)
    result = run(b.program(kernel, main), {"x": data})
    assert np.array_equal(result.returns[0], data + 1.5)
    assert np.array_equal(result.outputs["x"], data + 3.5)


def test_several_results() -> None:
    n = var("n")
    pair = b.function("pair", [n], [b.ret(add(n, 1), mul(n, 2))], returns=[INDEX, INDEX])
    both = b.let("both", b.call(pair, ConstInt(10)))
    main = b.function("main", [], [both, b.ret(TupleGetItemExpr(both.var, 1), TupleGetItemExpr(both.var, 0))])
    assert run(b.program(pair, main), entry="main").returns == (20, 11)


TASK_IDS = """
@pl.function(type=pl.FunctionType.Orchestration)
def main(x: pl.Tensor[[4, 8], pl.FP32], n: pl.Scalar[pl.INDEX], out: pl.Out[pl.Tensor[[4, 8], pl.FP32]]):
    last = pl.system.task_invalid()
    tids = pl.array.create(2, pl.TASK_ID)
    for i in pl.range(n):
        with pl.SCOPE as tid:
            out[2 * i : 2 * i + 2, :] = pl.neg(x[2 * i : 2 * i + 2, :])
        tids[i] = tid
        last = tid
    found = pl.system.task_is_valid(last)
    with pl.at(level=pl.Level.CORE_GROUP, deps=[tids, last]):
        if found:
            out[3:4, :] = x[3:4, :]
    return out
"""


@pytest.mark.parametrize("scope", ["at(level=pl.Level.CORE_GROUP)", "spmd(1)"])
def test_the_task_of_a_scope_has_an_id_afterwards(scope: str) -> None:
    program = pl.parse(TASK_IDS.replace("SCOPE", scope))
    data = np.arange(32, dtype=np.float32).reshape(4, 8)
    assert np.array_equal(run(program, [data, 2]).outputs["out"], [*-data[:3], data[3]])
    untouched = np.ones_like(data)
    assert np.array_equal(run(program, [data, 0, untouched]).outputs["out"], untouched)


def test_submitted_tasks_run_where_they_are_submitted() -> None:
    kernel = adder()
    x, out = b.tensor("x", (2, 4)), b.tensor("out", (2, 4))
    kind = TupleType((out.type, scalar_type(DataType.TASK_ID)))
    task = b.let("task", Submit(GlobalVar("adder"), (x, ConstFloat(1.0), out), type=kind))
    again = b.let(
        "again",
        Submit(GlobalVar("adder"), (out, ConstFloat(1.0), x), (TupleGetItemExpr(task.var, 1),),
               predicate=lt(INDEX_ONE, INDEX_ZERO), type=kind),
    )  # fmt: skip
    main = b.function(
        "main", [x, (out, ParamDirection.Out)], [task, again, b.ret(TupleGetItemExpr(task.var, 0))],
        returns=[out.type], kind=FunctionType.Orchestration,
    )  # fmt: skip
    data = np.zeros((2, 4), np.float32)
    result = run(b.program(kernel, main), [data])
    assert (result.outputs["out"] == 1).all() and (result.returns[0] == 1).all()


def block_stamper(name: str = "stamp", **parts: Any) -> Any:
    """Writes block index, block count and vector core into row ``block`` of its output."""
    out = b.tensor("out", (4, 3), DataType.INT64)
    queries = [b.let(n, b.op(f"tile.{n}")) for n in ("get_block_idx", "get_block_num", "get_subblock_idx")]
    writes = [
        b.do(b.op("tensor.write", out, b.dims(queries[0].var, i), q.var)) for i, q in enumerate(queries)
    ]
    return b.kernel(name, [(out, ParamDirection.InOut)], [*queries, *writes], **parts)


def test_blocks() -> None:
    kernel = block_stamper()
    empty = np.zeros((4, 3), np.int64)
    assert run(kernel, [empty]).outputs["out"].tolist() == [[0, 1, 0]] + [[0] * 3] * 3
    four = [[i, 4, 0] for i in range(4)]
    assert run(kernel, [empty], block_num=4).outputs["out"].tolist() == four
    out = b.tensor("out", (4, 3), DataType.INT64)
    call = b.do(b.call(kernel, out, kind=TupleType(())))
    wrapper = b.function(
        "wrap", [(out, ParamDirection.InOut)], [call], kind=FunctionType.Spmd, attrs={"core_num": 4}
    )
    assert run(b.program(kernel, wrapper), [empty], entry="wrap").outputs["out"].tolist() == four
    plain = b.function("main", [(out, ParamDirection.InOut)], [b.do(Call(
        GlobalVar("stamp"), (out,), {}, {"core_num": 3}, type=TupleType(())))])  # fmt: skip
    three = [[i, 3, 0] for i in range(3)] + [[0] * 3]
    assert run(b.program(kernel, plain), [empty], entry="main").outputs["out"].tolist() == three


def test_scopes() -> None:
    out = b.tensor("out", (4, 3), DataType.INT64)
    block, lane = var("block"), var("lane")
    count = b.let("n", b.op("tile.get_block_num"))
    sub = b.let("s", b.op("tile.get_subblock_idx"))
    mark = b.do(b.op("tensor.write", out, b.dims(block, lane), add(mul(count.var, 10), sub.var)))
    split = SplitAivScopeStmt(seq([count, sub, mark]), split=SplitMode.UP_DOWN, loop_var=lane)
    spmd = SpmdScopeStmt(InCoreScopeStmt(split), core_num=ConstInt(4), loop_var=block)
    main = b.function("main", [(out, ParamDirection.InOut)], [spmd])
    assert run(main, [np.zeros((4, 3), np.int64)]).outputs["out"].tolist() == [[40, 41, 0]] * 4


def test_endless_recursion_is_an_error() -> None:
    again = b.function("again", [], [b.do(b.call("again", kind=TupleType(())))])
    with pytest.raises(UserError, match="calls itself without end"):
        run(again, entry="again")


def test_local_arrays() -> None:
    array = b.let("a", b.op("array.create", ConstInt(3), dtype=DataType.INT32))
    more = b.let("b", b.op("array.update_element", array.var, ConstInt(1), const(7, I32)))
    got = b.let("g", b.op("array.get_element", more.var, ConstInt(1)))
    assert returns([array, more, got, b.ret(got.var)]) == (7,)


@pytest.mark.parametrize("called", [False, True])
def test_a_function_without_a_body_is_not_run(called: bool) -> None:
    """``...`` stands for code that only the machine has: it is not a function that does nothing."""

    @pl.program
    class Outside:
        @pl.function(type=pl.FunctionType.InCore)
        def outside(self, x: pl.Tensor[[4, 4], pl.FP32], out: pl.Out[pl.Tensor[[4, 4], pl.FP32]]): ...

        @pl.function(type=pl.FunctionType.Orchestration)
        def main(self, x: pl.Tensor[[4, 4], pl.FP32], out: pl.Out[pl.Tensor[[4, 4], pl.FP32]]):
            self.outside(x, out)

    inputs = {"x": np.ones((4, 4), np.float32)}
    with pytest.raises(UserError, match="'outside' has no body") as caught:
        run(Outside, inputs, "main" if called else "outside")
    assert caught.value.diagnostics[0].code == "SIM-004"
    assert ("self.outside(x, out)" in caught.value.render()) is called


LONG = """
@pl.function
def main(n: pl.Scalar[pl.INDEX], m: pl.Scalar[pl.INDEX]):
    a = n
{body}
    return a
"""


@pytest.mark.parametrize(
    ("body", "steps"),
    [
        # A trip is a step, each statement in it is one, and so is a sequence of several.
        ("for i in pl.range(9223372036854775807):\n    a = a + i", 2 * (2**63 - 1)),
        ("for i in pl.range(0, 100, 7):\n    a = a + i", 15 * 2),
        ("for i in pl.range(100, 0, -7):\n    a = a + i", 15 * 2),
        ("for i in pl.range(0, -100):\n    a = a + i", 0),
        ("for i in pl.range(10):\n    a = a + i\n    a = a - 1", 10 * 4),
        ("for i in pl.range(10):\n    for j in pl.range(1000000):\n        a = a + j", 10 * (2 + 2 * 10**6)),
        ("for i in pl.range(10):\n    for j in pl.range(i, 1000000):\n        a = a + j", 10 * 2),
        ("for i in pl.range(10):\n    if a > n:\n        a = a + 1\n        a = a + 2", 10 * 2),
    ],
)
def test_a_loop_that_can_not_end_in_time_is_not_begun(body: str, steps: int) -> None:
    program = pl.parse(LONG.format(body=indent(body, "    ")))
    [loop] = [stmt for stmt in walk_stmts(program.body) if isinstance(stmt, ForStmt)][:1]
    trips = trips_of(loop.start.value, loop.stop.value, loop.step.value)
    assert trips * least_per_trip(loop) == steps
    # Before it stand the function's body, an assignment and the loop.
    if steps:
        with pytest.raises(UserError, match=f"takes {trips} trips") as caught:
            run(program, {"n": 0, "m": 0}, max_steps=steps + 2)
        assert caught.value.diagnostics[0].code == "SIM-005"
        assert "--max-steps" in caught.value.diagnostics[0].remedy


@pytest.mark.parametrize("limit", [0, 1, 2, 3, 40])
def test_the_estimate_is_a_lower_bound(limit: int) -> None:
    """Whatever fits the limit runs as it did: the count of a run is never below the estimate of its loops."""
    body = "for i in pl.range(3):\n    for j in pl.range(2):\n        a = a + j\n    a = a - 1"
    program = pl.parse(LONG.format(body=indent(body, "    ")))
    [loop, _] = [stmt for stmt in walk_stmts(program.body) if isinstance(stmt, ForStmt)]
    # By hand: a sequence, the inner loop with two trips of a statement each, a statement, and the trip itself.
    assert least_per_trip(loop) == 1 + 1 + (1 + 2 * 2) + 1
    exact = 1 + 1 + 1 + 3 * 8 + 1
    assert run(program, {"n": 0, "m": 0}, max_steps=exact + limit).returns == (0,)


@pytest.mark.parametrize("way_out", ["break", "return a"])
def test_a_loop_with_a_way_out_is_begun(way_out: str) -> None:
    body = f"for i in pl.range(9223372036854775807):\n    a = a + i\n    if a > 10:\n        {way_out}"
    program = pl.parse(LONG.format(body=indent(body, "    ")))
    assert run(program, {"n": 0, "m": 0}).returns == (15,)


def test_what_is_skipped_is_not_counted() -> None:
    body = "for i in pl.range(10):\n    if a >= 0:\n        continue\n    a = a + 1\n    a = a + 1"
    program = pl.parse(LONG.format(body=indent(body, "    ")))
    [loop] = [stmt for stmt in walk_stmts(program.body) if isinstance(stmt, ForStmt)]
    assert least_per_trip(loop) == 1
    assert run(program, {"n": 0, "m": 0}).returns == (0,)
