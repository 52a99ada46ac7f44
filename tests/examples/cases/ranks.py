"""Tensors of one to six axes, and windows that take and drop axes."""

from __future__ import annotations

import numpy as np

import pypto_core.language as pl


@pl.program
class Ranks:
    """Heads and pages: windows of one entry of the leading axes."""

    @pl.function(type=pl.FunctionType.Orchestration)
    def ranks(
        self,
        pages: pl.Tensor[[2, 3, 8, 32], pl.BF16],
        deep: pl.Tensor[[2, 1, 2, 8, 32], pl.FP32],
        deepest: pl.Tensor[[2, 1, 3, 2, 4, 32], pl.FP32],
        three: pl.Out[pl.Tensor[[6, 8, 32], pl.FP32]],
        flat: pl.Out[pl.Tensor[[48, 32], pl.FP32]],
        sums: pl.Out[pl.Tensor[[2, 2, 8, 1], pl.FP32]],
        five: pl.Out[pl.Tensor[[3, 2, 2, 4, 32], pl.FP32]],
    ) -> tuple[
        pl.Tensor[[6, 8, 32], pl.FP32], pl.Tensor[[48, 32], pl.FP32], pl.Tensor[[2, 2, 8, 1], pl.FP32],
        pl.Tensor[[3, 2, 2, 4, 32], pl.FP32],
    ]:  # fmt: skip
        for i in pl.range(2):
            for j in pl.range(3):
                with pl.at(level=pl.Level.CORE_GROUP, name_hint="page"):
                    page = pl.reshape(pages[i : i + 1, j : j + 1, :, :], [8, 32])
                    wide = pl.cast(page, pl.FP32)
                    three[i * 3 + j : i * 3 + j + 1, :, :] = pl.reshape(pl.mul(wide, 2.0), [1, 8, 32])
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="rows"):
            lines = pl.reshape(three, [48, 32])
            for r in pl.range(0, 48, 16):
                flat[r : r + 16, :] = pl.neg(lines[r : r + 16, :])
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="deep_sums"):
            whole = pl.reshape(deep, [2, 2, 8, 32])
            sums[:, :, :, :] = pl.row_sum(pl.exp(whole))
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="one"):
            last = three[5]
            again = pl.reshape(three[5:6, 0:8, :], [8, 32])
            flat[40:, :] = pl.add(last, again)
        for i in pl.range(2):
            for j in pl.parallel(3):
                with pl.at(level=pl.Level.CORE_GROUP, name_hint="deepest"):
                    part = pl.reshape(deepest[i : i + 1, :, j : j + 1, :, :, :], [8, 32])
                    five[j : j + 1, i : i + 1, :, :, :] = pl.reshape(pl.neg(part), [1, 1, 2, 4, 32])
        return three, flat, sums, five


def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Random tensors."""
    import ml_dtypes

    return {
        "pages": rng.standard_normal((2, 3, 8, 32)).astype(ml_dtypes.bfloat16),
        "deep": rng.standard_normal((2, 1, 2, 8, 32), dtype=np.float32),
        "deepest": rng.standard_normal((2, 1, 3, 2, 4, 32), dtype=np.float32),
    }


def golden(pages: np.ndarray, deep: np.ndarray, deepest: np.ndarray) -> dict[str, np.ndarray]:
    """The same with numpy, in double precision."""
    three = pages.astype(np.float64).reshape(6, 8, 32) * 2
    flat = -three.reshape(48, 32)
    flat[40:] = three[5] * 2
    sums = np.exp(deep.astype(np.float64)).reshape(2, 2, 8, 32).sum(axis=-1, keepdims=True)
    return {"three": three, "flat": flat, "sums": sums, "five": -deepest[:, 0].swapaxes(0, 1)}


TOLERANCE = 1e-4
