"""Which element types the instructions of the Ascend 950 (A5) take, as its assembler checks them."""

from __future__ import annotations

from pypto_core.ir import DataType

BF16, FP16, FP32 = DataType.BF16, DataType.FP16, DataType.FP32
INT8, INT16, INT32, INT64 = DataType.INT8, DataType.INT16, DataType.INT32, DataType.INT64
UINT8, UINT16, UINT32, UINT64 = DataType.UINT8, DataType.UINT16, DataType.UINT32, DataType.UINT64

_FLOAT = (FP32, FP16)
_INT = (INT32, UINT32, INT16, UINT16)
_BYTE = (INT8, UINT8)
_ARITH = _FLOAT + _INT
_ALL = (*_ARITH, BF16, *_BYTE)

VECTOR_DTYPES: dict[str, tuple[DataType, ...]] = {
    **dict.fromkeys(("add", "minimum", "neg"), _ALL),
    **dict.fromkeys(("sub", "maximum"), _ARITH + _BYTE),
    **dict.fromkeys(("mul", "fmod", "div"), _ARITH),
    **dict.fromkeys(("adds", "subs", "muls", "maximums", "minimums"), _ALL),
    "divs": _ARITH + _BYTE,
    **dict.fromkeys(("abs", "exp", "log", "sqrt", "rsqrt", "recip"), _FLOAT),
    "relu": (FP32, FP16, INT32, UINT32),
    **dict.fromkeys(("and", "or", "shl", "shr", "ands", "ors", "not", "shrs"), _INT + _BYTE),
    "shls": (*_INT, *_BYTE, INT64),
    "concat": (FP32, FP16, BF16, *_INT, *_BYTE),
    **dict.fromkeys(("row_sum", "row_max", "row_min", "row_prod"), _ARITH),
    **dict.fromkeys(("col_sum", "col_max", "col_min"), _ALL),
    "col_prod": (*_ARITH, BF16),
    **dict.fromkeys(("row_expand_add", "row_expand_sub", "row_expand_mul"), _ARITH + _BYTE),
    **dict.fromkeys(("col_expand_mul", "col_expand_sub"), _ARITH + _BYTE),
    "row_expand_div": _FLOAT,
}

MATMUL_DTYPES = (
    (FP32, FP32),
    (FP16, FP32),
    (BF16, FP32),
    (INT8, INT32),
    (DataType.FP8E4M3FN, FP32),
    (DataType.FP8E5M2, FP32),
)

MAT_TO_BIAS = ((INT32, INT32), (FP32, FP32), (FP16, FP32), (BF16, FP32))

ACC_TO_GM = ((FP32, FP32), (FP32, FP16), (FP32, BF16), (INT32, INT32))

MAT_SCRATCH = (FP32, BF16, FP16)

ATOMIC_ADD = (FP32, FP16, INT32, INT16, INT8)

_CAST = (FP32, FP16, BF16, INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64)

CASTS = tuple((src, dst) for src in _CAST for dst in _CAST if src is not dst)
"""Pairs the assembler accepts; a cast to the same type is never one instruction."""
