"""Fused scale and add: out = (a + b) * 2.5 + 1, all in one pass over the data."""

from __future__ import annotations

import numpy as np

import pypto_core.language as pl

ROWS, COLS = 128, 64


@pl.program
class ScaleAdd:
    """One kernel; sizes come from the module."""

    @pl.function(type=pl.FunctionType.InCore)
    def scale_add(
        self,
        a: pl.Tensor[[ROWS, COLS], pl.FP32],
        b: pl.Tensor[[ROWS, COLS], pl.FP32],
        out: pl.Out[pl.Tensor[[ROWS, COLS], pl.FP32]],
    ) -> pl.Tensor[[ROWS, COLS], pl.FP32]:
        x = pl.load(a, [0, 0], [ROWS, COLS])
        y = pl.load(b, [0, 0], [ROWS, COLS])
        scaled = pl.muls(pl.add(x, y), 2.5)
        result = pl.adds(scaled, 1.0)
        return pl.store(result, [0, 0], out)


def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Two random matrices."""
    return {name: rng.standard_normal((ROWS, COLS), dtype=np.float32) for name in ("a", "b")}


def golden(a: np.ndarray, b: np.ndarray) -> dict[str, np.ndarray]:
    """What numpy says."""
    return {"out": (a + b) * np.float32(2.5) + np.float32(1.0)}


TOLERANCE = 0.0
