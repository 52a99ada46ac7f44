# ruff: noqa: I002 - kernel files are written without it
"""Two vector kernels and the orchestration that calls them."""

import pypto.language as pl


@pl.program
class ElementwiseProgram:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel_add(
        self,
        a: pl.Tensor[[128, 128], pl.FP32],
        b: pl.Tensor[[128, 128], pl.FP32],
        output: pl.Out[pl.Tensor[[128, 128], pl.FP32]],
    ) -> pl.Tensor[[128, 128], pl.FP32]:
        a_tile: pl.Tile[[128, 128], pl.FP32] = pl.load(a, offsets=[0, 0], shapes=[128, 128])
        b_tile: pl.Tile[[128, 128], pl.FP32] = pl.load(b, offsets=[0, 0], shapes=[128, 128])
        result: pl.Tile[[128, 128], pl.FP32] = pl.add(a_tile, b_tile)
        out: pl.Tensor[[128, 128], pl.FP32] = pl.store(result, offsets=[0, 0], output_tensor=output)
        return out

    @pl.function(type=pl.FunctionType.InCore)
    def kernel_scale(
        self,
        a: pl.Tensor[[128, 128], pl.FP32],
        factor: pl.Scalar[pl.FP32],
        output: pl.Out[pl.Tensor[[128, 128], pl.FP32]],
    ) -> pl.Tensor[[128, 128], pl.FP32]:
        x: pl.Tile[[128, 128], pl.FP32] = pl.tile.load(a, [0, 0], [128, 128])
        y: pl.Tile[[128, 128], pl.FP32] = pl.tile.muls(x, factor)
        out: pl.Tensor[[128, 128], pl.FP32] = pl.tile.store(y, [0, 0], output)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self,
        a: pl.Tensor[[128, 128], pl.FP32],
        b: pl.Tensor[[128, 128], pl.FP32],
        total: pl.Out[pl.Tensor[[128, 128], pl.FP32]],
        scaled: pl.Out[pl.Tensor[[128, 128], pl.FP32]],
    ) -> pl.Tensor[[128, 128], pl.FP32]:
        total = self.kernel_add(a, b, total)
        scaled = self.kernel_scale(total, 0.5, scaled)
        return scaled
