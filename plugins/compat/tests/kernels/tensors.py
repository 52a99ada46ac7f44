# ruff: noqa: I002 - kernel files are written without it
"""Tensor-level kernels: windows read and written by subscripts, products of tensors, helpers that are inlined."""

import pypto.language as pl


@pl.jit.inline
def gelu_like(x: pl.Tensor):
    return pl.mul(x, pl.recip(pl.add(pl.exp(pl.mul(x, -1.702)), 1.0)))


@pl.jit
def halves(a: pl.Tensor, b: pl.Tensor, c: pl.Out[pl.Tensor]):
    with pl.at(level=pl.Level.CORE_GROUP):
        c[0:64, :] = pl.mul(pl.add(a[0:64, :], b[0:64, :]), 2.0)
        c[64:128, :] = gelu_like(b[64:128, :])
    return c


@pl.jit
def blocks(x: pl.Tensor, out: pl.Out[pl.Tensor]):
    rows, cols = x.shape
    for r in pl.range(0, rows, 32):
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.NONE)], name_hint="block"):
            part = x[r : r + 32, :]
            out[r : r + 32, :] = pl.exp(part)
    return out


@pl.jit
def product(a: pl.Tensor, b: pl.Tensor, c: pl.Out[pl.Tensor]):
    with pl.at(level=pl.Level.CORE_GROUP):
        c[:] = pl.matmul(a, b, out_dtype=pl.FP32, b_trans=True)
    return c


@pl.jit
def split_k(a: pl.Tensor, b: pl.Tensor, c: pl.Out[pl.Tensor]):
    with pl.at(level=pl.Level.CORE_GROUP):
        acc = pl.create_tensor([64, 64], dtype=pl.FP32)
        for kb in pl.range(4):
            k = kb * 64
            if kb == 0:
                acc = pl.matmul(a[:, k : k + 64], b[k : k + 64, :], out_dtype=pl.FP32)
            else:
                acc = pl.matmul_acc(acc, a[:, k : k + 64], b[k : k + 64, :])
        c[:] = acc
    return c
