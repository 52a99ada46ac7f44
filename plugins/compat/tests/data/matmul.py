# ruff: noqa: I002 - kernel files are written without it
"""A product over two blocks of K, with every move written out."""

import pypto.language as pl


@pl.program
class MatmulProgram:
    @pl.function(type=pl.FunctionType.InCore)
    def matmul(
        self,
        a: pl.Tensor[[64, 128], pl.FP16],
        b: pl.Tensor[[128, 64], pl.FP16],
        c: pl.Out[pl.Tensor[[64, 64], pl.FP32]],
    ) -> pl.Tensor[[64, 64], pl.FP32]:
        a0_l1 = pl.load(a, [0, 0], [64, 64], target_memory=pl.MemorySpace.Mat)
        b0_l1 = pl.load(b, [0, 0], [64, 64], target_memory=pl.MemorySpace.Mat)
        a0 = pl.move(a0_l1, target_memory=pl.MemorySpace.Left)
        b0 = pl.move(b0_l1, target_memory=pl.MemorySpace.Right)
        acc: pl.Tile[[64, 64], pl.FP32, pl.Mem.Acc] = pl.matmul(a0, b0)
        a1_l1 = pl.load(a, [0, 64], [64, 64], target_memory=pl.MemorySpace.Mat)
        b1_l1 = pl.load(b, [64, 0], [64, 64], target_memory=pl.MemorySpace.Mat)
        a1 = pl.move(a1_l1, target_memory=pl.MemorySpace.Left)
        b1 = pl.move(b1_l1, target_memory=pl.MemorySpace.Right)
        acc = pl.matmul_acc(acc, a1, b1)
        out: pl.Tensor[[64, 64], pl.FP32] = pl.store(acc, [0, 0], c)
        return out
