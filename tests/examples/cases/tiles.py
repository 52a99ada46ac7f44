"""A kernel on tiles with the full name of each operator, as generated kernels are written."""

from __future__ import annotations

import numpy as np

import pypto_core.language as pl


@pl.program
class Tiles:
    """Softmax and a root mean square of what of the rows holds data; a product whose sum a loop carries."""

    @pl.function(type=pl.FunctionType.InCore)
    def rows(
        self,
        x: pl.Tensor[[64, 32], pl.FP32],
        shares: pl.Out[pl.Tensor[[64, 32], pl.FP32]],
        scaled: pl.Out[pl.Tensor[[64, 32], pl.FP32]],
    ) -> tuple[pl.Tensor[[64, 32], pl.FP32], pl.Tensor[[64, 32], pl.FP32]]:
        held = pl.tile.load(x, [0, 0], [64, 32], [50, 32])
        filled = pl.tile.fillpad(held, pad_value=pl.PadValue.zero)
        scratch = pl.tile.create([64, 32], dtype=pl.FP32, target_memory=pl.Mem.Vec)
        weights = pl.tile.exp(pl.tile.row_expand_sub(filled, pl.tile.row_max(filled, scratch)))
        part = pl.tile.row_expand_div(weights, pl.tile.row_sum(weights, scratch))
        half = pl.tile.full([64, 32], dtype=pl.FP32, value=0.5)
        bounded = pl.tile.maximum(pl.tile.mul(part, half), pl.tile.neg(part))
        root = pl.tile.rsqrt(pl.tile.add(pl.tile.sqrt(pl.tile.recip(pl.tile.add(bounded, half))), half))
        first = pl.tile.mul(pl.tile.slice(root, [1, 32], [3, 0]), 1.0)
        scaled = pl.tile.store(pl.tile.col_expand_mul(pl.tile.sub(root, half), first), [0, 0], scaled)
        narrow = pl.tile.cast(bounded, target_type=pl.BF16, mode="rint")
        again = pl.tile.cast(narrow, target_type=pl.FP32)
        tops = pl.tile.reshape(pl.tile.row_max(again, scratch), [64, 1])
        whole = pl.tile.row_expand_mul(again, tops)
        count = pl.tile.cast(pl.tile.arange(0, [1, 32], dtype=pl.INT32), target_type=pl.FP32)
        copy = pl.tile.add(whole, 0.0)
        numbered = pl.tile.assemble(copy, count, [7, 0])
        pl.tile.write(numbered, [9, 1], pl.tile.read(count, [0, 5]) * 2.0)
        return pl.tile.store(numbered, [0, 0], shares), scaled

    @pl.function(type=pl.FunctionType.InCore)
    def picked(
        self,
        x: pl.Tensor[[64, 32], pl.FP32],
        order: pl.Tensor[[1, 32], pl.INT32],
        turned: pl.Out[pl.Tensor[[32, 64], pl.FP32]],
        ordered: pl.InOut[pl.Tensor[[1, 32], pl.FP32]],
    ) -> tuple[pl.Tensor[[32, 64], pl.FP32], pl.Tensor[[1, 32], pl.FP32]]:
        whole = pl.tile.load(x, [0, 0], [64, 32])
        scratch = pl.tile.create([64, 32], dtype=pl.FP32, target_memory=pl.Mem.Vec)
        turned = pl.tile.store(pl.tile.transpose(whole, 0, 1, scratch), [0, 0], turned)
        line = pl.tile.load(x, [5, 0], [1, 32])
        names = pl.tile.load(order, [0, 0], [1, 32])
        room = pl.tile.create([1, 32], dtype=pl.INT32, target_memory=pl.Mem.Vec)
        taken = pl.tile.gather(line, names, room)
        part = pl.tile.set_validshape(taken, 1, pl.const(24, pl.INDEX))
        return turned, pl.tile.store(part, [0, 0], ordered)

    @pl.function(type=pl.FunctionType.InCore)
    def product(
        self,
        a: pl.Tensor[[32, 128], pl.BF16],
        b: pl.Tensor[[64, 128], pl.BF16],
        out: pl.Out[pl.Tensor[[32, 64], pl.FP32]],
    ) -> pl.Tensor[[32, 64], pl.FP32]:
        start = pl.tile.create([32, 64], dtype=pl.FP32, target_memory=pl.Mem.Acc)
        for k, (held,) in pl.pipeline(0, 128, 32, stage=2, init_values=(start,)):
            left = pl.tile.load(a, [0, k], [32, 32], target_memory=pl.Mem.Mat)
            lying = pl.tile.load(b, [0, k], [64, 32], target_memory=pl.Mem.Mat)
            right = pl.tile.transpose_view(lying)
            if k == 0:
                begun = pl.tile.matmul(left, right)
                met = pl.yield_(begun)
            else:
                added = pl.tile.matmul_acc(held, left, right)
                met = pl.yield_(added)
            total = pl.yield_(met)
        return pl.tile.store(total, [0, 0], out)

    @pl.function(type=pl.FunctionType.Orchestration)
    def tiles(
        self,
        x: pl.Tensor[[64, 32], pl.FP32],
        a: pl.Tensor[[32, 128], pl.BF16],
        b: pl.Tensor[[64, 128], pl.BF16],
        order: pl.Tensor[[1, 32], pl.INT32],
        shares: pl.Out[pl.Tensor[[64, 32], pl.FP32]],
        scaled: pl.Out[pl.Tensor[[64, 32], pl.FP32]],
        out: pl.Out[pl.Tensor[[32, 64], pl.FP32]],
        turned: pl.Out[pl.Tensor[[32, 64], pl.FP32]],
        ordered: pl.InOut[pl.Tensor[[1, 32], pl.FP32]],
    ) -> tuple[
        pl.Tensor[[64, 32], pl.FP32], pl.Tensor[[64, 32], pl.FP32], pl.Tensor[[32, 64], pl.FP32],
        pl.Tensor[[32, 64], pl.FP32], pl.Tensor[[1, 32], pl.FP32],
    ]:  # fmt: skip
        shares, scaled = self.rows(x, shares, scaled)
        out = self.product(a, b, out)
        turned, ordered = self.picked(x, order, turned, ordered)
        return shares, scaled, out, turned, ordered


