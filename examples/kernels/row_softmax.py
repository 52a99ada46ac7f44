"""Softmax of the rows of a tensor, a block of rows on each core."""

from __future__ import annotations

import numpy as np

import pypto_core.language as pl

ROWS, COLS, CORES = 64, 128, 4
BLOCK = ROWS // CORES


@pl.program
class RowSoftmax:
    """The loop over cores is one launch: its variable is the number of the block."""

    @pl.function(type=pl.FunctionType.Orchestration)
    def row_softmax(
        self, x: pl.Tensor[[ROWS, COLS], pl.FP32], out: pl.Out[pl.Tensor[[ROWS, COLS], pl.FP32]]
    ) -> pl.Tensor[[ROWS, COLS], pl.FP32]:
        for core in pl.spmd(CORES, name_hint="softmax"):
            rows = x[core * BLOCK : (core + 1) * BLOCK, :]
            weights = pl.exp(pl.row_expand_sub(rows, pl.row_max(rows)))
            total = pl.row_sum(weights)
            out[core * BLOCK : (core + 1) * BLOCK, :] = pl.row_expand_div(weights, total)
        return out


def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """One random matrix."""
    return {"x": rng.standard_normal((ROWS, COLS), dtype=np.float32) * 4}


def golden(x: np.ndarray) -> dict[str, np.ndarray]:
    """What numpy says, in double precision."""
    weights = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    return {"out": weights / weights.sum(axis=1, keepdims=True)}


TOLERANCE = 1e-6
