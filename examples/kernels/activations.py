"""Activations on tensors: SiLU, GELU (in its sigmoid form) and SwiGLU, one row block per trip."""

from __future__ import annotations

import numpy as np

import pypto_core.language as pl

ROWS, COLS, BLOCK = 64, 128, 16
GELU = 1.702


@pl.program
class Activations:
    """Three kernels in one: windows of tensors in, windows of tensors out."""

    @pl.function(type=pl.FunctionType.Orchestration)
    def activations(
        self,
        gate: pl.Tensor[[ROWS, COLS], pl.FP32],
        up: pl.Tensor[[ROWS, COLS], pl.FP32],
        silu: pl.Out[pl.Tensor[[ROWS, COLS], pl.FP32]],
        gelu: pl.Out[pl.Tensor[[ROWS, COLS], pl.FP32]],
        swiglu: pl.Out[pl.Tensor[[ROWS, COLS], pl.FP32]],
    ) -> tuple[
        pl.Tensor[[ROWS, COLS], pl.FP32], pl.Tensor[[ROWS, COLS], pl.FP32], pl.Tensor[[ROWS, COLS], pl.FP32]
    ]:
        for r in pl.range(0, ROWS, BLOCK):
            with pl.at(level=pl.Level.CORE_GROUP, name_hint="activate"):
                x = gate[r : r + BLOCK, :]
                sigmoid = pl.recip(pl.add(pl.exp(pl.neg(x)), 1.0))
                soft = pl.mul(x, sigmoid)
                silu[r : r + BLOCK, :] = soft
                swiglu[r : r + BLOCK, :] = pl.mul(soft, up[r : r + BLOCK, :])
                smooth = pl.add(pl.exp(pl.mul(x, -GELU)), 1.0)
                gelu[r : r + BLOCK, :] = pl.div(x, smooth)
        return silu, gelu, swiglu


def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Two random matrices."""
    return {name: rng.standard_normal((ROWS, COLS), dtype=np.float32) for name in ("gate", "up")}


def golden(gate: np.ndarray, up: np.ndarray) -> dict[str, np.ndarray]:
    """What numpy says, in double precision."""
    x = gate.astype(np.float64)
    silu = x / (1 + np.exp(-x))
    return {"silu": silu, "gelu": x / (1 + np.exp(-GELU * x)), "swiglu": silu * up}


TOLERANCE = 1e-5
