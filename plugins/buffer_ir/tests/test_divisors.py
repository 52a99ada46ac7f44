"""A divisor that is claimed of a number divides it, whatever the variables are."""

from __future__ import annotations

import operator

import pytest
from buffer_parts import source
from hypothesis import given
from hypothesis import strategies as st
from selecting import placed

from pypto_core.ir import (
    Add,
    AssignStmt,
    Call,
    Cast,
    ConstInt,
    DataType,
    FloorDiv,
    FloorMod,
    Max,
    Min,
    Mul,
    Neg,
    Sub,
    divisor,
    divisors_of,
    scalar_type,
    walk_stmts,
)
from pypto_core.testing import build as b

INDEX = scalar_type(DataType.INDEX)
X, Y = b.scalar("x"), b.scalar("y")
MEANING = {
    Add: operator.add, Sub: operator.sub, Mul: operator.mul, Min: min, Max: max,
    FloorDiv: operator.floordiv, FloorMod: operator.mod,
}  # fmt: skip
NUMBERS = st.integers(-64, 64)
LEAVES = st.one_of(st.sampled_from([X, Y]), NUMBERS.map(ConstInt))
EXPRESSIONS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(
            lambda cls, left, right: cls(left, right, INDEX), st.sampled_from(list(MEANING)), inner, inner
        ),
        inner.map(lambda e: Neg(e, INDEX)),
        inner.map(lambda e: Cast(e, scalar_type(DataType.INT64))),
    ),
    max_leaves=8,
)


def value(expr, numbers) -> int:
    if isinstance(expr, ConstInt):
        return expr.value
    if expr in numbers:
        return numbers[expr]
    if isinstance(expr, Neg):
        return -value(expr.operand, numbers)
    if isinstance(expr, Cast):
        return value(expr.operand, numbers)
    return MEANING[type(expr)](value(expr.left, numbers), value(expr.right, numbers))


@given(EXPRESSIONS, st.integers(0, 24), st.integers(0, 24), NUMBERS, NUMBERS)
def test_it_divides(expr, of_x, of_y, m, n):
    numbers = {X: m * of_x, Y: n * of_y}
    try:
        got = value(expr, numbers)
    except ZeroDivisionError:
        return
    by = divisor(expr, {X: of_x, Y: of_y})
    assert got % by == 0 if by else got == 0


@pytest.mark.parametrize(
    ("text", "by"),
    [
        ("n * 8", 8), ("n * 8 + 12", 4), ("n * 24 - n * 16", 8), ("n * 6 * 4", 24), ("(n * 16) // 4", 4), ("n // 4", 1),
        ("(n * 16) % 24", 8), ("n % 8", 1), ("pl.min(n * 16, 24)", 8), ("pl.cast(n * 8, pl.INT64)", 8), ("0", 0),
    ],
)  # fmt: skip
def test_what_is_found(text, by):
    function = placed(source(f"k = {text}\nx = pl.load(a, [k, 0], [8, 64])\npl.store(x, [k, 0], o)"))
    [load] = [s.value for s in walk_stmts(function.body) if isinstance(s, AssignStmt) and _is_load(s.value)]
    assert divisor(load.args[1].elements[0], divisors_of(function)) == by


def test_quotients():
    times = Mul(X, ConstInt(48), INDEX)
    found = [divisor(FloorDiv(times, by, INDEX), {}) for by in (ConstInt(4), ConstInt(5), ConstInt(0), Y)]
    assert found == [12, 1, 1, 1]
    assert divisor(FloorDiv(ConstInt(0), ConstInt(4), INDEX), {}) == 0


def _is_load(value) -> bool:
    return isinstance(value, Call) and value.op.name == "tile.load"


def test_carried_numbers_settle():
    body = """
        p = 0
        q = 16
        for i in pl.range(0, n, 12):
            for j in pl.range(n):
                p = p + q
            q = q + i * 2
        x = pl.load(a, [p, q], [8, 8])
        pl.store(x, [p, q], o)
        """
    found = {var.name_hint.partition("__")[0]: d for var, d in divisors_of(placed(source(body))).items()}
    # i is a multiple of 12, so q of gcd(16, 24) and p of the same.
    assert (found["i"], found["q"], found["p"], found["j"]) == (12, 8, 8, 1)
