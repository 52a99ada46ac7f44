"""Scalar arithmetic: the emitted text is executed and compared with Python."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pypto_core.diagnostics import UserError
from pypto_core.ir import Abs as AbsExpr
from pypto_core.ir import (
    Add,
    BinaryExpr,
    BitAnd,
    BitOr,
    BitXor,
    Cast,
    ConstBool,
    ConstFloat,
    ConstInt,
    DataType,
    Expr,
    FloorDiv,
    FloorMod,
    Function,
    FunctionType,
    Max,
    Min,
    Mul,
    ParamDirection,
    Pow,
    Stmt,
    Sub,
    Var,
    cast,
    const_index,
    eq,
    floordiv,
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
    sub,
)
from pypto_core.run import PassContext
from pypto_core.testing import build as b
from pypto_plugin_pto.checker import check_text
from pypto_plugin_pto.write import function_lines, recipes_of

I32, I64, INDEX, U32 = DataType.INT32, DataType.INT64, DataType.INDEX, DataType.UINT32


def _load_machine() -> ModuleType:
    path = Path(__file__).with_name("arith_machine.py")
    spec = importlib.util.spec_from_file_location("pto_arith_machine", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


machine = _load_machine()


def text_of(params: list[Var], stmts: list[Stmt]) -> str:
    """A kernel with these statements as text; it has to pass the checker."""
    ctx = PassContext()
    function = b.function("k", params, stmts, kind=FunctionType.AIV)
    text = "\n".join(["module {", *function_lines(function, ctx, recipes_of(ctx)), "}"]) + "\n"
    report = check_text(text)
    assert report.ok, (report.errors, text)
    return text


def out_tensor(dtype: DataType) -> Var:
    return b.tensor("out", (64,), I64 if dtype is INDEX else dtype)


def stored(expr: Expr, out: Var, at: Expr | int = 0) -> Stmt:
    """``out[at] = expr``."""
    kind: Any = out.type
    value = cast(expr, kind.dtype)
    return b.do(b.op("tensor.write", out, b.dims(at), value))


def value_of(expr: Expr, params: list[Var], arguments: list[int], dtype: DataType) -> int:
    """What the emitted text of ``expr`` computes."""
    out = out_tensor(dtype)
    text = text_of([out, *params], [stored(expr, out)])
    [(_, value)] = machine.Machine(text, arguments).stored
    return value


EDGES = {
    I32: (-(2**31), -(2**31) + 1, -97, -24, -2, -1, 0, 1, 2, 7, 24, 97, 2**31 - 1),
    I64: (-(2**63), -(2**63) + 1, -97, -24, -2, -1, 0, 1, 2, 7, 24, 97, 2**63 - 1),
}
EDGES[INDEX] = EDGES[I64]


@pytest.mark.parametrize("dtype", [I32, I64, INDEX], ids=str)
@pytest.mark.parametrize("literal", [False, True], ids=["dynamic", "literal"])
def test_floor_division_and_remainder_are_those_of_python(dtype: DataType, literal: bool) -> None:
    x, y, out = b.scalar("x", dtype), b.scalar("y", dtype), out_tensor(dtype)
    least = EDGES[dtype][0]
    for divisor in EDGES[dtype]:
        if divisor == 0:
            continue
        right: Expr = ConstInt(divisor, dtype) if literal else y
        nodes = [make_binary(FloorDiv, x, right), make_binary(FloorMod, x, right)]
        text = text_of([out, x, y], [stored(node, out, i) for i, node in enumerate(nodes)])
        for dividend in EDGES[dtype]:
            if dividend == least and divisor == -1:
                continue
            results = dict(machine.Machine(text, [dividend, divisor]).stored)
            assert results == {0: dividend // divisor, 1: dividend % divisor}, (dividend, divisor)


def test_the_example_of_a_negative_dividend() -> None:
    x = b.scalar("x")
    assert value_of(floormod(x, 24), [x], [-97], INDEX) == 23
    assert value_of(floordiv(x, 24), [x], [-97], INDEX) == -5


def body_lines(text: str) -> list[str]:
    """Operations without constants."""
    lines = [line.strip() for line in text.splitlines()]
    return [x for x in lines if x.startswith("%") and "arith.constant" not in x and "tensor_view" not in x]


def in_loop(start: int, make: Callable[[Var], Expr], stop: int = 6, step: int = 1) -> str:
    """A loop that stores ``make(i)``."""
    out = b.tensor("out", (4096,), I64)

    def body(i: Var) -> list[Stmt]:
        return [stored(make(i), out, i)]

    return text_of([out], [b.loop(stop, body, start=start, step=step)])


# (start, expression, whether the plain instructions suffice): the forms of the proof, and what is close to them.
PROOFS: list[tuple[str, int, Callable[[Any], Expr], bool]] = [
    ("i % 2 from 0", 0, lambda i: floormod(i, 2), True),
    ("i // 2 from 0", 0, lambda i: floordiv(i, 2), True),
    ("i % 2 from 3", 3, lambda i: floormod(i, 2), True),
    ("(i - 3) % 2 from 3", 3, lambda i: floormod(sub(i, 3), 2), True),
    ("(i - 3) // 64 % 2 from 3", 3, lambda i: floormod(floordiv(sub(i, 3), 64), 2), True),
    ("i % 8 % 3 from 0", 0, lambda i: floormod(floormod(i, 8), 3), True),
    ("i % 2 from -4", -4, lambda i: floormod(i, 2), False),
    ("(i - 2) % 2 from 3", 3, lambda i: floormod(sub(i, 2), 2), False),
    ("(i + 1) % 2", 0, lambda i: floormod(b.as_expr(make_binary(Add, i, ConstInt(1))), 2), False),
    ("(i * 2) % 3", 0, lambda i: floormod(mul(i, 2), 3), False),
    ("i % -3", 0, lambda i: floormod(i, -3), False),
    ("i // -3", 0, lambda i: floordiv(i, -3), False),
    ("min(i, 5) % 2", 0, lambda i: floormod(make_binary(Min, i, ConstInt(5)), 2), False),
    ("cast(i, INT32) % 2", 0, lambda i: floormod(cast(i, I32), ConstInt(2, I32)), False),
    ("INT32 remainder over an INDEX variable", 0,
     lambda i: FloorMod(i, ConstInt(2, I32), scalar_type(I32)), False),
    ("INDEX remainder of an INT32 quotient", 0,
     lambda i: FloorMod(FloorDiv(i, ConstInt(3, I32), scalar_type(I32)), ConstInt(2), scalar_type(INDEX)), False),
    ("a divisor out of range", 0, lambda i: FloorMod(cast(i, I32), ConstInt(2**32 + 5, I32), scalar_type(I32)), False),
]  # fmt: skip


@pytest.mark.parametrize(("start", "make", "plain"), [p[1:] for p in PROOFS], ids=[p[0] for p in PROOFS])
def test_plain_instructions_are_written_exactly_where_they_are_proved(
    start: int, make: Callable[[Any], Expr], plain: bool
) -> None:
    text = in_loop(start, make)
    corrected = "arith.select" in text or "arith.floordivsi" in text
    assert corrected is not plain, text
    # Either way the numbers are Python's.
    for place, value in machine.Machine(text, []).stored:
        assert value == evaluate(make(const_var(place)), {}), (place, text)


def const_var(value: int) -> Any:
    """A constant in place of the loop variable."""
    return ConstInt(value)


def evaluate(expr: Expr, env: dict[Var, int]) -> int:
    """Python's value of an expression, wrapped to the type of each node; operands are first brought to it."""
    if isinstance(expr, Var):
        return env[expr]
    if isinstance(expr, ConstInt):
        return wrapped(expr.value, expr.dtype)
    if isinstance(expr, ConstBool):
        return int(expr.value)
    dtype: DataType = expr.type.dtype  # type: ignore[union-attr]
    if isinstance(expr, Cast):
        return wrapped(evaluate(expr.operand, env), dtype)
    if isinstance(expr, BinaryExpr):
        x, y = (wrapped(evaluate(side, env), dtype) for side in (expr.left, expr.right))
        return wrapped(PYTHON[type(expr)](x, y), dtype)
    raise AssertionError(expr)


