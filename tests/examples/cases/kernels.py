"""Programs of several functions: kernels on tiles, kernels that are inlined, results that are written in place."""

from __future__ import annotations

from typing import Any

import numpy as np

import pypto_core.language as pl


def make(rows: int, scale: float) -> Any:
    """A kernel made for a size."""

    @pl.function(type=pl.FunctionType.InCore)
    def scaled(
        x: pl.Tensor[[rows, 64], pl.FP32], out: pl.Out[pl.Tensor[[rows, 64], pl.FP32]]
    ) -> pl.Tensor[[rows, 64], pl.FP32]:
        t: pl.Tile[[rows, 64], pl.FP32] = pl.load(x, [0, 0], [rows, 64])
        return pl.store(pl.mul(t, scale), [0, 0], out)

    return scaled


scaled = make(32, 3.0)


@pl.program
class Kernels:
    """Cube and vector kernels on tiles, called in a row."""

    @pl.function(type=pl.FunctionType.InCore)
    def product(
        self,
        x: pl.Tensor[[32, 64], pl.FP32],
        w: pl.Tensor[[64, 64], pl.FP32],
        out: pl.Out[pl.Tensor[[32, 64], pl.FP32]],
    ) -> pl.Tensor[[32, 64], pl.FP32]:
        left = pl.move(pl.load(x, [0, 0], [32, 64], target_memory=pl.Mem.Mat), target_memory=pl.Mem.Left)
        right = pl.move(pl.load(w, [0, 0], [64, 64], target_memory=pl.Mem.Mat), target_memory=pl.Mem.Right)
        return pl.store(pl.matmul(left, right), [0, 0], out)

    @pl.function(type=pl.FunctionType.InCore)
    def softmax(
        self, x: pl.InOut[pl.Tensor[[32, 64], pl.FP32]], rows: pl.Scalar[pl.INT32], bias: pl.Scalar[pl.FP32]
    ) -> pl.Tensor[[32, 64], pl.FP32]:
        count = pl.cast(rows, pl.INDEX)
        for i, (held,) in pl.range(0, count, 16, init_values=(x,)):
            t = pl.load(held, [i, 0], [16, 64], valid_shape=[pl.min(16, count - i), 64])
            scratch = pl.create_tile([16, 64], pl.FP32)
            weights = pl.exp(pl.row_expand_sub(t, pl.row_max(t, scratch)))
            shares = pl.row_expand_div(weights, pl.row_sum(weights, scratch))
            written = pl.store(pl.add(shares, bias), [i, 0], held)
            done = pl.yield_(written)
        return done

    @pl.function(type=pl.FunctionType.InCore)
    def halves(
        self,
        x: pl.Tensor[[32, 64], pl.FP32],
        swapped: pl.Out[pl.Tensor[[32, 64], pl.FP32]],
        negated: pl.Out[pl.Tensor[[32, 64], pl.FP32]],
    ) -> tuple[pl.Tensor[[32, 64], pl.FP32], pl.Tensor[[32, 64], pl.FP32]]:
        t = pl.load(x, [0, 0], [32, 64])
        top = pl.load(x, [0, 0], [16, 64])
        bottom = pl.load(x, [16, 0], [16, 64])
        t = pl.tile.assemble(t, bottom, [0, 0])
        t = pl.tile.assemble(t, top, [16, 0])
        return pl.store(t, [0, 0], swapped), pl.store(pl.neg(t), [0, 0], negated)

    @pl.function(type=pl.FunctionType.Inline)
    def twice(self, x: pl.Tensor[[32, 64], pl.FP32]) -> pl.Tensor[[32, 64], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            y = pl.add(x, x)
        return y

    @pl.function(type=pl.FunctionType.Orchestration)
    def kernels(
        self,
        x: pl.Tensor[[32, 64], pl.FP32],
        w: pl.Tensor[[64, 64], pl.FP32],
        rows: pl.Scalar[pl.INT32],
        out: pl.Out[pl.Tensor[[32, 64], pl.FP32]],
        swapped: pl.Out[pl.Tensor[[32, 64], pl.FP32]],
        negated: pl.Out[pl.Tensor[[32, 64], pl.FP32]],
    ) -> tuple[
        pl.Tensor[[32, 64], pl.FP32], pl.Tensor[[32, 64], pl.FP32], pl.Tensor[[32, 64], pl.FP32]
    ]:  # fmt: skip
        made = pl.create_tensor([32, 64], dtype=pl.FP32)
        made = self.product(x, w, made)
        made = self.softmax(made, rows, 0.5)
        made = self.twice(made)
        swapped, negated = self.halves(made, swapped, negated)
        out = scaled(made, out)
        return out, swapped, negated


def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Random matrices; the softmax is of the first 24 rows."""
    found: dict[str, Any] = {"x": rng.standard_normal((32, 64), dtype=np.float32), "rows": 24}
    found["w"] = rng.standard_normal((64, 64), dtype=np.float32)
    return found


def golden(x: np.ndarray, w: np.ndarray, rows: int) -> dict[str, np.ndarray]:
    """The same with numpy, in double precision."""
    product = x.astype(np.float64) @ w.astype(np.float64)
    weights = np.exp(product[:rows] - product[:rows].max(axis=1, keepdims=True))
    product[:rows] = weights / weights.sum(axis=1, keepdims=True) + 0.5
    swapped = np.concatenate([product[16:], product[:16]]) * 2
    return {"out": product * 6, "swapped": swapped, "negated": -swapped}


TOLERANCE = 1e-3
