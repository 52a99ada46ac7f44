"""Simplified scalar expressions have the value of the original for every value of their variables."""

from __future__ import annotations

import itertools
import operator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pypto_core.diagnostics import UserError
from pypto_core.ir import (
    Add,
    And,
    BinaryExpr,
    BitAnd,
    BitOr,
    BitShiftLeft,
    BitShiftRight,
    BitXor,
    Cast,
    ConstBool,
    ConstInt,
    DataType,
    Eq,
    Expr,
    FloorDiv,
    FloorMod,
    Ge,
    Gt,
    Le,
    Lt,
    Max,
    Min,
    Mul,
    Ne,
    Neg,
    Not,
    Or,
    Sub,
    UnaryExpr,
    Var,
    Xor,
    add,
    bounds_of,
    eq,
    floordiv,
    floormod,
    int_range,
    lt,
    make_binary,
    make_unary,
    max_,
    min_,
    mul,
    replace,
    scalar_type,
    sub,
)
from pypto_core.text import print_expr
from pypto_plugin_simulator.scalars import binary, unary
from pypto_plugin_structure.scalar_rules import simplified_binary, simplified_unary

X, Y = (Var(name, scalar_type(DataType.INDEX)) for name in "xy")
RANGES = {X: (0, 6), Y: (-2, 3)}
OPERATORS: dict[type, Any] = {
    Add: lambda a, b: a + b,
    Sub: lambda a, b: a - b,
    Mul: lambda a, b: a * b,
    FloorDiv: lambda a, b: a // b,
    FloorMod: lambda a, b: a % b,
    Min: min,
    Max: max,
    Lt: lambda a, b: a < b,
    Le: lambda a, b: a <= b,
    Gt: lambda a, b: a > b,
    Ge: lambda a, b: a >= b,
    Eq: lambda a, b: a == b,
    Ne: lambda a, b: a != b,
    And: lambda a, b: bool(a) and bool(b),
    Or: lambda a, b: bool(a) or bool(b),
    Xor: lambda a, b: bool(a) != bool(b),
    Neg: lambda a: -a,
    Not: lambda a: not a,
    Cast: lambda a: a,
}
ARITHMETIC = (Add, Sub, Mul, FloorDiv, FloorMod, Min, Max)
COMPARISONS = (Lt, Le, Gt, Ge, Eq, Ne)


def value_of(expr: Expr, values: dict[Var, int]) -> Any:
    """By the definition of each operator; integers wrap into their type."""
    if isinstance(expr, Var):
        return values[expr]
    if isinstance(expr, ConstInt | ConstBool):
        return expr.value
    if isinstance(expr, BinaryExpr):
        found = OPERATORS[type(expr)](value_of(expr.left, values), value_of(expr.right, values))
    else:
        assert isinstance(expr, UnaryExpr)
        found = OPERATORS[type(expr)](value_of(expr.operand, values))
    dtype = expr.type.dtype  # type: ignore[attr-defined]
    if dtype is DataType.BOOL:
        return bool(found)
    low, high = int_range(dtype)
    return (found - low) % (high - low + 1) + low


def simplified(expr: Expr, bounds: Any) -> Expr:
    """Bottom up, as the pass does it."""
    if isinstance(expr, BinaryExpr):
        left, right = simplified(expr.left, bounds), simplified(expr.right, bounds)
        return simplified_binary(type(expr)(left, right, expr.type), bounds)
    if isinstance(expr, UnaryExpr):
        return simplified_unary(type(expr)(simplified(expr.operand, bounds), expr.type))
    return expr


def integers(dtype: DataType, variables: tuple[Var, ...]) -> Any:
    """Integer expressions of one type; what is divided by is a constant of at least 1."""
    atoms = st.sampled_from(variables) | st.builds(ConstInt, st.integers(-4, 9), st.just(dtype))
    divisors = st.builds(ConstInt, st.integers(1, 8), st.just(dtype))

    def grow(inner: Any) -> Any:
        plain = st.builds(make_binary, st.sampled_from((Add, Sub, Mul, Min, Max)), inner, inner)
        divided = st.builds(make_binary, st.sampled_from((FloorDiv, FloorMod)), inner, divisors)
        return plain | divided | st.builds(make_unary, st.just(Neg), inner)

    return st.recursive(atoms, grow, max_leaves=9)


