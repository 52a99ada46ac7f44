"""Elementwise operators against numpy, for every element type and valid shape."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pypto_core.ir import CastMode, ConstFloat, ConstInt, DataType
from pypto_core.testing import random_array, same_elements
from pypto_plugin_simulator.formats import numpy_dtype, poison

FLOATS = [DataType.FP32, DataType.FP16, DataType.BF16]
INTS = [DataType.INT32, DataType.INT16, DataType.INT8, DataType.UINT8, DataType.INT64, DataType.UINT32]

NUMPY: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
}

shapes = st.tuples(st.integers(1, 5), st.integers(1, 9))


@st.composite
def blocks(draw: st.DrawFn) -> tuple[tuple[int, int], tuple[int, int], int]:
    shape = draw(shapes)
    valid = (draw(st.integers(1, shape[0])), draw(st.integers(1, shape[1])))
    return shape, valid, draw(st.integers(0, 2**16))


def rounded(x: Any, dtype: DataType) -> Any:
    """float32 results in the format of dtype; integers modulo their width by way of Python's integers."""
    if dtype.is_float:
        return np.asarray(x, np.float32).astype(numpy_dtype(dtype))
    span, low = 1 << dtype.bits, -(1 << dtype.bits - 1) if dtype.is_signed else 0
    return np.array([(int(v) - low) % span + low for v in np.ravel(x)], numpy_dtype(dtype)).reshape(
        np.shape(x)
    )


def wide(x: Any, dtype: DataType) -> Any:
    return x.astype(np.float32) if dtype.is_float else x.astype(object)


def check(result: Any, part: Any, dtype: DataType) -> None:
    """The valid part is ``part`` bit by bit, everything else is undefined."""
    assert result.dtype == numpy_dtype(dtype)
    corner = tuple(slice(0, n) for n in part.shape)
    assert same_elements(result[corner], part).all(), (result[corner], part)
    outside = np.ones(result.shape, bool)
    outside[corner] = False
    filler = np.full(result.shape, poison(dtype))
    assert same_elements(result[outside], filler[outside]).all()


@pytest.mark.parametrize("dtype", [*FLOATS, *INTS], ids=str)
@pytest.mark.parametrize("name", NUMPY)
@settings(max_examples=10)
@given(block=blocks())
def test_binary(run_op: Any, given_array: Any, name: str, dtype: DataType, block: Any) -> None:
    shape, valid, seed = block
    rng = np.random.default_rng(seed)
    lhs, rhs = (given_array(random_array(rng, dtype, shape), dtype, valid) for _ in range(2))
    want = rounded(NUMPY[name](wide(lhs.part, dtype), wide(rhs.part, dtype)), dtype)
    check(run_op(f"tile.{name}", lhs, rhs), want, dtype)
    full = [given_array(o.array, dtype) for o in (lhs, rhs)]
    both = rounded(NUMPY[name](*(wide(o.array, dtype) for o in full)), dtype)
    check(run_op(f"tensor.{name}", *full), both, dtype)


@pytest.mark.parametrize("dtype", [DataType.FP32, DataType.FP16, DataType.INT32, DataType.INT16], ids=str)
@settings(max_examples=15)
@given(block=blocks())
def test_quotients(run_op: Any, given_array: Any, dtype: DataType, block: Any) -> None:
    shape, valid, seed = block
    rng = np.random.default_rng(seed)
    top = random_array(rng, dtype, shape)
    below = random_array(rng, dtype, shape)
    if dtype.is_int:
        below[below == 0] = 7
    lhs, rhs = given_array(top, dtype, valid), given_array(below, dtype, valid)
    if dtype.is_float:
        want = rounded(wide(lhs.part, dtype) / wide(rhs.part, dtype), dtype)
    else:
        pairs = zip(lhs.part.ravel().tolist(), rhs.part.ravel().tolist(), strict=True)
        want = np.array([math.trunc(a / b) for a, b in pairs], numpy_dtype(dtype)).reshape(valid)
    check(run_op("tile.div", lhs, rhs), want, dtype)


