"""RMS norm and layer norm over the rows of a bfloat16 activation, scaled by a row of weights."""

from __future__ import annotations

import numpy as np

import pypto_core.language as pl

ROWS, COLS = 16, 256
EPS = 1e-5


@pl.program
class Norms:
    """Activations are bfloat16 in memory and single precision on the core."""

    @pl.function(type=pl.FunctionType.Orchestration)
    def norms(
        self,
        x: pl.Tensor[[ROWS, COLS], pl.BF16],
        gamma: pl.Tensor[[1, COLS], pl.FP32],
        beta: pl.Tensor[[1, COLS], pl.FP32],
        rms: pl.Out[pl.Tensor[[ROWS, COLS], pl.FP32]],
        layer: pl.Out[pl.Tensor[[ROWS, COLS], pl.FP32]],
    ) -> tuple[pl.Tensor[[ROWS, COLS], pl.FP32], pl.Tensor[[ROWS, COLS], pl.FP32]]:
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="rms_norm"):
            wide = pl.cast(x, pl.FP32)
            squares = pl.row_sum(pl.mul(wide, wide))
            scale = pl.rsqrt(pl.add(pl.mul(squares, 1.0 / COLS), EPS))
            rms[:] = pl.col_expand_mul(pl.row_expand_mul(wide, scale), gamma)
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="layer_norm"):
            rows = pl.cast(x, pl.FP32)
            mean = pl.mul(pl.row_sum(rows), 1.0 / COLS)
            centred = pl.row_expand_sub(rows, mean)
            variance = pl.mul(pl.row_sum(pl.mul(centred, centred)), 1.0 / COLS)
            deviation = pl.sqrt(pl.add(variance, EPS))
            normal = pl.row_expand_div(centred, deviation)
            layer[:] = pl.col_expand_add(pl.col_expand_mul(normal, gamma), beta)
        return rms, layer


def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """A random activation and random weights."""
    import ml_dtypes

    return {
        "x": rng.standard_normal((ROWS, COLS)).astype(ml_dtypes.bfloat16),
        "gamma": rng.standard_normal((1, COLS), dtype=np.float32),
        "beta": rng.standard_normal((1, COLS), dtype=np.float32),
    }


def golden(x: np.ndarray, gamma: np.ndarray, beta: np.ndarray) -> dict[str, np.ndarray]:
    """What numpy says, in double precision."""
    wide = x.astype(np.float64)
    centred = wide - wide.mean(axis=1, keepdims=True)
    return {
        "rms": wide / np.sqrt((wide**2).mean(axis=1, keepdims=True) + EPS) * gamma,
        "layer": centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + EPS) * gamma + beta,
    }


TOLERANCE = 1e-4