def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Random matrices."""
    import ml_dtypes

    return {
        "x": rng.standard_normal((64, 32), dtype=np.float32),
        "a": rng.standard_normal((32, 128)).astype(ml_dtypes.bfloat16),
        "b": rng.standard_normal((64, 128)).astype(ml_dtypes.bfloat16),
        "order": rng.permutation(32)[None].astype(np.int32),
        "ordered": rng.standard_normal((1, 32), dtype=np.float32),
    }


def golden(
    x: np.ndarray, a: np.ndarray, b: np.ndarray, order: np.ndarray, ordered: np.ndarray
) -> dict[str, np.ndarray]:
    """The same with numpy; the shares are rounded to bfloat16 in between."""
    import ml_dtypes

    held = x.astype(np.float64)
    held[50:] = 0
    weights = np.exp(held - held.max(axis=1, keepdims=True))
    part = weights / weights.sum(axis=1, keepdims=True)
    bounded = np.maximum(part / 2, -part)
    root = 1 / np.sqrt(np.sqrt(1 / (bounded + 0.5)) + 0.5)
    again = bounded.astype(np.float32).astype(ml_dtypes.bfloat16).astype(np.float64)
    shares = again * again.max(axis=1, keepdims=True)
    shares[7] = np.arange(32)
    shares[9, 1] = 10
    return {
        "shares": shares,
        "scaled": (root - 0.5) * root[3],
        "out": a.astype(np.float64) @ b.astype(np.float64).T,
        "turned": x.T,
        "ordered": np.concatenate([x[5, order[:, :24]], ordered[:, 24:]], axis=1),
    }


TOLERANCE = 1e-3
