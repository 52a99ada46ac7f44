# ruff: noqa: I002 - kernel files are written without it
"""Several scopes in one kernel: task ids, work spread over cores, chained products, run-time extents."""

import pypto.language as pl

M, K, N, SPLIT = 64, 256, 64, 4
ROWS = pl.dynamic("ROWS")
BLOCK = 16


@pl.jit
def task_graph(a: pl.Tensor, b: pl.Tensor, out: pl.Out[pl.Tensor]):
    total = pl.create_tensor([64, 64], dtype=pl.FP32)
    with pl.at(level=pl.Level.CORE_GROUP) as summed:
        total[:] = pl.add(a, b)
    with pl.at(level=pl.Level.CORE_GROUP, deps=[summed]):
        out[:] = pl.mul(total, 2.0)
    return out


@pl.jit
def split_k_cores(a: pl.Tensor, b: pl.Tensor, c: pl.Out[pl.Tensor]):
    with pl.at(level=pl.Level.CORE_GROUP):
        c[:] = pl.full([M, N], dtype=pl.FP32, value=0.0)
    for s in pl.parallel(SPLIT):
        with pl.at(level=pl.Level.CORE_GROUP):
            k0 = s * (K // SPLIT)
            part = pl.matmul(a[:, k0 : k0 + K // SPLIT], b[k0 : k0 + K // SPLIT, :], out_dtype=pl.FP32)
            c = pl.assemble(c, part, [0, 0], atomic=pl.AtomicType.Add)
    return c


@pl.jit
def chained(a: pl.Tensor, b: pl.Tensor, d: pl.Tensor, c: pl.Out[pl.Tensor]):
    with pl.at(level=pl.Level.CORE_GROUP):
        hidden = pl.matmul(a, b, out_dtype=pl.FP32)
        hidden = pl.cast(hidden, pl.BF16, mode="rint")
        c[:] = pl.matmul(hidden, d, out_dtype=pl.FP32)
    return c


@pl.jit.opaque
def exp_rows(x: pl.Tensor, out: pl.Out[pl.Tensor]):
    with pl.at(level=pl.Level.CORE_GROUP):
        out[:] = pl.exp(x)
    return out


@pl.jit
def through_opaque(x: pl.Tensor, out: pl.Out[pl.Tensor]):
    out = exp_rows(x, out)
    return out


@pl.jit
def epilogue(a: pl.Tensor, b: pl.Tensor, out: pl.Out[pl.Tensor], n: pl.Scalar[pl.INDEX]):
    for i in pl.parallel(0, n, 1):
        with pl.at(level=pl.Level.CORE_GROUP):
            acc = pl.matmul(a[i * 16 : (i + 1) * 16, :], b, out_dtype=pl.FP32)
            out[i * 16 : (i + 1) * 16, :] = pl.exp(acc)
    return out


@pl.jit.inline
def scaled_rows(
    x: pl.Tensor[[ROWS, 64], pl.FP32], out: pl.Tensor[[ROWS, 64], pl.FP32], s: pl.Scalar[pl.FP32]
):
    x.bind_dynamic(0, ROWS)
    rows = pl.tensor.dim(x, 0)
    for r in pl.range(0, rows, BLOCK):
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="scale"):
            out[r : r + BLOCK, :] = pl.mul(x[r : r + BLOCK, :], s)
    return out


@pl.jit
def any_rows(x: pl.Tensor, out: pl.Out[pl.Tensor]):
    x.bind_dynamic(0, ROWS)
    out.bind_dynamic(0, ROWS)
    out = scaled_rows(x, out, 3.0)
    return out


@pl.jit
def both(x: pl.Tensor, e: pl.Out[pl.Tensor], n: pl.Out[pl.Tensor]):
    with pl.at(level=pl.Level.CORE_GROUP):
        e[:] = pl.exp(x)
        n[:] = pl.neg(x)
    return e, n


@pl.jit
def masked_max(x: pl.Tensor, length: pl.Tensor, out: pl.Out[pl.Tensor]):
    n = pl.cast(pl.read(length, [0]), pl.INDEX)
    with pl.at(level=pl.Level.CORE_GROUP):
        t = pl.load(x, [0, 0], [64, 64], valid_shape=[64, n])
        t = pl.fillpad(t, pad_value=pl.PadValue.min)
        tmp = pl.create_tile([64, 64], dtype=pl.FP32, target_memory=pl.Mem.Vec)
        pl.store(pl.row_max(t, tmp), [0, 0], out)
    return out


@pl.jit
def new_tensor(x: pl.Tensor) -> pl.Tensor:
    y = pl.create_tensor(x.shape, dtype=x.dtype)
    with pl.at(level=pl.Level.CORE_GROUP):
        y[:] = pl.exp(x)
    return y
