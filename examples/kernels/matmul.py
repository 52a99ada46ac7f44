"""A 64 x 64 x 64 matrix product: through L1 into L0, the result straight from L0C."""

from __future__ import annotations

import numpy as np

import pypto_core.language as pl


@pl.program
class Matmul:
    """One product on the cube unit."""

    @pl.function(type=pl.FunctionType.InCore)
    def matmul(
        self,
        a: pl.Tensor[[64, 64], pl.FP16],
        b: pl.Tensor[[64, 64], pl.FP16],
        out: pl.Out[pl.Tensor[[64, 64], pl.FP32]],
    ) -> pl.Tensor[[64, 64], pl.FP32]:
        a_l1 = pl.load(a, [0, 0], [64, 64], target_memory=pl.Mem.Mat)
        b_l1 = pl.load(b, [0, 0], [64, 64], target_memory=pl.Mem.Mat)
        left = pl.move(a_l1, target_memory=pl.Mem.Left)
        right = pl.move(b_l1, target_memory=pl.Mem.Right)
        return pl.store(pl.matmul(left, right), [0, 0], out)


def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Two random half-precision matrices."""
    return {name: rng.standard_normal((64, 64)).astype(np.float16) for name in ("a", "b")}


def golden(a: np.ndarray, b: np.ndarray) -> dict[str, np.ndarray]:
    """What numpy says, in double precision."""
    return {"out": (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32)}


# 64 products of half-precision numbers summed in single precision.
TOLERANCE = 1e-4