UNARY: dict[str, Callable[[Any], Any]] = {
    "exp": lambda x: np.exp(x.astype(np.float64)),
    "log": lambda x: np.log(x.astype(np.float64)),
    "sqrt": np.sqrt,
    "neg": np.negative,
    "abs": np.abs,
    "relu": lambda x: np.where(x > 0, x, np.float32(0)),
    "recip": lambda x: np.float32(1) / x,
}


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", UNARY)
@settings(max_examples=10)
@given(block=blocks())
def test_unary(run_op: Any, given_array: Any, name: str, dtype: DataType, block: Any) -> None:
    shape, valid, seed = block
    x = given_array(random_array(np.random.default_rng(seed), dtype, shape), dtype, valid)
    with np.errstate(all="ignore"):
        want = rounded(UNARY[name](x.part.astype(np.float32)), dtype)
    check(run_op(f"tile.{name}", x), want, dtype)


@pytest.mark.parametrize("name", ["rsqrt", "sin", "cos"])
def test_functions_of_float32(run_op: Any, given_array: Any, name: str) -> None:
    x = np.abs(random_array(np.random.default_rng(1), DataType.FP32, (4, 9)))
    function = {"rsqrt": lambda v: 1 / math.sqrt(v), "sin": math.sin, "cos": math.cos}[name]
    want = np.array([function(v) for v in x.ravel().tolist()], np.float32).reshape(x.shape)
    check(run_op(f"tile.{name}", given_array(x, DataType.FP32)), want, DataType.FP32)


@pytest.mark.parametrize("dtype", [DataType.FP32, DataType.BF16], ids=str)
@settings(max_examples=20)
@given(block=blocks(), scalar=st.floats(-4, 4))
def test_scalar_forms_take_the_tiles_type(
    run_op: Any, given_array: Any, dtype: DataType, block: Any, scalar: float
) -> None:
    shape, valid, seed = block
    x = given_array(random_array(np.random.default_rng(seed), dtype, shape), dtype, valid)
    number = np.float32(scalar).astype(numpy_dtype(dtype)).astype(np.float32)
    wanted = {
        "adds": np.add,
        "subs": np.subtract,
        "muls": np.multiply,
        "maximums": np.maximum,
        "minimums": np.minimum,
    }
    for name, function in wanted.items():
        want = rounded(function(x.part.astype(np.float32), number), dtype)
        check(run_op(f"tile.{name}", x, ConstFloat(scalar, dtype)), want, dtype)
    values = x.part.astype(np.float32)
    leaky = rounded(np.where(values > 0, values, values * number), dtype)
    check(run_op("tile.lrelu", x, ConstFloat(scalar, dtype)), leaky, dtype)


