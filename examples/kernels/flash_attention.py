"""Causal attention over a sequence of any length, as one launch: a block of queries of one head per core."""

from __future__ import annotations

import numpy as np

import pypto_core.language as pl

HEADS, DIM, BLOCK = 2, 64, 32
SCALE = 1.0 / DIM**0.5
N = pl.dynamic("N")


@pl.program
class FlashAttention:
    """Products and softmax stand side by side; each core gets kernels of its own, and the host the loop over keys."""

    @pl.function(type=pl.FunctionType.Orchestration)
    def flash_attention(
        self,
        query: pl.Tensor[[N, HEADS * DIM], pl.BF16],
        key: pl.Tensor[[N, HEADS * DIM], pl.BF16],
        value: pl.Tensor[[N, HEADS * DIM], pl.BF16],
        later: pl.Tensor[[BLOCK, BLOCK], pl.FP32],
        out: pl.Out[pl.Tensor[[N, HEADS * DIM], pl.BF16]],
    ) -> pl.Tensor[[N, HEADS * DIM], pl.BF16]:
        n = pl.tensor.dim(query, 0)
        for job in pl.spmd((n + BLOCK - 1) // BLOCK * HEADS, name_hint="attention"):
            block = job // HEADS
            column = job % HEADS * DIM
            row = block * BLOCK
            held = pl.min(BLOCK, n - row)
            q = pl.slice(query, [BLOCK, DIM], [row, column], valid_shape=[held, DIM])
            peak = pl.full([BLOCK, 1], dtype=pl.FP32, value=-1.0e30)
            total = pl.full([BLOCK, 1], dtype=pl.FP32, value=0.0)
            mixed = pl.full([BLOCK, DIM], dtype=pl.FP32, value=0.0)
            for other in pl.range(block + 1):
                first = other * BLOCK
                known = pl.min(BLOCK, n - first)
                k = pl.slice(key, [BLOCK, DIM], [first, column], valid_shape=[known, DIM])
                v = pl.slice(value, [BLOCK, DIM], [first, column], valid_shape=[known, DIM])
                scores = pl.matmul(q, k, b_trans=True, out_dtype=pl.FP32)
                scaled = pl.mul(pl.fillpad(scores, pad_value=pl.PadValue.min), SCALE)
                if other == block:
                    scaled = pl.add(scaled, later)
                higher = pl.maximum(peak, pl.row_max(scaled))
                weights = pl.exp(pl.row_expand_sub(scaled, higher))
                fade = pl.exp(pl.sub(peak, higher))
                total = pl.add(pl.mul(total, fade), pl.row_sum(weights))
                narrow = pl.set_validshape(pl.cast(weights, pl.BF16, mode="rint"), BLOCK, known)
                mixed = pl.add(pl.row_expand_mul(mixed, fade), pl.matmul(narrow, v, out_dtype=pl.FP32))
                peak = higher
            shares = pl.cast(pl.row_expand_div(mixed, total), pl.BF16, mode="rint")
            out = pl.assemble(out, pl.set_validshape(shares, held, DIM), [row, column])
        return out


def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Seventy-seven entries: two whole blocks and thirteen more; no entry looks at later ones."""
    import ml_dtypes

    names = ("query", "key", "value")
    arrays = {name: rng.standard_normal((77, HEADS * DIM)).astype(ml_dtypes.bfloat16) for name in names}
    return {**arrays, "later": np.triu(np.full((BLOCK, BLOCK), -1.0e30, np.float32), 1)}


def golden(query: np.ndarray, key: np.ndarray, value: np.ndarray, later: np.ndarray) -> dict[str, np.ndarray]:
    """What numpy says, in double precision."""
    q, k, v = (x.astype(np.float64).reshape(-1, HEADS, DIM).transpose(1, 0, 2) for x in (query, key, value))
    scores = np.where(np.tri(q.shape[1], dtype=bool), q @ k.transpose(0, 2, 1) * SCALE, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares = weights @ v / weights.sum(axis=-1, keepdims=True)
    return {"out": shares.transpose(1, 0, 2).reshape(query.shape)}


# Weights and results are rounded to bfloat16, which is right to one part in 512, and the values are at most about 4.
TOLERANCE = 0.03
