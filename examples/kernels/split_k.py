"""A product over many K blocks in the form that models are written in: the first block begins the accumulator."""

from __future__ import annotations

import numpy as np

import pypto_core.language as pl

M, N, K, BLOCK = 16, 128, 512, 128


@pl.program
class SplitK:
    """The peeled loop: a product in the first trip, sums in the others, two trips in flight."""

    @pl.function(type=pl.FunctionType.Orchestration)
    def split_k(
        self,
        a: pl.Tensor[[M, K], pl.BF16],
        b: pl.Tensor[[K, N], pl.BF16],
        out: pl.Out[pl.Tensor[[M, N], pl.FP32]],
    ) -> pl.Tensor[[M, N], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="split_k_matmul"):
            acc = pl.create_tensor([M, N], dtype=pl.FP32)
            for k in pl.pipeline(0, K, BLOCK, stage=2):
                left = a[:, k : k + BLOCK]
                right = b[k : k + BLOCK, :]
                if k == 0:
                    acc = pl.matmul(left, right, out_dtype=pl.FP32)
                else:
                    acc = pl.matmul_acc(acc, left, right)
            out[:] = acc
        return out


def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Two random matrices of bfloat16 numbers."""
    import ml_dtypes

    return {
        "a": rng.standard_normal((M, K)).astype(ml_dtypes.bfloat16),
        "b": rng.standard_normal((K, N)).astype(ml_dtypes.bfloat16),
    }


def golden(a: np.ndarray, b: np.ndarray) -> dict[str, np.ndarray]:
    """What numpy says, in double precision."""
    return {"out": a.astype(np.float64) @ b.astype(np.float64)}


TOLERANCE = 1e-4
