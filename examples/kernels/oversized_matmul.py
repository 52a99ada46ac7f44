"""Products whose result is larger than the accumulator: tiled by the compiler, each part stored as it is done."""

from __future__ import annotations

import numpy as np

import pypto_core.language as pl

M, N = 256, 256


@pl.program
class OversizedMatmul:
    """K is short in the first product and too long for one pass in the second."""

    @pl.function(type=pl.FunctionType.Orchestration)
    def oversized(
        self,
        a: pl.Tensor[[M, 32], pl.FP32],
        b: pl.Tensor[[32, N], pl.FP32],
        c: pl.Tensor[[M, 128], pl.FP32],
        d: pl.Tensor[[128, N], pl.FP32],
        full_k: pl.Out[pl.Tensor[[M, N], pl.FP32]],
        parts: pl.Out[pl.Tensor[[M, N], pl.FP32]],
    ) -> tuple[pl.Tensor[[M, N], pl.FP32], pl.Tensor[[M, N], pl.FP32]]:
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="matmul_full_k"):
            full_k[:] = pl.matmul(a, b)
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="matmul_split_k"):
            parts[:] = pl.matmul(c, d)
        return full_k, parts


def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Four random matrices."""
    shapes = {"a": (M, 32), "b": (32, N), "c": (M, 128), "d": (128, N)}
    return {name: rng.standard_normal(shape, dtype=np.float32) for name, shape in shapes.items()}


def golden(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> dict[str, np.ndarray]:
    """What numpy says, in double precision."""
    return {
        "full_k": a.astype(np.float64) @ b.astype(np.float64),
        "parts": c.astype(np.float64) @ d.astype(np.float64),
    }


TOLERANCE = 1e-4
