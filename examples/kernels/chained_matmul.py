"""Two products in a row: the first result is narrowed on its way out of the accumulator and stays on chip."""

from __future__ import annotations

import numpy as np

import pypto_core.language as pl

M, K, H, N = 128, 192, 128, 64


@pl.program
class ChainedMatmul:
    """One kernel on the cube core; the intermediate matrix never leaves it."""

    @pl.function(type=pl.FunctionType.Orchestration)
    def chained(
        self,
        a: pl.Tensor[[M, K], pl.BF16],
        b: pl.Tensor[[K, H], pl.BF16],
        c: pl.Tensor[[H, N], pl.BF16],
        out: pl.Out[pl.Tensor[[M, N], pl.FP32]],
    ) -> pl.Tensor[[M, N], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="matmul_chain"):
            hidden = pl.matmul(a, b, out_dtype=pl.FP32)
            narrow = pl.cast(hidden, pl.BF16, mode="rint")
            out[:] = pl.matmul(narrow, c, out_dtype=pl.FP32)
        return out


def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Three random matrices of bfloat16 numbers."""
    import ml_dtypes

    shapes = {"a": (M, K), "b": (K, H), "c": (H, N)}
    return {name: rng.standard_normal(shape).astype(ml_dtypes.bfloat16) for name, shape in shapes.items()}


def golden(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> dict[str, np.ndarray]:
    """What numpy says: products in double precision, the first one rounded to bfloat16."""
    import ml_dtypes

    hidden = a.astype(np.float64) @ b.astype(np.float64)
    narrow = hidden.astype(np.float32).astype(ml_dtypes.bfloat16)
    return {"out": narrow.astype(np.float64) @ c.astype(np.float64)}


# Sums of products differ by 1e-4, which now and then rounds an intermediate element the other way: half a unit in the
# last of eight bits of numbers up to 60, times a factor of up to 4.
TOLERANCE = 1.0
