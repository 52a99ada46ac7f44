"""Conversion between number formats under every rounding mode, exact before it rounds.

A value of any format up to 64 bits is split into a whole number of quanta of the target format; that number is
rounded by the mode and scaled back. No step but the rounding loses a bit, so nothing is rounded twice.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, cast

import attrs
import ml_dtypes
import numpy as np

from pypto_core.ir import CastMode, DataType, int_range
from pypto_plugin_simulator.formats import Array, numpy_dtype


def _half_away(x: Array) -> Array:
    whole = np.trunc(x)
    return whole + np.where(np.abs(x - whole) >= 0.5, np.copysign(1.0, x), 0.0)


def _to_odd(x: Array) -> Array:
    whole = np.trunc(x)
    inexact_even = (whole != x) & (np.fmod(whole, 2.0) == 0.0)
    return whole + np.where(inexact_even, np.copysign(1.0, x), 0.0)


ROUNDERS: dict[CastMode, Callable[[Array], Array]] = {
    CastMode.none: np.rint,
    CastMode.rint: np.rint,
    CastMode.round: _half_away,
    CastMode.floor: np.floor,
    CastMode.ceil: np.ceil,
    CastMode.trunc: np.trunc,
    CastMode.odd: _to_odd,
}
"""Mode → float64 array to whole numbers. ``none`` is what casts do that name no mode: to nearest even."""


@attrs.frozen
class _Format:
    precision: int
    min_exponent: int
    largest: float
    has_infinity: bool
    is_signed: bool


@cache
def _format(dtype: DataType) -> _Format:
    kind = numpy_dtype(dtype)
    info = cast(Any, ml_dtypes.finfo(kind))
    infinite = bool(np.isinf(np.float64(np.inf).astype(kind).astype(np.float64)))
    return _Format(
        precision=int(info.nmant) + 1,
        min_exponent=int(info.minexp),
        largest=float(info.max),
        has_infinity=infinite,
        is_signed=dtype is not DataType.FP8E8M0,
    )


@np.errstate(all="ignore")
def convert(data: Array, source: DataType, target: DataType, mode: CastMode = CastMode.rint) -> Array:
    """``data`` of element type ``source`` as ``target``.

    Float to integer: rounded by the mode, then held within the integer's range; NaN becomes 0. Integer to narrower
    integer: wraps. To a float: overflow is infinity where the mode rounds that way (the largest number otherwise, and
    always in formats without infinity). To BOOL: whether it is not zero.
    """
    if target is DataType.BOOL:
        return data.astype(np.float64) != 0 if source.is_float else data.astype(np.int64) != 0
    if source.is_float:
        return to_float_format(data, target, mode) if target.is_float else _to_integer(data, target, mode)
    if not target.is_float:
        return _between_integers(data, source, target)
    if source.bits == 64:
        return _from_wide_integer(data, target, mode)
    return to_float_format(data.astype(np.float64), target, mode)


@np.errstate(all="ignore")
def to_float_format(data: Array, target: DataType, mode: CastMode = CastMode.rint) -> Array:
    """A float array rounded to the format of ``target``."""
    kind = numpy_dtype(target)
    if data.dtype == kind or target is DataType.FP64:
        return data.astype(kind)
    if data.dtype == np.float32 and mode in (CastMode.rint, CastMode.none) and kind.itemsize == 2:
        return data.astype(kind)
    x = data.astype(np.float64)
    form = _format(target)
    _, exponent = np.frexp(x)
    # frexp's mantissa lies in [0.5, 1), so that the leading bit weighs exponent - 1.
    quantum = np.maximum(exponent - 1, form.min_exponent) - (form.precision - 1)
    quantum = np.where(np.isfinite(x), quantum, 0)
    rounded = np.ldexp(ROUNDERS[mode](np.ldexp(x, -quantum)), quantum)
    return _within(np.copysign(rounded, x), x, form, mode).astype(kind)


def _within(rounded: Array, x: Array, form: _Format, mode: CastMode) -> Array:
    away = {
        CastMode.floor: x < 0,
        CastMode.ceil: x > 0,
        CastMode.trunc: np.False_,
        CastMode.odd: np.False_,
    }.get(mode, np.True_)
    limit = np.where(away & form.has_infinity, np.inf, form.largest)
    over = np.isfinite(x) & (np.abs(rounded) > form.largest)
    rounded = np.where(over, np.copysign(limit, x), rounded)
    if not form.has_infinity:
        rounded = np.where(np.isinf(x), np.copysign(form.largest, x), rounded)
    if not form.is_signed:
        rounded = np.where(x < 0, np.nan, rounded)
    # ldexp turns NaN into NaN of either sign; one NaN is enough for comparisons bit by bit.
    return np.where(np.isnan(x), np.nan, rounded)


def _to_integer(data: Array, target: DataType, mode: CastMode) -> Array:
    whole = ROUNDERS[mode](data.astype(np.float64))
    low, high = int_range(target)
    wide = np.uint64 if not target.is_signed else np.int64
    # float(high) may lie one above the range (2**63): such values are set apart before the conversion.
    inside = (whole >= float(low)) & (whole < float(high) + 1.0 if high < 2**53 else whole < float(high))
    out = np.where(inside, whole, 0.0).astype(wide)
    out = np.where(whole > float(high) if high < 2**53 else whole >= float(high), wide(high), out)
    out = np.where(whole < float(low), wide(low), out)
    return out.astype(numpy_dtype(target))


def _between_integers(data: Array, source: DataType, target: DataType) -> Array:
    wide = data.astype(np.uint64) if source is DataType.UINT64 else data.astype(np.int64)
    if target.bits >= 8:
        return wide.astype(numpy_dtype(target))
    low = wide.astype(np.int64) & 0xF
    nibble = np.where(low > 7, low - 16, low) if target.is_signed else low
    return nibble.astype(np.int8).astype(numpy_dtype(target))


def _from_wide_integer(data: Array, target: DataType, mode: CastMode) -> Array:
    """From 64-bit integers, which float64 can't hold: the low bits are rounded away as integers."""
    precision = 53 if target is DataType.FP64 else min(_format(target).precision, 53)
    negative = data < 0
    magnitude = data.astype(np.uint64)
    magnitude = np.where(negative, np.uint64(0) - magnitude, magnitude)
    return to_float_format(_round_magnitude(magnitude, negative, precision, mode), target, mode)


def _bit_length(magnitude: Array) -> Array:
    high = (magnitude >> np.uint64(32)).astype(np.float64)
    low = (magnitude & np.uint64(0xFFFFFFFF)).astype(np.float64)
    return np.where(high > 0, np.frexp(high)[1] + 32, np.frexp(low)[1])


def _round_magnitude(magnitude: Array, negative: Array, precision: int, mode: CastMode) -> Array:
    shift = np.maximum(_bit_length(magnitude) - precision, 0).astype(np.uint64)
    top = magnitude >> shift
    rest = magnitude - (top << shift)
    half = np.uint64(1) << (np.maximum(shift, np.uint64(1)) - np.uint64(1))
    odd = (top & np.uint64(1)) == 1
    inexact = rest > 0
    up: dict[CastMode, Any] = {
        CastMode.round: inexact & (rest >= half),
        CastMode.floor: inexact & negative,
        CastMode.ceil: inexact & ~negative,
        CastMode.trunc: np.zeros_like(inexact),
        CastMode.odd: inexact & ~odd,
    }
    nearest = inexact & ((rest > half) | ((rest == half) & odd))
    out = np.ldexp((top + up.get(mode, nearest).astype(np.uint64)).astype(np.float64), shift.astype(np.int64))
    return np.where(negative, -out, out)
