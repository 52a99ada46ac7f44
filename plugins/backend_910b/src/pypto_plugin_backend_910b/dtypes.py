"""Which element types the instructions of the Ascend 910B take, as its assembler checks them."""

from __future__ import annotations

from pypto_core.ir import DataType

BF16, FP16, FP32 = DataType.BF16, DataType.FP16, DataType.FP32
INT8, INT16, INT32, INT64 = DataType.INT8, DataType.INT16, DataType.INT32, DataType.INT64
UINT8, UINT16, UINT32, UINT64 = DataType.UINT8, DataType.UINT16, DataType.UINT32, DataType.UINT64

_FLOAT = (FP32, FP16)
_INT = (INT32, UINT32, INT16, UINT16)
_ARITH = _FLOAT + _INT

VECTOR_DTYPES: dict[str, tuple[DataType, ...]] = {
    **dict.fromkeys(("add", "sub", "mul", "maximum", "minimum", "fmod", "neg"), _ARITH),
    **dict.fromkeys(("adds", "subs", "muls", "divs", "maximums", "minimums"), _ARITH),
    **dict.fromkeys(("abs", "exp", "log", "sqrt", "rsqrt", "recip", "div"), _FLOAT),
    "relu": (FP32, FP16, INT32, UINT32),
    **dict.fromkeys(("and", "or", "shl", "shr"), (*_INT, INT8, UINT8)),
    **dict.fromkeys(("ands", "ors"), (INT16, UINT16, INT8, UINT8)),
    "shls": (*_INT, INT8, UINT8, INT64),
    "shrs": _INT,
    "not": (INT16, UINT16),
    "concat": (FP32, FP16, BF16, *_INT, INT8, UINT8),
    **dict.fromkeys(("row_sum", "row_max", "row_min", "row_prod"), _ARITH),
    **dict.fromkeys(("col_sum", "col_max", "col_min", "col_prod"), _ARITH),
    **dict.fromkeys(("row_expand_add", "row_expand_sub", "row_expand_mul"), _ARITH),
    **dict.fromkeys(("col_expand_mul", "col_expand_sub"), _ARITH),
    "row_expand_div": _FLOAT,
}

MATMUL_DTYPES = ((FP32, FP32), (FP16, FP32), (BF16, FP32), (INT8, INT32))

MAT_TO_BIAS = ((INT32, INT32), (FP32, FP32), (FP16, FP32))

ACC_TO_GM = ((FP32, FP32), (FP32, FP16), (FP32, BF16), (INT32, INT32))

MAT_SCRATCH = (BF16, FP16)

ATOMIC_ADD = (FP32, BF16, FP16, INT32, INT16, INT8)

_CAST = (FP32, FP16, BF16, INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64)

CASTS = tuple((src, dst) for src in _CAST for dst in _CAST if src is not dst)
"""Pairs the assembler accepts; a cast to the same type is never one instruction."""
