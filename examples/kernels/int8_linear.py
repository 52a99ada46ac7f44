"""A linear layer on eight-bit integers, scaled back by a factor per row and one per column."""

from __future__ import annotations

import numpy as np

import pypto_core.language as pl

M, N, K = 16, 64, 256


@pl.program
class Int8Linear:
    """Quantise a row at a time, multiply exactly in 32 bits, scale back."""

    @pl.function(type=pl.FunctionType.Orchestration)
    def int8_linear(
        self,
        x: pl.Tensor[[M, K], pl.FP32],
        weight: pl.Tensor[[N, K], pl.INT8],
        scale: pl.Tensor[[1, N], pl.FP32],
        out: pl.Out[pl.Tensor[[M, N], pl.FP32]],
    ) -> pl.Tensor[[M, N], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="quantise"):
            top = pl.maximum(pl.row_max(x), pl.neg(pl.row_min(x)))
            factor = pl.mul(top, 1.0 / 127.0)
            whole = pl.cast(pl.row_expand_div(x, factor), pl.INT32, mode="rint")
            small = pl.cast(pl.cast(whole, pl.FP16, mode="round"), pl.INT8, mode="trunc")
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="int8_matmul"):
            product = pl.matmul(small, weight, b_trans=True, out_dtype=pl.INT32)
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="scale_back"):
            wide = pl.cast(product, pl.FP32, mode="none")
            out[:] = pl.col_expand_mul(pl.row_expand_mul(wide, factor), scale)
        return out


def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Random activations, weights of the whole range, small scales."""
    return {
        "x": rng.standard_normal((M, K), dtype=np.float32),
        "weight": rng.integers(-128, 128, (N, K)).astype(np.int8),
        "scale": rng.uniform(0.001, 0.01, (1, N)).astype(np.float32),
    }


def golden(x: np.ndarray, weight: np.ndarray, scale: np.ndarray) -> dict[str, np.ndarray]:
    """What numpy says of the layer before any rounding."""
    return {"out": x.astype(np.float64) @ weight.astype(np.float64).T * scale}


# Each of 256 activations is off by at most half a step of about 3/127, its weight is at most 128 * 0.01: the sum of
# such errors with random signs stays below 16 * 0.012 * 1.28 / 2, and five times that is never seen.
TOLERANCE = 0.6
