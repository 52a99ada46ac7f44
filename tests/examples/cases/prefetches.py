"""Weights that are announced before they are read."""

from __future__ import annotations

import numpy as np

import pypto_core.language as pl


@pl.program
class Prefetches:
    """A hint per window, and one for a whole tensor."""

    @pl.function(type=pl.FunctionType.Orchestration)
    def prefetches(
        self,
        x: pl.Tensor[[64, 32], pl.FP32],
        workspace: pl.Tensor[[1, 256], pl.INT32],
        out: pl.Out[pl.Tensor[[64, 32], pl.FP32]],
    ) -> pl.Tensor[[64, 32], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP):
            context = pl.prefetch.make_context(workspace)
            pl.prefetch.async_prefetch(x, context)
            for i in pl.range(0, 64, 16):
                pl.prefetch.async_prefetch(x[i : i + 16, :], context)
                out[i : i + 16, :] = pl.neg(x[i : i + 16, :])
        return out


def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """A random matrix, and room for the machine."""
    return {
        "x": rng.standard_normal((64, 32), dtype=np.float32),
        "workspace": np.zeros((1, 256), np.int32),
    }


def golden(x: np.ndarray, workspace: np.ndarray) -> dict[str, np.ndarray]:
    """The same with numpy."""
    return {"out": -x}


TOLERANCE = 0.0
REFUSED = ("PTO-001", "can't be written as PTO text: how the assembler spells a prefetch")
