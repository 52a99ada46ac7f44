"""The rest of the vector unit: reductions, expansions, roots, conversions and layouts."""

from __future__ import annotations

import numpy as np

import pypto_core.language as pl

N = pl.dynamic("N")


@pl.program
class Vectors:
    """One kernel per kind of operator."""

    @pl.function(type=pl.FunctionType.Orchestration)
    def vectors(
        self,
        x: pl.Tensor[[N, 64], pl.FP32],
        half: pl.Tensor[[16, 64], pl.FP16],
        rows: pl.Out[pl.Tensor[[16, 64], pl.FP32]],
        columns: pl.Out[pl.Tensor[[16, 64], pl.FP32]],
        roots: pl.Out[pl.Tensor[[16, 64], pl.FP32]],
        numbers: pl.Out[pl.Tensor[[16, 64], pl.INT32]],
        turned: pl.Out[pl.Tensor[[64, 16], pl.FP16]],
        filled: pl.Out[pl.Tensor[[16, 64], pl.FP32]],
        waves: pl.Out[pl.Tensor[[16, 64], pl.FP32]],
    ) -> tuple[
        pl.Tensor[[16, 64], pl.FP32], pl.Tensor[[16, 64], pl.FP32], pl.Tensor[[16, 64], pl.FP32],
        pl.Tensor[[16, 64], pl.INT32], pl.Tensor[[64, 16], pl.FP16], pl.Tensor[[16, 64], pl.FP32],
        pl.Tensor[[16, 64], pl.FP32],
    ]:  # fmt: skip
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="by_rows"):
            a = x[0:16, :]
            spread = pl.sub(pl.row_max(a), pl.row_min(a))
            wide = pl.row_expand_add(pl.row_expand(a, spread), pl.row_sum(pl.abs(a)))
            rows[:, :] = pl.row_expand_div(pl.row_expand_mul(a, spread), pl.maximum(pl.row_max(wide), spread))
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="by_columns"):
            a = x[0:16, :]
            top = pl.col_max(a)
            shares = pl.col_expand_expdif(a, top)
            lifted = pl.col_expand_add(
                pl.col_expand(a, pl.col_sum(shares)), pl.minimum(top, pl.mul(top, 0.5))
            )
            columns[:, :] = pl.div(shares, pl.col_expand_mul(lifted, pl.add(pl.mul(top, top), 1.0)))
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="roots"):
            a = pl.add(pl.abs(x[0:16, :]), 1.0)
            precise = pl.rsqrt(a, high_precision=True)
            roots[:, :] = pl.mul(
                pl.log(a), pl.mul(precise, pl.mul(pl.rsqrt(a), pl.mul(pl.sqrt(a), pl.recip(a))))
            )
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="numbers"):
            whole = pl.cast(pl.mul(x[0:16, :], 100.0), pl.INT32, mode="trunc")
            nearest = pl.cast(pl.cast(half, pl.FP32), pl.INT32, mode="round")
            numbers[:, :] = pl.maximum(pl.add(whole, nearest), pl.sub(whole, nearest))
            turned[:, :] = pl.transpose(half, 0, 1)
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="padding"):
            n = pl.tensor.dim(x, 0)
            few = pl.tensor.set_validshape(x[0:16, :], pl.min(n, 5), 64)
            part = pl.set_validshape(pl.neg(few), pl.max(pl.min(n, 5), 1), 48)
            filled[:, :] = pl.fillpad(part, pad_value=pl.PadValue.zero)
            waves[:, :] = pl.add(pl.sin(x[0:16, :]), pl.cos(x[0:16, :]))
        return rows, columns, roots, numbers, turned, filled, waves


def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Random matrices, one of a number of rows that the program does not know."""
    return {
        "x": rng.standard_normal((20, 64), dtype=np.float32),
        "half": (rng.integers(-20, 20, (16, 64)) + 0.25).astype(np.float16),
    }


def golden(x: np.ndarray, half: np.ndarray) -> dict[str, np.ndarray]:
    """The same with numpy, in double precision."""
    a = x[:16].astype(np.float64)
    low, high = a.min(axis=1, keepdims=True), a.max(axis=1, keepdims=True)
    wide = (high - low) + np.abs(a).sum(axis=1, keepdims=True)
    top = a.max(axis=0, keepdims=True)
    shares = np.exp(a - top)
    lifted = shares.sum(axis=0, keepdims=True) + np.minimum(top, top / 2)
    b = np.abs(a) + 1
    whole, nearest = np.trunc(x[:16] * np.float32(100)), np.rint(half.astype(np.float64))
    filled = np.zeros((16, 64))
    filled[:5, :48] = -a[:5, :48]
    return {
        "rows": a * (high - low) / np.maximum(wide, high - low),
        "columns": shares / (lifted * (top * top + 1)),
        "roots": np.log(b) / b**1.5,
        "numbers": np.maximum(whole + nearest, whole - nearest),
        "turned": half.T,
        "filled": filled,
        "waves": np.sin(a) + np.cos(a),
    }


TOLERANCE = 1e-5