def wrapped(value: int, dtype: DataType) -> int:
    """The number that the low bits stand for."""
    low, _ = int_range(dtype)
    return (value - low) % (1 << dtype.bits) + low


PYTHON: dict[type, Callable[[int, int], int]] = {
    Add: lambda x, y: x + y,
    Sub: lambda x, y: x - y,
    Mul: lambda x, y: x * y,
    FloorDiv: lambda x, y: x // y,
    FloorMod: lambda x, y: x % y,
    Min: min,
    Max: max,
    BitAnd: lambda x, y: x & y,
    BitOr: lambda x, y: x | y,
    BitXor: lambda x, y: x ^ y,
}
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


@pytest.mark.parametrize(("x", "y"), [(2**32 - 1, 7), (2**31, 3), (5, 2**32 - 1)])
def test_unsigned_division_uses_all_bits(x: int, y: int) -> None:
    u, v, out = b.scalar("u", U32), b.scalar("v", U32), b.tensor("out", (8,), U32)
    nodes = [floordiv(u, v), floormod(u, v), make_binary(Min, u, v), make_binary(Max, u, v)]
    text = text_of([out, u, v], [stored(n, out, i) for i, n in enumerate(nodes)])
    results = {place: value % 2**32 for place, value in machine.Machine(text, [x, y]).stored}
    assert results == {0: x // y, 1: x % y, 2: min(x, y), 3: max(x, y)}


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
