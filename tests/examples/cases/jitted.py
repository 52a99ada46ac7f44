"""Kernels that are read for their arguments: an entry, a kernel on a core, and one that is inlined."""

from __future__ import annotations

import numpy as np

import pypto_core.language as pl
from pypto_core.ir import Program

M, N, K = 16, 64, 32
HALF = 0.5


@pl.jit.incore
def product(x: pl.Tensor, w: pl.Tensor, out: pl.Out[pl.Tensor]):  # type: ignore[no-untyped-def]
    """The cube core's part."""
    rows, depth = x.shape
    left = pl.load(x, [0, 0], [rows, depth], target_memory=pl.Mem.Mat)
    right = pl.load(w, [0, 0], [depth, w.shape[1]], target_memory=pl.Mem.Mat)
    return pl.store(pl.matmul(left, right), [0, 0], out)


@pl.jit.inline
def squashed(x: pl.Tensor, scale: pl.Scalar[pl.FP32]):  # type: ignore[no-untyped-def]
    """The vector core's part, in the place of its call."""
    with pl.at(level=pl.Level.CORE_GROUP, name_hint="squash"):
        y = pl.recip(pl.add(pl.exp(pl.mul(x, scale)), 1.0))
    return y


@pl.jit
def linear(x: pl.Tensor, w: pl.Tensor, out: pl.Out[pl.Tensor]):  # type: ignore[no-untyped-def]
    """Both, one after the other."""
    made = pl.create_tensor([x.shape[0], w.shape[1]], dtype=pl.FP32)
    made = product(x, w, made)
    shares = squashed(made, -HALF)
    with pl.at(level=pl.Level.CORE_GROUP, name_hint="scale"):
        out[:, :] = pl.mul(shares, 2.0)
    return out


def program() -> Program:
    """The program for arguments of this size."""
    arrays = inputs(np.random.default_rng(0))
    return linear.specialise(*arrays.values(), np.zeros((M, N), np.float32))


def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Two random matrices."""
    return {
        "x": rng.standard_normal((M, K), dtype=np.float32),
        "w": rng.standard_normal((K, N), dtype=np.float32),
    }


def golden(x: np.ndarray, w: np.ndarray) -> dict[str, np.ndarray]:
    """The same with numpy, in double precision."""
    return {"out": 2 / (np.exp(-0.5 * (x.astype(np.float64) @ w.astype(np.float64))) + 1)}


TOLERANCE = 1e-4
