# ruff: noqa: I002 - kernel files are written without it
"""Row-wise kernels: softmax and normalisations with scratch tiles, column vectors and scalar constants."""

import pypto.language as pl

HIDDEN = 64
EPS = 1e-6


@pl.jit
def softmax(x: pl.Tensor, out: pl.Out[pl.Tensor]):
    with pl.at(level=pl.Level.CORE_GROUP):
        tile = pl.load(x, [0, 0], [64, 64])
        tmp = pl.create_tile([64, 64], dtype=pl.FP32, target_memory=pl.MemorySpace.Vec)
        row_max: pl.Tile[[64, 1], pl.FP32] = pl.row_max(tile, tmp)
        shifted = pl.row_expand_sub(tile, row_max)
        exp_shifted = pl.exp(shifted)
        tmp = pl.create_tile([64, 64], dtype=pl.FP32, target_memory=pl.MemorySpace.Vec)
        row_sum: pl.Tile[[64, 1], pl.FP32] = pl.row_sum(exp_shifted, tmp)
        pl.store(pl.row_expand_div(exp_shifted, row_sum), [0, 0], out)
    return out


@pl.jit
def rms_norm(x: pl.Tensor, gamma: pl.Tensor, out: pl.Out[pl.Tensor]):
    with pl.at(level=pl.Level.CORE_GROUP):
        tile = pl.load(x, [0, 0], [32, HIDDEN])
        weight = pl.load(gamma, [0, 0], [1, HIDDEN])
        tmp = pl.create_tile([32, HIDDEN], dtype=pl.FP32, target_memory=pl.MemorySpace.Vec)
        mean = pl.mul(pl.row_sum(pl.mul(tile, tile), tmp), 1.0 / HIDDEN)
        flat = pl.reshape(mean, [1, 32])
        rms = pl.sqrt(pl.add(flat, EPS))
        column = pl.reshape(rms, [32, 1])
        pl.store(pl.col_expand_mul(pl.row_expand_div(tile, column), weight), [0, 0], out)
    return out
