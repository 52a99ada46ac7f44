"""Comparisons, elements and rows put where something says, and what goes along whole rows and columns."""

from __future__ import annotations

import numpy as np

import pypto_core.language as pl


@pl.program
class Masks:
    """What routers, samplers and caches need."""

    @pl.function(type=pl.FunctionType.Orchestration)
    def masks(
        self,
        x: pl.Tensor[[16, 64], pl.FP32],
        row: pl.Tensor[[1, 64], pl.FP32],
        table: pl.Tensor[[40, 64], pl.BF16],
        names: pl.Tensor[[1, 16], pl.INT32],
        places: pl.Tensor[[8, 32], pl.INT32],
        count: pl.Scalar[pl.INDEX],
        scores: pl.Tensor[[1, 128], pl.FP32],
        best: pl.Out[pl.Tensor[[1, 32], pl.FP32]],
        where: pl.Out[pl.Tensor[[1, 32], pl.INT32]],
        chosen: pl.Out[pl.Tensor[[16, 64], pl.FP32]],
        spread: pl.Out[pl.Tensor[[8, 64], pl.FP32]],
        put: pl.Out[pl.Tensor[[8, 64], pl.FP32]],
        taken: pl.Out[pl.Tensor[[16, 64], pl.BF16]],
        lines: pl.Out[pl.Tensor[[16, 64], pl.FP32]],
        ends: pl.Out[pl.Tensor[[2, 64], pl.FP32]],
    ) -> tuple[
        pl.Tensor[[1, 32], pl.FP32], pl.Tensor[[1, 32], pl.INT32],
        pl.Tensor[[16, 64], pl.FP32], pl.Tensor[[8, 64], pl.FP32], pl.Tensor[[8, 64], pl.FP32],
        pl.Tensor[[16, 64], pl.BF16], pl.Tensor[[16, 64], pl.FP32], pl.Tensor[[2, 64], pl.FP32],
    ]:  # fmt: skip
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="best"):
            runs = pl.tensor.sort32(scores, pl.tensor.arange(0, [1, 128], dtype=pl.UINT32))
            top = pl.tensor.mrgsort(runs, block_len=64)[:, 0:64]
            best[:, :] = pl.tensor.gather(top, mask_pattern=1)
            where[:, :] = pl.tensor.gather(top, mask_pattern=2, output_dtype=pl.INT32)
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="compare"):
            above = pl.cmp(x, row, cmp_type=4)
            positive = pl.cmp(x, 0.0, cmp_type=5)
            chosen[:, :] = pl.mul(pl.add(above, positive), x)
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="scatter"):
            spread[:, :] = pl.tensor.scatter(
                x[0:8, 0:32], mask_pattern=1, dst=pl.full([8, 64], dtype=pl.FP32, value=0.5)
            )
            put[:, :] = pl.tensor.scatter(pl.full([8, 64], dtype=pl.FP32, value=0.0), x[8:16, 0:32], places)
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="rows"):
            room = pl.full([16, 64], dtype=pl.BF16, value=0.0)
            taken[:, :] = pl.gather_row(room, table, names, valid_shape=[count, 64])
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="lines"):
            near = pl.col_expand_expdif(pl.minimum(x, row), row)
            lines[:, :] = pl.row_expand_add(near, pl.row_min(x))
            ends[0:1, :] = pl.col_max(x)
            ends[1:2, :] = pl.col_sum(x)
        return best, where, chosen, spread, put, taken, lines, ends


def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Random numbers, rows of a table, and places of a matrix counted one by one, each once."""
    import ml_dtypes

    return {
        "x": rng.standard_normal((16, 64), dtype=np.float32),
        "row": rng.standard_normal((1, 64), dtype=np.float32),
        "table": rng.standard_normal((40, 64)).astype(ml_dtypes.bfloat16),
        "names": rng.permutation(40)[None, :16].astype(np.int32),
        "places": rng.permutation(8 * 64)[: 8 * 32].reshape(8, 32).astype(np.int32),
        "count": 11,
        "scores": rng.standard_normal((1, 128), dtype=np.float32),
    }


def golden(
    x: np.ndarray,
    row: np.ndarray,
    table: np.ndarray,
    names: np.ndarray,
    places: np.ndarray,
    count: int,
    scores: np.ndarray,
) -> dict[str, np.ndarray]:
    """The same with numpy, in double precision."""
    wide = x.astype(np.float64)
    spread, put, taken = np.full((8, 64), 0.5), np.zeros(8 * 64), np.zeros((16, 64))
    spread[:, ::2] = x[:8, :32]
    put[places] = x[8:, :32]
    taken[:count] = table[names[0, :count]]
    order = np.argsort(-scores, axis=1, kind="stable")[:, :32]
    return {
        "best": np.take_along_axis(scores, order, axis=1),
        "where": order,
        "chosen": ((x > row).astype(np.float64) + (x >= 0)) * wide,
        "spread": spread,
        "put": put.reshape(8, 64),
        "taken": taken,
        "lines": np.exp(np.minimum(wide, row) - row) + wide.min(axis=1, keepdims=True),
        "ends": np.stack([wide.max(axis=0), wide.sum(axis=0)]),
    }


TOLERANCE = 1e-4
