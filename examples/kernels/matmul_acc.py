"""A product over two K blocks: the second adds to the accumulator that the first has left in L0C."""

from __future__ import annotations

import numpy as np

import pypto_core.language as pl

M, N, K = 64, 64, 128


@pl.program
class MatmulAcc:
    """K split in two; operands move to L0 by inference."""

    @pl.function(type=pl.FunctionType.InCore)
    def matmul_acc(
        self,
        a: pl.Tensor[[M, K], pl.BF16],
        b: pl.Tensor[[K, N], pl.BF16],
        out: pl.Out[pl.Tensor[[M, N], pl.FP32]],
    ) -> pl.Tensor[[M, N], pl.FP32]:
        a0 = pl.load(a, [0, 0], [M, 64], target_memory=pl.Mem.Mat)
        b0 = pl.load(b, [0, 0], [64, N], target_memory=pl.Mem.Mat)
        acc = pl.matmul(a0, b0)
        a1 = pl.load(a, [0, 64], [M, 64], target_memory=pl.Mem.Mat)
        b1 = pl.load(b, [64, 0], [64, N], target_memory=pl.Mem.Mat)
        acc = pl.matmul_acc(acc, a1, b1)
        return pl.store(acc, [0, 0], out)


def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Two random matrices of bfloat16 numbers."""
    import ml_dtypes

    return {
        "a": rng.standard_normal((M, K)).astype(ml_dtypes.bfloat16),
        "b": rng.standard_normal((K, N)).astype(ml_dtypes.bfloat16),
    }


def golden(a: np.ndarray, b: np.ndarray) -> dict[str, np.ndarray]:
    """What numpy says, in double precision."""
    return {"out": (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32)}


# 128 products summed in single precision.
TOLERANCE = 1e-4
