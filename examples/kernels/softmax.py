"""Softmax over the rows of a 64 x 64 matrix, with the maximum taken out first."""

from __future__ import annotations

import numpy as np

import pypto_core.language as pl


@pl.program
class Softmax:
    """Row reductions and expansions."""

    @pl.function(type=pl.FunctionType.InCore)
    def softmax(
        self,
        x: pl.Tensor[[64, 64], pl.FP32],
        out: pl.Out[pl.Tensor[[64, 64], pl.FP32]],
    ) -> pl.Tensor[[64, 64], pl.FP32]:
        rows = pl.load(x, [0, 0], [64, 64])
        scratch = pl.create_tile([64, 64], pl.FP32)
        top = pl.row_max(rows, scratch)
        weights = pl.exp(pl.row_expand_sub(rows, top))
        total = pl.row_sum(weights, scratch)
        return pl.store(pl.row_expand_div(weights, total), [0, 0], out)


def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """One random matrix."""
    return {"x": rng.standard_normal((64, 64), dtype=np.float32) * 4}


def golden(x: np.ndarray) -> dict[str, np.ndarray]:
    """What numpy says, in double precision."""
    wide = x.astype(np.float64)
    weights = np.exp(wide - wide.max(axis=1, keepdims=True))
    return {"out": (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)}


# Sums of 64 terms and exp in single precision: a few units in the last place of values below 1.
TOLERANCE = 2e-6
