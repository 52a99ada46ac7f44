"""Attention of one token over a cache of any length: blocks of keys with a running maximum and sum."""

from __future__ import annotations

import numpy as np

import pypto_core.language as pl

HEADS, DIM, BLOCK, BLOCKS = 16, 64, 64, 4
CACHE = BLOCK * BLOCKS
SCALE = 1.0 / DIM**0.5


@pl.program
class AttentionDecode:
    """Cube and vector kernels take turns over the blocks of the cache and exchange tensors."""

    @pl.function(type=pl.FunctionType.Orchestration)
    def attention(
        self,
        query: pl.Tensor[[HEADS, DIM], pl.BF16],
        keys: pl.Tensor[[CACHE, DIM], pl.BF16],
        values: pl.Tensor[[CACHE, DIM], pl.BF16],
        length: pl.Tensor[[1], pl.INT32],
        out: pl.Out[pl.Tensor[[HEADS, DIM], pl.FP32]],
    ) -> pl.Tensor[[HEADS, DIM], pl.FP32]:
        peak = pl.create_tensor([HEADS, 1], dtype=pl.FP32)
        total = pl.create_tensor([HEADS, 1], dtype=pl.FP32)
        mixed = pl.create_tensor([HEADS, DIM], dtype=pl.FP32)
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="begin"):
            peak[:] = pl.full([HEADS, 1], dtype=pl.FP32, value=-1.0e30)
            total[:] = pl.full([HEADS, 1], dtype=pl.FP32, value=0.0)
            mixed[:] = pl.full([HEADS, DIM], dtype=pl.FP32, value=0.0)
        held = pl.cast(pl.tensor.read(length, [0]), pl.INDEX)
        for block in pl.range(0, held, BLOCK):
            with pl.at(level=pl.Level.CORE_GROUP, name_hint="scores"):
                part = pl.slice(keys, [BLOCK, DIM], [block, 0])
                scores = pl.matmul(query, part, b_trans=True, out_dtype=pl.FP32)
            with pl.at(level=pl.Level.CORE_GROUP, name_hint="online_softmax"):
                valid = pl.min(BLOCK, held - block)
                known = pl.set_validshape(scores, HEADS, valid)
                scaled = pl.mul(pl.fillpad(known, pad_value=pl.PadValue.min), SCALE)
                old_peak = peak[:, :]
                new_peak = pl.maximum(old_peak, pl.row_max(scaled))
                weights = pl.exp(pl.row_expand_sub(scaled, new_peak))
                fade = pl.exp(pl.sub(old_peak, new_peak))
                total[:, :] = pl.add(pl.mul(total[:, :], fade), pl.row_sum(weights))
                mixed[:, :] = pl.row_expand_mul(mixed[:, :], fade)
                peak[:, :] = new_peak
                narrow = pl.cast(weights, pl.BF16, mode="rint")
            with pl.at(level=pl.Level.CORE_GROUP, name_hint="mix"):
                mixed_part = pl.matmul(narrow, values[block : block + BLOCK, :], out_dtype=pl.FP32)
                mixed = pl.assemble(mixed, mixed_part, [0, 0], atomic=pl.AtomicType.Add)
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="finish"):
            out[:] = pl.row_expand_div(mixed, total)
        return out


def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """A query, and a cache of which 150 entries are in use."""
    import ml_dtypes

    return {
        "query": rng.standard_normal((HEADS, DIM)).astype(ml_dtypes.bfloat16),
        "keys": rng.standard_normal((CACHE, DIM)).astype(ml_dtypes.bfloat16),
        "values": rng.standard_normal((CACHE, DIM)).astype(ml_dtypes.bfloat16),
        "length": np.array([150], np.int32),
    }


def golden(
    query: np.ndarray, keys: np.ndarray, values: np.ndarray, length: np.ndarray
) -> dict[str, np.ndarray]:
    """What numpy says, in double precision."""
    n = int(length[0])
    q, k, v = (x.astype(np.float64) for x in (query, keys[:n], values[:n]))
    scores = q @ k.T * SCALE
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return {"out": weights @ v / weights.sum(axis=1, keepdims=True)}


# The weights are rounded to bfloat16, which is right to one part in 512, and the values are at most about 4.
TOLERANCE = 0.02
