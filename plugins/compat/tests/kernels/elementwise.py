# ruff: noqa: I002 - kernel files are written without it
"""Tile-level kernels: one scope each, bare stores, module constants, activations."""

import pypto.language as pl

M, N, TILE = 512, 128, 128


@pl.jit
def tile_add(a: pl.Tensor, b: pl.Tensor, c: pl.Out[pl.Tensor]):
    with pl.at(level=pl.Level.CORE_GROUP):
        tile_a = pl.load(a, [0, 0], [128, 128])
        tile_b = pl.load(b, [0, 0], [128, 128])
        tile_c = pl.add(tile_a, tile_b)
        pl.store(tile_c, [0, 0], c)
    return c


@pl.jit
def chunked_add(a: pl.Tensor, b: pl.Tensor, c: pl.Out[pl.Tensor]):
    with pl.at(level=pl.Level.CORE_GROUP):
        for i in pl.range(M // TILE):
            tile_a = pl.load(a, [i * TILE, 0], [TILE, N])
            tile_b = pl.load(b, [i * TILE, 0], [TILE, N])
            pl.store(pl.add(tile_a, tile_b), [i * TILE, 0], c)
    return c


@pl.jit
def fused_add_scale(a: pl.Tensor, b: pl.Tensor, c: pl.Out[pl.Tensor]):
    with pl.at(level=pl.Level.CORE_GROUP):
        total = pl.add(pl.load(a, [0, 0], [128, 128]), pl.load(b, [0, 0], [128, 128]))
        pl.store(pl.mul(total, 2.0), [0, 0], c)
    return c


@pl.jit
def silu(x: pl.Tensor, out: pl.Out[pl.Tensor]):
    with pl.at(level=pl.Level.CORE_GROUP, name_hint="silu"):
        rows, cols = x.shape
        tile = pl.load(x, [0, 0], [rows, cols])
        gate = pl.recip(pl.add(pl.exp(pl.mul(tile, -1.0)), 1.0))
        pl.store(pl.mul(tile, gate), [0, 0], out)
    return out


@pl.jit
def concat(a: pl.Tensor, b: pl.Tensor, out: pl.Out[pl.Tensor]):
    with pl.at(level=pl.Level.CORE_GROUP):
        left = pl.load(a, [0, 0], [32, 16])
        right = pl.load(b, [0, 0], [32, 16])
        both: pl.Tile[[32, 32], pl.FP32] = pl.concat(left, right)
        pl.store(both, [0, 0], out)
    return out
