# ruff: noqa: I002 - kernel files are written without it
"""Matrix products: by hand through the memories, split along K, with helpers that a kernel calls."""

import pypto.language as pl


@pl.jit
def matmul_64(a: pl.Tensor, b: pl.Tensor, c: pl.Out[pl.Tensor]):
    with pl.at(level=pl.Level.CORE_GROUP):
        a_l1 = pl.load(a, offsets=[0, 0], shapes=[64, 64], target_memory=pl.MemorySpace.Mat)
        b_l1 = pl.load(b, offsets=[0, 0], shapes=[64, 64], target_memory=pl.MemorySpace.Mat)
        a_l0 = pl.move(a_l1, target_memory=pl.MemorySpace.Left)
        b_l0 = pl.move(b_l1, target_memory=pl.MemorySpace.Right)
        pl.store(pl.matmul(a_l0, b_l0), offsets=[0, 0], output_tensor=c)
    return c


@pl.jit
def matmul_acc(a: pl.Tensor, b: pl.Tensor, c: pl.Out[pl.Tensor]):
    with pl.at(level=pl.Level.CORE_GROUP):
        a0 = pl.load(a, [0, 0], [64, 32], target_memory=pl.MemorySpace.Mat)
        b0 = pl.load(b, [0, 0], [32, 64], target_memory=pl.MemorySpace.Mat)
        acc = pl.matmul(pl.move(a0, target_memory=pl.Mem.Left), pl.move(b0, target_memory=pl.Mem.Right))
        a1 = pl.load(a, [0, 32], [64, 32], target_memory=pl.MemorySpace.Mat)
        b1 = pl.load(b, [32, 0], [32, 64], target_memory=pl.MemorySpace.Mat)
        acc = pl.matmul_acc(
            acc, pl.move(a1, target_memory=pl.Mem.Left), pl.move(b1, target_memory=pl.Mem.Right)
        )
        pl.store(acc, [0, 0], c)
    return c


@pl.jit.incore
def product(a: pl.Tensor, b: pl.Tensor, out: pl.Out[pl.Tensor]):
    m, k = a.shape
    n = b.shape[1]
    left = pl.move(pl.load(a, [0, 0], [m, k], target_memory=pl.Mem.Mat), target_memory=pl.Mem.Left)
    right = pl.move(pl.load(b, [0, 0], [k, n], target_memory=pl.Mem.Mat), target_memory=pl.Mem.Right)
    out = pl.store(pl.matmul(left, right), [0, 0], out)
    return out


@pl.jit.incore
def add_bias(x: pl.Tensor, bias: pl.Tensor, out: pl.Out[pl.Tensor], relu: bool = False):
    t = pl.add(pl.load(x, [0, 0], x.shape), pl.load(bias, [0, 0], x.shape))
    if relu:
        t = pl.relu(t)
    out = pl.store(t, [0, 0], out)
    return out


@pl.jit
def fused_linear(x: pl.Tensor, w: pl.Tensor, bias: pl.Tensor, out: pl.Out[pl.Tensor]):
    hidden = pl.create_tensor([64, 64], dtype=pl.FP32)
    hidden = product(x, w, hidden)
    out = add_bias(hidden, bias, out, relu=True)
    return out


@pl.jit.incore
def scaled_sum(a: pl.Tensor, b: pl.Tensor, s: pl.Scalar[pl.FP32], out: pl.Out[pl.Tensor]):
    t = pl.add(pl.load(a, [0, 0], [64, 64]), pl.load(b, [0, 0], [64, 64]))
    out = pl.store(pl.add(t, s), [0, 0], out)
    return out


@pl.jit
def vector_dag(a: pl.Tensor, b: pl.Tensor, f: pl.Out[pl.Tensor]):
    one = pl.create_tensor([64, 64], dtype=pl.FP32)
    two = pl.create_tensor([64, 64], dtype=pl.FP32)
    one = scaled_sum(a, b, 1.0, one)
    two = scaled_sum(a, b, 2.0, two)
    f = scaled_sum(one, two, 0.5, f)
    return f
