"""Two matrices side by side, once as a tile and once by writing into the halves of the result."""

from __future__ import annotations

import numpy as np

import pypto_core.language as pl


@pl.program
class Concat:
    """A concatenation on chip, and one by windows."""

    @pl.function(type=pl.FunctionType.Orchestration)
    def concat(
        self,
        left: pl.Tensor[[32, 16], pl.FP32],
        right: pl.Tensor[[32, 16], pl.FP32],
        joined: pl.Out[pl.Tensor[[32, 32], pl.FP32]],
        doubled: pl.Out[pl.Tensor[[32, 32], pl.FP32]],
    ) -> tuple[pl.Tensor[[32, 32], pl.FP32], pl.Tensor[[32, 32], pl.FP32]]:
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="join"):
            joined[:] = pl.concat(left, right)
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="halves"):
            doubled[:, 0:16] = pl.add(left, left)
            doubled = pl.assemble(doubled, pl.add(right, right), [0, 16])
        return joined, doubled


def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Two random matrices."""
    return {name: rng.standard_normal((32, 16), dtype=np.float32) for name in ("left", "right")}


def golden(left: np.ndarray, right: np.ndarray) -> dict[str, np.ndarray]:
    """What numpy says."""
    joined = np.concatenate([left, right], axis=1)
    return {"joined": joined, "doubled": joined + joined}


TOLERANCE = 0.0