def conditions(numbers: Any) -> Any:
    compared = st.builds(make_binary, st.sampled_from(COMPARISONS), numbers, numbers) | st.builds(
        ConstBool, st.booleans()
    )

    def grow(inner: Any) -> Any:
        return st.builds(make_binary, st.sampled_from((And, Or, Xor)), inner, inner) | st.builds(
            make_unary, st.just(Not), inner
        )

    return st.recursive(compared, grow, max_leaves=5)


WIDE = integers(DataType.INDEX, (X, Y))


@settings(max_examples=600, derandomize=True)
@given(expr=WIDE | conditions(WIDE))
def test_same_value_within_the_ranges(expr: Expr) -> None:
    new = simplified(expr, RANGES)
    assert new.type is expr.type
    for a, b in itertools.product(range(7), range(-2, 4)):
        assert value_of(new, {X: a, Y: b}) == value_of(expr, {X: a, Y: b})


@settings(max_examples=300, derandomize=True)
@given(expr=WIDE | conditions(WIDE))
def test_same_value_without_ranges(expr: Expr) -> None:
    new = simplified(expr, {})
    for a, b in itertools.product((-9, -1, 0, 1, 7, 64), (-5, 0, 2, 33)):
        assert value_of(new, {X: a, Y: b}) == value_of(expr, {X: a, Y: b})


P, Q = (Var(name, scalar_type(DataType.INT8)) for name in "pq")
NARROW = integers(DataType.INT8, (P, Q))


@settings(max_examples=300, derandomize=True)
@given(expr=NARROW | conditions(NARROW))
def test_narrow_integers_wrap(expr: Expr) -> None:
    new = simplified(expr, {})
    for a, b in itertools.product((-128, -127, -3, 0, 1, 64, 127), (-128, -64, -1, 0, 5, 100, 127)):
        assert value_of(new, {P: a, Q: b}) == value_of(expr, {P: a, Q: b})


@settings(max_examples=200, derandomize=True)
@given(expr=WIDE | conditions(WIDE))
def test_simplifying_again_changes_nothing_but_by_getting_shorter(expr: Expr) -> None:
    once = simplified(expr, RANGES)
    for _ in range(12):
        again = simplified(once, RANGES)
        if print_expr(again) == print_expr(once):
            return
        once = again
    raise AssertionError(f"no end: {print_expr(expr)}")


CASES = [
    (add(X, 0), "x"),
    (make_binary(Mul, X, ConstInt(0)), "0"),
    (make_binary(Sub, make_binary(Add, X, Y), X), "y"),
    (make_binary(Add, make_binary(Add, X, ConstInt(1)), ConstInt(2)), "x + 3"),
    (make_binary(Sub, make_binary(Add, X, ConstInt(1)), ConstInt(4)), "x - 3"),
    (make_binary(Mul, make_binary(Mul, X, ConstInt(4)), ConstInt(16)), "x * 64"),
    (floormod(X, 7), "x"),
    (floormod(X, 6), "x % 6"),
    (floordiv(X, 7), "0"),
    (floordiv(Y, 4), "y // 4"),
    (floordiv(add(mul(Y, 16), X), 16), "y"),
    (floormod(add(mul(Y, 16), X), 8), "x"),
    (floordiv(mul(X, 33), 32), "x"),
    (floormod(mul(Y, 33), 32), "y % 32"),
    (min_(X, 6), "x"),
    (max_(X, 6), "6"),
    (min_(add(X, 1), add(X, 3)), "x + 1"),
    (lt(X, 7), "True"),
    (eq(X, 7), "False"),
    (lt(Y, X), "y < x"),
    (lt(sub(X, 8), Y), "x - 8 < y"),
    (make_unary(Not, lt(X, Y)), "x >= y"),
    (make_unary(Not, make_unary(Not, eq(X, Y))), "x == y"),
    (make_binary(And, eq(X, Y), ConstBool(True)), "x == y"),
    (make_binary(Or, eq(X, Y), lt(X, 9)), "True"),
    (make_binary(And, eq(X, Y), eq(X, Y)), "x == y"),
]  # fmt: skip


@pytest.mark.parametrize(("expr", "text"), CASES, ids=[text for _, text in CASES])
def test_what_ranges_and_sums_decide(expr: Expr, text: str) -> None:
    assert print_expr(simplified(expr, RANGES)) == text


def test_products_that_wrap_are_no_multiples() -> None:
    four = ConstInt(4, DataType.INT8)
    product = make_binary(FloorDiv, make_binary(Mul, P, four), four)
    new = simplified(product, {P: (0, 127)})
    assert value_of(new, {P: 100}) == value_of(product, {P: 100}) == -28
    assert value_of(make_binary(Min, product, P), {P: 100}) == -28


