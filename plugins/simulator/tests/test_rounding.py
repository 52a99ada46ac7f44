"""Conversions against exact arithmetic with fractions, for every format and mode."""

from __future__ import annotations

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pypto_core.ir import CastMode, DataType
from pypto_plugin_simulator.formats import numpy_dtype, scalar_of, wrap
from pypto_plugin_simulator.rounding import convert

MODES = [CastMode.rint, CastMode.round, CastMode.floor, CastMode.ceil, CastMode.trunc, CastMode.odd]

# (significant bits, least normal exponent, largest number): from the formats' definitions.
FORMATS = {
    DataType.FP16: (11, -14, Fraction(65504)),
    DataType.BF16: (8, -126, (2 - Fraction(1, 128)) * Fraction(2) ** 127),
    DataType.FP8E4M3FN: (4, -6, Fraction(448)),
    DataType.FP8E5M2: (3, -14, Fraction(57344)),
    DataType.FP32: (24, -126, (2 - Fraction(1, 2**23)) * Fraction(2) ** 127),
}
INFINITE = (DataType.FP16, DataType.BF16, DataType.FP8E5M2, DataType.FP32)


def whole(x: Fraction, mode: CastMode) -> int:
    """x rounded to a whole number."""
    low = math.floor(x)
    if x == low:
        return low
    toward_zero = low if x > 0 else low + 1
    match mode:
        case CastMode.floor:
            return low
        case CastMode.ceil:
            return low + 1
        case CastMode.trunc:
            return toward_zero
        case CastMode.odd:
            return low if low % 2 else low + 1
        case CastMode.round:
            return (1 if x > 0 else -1) * math.floor(abs(x) + Fraction(1, 2))
        case _:
            return round(x)  # Python rounds ties of a Fraction to even


def expected(x: Fraction, dtype: DataType, mode: CastMode) -> float:
    precision, least, largest = FORMATS[dtype]
    if x == 0:
        return 0.0
    exponent = math.floor(math.log2(abs(x)))
    while abs(x) >= Fraction(2) ** (exponent + 1):
        exponent += 1
    while abs(x) < Fraction(2) ** exponent:
        exponent -= 1
    quantum = Fraction(2) ** (max(exponent, least) - precision + 1)
    result = whole(x / quantum, mode) * quantum
    if abs(result) > largest:
        stays = mode in (CastMode.trunc, CastMode.odd) or mode is (CastMode.floor if x > 0 else CastMode.ceil)
        limit = float(largest) if stays or dtype not in INFINITE else math.inf
        return limit if x > 0 else -limit
    return float(result)


def one(value: float, source: DataType, target: DataType, mode: CastMode) -> float:
    return convert(np.array([value], numpy_dtype(source)), source, target, mode)[0].astype(np.float64).item()


