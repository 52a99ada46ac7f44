"""Elements and rows picked by index, ramps of numbers, and single elements."""

from __future__ import annotations

import numpy as np

import pypto_core.language as pl


@pl.program
class Picks:
    """What embeddings, top-k and rotary positions need."""

    @pl.function(type=pl.FunctionType.Orchestration)
    def picks(
        self,
        table: pl.Tensor[[32, 64], pl.FP32],
        index: pl.Tensor[[8, 16], pl.INT32],
        rows: pl.Tensor[[1, 8], pl.INT32],
        chosen: pl.Out[pl.Tensor[[8, 16], pl.FP32]],
        taken: pl.Out[pl.Tensor[[8, 64], pl.FP32]],
        even: pl.Out[pl.Tensor[[8, 32], pl.FP32]],
        ramp: pl.Out[pl.Tensor[[1, 64], pl.FP32]],
        best: pl.Out[pl.Tensor[[32, 1], pl.INT32]],
        scores: pl.Tensor[[1, 128], pl.FP32],
        numbers: pl.Tensor[[1, 128], pl.UINT32],
        first: pl.Out[pl.Tensor[[1, 64], pl.FP32]],
        places: pl.Out[pl.Tensor[[1, 64], pl.UINT32]],
    ) -> tuple[
        pl.Tensor[[8, 16], pl.FP32], pl.Tensor[[8, 64], pl.FP32], pl.Tensor[[8, 32], pl.FP32],
        pl.Tensor[[1, 64], pl.FP32], pl.Tensor[[32, 1], pl.INT32], pl.Tensor[[1, 64], pl.FP32],
        pl.Tensor[[1, 64], pl.UINT32],
    ]:  # fmt: skip
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="elements"):
            chosen[:, :] = pl.gather(table[0:8, :], dim=-1, index=index)
            even[:, :] = pl.gather(table[8:16, :], mask_pattern=1)
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="rows"):
            room = pl.create_tensor([8, 64], dtype=pl.FP32)
            taken[:, :] = pl.gather_row(room, table, rows)
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="positions"):
            count = pl.cast(pl.arange(3, [1, 64], dtype=pl.INT32), pl.FP32, mode="none")
            ramp[:, :] = pl.fmods(pl.mul(count, 0.5), 7.0)
            best[:, :] = pl.row_argmax(table)
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="greatest"):
            runs = pl.sort32(scores, numbers)
            both = pl.mrgsort(runs[:, 0:64], runs[:, 64:128])
            rest = pl.mrgsort(runs[:, 128:192], runs[:, 192:256])
            whole = pl.mrgsort(pl.concat(both, rest), block_len=128)
            first[:, :] = pl.gather(whole[:, 0:128], mask_pattern=1)
            places[:, :] = pl.gather(whole[:, 0:128], mask_pattern=2, output_dtype=pl.UINT32)
        return chosen, taken, even, ramp, best, first, places


def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """A random table and random places in it."""
    return {
        "table": rng.standard_normal((32, 64), dtype=np.float32),
        "index": rng.integers(0, 64, (8, 16)).astype(np.int32),
        "rows": rng.integers(0, 32, (1, 8)).astype(np.int32),
        "scores": rng.standard_normal((1, 128), dtype=np.float32),
        "numbers": np.arange(128, dtype=np.uint32)[None],
    }


def golden(
    table: np.ndarray, index: np.ndarray, rows: np.ndarray, scores: np.ndarray, numbers: np.ndarray
) -> dict[str, np.ndarray]:
    """The same with numpy."""
    order = np.argsort(-scores, axis=1, kind="stable")[:, :64]
    return {
        "chosen": np.take_along_axis(table[:8], index.astype(np.int64), axis=1),
        "taken": table[rows[0]],
        "even": table[8:16, ::2],
        "ramp": np.fmod((np.arange(3, 67) * 0.5), 7.0)[None],
        "best": table.argmax(axis=1)[:, None],
        "first": np.take_along_axis(scores, order, axis=1),
        "places": order,
    }


TOLERANCE = 0.0
