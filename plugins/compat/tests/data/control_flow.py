# ruff: noqa: I002 - kernel files are written without it
"""Loops with carried values, a branch with phis, and plain reassignment."""

import pypto.language as pl

ROWS = 32
BLOCKS = 4


@pl.program
class ControlFlow:
    @pl.function(type=pl.FunctionType.InCore)
    def accumulate(
        self,
        x: pl.Tensor[[ROWS * BLOCKS, 64], pl.FP32],
        out: pl.Out[pl.Tensor[[ROWS, 64], pl.FP32]],
    ) -> pl.Tensor[[ROWS, 64], pl.FP32]:
        first: pl.Tile[[ROWS, 64], pl.FP32] = pl.tile.load(x, [0, 0], [ROWS, 64])
        # sum the further blocks onto the first
        for i, (acc,) in pl.range(1, BLOCKS, 1, init_values=(first,)):
            block: pl.Tile[[ROWS, 64], pl.FP32] = pl.tile.load(x, [i * ROWS, 0], [ROWS, 64])
            summed: pl.Tile[[ROWS, 64], pl.FP32] = pl.tile.add(acc, block)
            total = pl.yield_(summed)
        result: pl.Tensor[[ROWS, 64], pl.FP32] = pl.tile.store(total, [0, 0], out)
        return result

    @pl.function(type=pl.FunctionType.InCore)
    def choose(
        self,
        x: pl.Tensor[[ROWS, 64], pl.FP32],
        n: pl.Scalar[pl.INDEX],
        out: pl.Out[pl.Tensor[[ROWS, 64], pl.FP32]],
    ) -> pl.Tensor[[ROWS, 64], pl.FP32]:
        t: pl.Tile[[ROWS, 64], pl.FP32] = pl.load(x, [0, 0], [ROWS, 64])
        if n > 2:
            up: pl.Tile[[ROWS, 64], pl.FP32] = pl.add(t, 1.0)
            picked = pl.yield_(up)
        else:
            down: pl.Tile[[ROWS, 64], pl.FP32] = pl.mul(t, 2.0)
            picked = pl.yield_(down)
        return pl.store(picked, [0, 0], out)

    @pl.function(type=pl.FunctionType.InCore)
    def rebind(
        self,
        x: pl.Tensor[[ROWS, 64], pl.FP32],
        out: pl.Out[pl.Tensor[[ROWS, 64], pl.FP32]],
    ) -> pl.Tensor[[ROWS, 64], pl.FP32]:
        t = pl.load(x, [0, 0], [ROWS, 64])
        for i in pl.range(BLOCKS):  # noqa: B007 - the kernel language wants a name
            t = pl.add(t, t)
        out = pl.store(t, [0, 0], out)
        return out
