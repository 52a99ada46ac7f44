"""Products of matrices.

Floats: products and sums in float32, one k after the other, beginning with what the accumulator holds: element (i, j)
is ``(((c + a[i,0]*b[0,j]) + a[i,1]*b[1,j]) + ...)``, each product and each sum rounded. A product cut along K into a
matmul and matmul_acc calls is therefore bit by bit the uncut one. Integers: exact, wrapped to the accumulator.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pypto_core.contract import ArrayValue, ExecContext
from pypto_core.ir import DataType
from pypto_plugin_simulator.formats import Array
from pypto_plugin_simulator.meanings.parts import result_dtype, whole
from pypto_plugin_simulator.rounding import convert

_BLOCK = 1 << 18
"""Accumulator elements that are worked on at a time: what the caches hold."""


def accumulate(a: Array, b: Array, start: Array | None) -> Array:
    """``start + a @ b`` in float32, in the order of k; ``start`` None stands for zero."""
    m, n = a.shape[0], b.shape[1]
    out = np.zeros((m, n), np.float32) if start is None else start.astype(np.float32)
    if not out.size:
        return out
    columns = np.ascontiguousarray(a.astype(np.float32).T)
    rows = np.ascontiguousarray(b.astype(np.float32))
    step = max(1, _BLOCK // n)
    for first in range(0, m, step):
        block = out[first : first + step]
        product = np.empty_like(block)
        for k in range(rows.shape[0]):
            np.multiply(columns[k, first : first + step, None], rows[k], out=product)
            np.add(block, product, out=block)
    return out


def integer_product(a: Array, b: Array) -> Array:
    """``a @ b`` of integers modulo 2**64."""
    wide_a, wide_b = a.astype(np.int64), b.astype(np.int64)
    bound = int(np.abs(wide_a).max(initial=0)) * int(np.abs(wide_b).max(initial=0)) * a.shape[1]
    if 0 <= bound < 1 << 53:  # float64 holds every partial sum, and its product is many times faster
        return (a.astype(np.float64) @ b.astype(np.float64)).astype(np.int64)
    return wide_a @ wide_b


def _product(lhs: Array, rhs: Array, kind: DataType, start: Array | None) -> Array:
    """One 2-D product, as float32 or as int64 modulo 2**64."""
    if kind.is_float:
        return accumulate(lhs, rhs, start)
    out = integer_product(lhs, rhs)
    return out if start is None else out + start.astype(np.int64)


def _batched(lhs: Array, rhs: Array, kind: DataType, start: Array | None) -> Array:
    batch = np.broadcast_shapes(lhs.shape[:-2], rhs.shape[:-2])
    lhs = np.broadcast_to(lhs, (*batch, *lhs.shape[-2:]))
    rhs = np.broadcast_to(rhs, (*batch, *rhs.shape[-2:]))
    out = np.empty((*batch, lhs.shape[-2], rhs.shape[-1]), np.float32 if kind.is_float else np.int64)
    for index in np.ndindex(*batch):
        out[index] = _product(lhs[index], rhs[index], kind, None if start is None else start[index])
    return out


def _operands(ctx: ExecContext, lhs: ArrayValue, rhs: ArrayValue, options: Any) -> tuple[Array, Array]:
    """Valid rows of the left side, valid columns of the right one, over the valid K of the left."""
    a, b = whole(lhs), whole(rhs)
    a_valid, b_valid = lhs.valid, rhs.valid
    if options.get("a_trans"):
        a, a_valid = np.swapaxes(a, -1, -2), (*a_valid[:-2], a_valid[-1], a_valid[-2])
    if options.get("b_trans"):
        b, b_valid = np.swapaxes(b, -1, -2), (*b_valid[:-2], b_valid[-1], b_valid[-2])
    k = a_valid[-1]
    if b_valid[-2] < k:
        raise ctx.error(
            f"{ctx.call.name} reads {k} rows of its right side, of which {b_valid[-2]} hold data",
            remedy="fill the rest of the right side with fillpad",
            left=lhs,
            right=rhs,
        )
    return a[..., : a_valid[-2], :k], b[..., :k, : b_valid[-1]]


def _shape(ctx: ExecContext, lhs: ArrayValue, rhs: ArrayValue, options: Any) -> tuple[int, ...]:
    m = lhs.shape[-1 if options.get("a_trans") else -2]
    n = rhs.shape[-2 if options.get("b_trans") else -1]
    batch = np.broadcast_shapes(lhs.shape[:-2], rhs.shape[:-2])
    return (*(int(b) for b in batch), m, n)


def matmul(ctx: ExecContext, lhs: ArrayValue, rhs: ArrayValue, **options: Any) -> ArrayValue:
    """``lhs @ rhs``, valid where the rows of lhs and the columns of rhs are."""
    a, b = _operands(ctx, lhs, rhs, options)
    return _rounded(ctx, _batched(a, b, lhs.dtype, None), _shape(ctx, lhs, rhs, options))


def _rounded(ctx: ExecContext, product: Array, shape: tuple[int, ...]) -> ArrayValue:
    dtype = result_dtype(ctx)
    source = DataType.FP32 if product.dtype == np.float32 else DataType.INT64
    return ctx.value(convert(product, source, dtype), shape, dtype)


def matmul_bias(
    ctx: ExecContext, lhs: ArrayValue, rhs: ArrayValue, bias: ArrayValue, **options: Any
) -> ArrayValue:
    """``bias + lhs @ rhs``: every row of the accumulator begins with the bias."""
    a, b = _operands(ctx, lhs, rhs, options)
    row = whole(bias)[..., :1, : b.shape[-1]]
    start = np.broadcast_to(row, (*a.shape[:-2], a.shape[-2], b.shape[-1]))
    return _rounded(ctx, _batched(a, b, lhs.dtype, start), _shape(ctx, lhs, rhs, options))


def accumulated(
    ctx: ExecContext, acc: ArrayValue, lhs: ArrayValue, rhs: ArrayValue, init: bool, options: Any
) -> Array:
    """The valid part of ``acc + lhs @ rhs``; of the product alone, where it reaches, when ``init`` is set."""
    a, b = _operands(ctx, lhs, rhs, options)
    m, n = min(a.shape[-2], acc.valid[-2]), min(b.shape[-1], acc.valid[-1])
    out = acc.defined.copy()
    start = None if init else out[..., :m, :n]
    product = _batched(a[..., :m, :], b[..., :n], lhs.dtype, start)
    source = DataType.FP32 if product.dtype == np.float32 else DataType.INT64
    out[..., :m, :n] = convert(product, source, acc.dtype)
    return out


def matmul_acc(
    ctx: ExecContext,
    acc: ArrayValue,
    lhs: ArrayValue,
    rhs: ArrayValue,
    init_cond: bool | None = None,
    **options: Any,
) -> ArrayValue:
    """``acc + lhs @ rhs``, or ``lhs @ rhs`` when ``init_cond`` is true."""
    out = accumulated(ctx, acc, lhs, rhs, bool(init_cond), options)
    return ctx.value(out, acc.shape, acc.dtype)


gemv, gemv_acc, gemv_bias = matmul, matmul_acc, matmul_bias
batch_matmul, batch_matmul_acc = matmul, matmul_acc