@pytest.mark.parametrize("dtype", [DataType.INT32, DataType.UINT16, DataType.INT8], ids=str)
@settings(max_examples=15)
@given(seed=st.integers(0, 2**16), shift=st.integers(0, 7))
def test_bits(run_op: Any, given_array: Any, dtype: DataType, seed: int, shift: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = random_array(rng, dtype, (3, 5)), random_array(rng, dtype, (3, 5))
    x, y = given_array(a, dtype), given_array(b, dtype)
    plain = (a.astype(object), b.astype(object))
    check(run_op("tile.and", x, y), rounded(plain[0] & plain[1], dtype), dtype)
    check(run_op("tile.or", x, y), rounded(plain[0] | plain[1], dtype), dtype)
    check(run_op("tile.xor", x, y, x), rounded(plain[0] ^ plain[1], dtype), dtype)
    check(run_op("tile.not", x), rounded(~plain[0], dtype), dtype)
    check(run_op("tile.shls", x, ConstInt(shift, dtype)), rounded(plain[0] << shift, dtype), dtype)
    check(run_op("tile.shrs", x, ConstInt(shift, dtype)), rounded(plain[0] >> shift, dtype), dtype)
    check(run_op("tile.ands", x, ConstInt(5, dtype)), rounded(plain[0] & 5, dtype), dtype)


def test_remainders(run_op: Any, given_array: Any) -> None:
    a, b = np.array([[7, -7, 7, -7]], np.int32), np.array([[3, 3, -3, -3]], np.int32)
    x, y = given_array(a, DataType.INT32), given_array(b, DataType.INT32)
    assert run_op("tile.rem", x, y, x).tolist() == [[1, 2, -2, -1]]  # the divisor's sign
    assert run_op("tile.fmod", x, y).tolist() == [[1, -1, 1, -1]]  # the dividend's


def test_broadcast(run_op: Any, given_array: Any) -> None:
    row, block = np.arange(4, dtype=np.float32)[None], np.ones((3, 4), np.float32)
    x, y = given_array(row, DataType.FP32), given_array(block, DataType.FP32)
    assert np.array_equal(run_op("tile.add", y, x), block + row)
    # With the row on the left, only one row of the result is known to hold data.
    check(run_op("tile.add", x, y), row + 1, DataType.FP32)


def test_undefined_operands_show(run_op: Any, given_array: Any) -> None:
    full = given_array(np.ones((2, 4), np.float32), DataType.FP32)
    part = given_array(np.ones((2, 4), np.float32), DataType.FP32, (2, 3))
    result = run_op("tile.add", full, part)
    assert (result[:, :3] == 2).all() and np.isnan(result[:, 3]).all()


@pytest.mark.parametrize("source", [DataType.FP32, DataType.BF16, DataType.INT32, DataType.INT8], ids=str)
@pytest.mark.parametrize("target", [DataType.FP16, DataType.INT16, DataType.FP32, DataType.UINT8], ids=str)
def test_cast(run_op: Any, given_array: Any, source: DataType, target: DataType) -> None:
    if source is target:
        return
    x = random_array(np.random.default_rng(3), source, (3, 7))
    result = run_op("tile.cast", given_array(x, source, (2, 7)), target_type=target, mode=CastMode.rint)
    part = x[:2]
    if source.is_float and target.is_int:
        low, high = (0, 255) if target is DataType.UINT8 else (-(2**15), 2**15 - 1)
        want = np.clip(np.rint(part.astype(np.float64)), low, high).astype(numpy_dtype(target))
    elif target.is_int:
        want = rounded(part.astype(object), target)
    else:
        want = part.astype(np.float32).astype(numpy_dtype(target))
    check(result, want, target)


@settings(max_examples=20)
@given(block=blocks(), code=st.integers(0, 5))
def test_masks(run_op: Any, given_array: Any, block: Any, code: int) -> None:
    shape, valid, seed = block
    rng = np.random.default_rng(seed)
    a, b = (rng.integers(0, 3, shape).astype(np.int32) for _ in range(2))
    x, y = given_array(a, DataType.INT32, valid), given_array(b, DataType.INT32, valid)
    function = [np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal][code]
    mask = run_op("tile.cmp", x, y, cmp_type=code)
    bits = np.unpackbits(mask[: valid[0]], axis=1, bitorder="little")[:, : valid[1]]
    assert mask.shape == (shape[0], 32)
    assert np.array_equal(bits == 1, function(x.part, y.part))
    m = given_array(mask, DataType.UINT8)
    chosen = run_op("tile.sel", m, x, y, x)
    check(chosen, np.where(function(x.part, y.part), x.part, y.part), DataType.INT32)
    check(
        run_op("tile.sels", m, x, x, ConstInt(9, DataType.INT32)),
        np.where(function(x.part, y.part), x.part, 9).astype(np.int32),
        DataType.INT32,
    )
    assert np.array_equal(
        run_op("tensor.cmp", given_array(a, DataType.INT32), given_array(b, DataType.INT32), cmp_type=code),
        function(a, b),
    )


def test_bfloat16_is_rounded_once_an_operator(run_op: Any, given_array: Any) -> None:
    # 1 + 2**-8 is a tie in bf16 and goes to the even 1; in float32 nothing would be lost.
    one, tiny = (np.full((1, 1), v, ml_dtypes.bfloat16) for v in (1.0, 2**-8))
    result = run_op("tile.add", given_array(one, DataType.BF16), given_array(tiny, DataType.BF16))
    assert float(result[0, 0]) == 1.0
