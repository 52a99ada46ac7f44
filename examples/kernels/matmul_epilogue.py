"""A product with its epilogue in one scope: the cube core multiplies, the vector core adds the bias and squashes."""

from __future__ import annotations

import numpy as np

import pypto_core.language as pl

M, N, K = 16, 64, 128


@pl.program
class MatmulEpilogue:
    """Work for both cores in one scope: it becomes a kernel for each, and the product lies in memory in between."""

    @pl.function(type=pl.FunctionType.Orchestration)
    def matmul_epilogue(
        self,
        x: pl.Tensor[[M, K], pl.BF16],
        weight: pl.Tensor[[N, K], pl.BF16],
        bias: pl.Tensor[[1, N], pl.FP32],
        out: pl.Out[pl.Tensor[[M, N], pl.BF16]],
    ) -> pl.Tensor[[M, N], pl.BF16]:
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="matmul_silu"):
            product = pl.col_expand_add(pl.matmul(x, weight, b_trans=True, out_dtype=pl.FP32), bias)
            sigmoid = pl.recip(pl.add(pl.exp(pl.neg(product)), 1.0))
            out[:, :] = pl.cast(pl.mul(product, sigmoid), pl.BF16, mode="rint")
        return out


def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Random activations, weights of about unit gain, random biases."""
    import ml_dtypes

    return {
        "x": rng.standard_normal((M, K)).astype(ml_dtypes.bfloat16),
        "weight": (rng.standard_normal((N, K)) / K**0.5).astype(ml_dtypes.bfloat16),
        "bias": rng.standard_normal((1, N), dtype=np.float32),
    }


def golden(x: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> dict[str, np.ndarray]:
    """What numpy says, in double precision before the last rounding."""
    product = x.astype(np.float64) @ weight.astype(np.float64).T + bias
    return {"out": product / (1 + np.exp(-product))}


# Half a unit in the last of eight bits of numbers up to 8.
TOLERANCE = 0.02
