"""One step of decoding over a cache in pages: new keys and values are written where the page table says, then read."""

from __future__ import annotations

import numpy as np

import pypto_core.language as pl

BATCH, HEADS, GROUPS, DIM = 4, 8, 2, 64
SHARE = HEADS // GROUPS
"""Query heads that share one head of keys and values."""
ROWS = 16
"""Rows of a product on the cube: the shared heads, and padding."""
PAGE, PAGES, TABLE = 32, 20, 4
SCALE = 1.0 / DIM**0.5
CACHE = PAGES * PAGE


@pl.program
class PagedAttention:
    """The host reads lengths and page numbers and starts one kernel per core for each page."""

    @pl.function(type=pl.FunctionType.Orchestration)
    def paged_attention(
        self,
        query: pl.Tensor[[BATCH, HEADS * DIM], pl.FP32],
        key: pl.Tensor[[BATCH, GROUPS * DIM], pl.FP32],
        value: pl.Tensor[[BATCH, GROUPS * DIM], pl.FP32],
        table: pl.Tensor[[BATCH, TABLE], pl.INT32],
        lengths: pl.Tensor[[BATCH], pl.INT64],
        keys: pl.InOut[pl.Tensor[[GROUPS, CACHE, DIM], pl.BF16]],
        values: pl.InOut[pl.Tensor[[GROUPS, CACHE, DIM], pl.BF16]],
        out: pl.Out[pl.Tensor[[BATCH, HEADS * DIM], pl.FP32]],
    ) -> tuple[
        pl.Tensor[[GROUPS, CACHE, DIM], pl.BF16],
        pl.Tensor[[GROUPS, CACHE, DIM], pl.BF16],
        pl.Tensor[[BATCH, HEADS * DIM], pl.FP32],
    ]:
        for b in pl.range(BATCH):
            length = pl.cast(pl.read(lengths, [b]), pl.INDEX)
            last = length - 1
            here = pl.cast(pl.read(table, [b, last // PAGE]), pl.INDEX) * PAGE + last % PAGE
            for g in pl.range(GROUPS):
                with pl.at(level=pl.Level.CORE_GROUP, name_hint="begin"):
                    keys[g, here : here + 1, :] = pl.cast(
                        key[b : b + 1, g * DIM : g * DIM + DIM], pl.BF16, mode="rint"
                    )
                    values[g, here : here + 1, :] = pl.cast(
                        value[b : b + 1, g * DIM : g * DIM + DIM], pl.BF16, mode="rint"
                    )
                    heads = pl.reshape(
                        query[b : b + 1, g * SHARE * DIM : (g + 1) * SHARE * DIM], [SHARE, DIM]
                    )
                    some = pl.create_tensor([ROWS, DIM], dtype=pl.BF16)
                    some[0:SHARE, :] = pl.cast(pl.mul(heads, SCALE), pl.BF16, mode="rint")
                    some[SHARE:ROWS, :] = pl.cast(
                        pl.full([ROWS - SHARE, DIM], dtype=pl.FP32, value=0.0), pl.BF16, mode="rint"
                    )
                    peak = pl.full([ROWS, 1], dtype=pl.FP32, value=-1.0e30)
                    total = pl.full([ROWS, 1], dtype=pl.FP32, value=0.0)
                    mixed = pl.full([ROWS, DIM], dtype=pl.FP32, value=0.0)
                for first in pl.range(0, length, PAGE):
                    page = pl.cast(pl.read(table, [b, first // PAGE]), pl.INDEX) * PAGE
                    with pl.at(level=pl.Level.CORE_GROUP, name_hint="scores"):
                        scores = pl.matmul(
                            some, keys[g, page : page + PAGE, :], b_trans=True, out_dtype=pl.FP32
                        )
                    with pl.at(level=pl.Level.CORE_GROUP, name_hint="online_softmax"):
                        known = pl.set_validshape(scores, ROWS, pl.min(PAGE, length - first))
                        filled = pl.fillpad(known, pad_value=pl.PadValue.min)
                        higher = pl.maximum(peak, pl.row_max(filled))
                        weights = pl.exp(pl.row_expand_sub(filled, higher))
                        fade = pl.exp(pl.sub(peak, higher))
                        total = pl.add(pl.mul(total, fade), pl.row_sum(weights))
                        mixed = pl.row_expand_mul(mixed, fade)
                        peak = higher
                        narrow = pl.cast(weights, pl.BF16, mode="rint")
                    with pl.at(level=pl.Level.CORE_GROUP, name_hint="mix"):
                        part = pl.matmul(narrow, values[g, page : page + PAGE, :], out_dtype=pl.FP32)
                    with pl.at(level=pl.Level.CORE_GROUP, name_hint="add"):
                        mixed = pl.add(mixed, part)
                with pl.at(level=pl.Level.CORE_GROUP, name_hint="finish"):
                    shares = pl.row_expand_div(mixed, total)
                    out[b : b + 1, g * SHARE * DIM : (g + 1) * SHARE * DIM] = pl.reshape(
                        shares[0:SHARE, :], [1, SHARE * DIM]
                    )
        return keys, values, out


def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Sequences of one entry, of whole pages, and of parts of pages; the pages of the cache in any order."""
    import ml_dtypes

    return {
        "query": rng.standard_normal((BATCH, HEADS * DIM), dtype=np.float32),
        "key": rng.standard_normal((BATCH, GROUPS * DIM), dtype=np.float32),
        "value": rng.standard_normal((BATCH, GROUPS * DIM), dtype=np.float32),
        "table": rng.permutation(PAGES)[: BATCH * TABLE].reshape(BATCH, TABLE).astype(np.int32),
        "lengths": np.array([1, PAGE, 77, TABLE * PAGE], np.int64),
        "keys": rng.standard_normal((GROUPS, CACHE, DIM)).astype(ml_dtypes.bfloat16),
        "values": rng.standard_normal((GROUPS, CACHE, DIM)).astype(ml_dtypes.bfloat16),
    }


def golden(**arrays: np.ndarray) -> dict[str, np.ndarray]:
    """What numpy says: the new entries rounded as the cache holds them, all else in double precision."""
    keys, values = arrays["keys"].copy(), arrays["values"].copy()
    out = np.zeros((BATCH, HEADS, DIM))
    for b, length in enumerate(arrays["lengths"]):
        places = (arrays["table"][b][:, None] * PAGE + np.arange(PAGE)).reshape(-1)[:length]
        keys[:, places[-1]] = arrays["key"][b].reshape(GROUPS, DIM).astype(keys.dtype)
        values[:, places[-1]] = arrays["value"][b].reshape(GROUPS, DIM).astype(keys.dtype)
        for head in range(HEADS):
            k, v = (x[head // SHARE, places].astype(np.float64) for x in (keys, values))
            scores = k @ arrays["query"][b].reshape(HEADS, DIM)[head] * SCALE
            weights = np.exp(scores - scores.max())
            out[b, head] = weights @ v / weights.sum()
    return {"keys": keys, "values": values, "out": out.reshape(BATCH, -1)}


# Queries and weights are rounded to bfloat16, which is right to one part in 512, and the values are at most about 4.
TOLERANCE = 0.03