@pytest.mark.parametrize("mode", MODES, ids=lambda m: m.name)
@settings(max_examples=50)
@pytest.mark.parametrize("target", [d for d in FORMATS if d is not DataType.FP32], ids=str)
@given(value=st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_float32_to_narrower_floats(target: DataType, mode: CastMode, value: float) -> None:
    assert one(value, DataType.FP32, target, mode) == expected(Fraction(value), target, mode)


@pytest.mark.parametrize("mode", MODES, ids=lambda m: m.name)
@settings(max_examples=50)
@given(value=st.floats(-1e6, 1e6) | st.floats(allow_nan=False, allow_infinity=False))
def test_float64_is_rounded_once(mode: CastMode, value: float) -> None:
    for target in (DataType.BF16, DataType.FP32):
        assert one(value, DataType.FP64, target, mode) == expected(Fraction(value), target, mode)


def test_a_value_that_two_roundings_get_wrong() -> None:
    # Just above the middle of two bf16 numbers, by less than float32 can see.
    assert one(1 + 2**-8 + 2**-40, DataType.FP64, DataType.BF16, CastMode.rint) == 1 + 2**-7


@pytest.mark.parametrize("mode", MODES, ids=lambda m: m.name)
@settings(max_examples=50)
@given(
    value=st.floats(-300, 300, width=32) | st.sampled_from([0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 126.5, -128.5])
)
def test_float_to_int8_and_uint8(mode: CastMode, value: float) -> None:
    rounded = whole(Fraction(value), mode)
    assert one(value, DataType.FP32, DataType.INT8, mode) == min(max(rounded, -128), 127)
    assert one(value, DataType.FP32, DataType.UINT8, mode) == min(max(rounded, 0), 255)


@pytest.mark.parametrize("mode", MODES, ids=lambda m: m.name)
@settings(max_examples=50)
@given(value=st.floats(allow_nan=False, allow_infinity=False))
def test_float_to_int64_keeps_to_the_range(mode: CastMode, value: float) -> None:
    rounded = min(max(whole(Fraction(value), mode), -(2**63)), 2**63 - 1)
    assert convert(np.array([value]), DataType.FP64, DataType.INT64, mode).item() == rounded


@pytest.mark.parametrize("mode", MODES, ids=lambda m: m.name)
@settings(max_examples=50)
@given(
    value=st.integers(-(2**63), 2**63 - 1)
    | st.integers(0, 62).map(lambda k: 2**k - 1)
    | st.integers(-5000, 5000)
)
def test_integers_to_floats(mode: CastMode, value: int) -> None:
    data = np.array([value], np.int64)
    for target in (DataType.FP32, DataType.FP16, DataType.BF16):
        got = convert(data, DataType.INT64, target, mode)[0].astype(np.float64).item()
        assert got == expected(Fraction(value), target, mode)


@pytest.mark.parametrize("mode", MODES, ids=lambda m: m.name)
@settings(max_examples=50)
@given(value=st.integers(-(2**63), 2**63 - 1))
def test_int64_to_float64(mode: CastMode, value: int) -> None:
    FORMATS[DataType.FP64] = (53, -1022, Fraction(2) ** 1024)
    try:
        assert convert(np.array([value], np.int64), DataType.INT64, DataType.FP64, mode).item() == expected(
            Fraction(value), DataType.FP64, mode
        )
    finally:
        del FORMATS[DataType.FP64]


@given(value=st.integers(0, 2**64 - 1))
def test_uint64_to_float32(value: int) -> None:
    got = convert(np.array([value], np.uint64), DataType.UINT64, DataType.FP32).item()
    assert got == expected(Fraction(value), DataType.FP32, CastMode.rint)


@given(value=st.integers(-(2**31), 2**31 - 1))
def test_narrower_integers_wrap(value: int) -> None:
    data = np.array([value], np.int32)
    for target in (DataType.INT4, DataType.UINT4, DataType.INT8, DataType.UINT16):
        span = 1 << target.bits
        want = value % span
        if target.is_signed and want >= span // 2:
            want -= span
        assert int(convert(data, DataType.INT32, target)[0]) == want == wrap(value, target)


def test_special_values() -> None:
    data = np.array([np.nan, np.inf, -np.inf, -0.0], np.float32)
    assert convert(data, DataType.FP32, DataType.INT32, CastMode.rint).tolist() == [0, 2**31 - 1, -(2**31), 0]
    for mode in MODES:
        half = convert(data, DataType.FP32, DataType.FP16, mode)
        assert np.isnan(half[0]) and half[1] == np.inf and half[2] == -np.inf
        assert half[3] == 0 and np.signbit(half[3])
    eight = convert(data, DataType.FP32, DataType.FP8E4M3FN, CastMode.rint).astype(np.float32)
    assert np.isnan(eight[0]) and eight[1] == 448 and eight[2] == -448  # the format has no infinity


def test_widening_is_exact() -> None:
    every = np.arange(2**16, dtype=np.uint16)
    for kind, dtype in ((ml_dtypes.bfloat16, DataType.BF16), (np.float16, DataType.FP16)):
        narrow = every.view(kind)
        wide = convert(narrow, dtype, DataType.FP32, CastMode.odd)
        back = convert(wide, DataType.FP32, dtype, CastMode.floor)
        finite = ~np.isnan(wide)
        assert np.array_equal(back.view(np.uint16)[finite], every[finite])


def test_scales_are_powers_of_two() -> None:
    data = np.array([1.0, 3.0, 0.3, -1.0], np.float32)
    got = convert(data, DataType.FP32, DataType.FP8E8M0, CastMode.floor).astype(np.float64)
    assert got[:3].tolist() == [1.0, 2.0, 0.25] and np.isnan(got[3])


@pytest.mark.parametrize(
    ("value", "dtype", "want"),
    [
        (2**31, DataType.INT32, -(2**31)),
        (-1, DataType.UINT8, 255),
        (3.99, DataType.INT32, 3),
        (-3.99, DataType.INT8, -3),
        (0.1, DataType.FP32, float(np.float32(0.1))),
        (1e10, DataType.FP16, math.inf),
        (2, DataType.BOOL, True),
        (math.nan, DataType.INT16, 0),
        (1e30, DataType.INT64, 2**63 - 1),
    ],
)
def test_scalars(value: float, dtype: DataType, want: float) -> None:
    assert scalar_of(value, dtype) == want
