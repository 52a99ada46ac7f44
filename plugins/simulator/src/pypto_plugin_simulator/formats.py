"""Number formats: which numpy type holds an element type, what undefined elements look like, where values wrap."""

from __future__ import annotations

from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from pypto_core.diagnostics import UserError
from pypto_core.ir import DataType, int_range

Array = npt.NDArray[Any]

_NUMPY: dict[DataType, Any] = {
    DataType.BOOL: np.bool_,
    DataType.INT4: ml_dtypes.int4,
    DataType.INT8: np.int8,
    DataType.INT16: np.int16,
    DataType.INT32: np.int32,
    DataType.INT64: np.int64,
    DataType.INDEX: np.int64,
    DataType.UINT4: ml_dtypes.uint4,
    DataType.UINT8: np.uint8,
    DataType.UINT16: np.uint16,
    DataType.UINT32: np.uint32,
    DataType.UINT64: np.uint64,
    DataType.FP4: ml_dtypes.float4_e2m1fn,
    DataType.FP8E4M3FN: ml_dtypes.float8_e4m3fn,
    DataType.FP8E5M2: ml_dtypes.float8_e5m2,
    DataType.FP8E8M0: ml_dtypes.float8_e8m0fnu,
    DataType.FP16: np.float16,
    DataType.BF16: ml_dtypes.bfloat16,
    DataType.FP32: np.float32,
    DataType.FP64: np.float64,
}


@cache
def numpy_dtype(dtype: DataType) -> np.dtype[Any]:
    """The numpy type that holds ``dtype``, one element an item (four-bit types are not packed).

    Raises UserError for HF4 and HF8, whose numbers no library of ours knows, and for TASK_ID.
    """
    found = _NUMPY.get(dtype)
    if found is None:
        raise UserError(
            f"the simulator has no number format for {dtype}",
            code="SIM-000",
            facts={"formats": ", ".join(d.text for d in _NUMPY)},
        )
    return np.dtype(found)


@cache
def compute_dtype(dtype: DataType) -> np.dtype[Any]:
    """The type that elementwise work on ``dtype`` is done in: float32 for narrower floats, int32 for 4-bit ints."""
    if dtype.is_float and dtype.bits < 32:
        return np.dtype(np.float32)
    if dtype.is_int and dtype.bits < 8:
        return np.dtype(np.int32)
    return numpy_dtype(dtype)


@cache
def poison(dtype: DataType) -> Any:
    """What stands where nothing was written: NaN; 0xA5... in integers, whose every pattern is a number."""
    kind = numpy_dtype(dtype)
    if dtype is DataType.BOOL:
        return np.True_
    if dtype is DataType.FP4:  # has no NaN
        return np.float64(-6.0).astype(kind)
    if dtype.is_float:
        return np.float64(np.nan).astype(kind)
    pattern = int.from_bytes(b"\xa5" * 8, "little") & ((1 << dtype.bits) - 1)
    return np.int64(wrap(pattern, dtype)).astype(kind) if dtype.is_signed else np.uint64(pattern).astype(kind)


def poisoned(shape: tuple[int, ...], dtype: DataType) -> Array:
    """A new array of undefined elements."""
    return np.full(shape, poison(dtype), dtype=numpy_dtype(dtype))


def from_nibbles(nibbles: Array, dtype: DataType) -> Array:
    """The elements of a four-bit type whose patterns are in the low halves of bytes."""
    kind = numpy_dtype(dtype)
    if dtype.is_float:
        return nibbles.view(kind)
    signed = np.where(nibbles > 7, nibbles.astype(np.int16) - 16, nibbles) if dtype.is_signed else nibbles
    return signed.astype(np.int8).astype(kind)


def wrap(value: int, dtype: DataType) -> int:
    """``value`` modulo the range of an integer type, as its registers would hold it."""
    low, high = int_range(dtype)
    if low <= value <= high:
        return value
    return (value - low) % (1 << dtype.bits) + low


def scalar_of(value: Any, dtype: DataType) -> Any:
    """A number as ``dtype`` holds it: a Python int, float or bool.

    Integers wrap, floats are rounded to nearest even, a float becomes an integer by truncation within its range.
    """
    if dtype is DataType.BOOL:
        return bool(value)
    if not dtype.is_float:
        return wrap(int(value), dtype) if isinstance(value, int) else _truncated(float(value), dtype)
    if dtype is DataType.FP64:
        return float(value)
    from pypto_plugin_simulator.rounding import to_float_format

    return float(to_float_format(np.asarray(value), dtype))


def _truncated(value: float, dtype: DataType) -> int:
    low, high = int_range(dtype)
    if value != value:
        return 0
    if value in (float("inf"), float("-inf")):
        return high if value > 0 else low
    return min(max(int(value), low), high)
