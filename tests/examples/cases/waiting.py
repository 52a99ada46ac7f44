"""Blocks that wait for each other in the middle of a kernel."""

from __future__ import annotations

import numpy as np

import pypto_core.language as pl


@pl.program
class Waiting:
    """Each block reads what another has written."""

    @pl.function(type=pl.FunctionType.Orchestration)
    def waiting(
        self,
        x: pl.Tensor[[64, 32], pl.FP32],
        between: pl.Out[pl.Tensor[[64, 32], pl.FP32]],
        out: pl.Out[pl.Tensor[[64, 32], pl.FP32]],
    ) -> tuple[pl.Tensor[[64, 32], pl.FP32], pl.Tensor[[64, 32], pl.FP32]]:
        for block in pl.spmd(4, sync_start=True):
            mine, theirs = block * 16, (3 - block) * 16
            between[mine : mine + 16, :] = pl.add(x[mine : mine + 16, :], 1.0)
            pl.system.syncall(core_type="aiv")
            out[mine : mine + 16, :] = pl.mul(between[theirs : theirs + 16, :], 2.0)
        return between, out


def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """One random matrix."""
    return {"x": rng.standard_normal((64, 32), dtype=np.float32)}


def golden(x: np.ndarray) -> dict[str, np.ndarray]:
    """The same with numpy, in double precision."""
    between = x.astype(np.float64) + 1
    return {"between": between, "out": between.reshape(4, 16, 32)[::-1].reshape(64, 32) * 2}


TOLERANCE = 1e-5
REFUSED = ("PTO-001", "'system.syncall' can't be written as PTO text")
