"""Comparisons, and choices by what they gave.

A comparison of tiles gives one bit an element, the first in the lowest bit of the first byte of its row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pypto_core.contract import ArrayValue, ExecContext
from pypto_core.ir import CmpType, DataType
from pypto_plugin_simulator.formats import Array
from pypto_plugin_simulator.meanings.elementwise import Operand, apply, operand_part
from pypto_plugin_simulator.meanings.parts import result_dtype, whole

_COMPARE: dict[CmpType, Callable[[Array, Array], Array]] = {
    CmpType.eq: np.equal,
    CmpType.ne: np.not_equal,
    CmpType.lt: np.less,
    CmpType.le: np.less_equal,
    CmpType.gt: np.greater,
    CmpType.ge: np.greater_equal,
}

_ROW_BYTES = 32
"""Rows of a mask are whole granules of the vector buffer."""


def cmp(ctx: ExecContext, lhs: ArrayValue, rhs: Operand, *, cmp_type: int = 0, **_: Any) -> ArrayValue:
    """The bits of a comparison; those after the last valid column of a row are 0."""
    parts = [operand_part(operand, lhs.shape, lhs.valid, lhs.dtype) for operand in (lhs, rhs)]
    holds = _COMPARE[CmpType(cmp_type)](*parts)
    columns = -(-lhs.shape[-1] // (8 * _ROW_BYTES)) * _ROW_BYTES
    packed = np.packbits(np.broadcast_to(holds, lhs.valid), axis=-1, bitorder="little")
    return ctx.value(packed, (*lhs.shape[:-1], columns), DataType.UINT8)


cmps = cmp


def truth(ctx: ExecContext, lhs: ArrayValue, rhs: Operand, *, cmp_type: int = 0, **_: Any) -> ArrayValue:
    """A comparison of tensors: 1 where it holds, else 0, as an element."""
    compare = _COMPARE[CmpType(cmp_type)]

    def function(a: Array, b: Array) -> Array:
        return compare(a, b).astype(a.dtype)

    return apply(ctx, function, lhs, rhs)


def sel(
    ctx: ExecContext, mask: ArrayValue, lhs: ArrayValue, rhs: ArrayValue, *_: Any, **__: Any
) -> ArrayValue:
    """``lhs`` where the mask's bit is set, ``rhs`` elsewhere."""
    return _select(ctx, mask, lhs, rhs)


def sels(ctx: ExecContext, mask: ArrayValue, src: ArrayValue, tmp: Any, scalar: Any, **_: Any) -> ArrayValue:
    """``src`` where the mask's bit is set, the scalar elsewhere."""
    return _select(ctx, mask, src, scalar)


def _select(ctx: ExecContext, mask: ArrayValue, lhs: ArrayValue, other: Operand) -> ArrayValue:
    dtype = result_dtype(ctx)
    bits = np.unpackbits(np.ascontiguousarray(whole(mask)), axis=-1, bitorder="little")
    chosen = bits[tuple(slice(0, n) for n in lhs.valid)] == 1
    ours, theirs = (operand_part(op, lhs.shape, lhs.valid, dtype) for op in (lhs, other))
    return ctx.value(ctx.convert(np.where(chosen, ours, theirs), dtype), lhs.shape, dtype)
