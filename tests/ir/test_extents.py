"""What the extent prover claims, held against trying all values of small variables."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pypto_core.ir import (
    Add,
    Bounds,
    Cast,
    ConstInt,
    DataType,
    Expr,
    FloorDiv,
    FloorMod,
    Max,
    Min,
    Mul,
    Neg,
    Sub,
    Var,
    bounds_of,
    greatest,
    least,
    prove_eq,
    prove_le,
    prove_lt,
    scalar_type,
    term_key,
)

INDEX = scalar_type(DataType.INDEX)
X, Y, Z = (Var(n, INDEX) for n in "xyz")
VARS = (X, Y, Z)
BINARY: dict[type, Callable[[int, int], int]] = {
    Add: lambda a, b: a + b,
    Sub: lambda a, b: a - b,
    Mul: lambda a, b: a * b,
    FloorDiv: lambda a, b: a // b,
    FloorMod: lambda a, b: a % b,
    Min: min,
    Max: max,
}


def value(node: Expr, at: dict[Var, int]) -> int:
    """The value of an expression; ZeroDivisionError where it has none."""
    if isinstance(node, Var):
        return at[node]
    if isinstance(node, ConstInt):
        return node.value
    if isinstance(node, Neg):
        return -value(node.operand, at)
    if isinstance(node, Cast):
        return value(node.operand, at)
    return BINARY[type(node)](value(node.left, at), value(node.right, at))  # type: ignore[attr-defined]


def assignments(ranges: dict[Var, tuple[int, int]]) -> Iterator[dict[Var, int]]:
    names = list(ranges)
    for values in itertools.product(*(range(low, high + 1) for low, high in ranges.values())):
        yield dict(zip(names, values, strict=True))


def facts(ranges: dict[Var, tuple[int, int]], *nodes: Expr) -> list[tuple[int, ...]]:
    """The values of the expressions at every assignment where all have one."""
    found: list[tuple[int, ...]] = []
    for at in assignments(ranges):
        try:
            found.append(tuple(value(n, at) for n in nodes))
        except ZeroDivisionError:
            continue
    return found


RANGES = st.fixed_dictionaries({v: st.tuples(st.integers(-3, 3), st.integers(0, 3)) for v in VARS}).map(
    lambda r: {v: (low, low + more) for v, (low, more) in r.items()}
)


def expressions() -> st.SearchStrategy[Expr]:
    def grow(below: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
        pair = st.tuples(st.sampled_from(list(BINARY)), below, below).map(lambda t: t[0](t[1], t[2], INDEX))
        single = st.tuples(st.sampled_from([Neg, Cast]), below).map(lambda t: t[0](t[1], INDEX))
        scaled = st.tuples(st.sampled_from([Mul, FloorMod, FloorDiv]), below, st.integers(1, 5)).map(
            lambda t: t[0](t[1], ConstInt(t[2]), INDEX)
        )
        return st.one_of(pair, single, scaled)

    leaf = st.one_of(st.sampled_from(VARS), st.integers(-4, 6).map(ConstInt))
    return st.recursive(leaf, grow, max_leaves=6)


PROVERS: list[tuple[Any, Callable[[int, int], bool]]] = [
    (prove_le, lambda a, b: a <= b),
    (prove_lt, lambda a, b: a < b),
    (prove_eq, lambda a, b: a == b),
]


@settings(max_examples=400)
@given(expressions(), expressions(), RANGES, st.sampled_from(PROVERS))
def test_what_is_proved_holds_everywhere(
    a: Expr, b: Expr, ranges: dict[Var, tuple[int, int]], prover: tuple[Any, Callable[[int, int], bool]]
) -> None:
    prove, python = prover
    verdict = prove(a, b, ranges)
    if verdict is None:
        return
    for x, y in facts(ranges, a, b):
        assert python(x, y) is verdict


@settings(max_examples=300)
@given(expressions(), expressions(), RANGES)
def test_claims_about_a_difference_hold_too(a: Expr, d: Expr, ranges: dict[Var, tuple[int, int]]) -> None:
    """Pairs that share a part, where cancelling terms decides."""
    b = Add(a, d, INDEX)
    verdict = prove_le(a, b, ranges)
    if verdict is not None:
        assert all((x <= y) is verdict for x, y in facts(ranges, a, b))


@settings(max_examples=300)
@given(expressions(), RANGES)
def test_bounds_contain_every_value(node: Expr, ranges: dict[Var, tuple[int, int]]) -> None:
    low, high = bounds_of(node, ranges)
    for (found,) in facts(ranges, node):
        assert low is None or low <= found
        assert high is None or found <= high


@settings(max_examples=150)
@given(expressions(), expressions(), RANGES)
def test_least_and_greatest_are_min_and_max(a: Expr, b: Expr, ranges: dict[Var, tuple[int, int]]) -> None:
    small, large = least(a, b, ranges), greatest(a, b, ranges)
    for x, y, low, high in facts(ranges, a, b, small, large):
        assert low == min(x, y)
        assert high == max(x, y)


def c(number: int) -> ConstInt:
    return ConstInt(number)


NONE: Bounds = {}
IN_64: Bounds = {X: (0, 64)}


@pytest.mark.parametrize(
    ("a", "b", "bounds", "answer"),
    [
        (c(3), c(4), NONE, True),
        (c(5), c(4), NONE, False),
        (X, Y, NONE, None),
        (X, Add(X, c(1), INDEX), NONE, True),
        (Add(X, c(1), INDEX), X, NONE, False),
        (Mul(X, c(2), INDEX), Add(X, X, INDEX), NONE, True),
        (Min(X, c(64), INDEX), c(64), NONE, True),
        (c(65), Min(X, c(64), INDEX), NONE, False),
        (X, Max(X, Y, INDEX), NONE, True),
        (Min(X, Y, INDEX), Max(X, Y, INDEX), NONE, True),
        (FloorMod(X, c(8), INDEX), c(7), NONE, True),
        (c(0), FloorMod(X, c(8), INDEX), NONE, True),
        (Mul(FloorMod(X, c(2), INDEX), c(16), INDEX), c(16), NONE, True),
        (X, c(64), IN_64, True),
        (c(65), X, IN_64, False),
        (X, c(63), IN_64, None),
        (Sub(c(64), X, INDEX), c(64), IN_64, True),
        (Max(Sub(X, c(8), INDEX), c(0), INDEX), X, {X: (8, None)}, True),
        (Cast(X, INDEX), c(64), IN_64, True),
    ],
)
def test_relations_that_matter_for_tiles(a: Expr, b: Expr, bounds: Bounds, answer: bool | None) -> None:
    assert prove_le(a, b, bounds) is answer


def test_clamping_a_window_stays_inside() -> None:
    # The valid rows of a window of 64 at x in a source of y rows: min(max(y - x, 0), 64).
    clamped = Min(Max(Sub(Y, X, INDEX), c(0), INDEX), c(64), INDEX)
    assert prove_le(clamped, c(64)) is True
    assert prove_le(c(0), clamped) is True
    assert prove_le(clamped, c(63)) is None


def test_equality_by_sums() -> None:
    a = Add(Mul(X, c(2), INDEX), Y, INDEX)
    b = Sub(Add(Y, Mul(c(3), X, INDEX), INDEX), X, INDEX)
    assert prove_eq(a, b) is True
    assert prove_eq(a, Add(b, c(1), INDEX)) is False
    assert prove_eq(a, X) is None


def test_least_returns_the_expression_itself_when_it_is_proved() -> None:
    small = Min(X, c(8), INDEX)
    assert least(small, c(8)) is small
    assert greatest(X, Add(X, c(1), INDEX)) is not X
    open_pair = least(X, Y)
    assert isinstance(open_pair, Min)
    assert (open_pair.left, open_pair.right) == (X, Y)


def test_keys_of_equal_terms_are_equal() -> None:
    a, b = Min(X, c(8), INDEX), Min(X, c(8), INDEX)
    assert a is not b
    assert term_key(a) == term_key(b)
    assert term_key(a) != term_key(Max(X, c(8), INDEX))


def test_many_nested_choices_end_quickly() -> None:
    node: Expr = X
    for i in range(40):
        node = Min(Max(node, Var(f"a{i}", INDEX), INDEX), Var(f"b{i}", INDEX), INDEX)
    assert prove_le(node, Sub(Y, node, INDEX)) is None
