"""Rows of a cache that indices pick, straight into L1 where the cube core multiplies them."""

from __future__ import annotations

import numpy as np

import pypto_core.language as pl


@pl.program
class Cached:
    """Scores of queries against the rows that were chosen for them."""

    @pl.function(type=pl.FunctionType.Orchestration)
    def cached(
        self,
        cache: pl.Tensor[[40, 64], pl.BF16],
        names: pl.Tensor[[3, 24], pl.INT32],
        queries: pl.Tensor[[3, 16, 64], pl.BF16],
        scores: pl.Out[pl.Tensor[[3, 16, 16], pl.FP32]],
    ) -> pl.Tensor[[3, 16, 16], pl.FP32]:
        for b in pl.spmd(3):
            rows = pl.create_l1([16, 64], dtype=pl.BF16)
            rows = pl.gather_row(rows, cache, names[b : b + 1, 8:24])
            scores[b : b + 1, :, :] = pl.matmul(
                queries[b : b + 1, :, :], rows, b_trans=True, out_dtype=pl.FP32
            )
        return scores


def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """A random cache, and rows of it."""
    import ml_dtypes

    return {
        "cache": rng.standard_normal((40, 64)).astype(ml_dtypes.bfloat16),
        "names": np.stack([rng.permutation(40)[:24] for _ in range(3)]).astype(np.int32),
        "queries": rng.standard_normal((3, 16, 64)).astype(ml_dtypes.bfloat16),
    }


def golden(cache: np.ndarray, names: np.ndarray, queries: np.ndarray) -> dict[str, np.ndarray]:
    """The same with numpy, in double precision."""
    rows = cache.astype(np.float64)[names[:, 8:]]
    return {"scores": queries.astype(np.float64) @ rows.transpose(0, 2, 1)}


TOLERANCE = 1e-3
REFUSED = ("PTO-002", "no instruction picks rows for Mat")
