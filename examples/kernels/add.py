"""Elementwise add: 256 x 64 in four row blocks, out = a + b."""

from __future__ import annotations

import numpy as np

import pypto_core.language as pl


@pl.program
class Add:
    """One kernel that walks over the rows."""

    @pl.function(type=pl.FunctionType.InCore)
    def add(
        self,
        a: pl.Tensor[[256, 64], pl.FP32],
        b: pl.Tensor[[256, 64], pl.FP32],
        out: pl.Out[pl.Tensor[[256, 64], pl.FP32]],
    ) -> pl.Tensor[[256, 64], pl.FP32]:
        for i in pl.range(4):
            x = pl.load(a, [i * 64, 0], [64, 64])
            y = pl.load(b, [i * 64, 0], [64, 64])
            out = pl.store(pl.add(x, y), [i * 64, 0], out)
        return out


def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Two random matrices."""
    return {name: rng.standard_normal((256, 64), dtype=np.float32) for name in ("a", "b")}


def golden(a: np.ndarray, b: np.ndarray) -> dict[str, np.ndarray]:
    """What numpy says."""
    return {"out": a + b}


TOLERANCE = 0.0
