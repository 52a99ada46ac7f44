"""Scalar arithmetic: the emitted text is executed and compared with Python."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scalar_text import (
    I32,
    I64,
    INDEX,
    PYTHON,
    body_lines,
    evaluate,
    machine,
    stored,
    text_of,
    value_of,
    wrapped,
)

from pypto_core.diagnostics import UserError
from pypto_core.ir import Abs as AbsExpr
from pypto_core.ir import (
    Add,
    BinaryExpr,
    Cast,
    ConstFloat,
    ConstInt,
    DataType,
    Expr,
    FloorDiv,
    FloorMod,
    Function,
    FunctionType,
    Mul,
    ParamDirection,
    Pow,
    Stmt,
    Var,
    cast,
    const_index,
    eq,
    floormod,
    int_range,
    lt,
    make_binary,
    make_unary,
    mul,
    neg,
    not_,
    or_,
    replace,
    scalar_type,
)
from pypto_core.run import PassContext
from pypto_core.testing import build as b
from pypto_plugin_pto.write import function_lines, recipes_of

X, Y, Z = b.scalar("x", I32), b.scalar("y", I64), b.scalar("z", INDEX)


def expressions() -> st.SearchStrategy[Expr]:
    """Trees over three variables of different types, with conversions in between."""
    leaves = st.one_of(
        st.sampled_from([X, Y, Z]),
        st.builds(ConstInt, st.integers(-100, 100), st.sampled_from([I32, I64, INDEX])),
    )

    def grow(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
        binary = st.builds(make_binary, st.sampled_from(list(PYTHON)), inner, inner)
        return st.one_of(binary, st.builds(cast, inner, st.sampled_from([I32, I64, INDEX])))

    return st.recursive(leaves, grow, max_leaves=8)


def is_defined(expr: Expr, env: dict[Var, int]) -> bool:
    """Whether no division by zero, and none that overflows, occurs."""
    if isinstance(expr, Cast):
        return is_defined(expr.operand, env)
    if not isinstance(expr, BinaryExpr):
        return True
    if not (is_defined(expr.left, env) and is_defined(expr.right, env)):
        return False
    if not isinstance(expr, FloorDiv | FloorMod):
        return True
    dtype: DataType = expr.type.dtype  # type: ignore[union-attr]
    x, y = (wrapped(evaluate(side, env), dtype) for side in (expr.left, expr.right))
    constant_zero = isinstance(expr.right, ConstInt) and expr.right.value == 0
    return not constant_zero and y != 0 and not (x == int_range(dtype)[0] and y == -1)


@settings(max_examples=150)
@given(
    expressions(),
    st.integers(-(2**31), 2**31 - 1),
    st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(-50, 50)),
    st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(-50, 50)),
)
def test_random_expressions_mean_what_python_says(expr: Expr, x: int, y: int, z: int) -> None:
    env = {X: x, Y: y, Z: z}
    if not is_defined(expr, env):
        return
    dtype: DataType = expr.type.dtype  # type: ignore[union-attr]
    assert value_of(expr, [X, Y, Z], [x, y, z], dtype) == evaluate(expr, env)


@pytest.mark.parametrize("value", [-5, 0, 5])
def test_negation_absolute_value_and_logic(value: int) -> None:
    x = b.scalar("x", I32)
    assert value_of(neg(x), [x], [value], I32) == -value
    assert value_of(make_unary(AbsExpr, x), [x], [value], I32) == abs(value)
    logic = or_(not_(lt(x, 0)), eq(x, -5))
    out = b.tensor("out", (4,), I32)
    text = text_of([out, x], [stored(cast(logic, I32), out)])
    assert machine.Machine(text, [value]).stored == [(0, int(value >= 0 or value == -5))]


def test_floats_add_by_subtracting_the_opposite() -> None:
    x, out = b.scalar("x", DataType.FP32), b.tensor("out", (4,), DataType.FP32)
    text = text_of([out, x], [stored(make_binary(Add, x, ConstFloat(2.0)), out)])
    lines = body_lines(text)
    assert lines == ["%0 = arith.negf %cst : f32", "%1 = arith.subf %arg1, %0 : f32"]
    assert "arith.addf" not in text


@pytest.mark.parametrize(
    ("value", "dtype", "text"),
    [
        (float("inf"), DataType.FP32, "0x7F800000 : f32"),
        (float("-inf"), DataType.FP16, "0xFC00 : f16"),
        (float("inf"), DataType.BF16, "0x7F80 : bf16"),
        (0.1, DataType.FP32, "1.00000000000000006e-01 : f32"),
        (-2.0, DataType.FP16, "-2.00000000000000000e+00 : f16"),
    ],
)
def test_float_constants(value: float, dtype: DataType, text: str) -> None:
    out = b.tensor("out", (4,), dtype)
    assert f"arith.constant {text}" in text_of([out], [stored(ConstFloat(value, dtype), out)])


def test_constants_are_written_once_and_named_by_value_and_type() -> None:
    x, y, out = b.scalar("x", I32), b.scalar("y", I64), b.tensor("out", (8,), I64)
    exprs = [
        mul(x, -1),
        mul(x, -1),
        make_binary(Mul, y, ConstInt(-1, I64)),
        make_binary(Mul, y, ConstInt(7, I64)),
    ]
    text = text_of([out, x, y], [stored(e, out, i) for i, e in enumerate(exprs)])
    constants = [line.strip() for line in text.splitlines() if "arith.constant" in line]
    assert "%cn1_i32 = arith.constant -1 : i32" in constants
    assert "%cn1_i64 = arith.constant -1 : i64" in constants
    assert "%c7_i64 = arith.constant 7 : i64" in constants
    assert len(constants) == len(set(constants))


def test_a_variable_named_like_a_constant_does_not_clash() -> None:
    x, out = b.scalar("c7_i64", I64), b.tensor("out", (8,), I64)
    first = b.let("c7_i64", make_binary(Mul, x, x))
    text = text_of([out, x], [first, stored(make_binary(Add, first.var, ConstInt(7, I64)), out)])
    assert machine.Machine(text, [3]).stored == [(0, 16)]


def test_loop_variables_of_narrow_types_are_converted() -> None:
    out = b.tensor("out", (64,), I32)
    i = Var("i", scalar_type(I32))
    body = stored(make_binary(Mul, i, ConstInt(3, I32)), out, Cast(i, scalar_type(INDEX)))
    loop = b.loop(5, lambda _: [body])
    narrow = replace(loop, loop_var=i)
    text = text_of([out], [narrow])
    assert machine.Machine(text, []).stored == [(n, 3 * n) for n in range(5)]


REFUSED: list[tuple[Callable[[Var], Expr], str]] = [
    (lambda x: make_binary(Pow, x, ConstInt(2)), "a scalar Pow"),
    (lambda x: FloorDiv(x, ConstInt(0), scalar_type(INDEX)), "division by zero"),
    (lambda x: FloorMod(x, ConstInt(0), scalar_type(INDEX)), "division by zero"),
    (lambda x: b.scalar("stray"), "'stray' has no value"),
]


@pytest.mark.parametrize(("make", "message"), REFUSED, ids=[r[1] for r in REFUSED])
def test_what_has_no_instruction_is_refused(make: Callable[[Var], Expr], message: str) -> None:
    x, out = b.scalar("x"), b.tensor("out", (4,), I64)
    with pytest.raises(UserError, match=message):
        text_of([out, x], [stored(make(x), out)])


@pytest.mark.parametrize("step", [0, -1])
def test_loops_count_upwards(step: int) -> None:
    out = b.tensor("out", (4,), I64)
    with pytest.raises(UserError) as error:
        text_of([out], [b.loop(4, lambda i: [stored(i, out)], step=step)])
    assert error.value.diagnostics[0].code == "PTO-016"


def test_carried_numbers_and_branches() -> None:
    n, out = b.scalar("n"), b.tensor("out", (64,), I64)

    def body(i: Var, total: Var) -> list[Stmt]:
        more = b.let("more", make_binary(Add, total, i))
        odd = b.branch(eq(floormod(i, 2), 1), [stored(more.var, out, i)], [stored(neg(more.var), out, i)])
        return [more, odd, b.give(more.var)]

    loop = b.loop(n, body, carries={"total": const_index(0)})
    text = text_of([out, n], [loop, stored(loop.return_vars[0], out, 60)])
    expected, total = [], 0
    for i in range(7):
        total += i
        expected.append((i, total if i % 2 else -total))
    assert machine.Machine(text, [7]).stored == [*expected, (60, total)]


def test_functions_may_not_return_numbers() -> None:
    x = b.scalar("x")
    with pytest.raises(UserError) as error:
        text_of([x], [b.ret(x)])
    assert error.value.diagnostics[0].code == "PTO-014"


def test_tiles_are_no_parameters() -> None:
    function = Function("k", (b.tile("t", (8, 8)),), (), b.give(), (ParamDirection.In,), FunctionType.AIV)
    ctx = PassContext()
    with pytest.raises(UserError, match="neither tensor nor scalar"):
        function_lines(function, ctx, recipes_of(ctx))
