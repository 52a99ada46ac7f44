"""A linear layer with bias and ReLU: the product on the cube core, the rest on the vector core."""

from __future__ import annotations

import numpy as np

import pypto_core.language as pl

M, N, K = 16, 64, 128


@pl.program
class FusedLinear:
    """Two kernels that exchange a tensor; the weights are stored transposed, one row per output."""

    @pl.function(type=pl.FunctionType.Orchestration)
    def fused_linear(
        self,
        x: pl.Tensor[[M, K], pl.BF16],
        weight: pl.Tensor[[N, K], pl.BF16],
        bias: pl.Tensor[[1, N], pl.FP32],
        out: pl.Out[pl.Tensor[[M, N], pl.FP32]],
    ) -> pl.Tensor[[M, N], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="linear"):
            product = pl.matmul(x, weight, b_trans=True, out_dtype=pl.FP32)
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="bias_relu"):
            out[:] = pl.relu(pl.col_expand_add(product, bias))
        return out


def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Random activations, weights and biases."""
    import ml_dtypes

    return {
        "x": rng.standard_normal((M, K)).astype(ml_dtypes.bfloat16),
        "weight": rng.standard_normal((N, K)).astype(ml_dtypes.bfloat16),
        "bias": rng.standard_normal((1, N), dtype=np.float32),
    }


def golden(x: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> dict[str, np.ndarray]:
    """What numpy says, in double precision."""
    return {"out": np.maximum(x.astype(np.float64) @ weight.astype(np.float64).T + bias, 0)}


TOLERANCE = 1e-4