@settings(max_examples=200, derandomize=True)
@given(expr=WIDE)
def test_bounds_hold_every_value(expr: Expr) -> None:
    low, high = bounds_of(expr, RANGES)
    values = [value_of(expr, {X: a, Y: b}) for a, b in itertools.product(range(7), range(-2, 4))]
    assert low is None or low <= min(values)
    assert high is None or high >= max(values)


def test_bounds_of_quotients_and_remainders_are_tight() -> None:
    assert bounds_of(floordiv(add(mul(X, 5), 3), 4), RANGES) == (0, 8)
    assert bounds_of(floordiv(Y, 2), RANGES) == (-1, 1)
    assert bounds_of(floormod(X, 7), RANGES) == (0, 6)
    assert bounds_of(floormod(X, 5), RANGES) == (0, 4)
    assert bounds_of(floordiv(X, 3), {X: (4, None)}) == (1, None)


INTEGERS = [dtype for dtype in DataType if dtype.is_int]
SHIFTS = {BitShiftLeft: operator.lshift, BitShiftRight: operator.rshift}
BITS = {BitAnd: operator.and_, BitOr: operator.or_, BitXor: operator.xor}


def edges(dtype: DataType) -> list[int]:
    """Where a type's arithmetic goes wrong, if it does."""
    low, high = int_range(dtype)
    wanted = {
        low,
        low + 1,
        low // 2,
        -2,
        -1,
        0,
        1,
        2,
        3,
        dtype.bits - 1,
        dtype.bits,
        high // 2,
        high - 1,
        high,
    }
    return sorted(value for value in wanted if low <= value <= high)


@pytest.mark.parametrize("dtype", INTEGERS, ids=lambda d: d.text)
@pytest.mark.parametrize("cls", [*ARITHMETIC, *COMPARISONS, *SHIFTS, *BITS], ids=lambda c: c.__name__)
def test_constants_fold_to_what_a_run_computes(cls: Any, dtype: DataType) -> None:
    """Exactly, or not at all: what does not fit the type, divides by zero or shifts too far is left to the run."""
    low, high = int_range(dtype)
    exact = {**OPERATORS, **SHIFTS, **BITS}[cls]
    for a, c in itertools.product(edges(dtype), repeat=2):
        node = make_binary(cls, ConstInt(a, dtype), ConstInt(c, dtype))
        fails = (cls in (FloorDiv, FloorMod) and c == 0) or (cls in SHIFTS and not 0 <= c < dtype.bits)
        value = None if fails else exact(a, c)
        folded = simplified_binary(node, {})
        if fails or not (isinstance(value, bool) or low <= value <= high):
            assert folded is node, (a, c)
        else:
            assert folded is node or (isinstance(folded, ConstInt | ConstBool) and folded.value == value), (
                a,
                c,
            )
            assert folded is not node or cls in SHIFTS, (a, c)
        if fails:
            with pytest.raises(UserError):
                binary(node, a, c)
        elif isinstance(value, bool):
            assert binary(node, a, c) is value, (a, c)
        else:
            assert binary(node, a, c) == (value - low) % (high - low + 1) + low, (a, c)


@pytest.mark.parametrize("source", INTEGERS, ids=lambda d: d.text)
@pytest.mark.parametrize("target", INTEGERS, ids=lambda d: d.text)
def test_casts_of_constants_fold_to_what_a_run_computes(source: DataType, target: DataType) -> None:
    low, high = int_range(target)
    for value in edges(source):
        node = make_unary(Cast, ConstInt(value, source))
        node = replace(node, type=scalar_type(target))
        folded = simplified_unary(node)
        wrapped = (value - low) % (high - low + 1) + low
        assert unary(node, value) == wrapped
        if source is target:
            assert folded is node.operand
        elif wrapped == value:
            assert isinstance(folded, ConstInt) and (folded.value, folded.dtype) == (value, target)
        else:
            assert folded is node


@pytest.mark.parametrize("dtype", INTEGERS, ids=lambda d: d.text)
def test_a_constant_outside_of_its_type_does_not_fold(dtype: DataType) -> None:
    low, high = int_range(dtype)
    for value in (low - 1, high + 1):
        wide, one = ConstInt(value, dtype), ConstInt(1, dtype)
        for cls in (*ARITHMETIC, *COMPARISONS):
            for node in (make_binary(cls, wide, one), make_binary(cls, one, wide)):
                folded = simplified_binary(node, {})
                assert folded is node or folded is wide or (cls is Mul and folded is wide), (cls, value)
