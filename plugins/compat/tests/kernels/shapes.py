# ruff: noqa: I002 - kernel files are written without it
"""Tiles put together, extents and trip counts read at run time, values carried by loops, kernels from factories."""

import pypto.language as pl


@pl.jit
def assemble_blocks(x: pl.Tensor, y: pl.Tensor, out: pl.Out[pl.Tensor]):
    with pl.at(level=pl.Level.CORE_GROUP):
        whole = pl.load(x, [0, 0], [64, 64])
        for i in pl.range(2):
            for j in pl.range(2):
                block = pl.load(y, [i * 32, j * 32], [32, 32])
                whole = pl.tile.assemble(whole, block, [i * 32, j * 32])
        pl.store(whole, [0, 0], out)
    return out


@pl.jit
def assemble_product(a: pl.Tensor, b: pl.Tensor, out: pl.Out[pl.Tensor]):
    with pl.at(level=pl.Level.CORE_GROUP):
        a_mat = pl.load(a, [0, 0], [32, 32], target_memory=pl.MemorySpace.Mat)
        b_mat = pl.load(b, [0, 0], [32, 32], target_memory=pl.MemorySpace.Mat)
        acc = pl.matmul(pl.move(a_mat, target_memory=pl.Mem.Left), pl.move(b_mat, target_memory=pl.Mem.Right))
        scratch = pl.create_tile([32, 32], dtype=pl.FP32, target_memory=pl.MemorySpace.Mat)
        scratch = pl.tile.assemble(scratch, acc, [0, 0])
        pl.store(pl.move(scratch, target_memory=pl.MemorySpace.Vec), [0, 0], out)
    return out


@pl.jit
def chosen_length(x: pl.Tensor, config: pl.Tensor, out: pl.Out[pl.Tensor]):
    is_last = pl.read(config, [0])
    last = pl.read(config, [1])
    full = pl.read(config, [2])
    with pl.at(level=pl.Level.CORE_GROUP):
        if is_last == 1:
            length = pl.cast(last, pl.INDEX)
        else:
            length = pl.cast(full, pl.INDEX)
        t = pl.load(x, [0, 0], [16, 64], valid_shape=[16, length])
        t = pl.fillpad(t, pad_value=pl.PadValue.min)
        pl.store(pl.mul(t, 1.0), [0, 0], out)
    return out


@pl.jit
def some_blocks(x: pl.Tensor, count: pl.Tensor, out: pl.Out[pl.Tensor]):
    with pl.at(level=pl.Level.CORE_GROUP):
        n = pl.cast(pl.read(count, [0]), pl.INDEX)
        for i in pl.range(n):
            t = pl.load(x, [i * 16, 0], [16, 64])
            pl.store(pl.exp(t), [i * 16, 0], out)
    return out


@pl.jit
def carried_sum(x: pl.Tensor, out: pl.Out[pl.Tensor]):
    with pl.at(level=pl.Level.CORE_GROUP):
        total = pl.load(x, [0, 0], [16, 64])
        for i, (so_far,) in pl.range(1, 4, init_values=(total,)):
            more = pl.add(so_far, pl.load(x, [i * 16, 0], [16, 64]))
            total = pl.yield_(more)
        pl.store(total, [0, 0], out)
    return out


def elementwise(rows: int, cols: int, op: str):
    @pl.jit
    def kernel(x: pl.Tensor, out: pl.Out[pl.Tensor]):
        with pl.at(level=pl.Level.CORE_GROUP):
            t = pl.load(x, [0, 0], [rows, cols])
            if op == "exp":
                t = pl.exp(t)
            elif op == "neg":
                t = pl.neg(t)
            else:
                t = pl.abs(t)
            pl.store(t, [0, 0], out)
        return out

    return kernel
