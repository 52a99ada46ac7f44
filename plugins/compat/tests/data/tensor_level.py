# ruff: noqa: I002 - kernel files are written without it
"""Tensors as models write them: windows, a launch over blocks, a peeled split-K loop, a task that waits."""

import pypto.language as pl

ROWS, COLS, DEPTH, BLOCK = 32, 64, 128, 32


@pl.program
class TensorLevel:
    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self,
        x: pl.Tensor[[ROWS, DEPTH], pl.BF16],
        w: pl.Tensor[[COLS, DEPTH], pl.BF16],
        bias: pl.Tensor[[1, COLS], pl.FP32],
        out: pl.Out[pl.Tensor[[ROWS, COLS], pl.FP32]],
    ) -> pl.Tensor[[ROWS, COLS], pl.FP32]:
        made = pl.create_tensor([ROWS, COLS], dtype=pl.FP32)
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="product") as tid:
            acc = pl.create_tensor([ROWS, COLS], dtype=pl.FP32)
            for k in pl.pipeline(0, DEPTH, BLOCK, stage=2):
                left = x[:, k : k + BLOCK]
                right = w[:, k : k + BLOCK]
                if k == 0:
                    acc = pl.matmul(left, right, b_trans=True, out_dtype=pl.FP32)
                else:
                    acc = pl.matmul_acc(acc, left, right, b_trans=True)
            made[:, :] = acc
        with pl.at(
            level=pl.Level.CORE_GROUP,
            optimizations=[pl.split(pl.SplitMode.UP_DOWN)],
            deps=[tid],
            name_hint="bias",
        ):
            made[:, :] = pl.add(made[:, :], bias)
        for block in pl.spmd(2, name_hint="softmax"):
            rows = made[block * 16 : block * 16 + 16, :]
            weights = pl.exp(pl.row_expand_sub(rows, pl.row_max(rows)))
            out[block * 16 : block * 16 + 16, :] = pl.row_expand_div(weights, pl.row_sum(weights))
        return out
