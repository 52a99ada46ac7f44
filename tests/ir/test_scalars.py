"""Scalar builders: promotion with explicit casts, and folding held against Python's own arithmetic."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pypto_core.diagnostics import OpTypeError
from pypto_core.ir import (
    Add,
    And,
    BitAnd,
    BitNot,
    Cast,
    ConstBool,
    ConstFloat,
    ConstInt,
    DataType,
    Expr,
    FloatDiv,
    FloorDiv,
    FloorMod,
    Lt,
    Max,
    Mul,
    Neg,
    Not,
    Or,
    Pow,
    TileType,
    Var,
    Xor,
    add,
    and_,
    as_expr,
    cast,
    dtype_of,
    eq,
    floordiv,
    floormod,
    fold_binary,
    ge,
    gt,
    int_range,
    le,
    lt,
    make_binary,
    make_unary,
    max_,
    min_,
    mul,
    ne,
    neg,
    not_,
    or_,
    pow_,
    scalar_type,
    sub,
    truediv,
    xor,
)

INTS = [d for d in DataType if d.is_int]
Builder = Callable[..., Expr]
ARITHMETIC: list[tuple[Builder, Callable[[int, int], int]]] = [
    (add, operator.add), (sub, operator.sub), (mul, operator.mul), (floordiv, operator.floordiv),
    (floormod, operator.mod), (min_, min), (max_, max),
]  # fmt: skip
COMPARE: list[tuple[Builder, Callable[[int, int], bool]]] = [
    (eq, operator.eq), (ne, operator.ne), (lt, operator.lt), (le, operator.le), (gt, operator.gt), (ge, operator.ge),
]  # fmt: skip


def var(name: str, dtype: DataType) -> Var:
    return Var(name, scalar_type(dtype))


@st.composite
def typed_pairs(draw: Any) -> tuple[DataType, int, int]:
    """An integer type and two of its values, edges often."""
    dtype = draw(st.sampled_from(INTS))
    low, high = int_range(dtype)
    edge = st.sampled_from([low, low + 1, -1 if low else 0, 0, 1, 2, high - 1, high])
    value = st.one_of(edge, st.integers(low, high))
    return dtype, draw(value), draw(value)


@given(typed_pairs(), st.sampled_from(ARITHMETIC))
def test_arithmetic_folds_to_what_python_says_when_it_fits(
    pair: tuple[DataType, int, int], operation: tuple[Builder, Callable[[int, int], int]]
) -> None:
    (dtype, a, b), (build, python) = pair, operation
    left = ConstInt(a, dtype)
    result = build(left, ConstInt(b, dtype))
    assert dtype_of(result) is dtype
    if b == 0 and build in (floordiv, floormod):
        assert isinstance(result, FloorDiv | FloorMod)
        return
    want = python(a, b)
    low, high = int_range(dtype)
    if low <= want <= high:
        assert isinstance(result, ConstInt)
        assert result.value == want
    else:
        assert not isinstance(result, ConstInt)


@given(typed_pairs(), st.sampled_from(COMPARE))
def test_comparisons_fold_to_booleans(
    pair: tuple[DataType, int, int], operation: tuple[Builder, Callable[[int, int], bool]]
) -> None:
    (dtype, a, b), (build, python) = pair, operation
    result = build(ConstInt(a, dtype), ConstInt(b, dtype))
    assert isinstance(result, ConstBool)
    assert result.value is python(a, b)


@given(typed_pairs(), st.integers(1, 1 << 70), st.booleans(), st.sampled_from([*ARITHMETIC, *COMPARE]))
def test_a_literal_outside_its_type_is_left_alone(
    pair: tuple[DataType, int, int], beyond: int, above: bool, operation: tuple[Builder, Any]
) -> None:
    dtype, inside, _ = pair
    low, high = int_range(dtype)
    outside = ConstInt(high + beyond if above else low - beyond, dtype)
    build, python = operation
    for left, right in ((outside, ConstInt(inside, dtype)), (ConstInt(inside, dtype), outside)):
        result = build(left, right)
        # x + 0, x * 1 and x * 0 hold whatever x is; nothing else may be computed.
        if isinstance(result, ConstInt):
            assert result is left or result is right
            assert build in (add, sub, mul, floordiv)
            assert result.value == python(left.value, right.value)
        else:
            assert not isinstance(result, ConstBool)


@given(typed_pairs())
def test_negation(pair: tuple[DataType, int, int]) -> None:
    dtype, a, _ = pair
    result = neg(ConstInt(a, dtype))
    low, high = int_range(dtype)
    if dtype.is_signed and low <= -a <= high:
        assert isinstance(result, ConstInt)
        assert result.value == -a
    else:
        assert isinstance(result, Neg)


def test_negating_a_literal_outside_its_type_is_left_alone() -> None:
    # -128 fits INT8, but 128 is not what an INT8 constant of that spelling holds.
    assert isinstance(neg(ConstInt(128, DataType.INT8)), Neg)
    assert isinstance(neg(ConstInt(-128, DataType.INT8)), Neg)


def test_negating_a_float() -> None:
    result = neg(ConstFloat(0.5, DataType.FP16))
    assert isinstance(result, ConstFloat)
    assert (result.value, result.dtype) == (-0.5, DataType.FP16)


@pytest.mark.parametrize(
    ("build", "a", "b", "value"),
    [
        (floordiv, -7, 2, -4), (floormod, -7, 2, 1), (floordiv, 7, -2, -4), (floormod, 7, -2, -1),
        (floordiv, -6, 3, -2), (floormod, -6, 3, 0),
    ],
)  # fmt: skip
def test_division_rounds_down(build: Builder, a: int, b: int, value: int) -> None:
    result = build(ConstInt(a), ConstInt(b))
    assert isinstance(result, ConstInt)
    assert result.value == value


@pytest.mark.parametrize(
    ("left", "right", "result", "cast_side"),
    [
        (DataType.INT32, DataType.INDEX, DataType.INDEX, "left"),
        (DataType.INDEX, DataType.INT32, DataType.INDEX, "right"),
        (DataType.INT8, DataType.INT16, DataType.INT16, "left"),
        (DataType.INT32, DataType.UINT32, DataType.INT32, "right"),
        (DataType.FP16, DataType.BF16, DataType.FP16, "right"),
        (DataType.BF16, DataType.FP16, DataType.BF16, "right"),
        (DataType.FP16, DataType.FP32, DataType.FP32, "left"),
        (DataType.INDEX, DataType.INT64, DataType.INDEX, ""),
        (DataType.INT64, DataType.INDEX, DataType.INT64, ""),
        (DataType.INT32, DataType.INT32, DataType.INT32, ""),
    ],
)
def test_the_wider_type_wins_and_of_equals_the_left(
    left: DataType, right: DataType, result: DataType, cast_side: str
) -> None:
    a, b = var("a", left), var("b", right)
    node = make_binary(Add, a, b)
    assert dtype_of(node) is result
    for side, operand, original in (("left", node.left, a), ("right", node.right, b)):
        if side == cast_side:
            assert isinstance(operand, Cast)
            assert operand.operand is original
            assert dtype_of(operand) is result
        else:
            assert operand is original


def test_a_constant_that_changes_type_is_cast_and_not_rewritten() -> None:
    node = make_binary(Mul, var("n", DataType.INDEX), ConstInt(2, DataType.INT32))
    assert isinstance(node.right, Cast)
    assert isinstance(node.right.operand, ConstInt)
    assert node.right.operand.dtype is DataType.INT32


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (DataType.INDEX, DataType.FP32), (DataType.BF16, DataType.INT8), (DataType.BOOL, DataType.INDEX),
        (DataType.FP32, DataType.BOOL), (DataType.BOOL, DataType.BOOL),
    ],
)  # fmt: skip
def test_categories_don_t_mix(left: DataType, right: DataType) -> None:
    for cls in (Add, Lt, Max):
        with pytest.raises(OpTypeError):
            make_binary(cls, var("a", left), var("b", right))


def test_comparisons_give_booleans_and_division_keeps_its_type() -> None:
    n = var("n", DataType.INDEX)
    assert dtype_of(lt(n, 3)) is DataType.BOOL
    assert dtype_of(truediv(n, n)) is DataType.INDEX
    assert isinstance(truediv(ConstInt(10), ConstInt(4)), FloatDiv)
    assert isinstance(pow_(ConstInt(2), ConstInt(3)), Pow)


def test_logic_takes_anything_scalar_and_gives_booleans() -> None:
    n, p = var("n", DataType.INDEX), var("p", DataType.BOOL)
    for build, cls in ((and_, And), (or_, Or), (xor, Xor)):
        node = build(n, p)
        assert isinstance(node, cls)
        assert dtype_of(node) is DataType.BOOL


@pytest.mark.parametrize("a", [False, True])
@pytest.mark.parametrize("b", [False, True])
def test_logic_on_constants(a: bool, b: bool) -> None:
    for build, python in ((and_, operator.and_), (or_, operator.or_), (xor, operator.xor)):
        result = build(ConstBool(a), ConstBool(b))
        assert isinstance(result, ConstBool)
        assert result.value is python(a, b)


def test_logic_with_one_constant() -> None:
    p, n = var("p", DataType.BOOL), var("n", DataType.INDEX)
    true, false = ConstBool(True), ConstBool(False)
    assert and_(p, true) is p
    assert and_(true, p) is p
    assert and_(p, false) is false
    assert or_(false, p) is p
    assert or_(p, true) is true
    assert isinstance(xor(p, false), Xor)
    # The result is a boolean; an integer operand is not.
    assert isinstance(and_(n, true), And)


def test_not() -> None:
    p, n = var("p", DataType.BOOL), var("n", DataType.INDEX)
    assert not_(not_(p)) is p
    assert isinstance(not_(not_(n)), Not)
    result = not_(ConstBool(True))
    assert isinstance(result, ConstBool)
    assert result.value is False


@pytest.mark.parametrize("build", [add, sub])
def test_adding_zero(build: Builder) -> None:
    n = var("n", DataType.INDEX)
    assert build(n, 0) is n


def test_identities_keep_the_type_of_the_node() -> None:
    n = var("n", DataType.INDEX)
    assert add(0, n) is n
    assert mul(n, 1) is n
    assert mul(1, n) is n
    assert floordiv(n, 1) is n
    assert min_(n, n) is n
    zero = mul(n, 0)
    assert isinstance(zero, ConstInt)
    assert zero.value == 0
    # INT32 + INDEX 0 is an INDEX, so it can't be the INT32 itself.
    assert dtype_of(add(var("i", DataType.INT32), ConstInt(0))) is DataType.INDEX


def test_numbers_take_the_type_of_what_they_meet() -> None:
    i = var("i", DataType.INT32)
    node = add(i, 5)
    assert isinstance(node, Add)
    assert isinstance(node.right, ConstInt)
    assert node.right.dtype is DataType.INT32
    h = mul(0.5, var("h", DataType.FP16))
    assert isinstance(h, Mul)
    assert isinstance(h.left, ConstFloat)
    assert h.left.dtype is DataType.FP16


def test_a_number_that_does_not_fit_stays_an_index() -> None:
    node = add(var("b", DataType.INT8), 300)
    assert isinstance(node, Add)
    assert dtype_of(node) is DataType.INDEX


def test_python_numbers_as_constants() -> None:
    assert isinstance(as_expr(True), ConstBool)
    number, real = as_expr(3), as_expr(2.0)
    assert isinstance(number, ConstInt)
    assert number.dtype is DataType.INDEX
    assert isinstance(real, ConstFloat)
    assert real.dtype is DataType.FP32


def test_bit_operators_need_integers() -> None:
    p, f = var("p", DataType.BOOL), var("f", DataType.FP32)
    with pytest.raises(OpTypeError, match="need integers"):
        make_binary(BitAnd, f, f)
    with pytest.raises(OpTypeError):
        make_unary(BitNot, p)
    with pytest.raises(OpTypeError):
        make_unary(Neg, p)
    assert dtype_of(make_unary(BitNot, var("u", DataType.UINT8))) is DataType.UINT8


def test_tiles_are_no_scalars() -> None:
    with pytest.raises(OpTypeError, match="scalar"):
        add(Var("t", TileType([4, 4], DataType.FP32)), 1)


def test_casts() -> None:
    n = var("n", DataType.INDEX)
    assert cast(n, DataType.INDEX) is n
    folded = cast(ConstInt(100), DataType.INT8)
    assert isinstance(folded, ConstInt)
    assert (folded.value, folded.dtype) == (100, DataType.INT8)
    assert isinstance(cast(ConstInt(300), DataType.INT8), Cast)
    assert isinstance(cast(ConstInt(300, DataType.INT8), DataType.INT32), Cast)
    assert isinstance(cast(ConstInt(1), DataType.FP32), Cast)


def test_making_a_node_never_folds() -> None:
    node = make_binary(Add, ConstInt(1), ConstInt(2))
    assert isinstance(node, Add)
    folded = fold_binary(node)
    assert isinstance(folded, ConstInt)
    assert folded.value == 3
