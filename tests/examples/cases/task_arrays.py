"""Task ids in arrays, carried by loops, handed to helpers and replaced in branches."""

from __future__ import annotations

import numpy as np

import pypto_core.language as pl
from pypto_core.ir import Program

ROWS, COLS, PARTS = 32, 64, 4
STEP = ROWS // PARTS
N = pl.dynamic("N")


@pl.jit.inline
def squares(x: pl.Tensor, out: pl.Tensor, ids: pl.Array[PARTS, pl.TASK_ID], first: int):  # type: ignore[no-untyped-def]
    """Half of the rows; the array of the caller gets the ids."""
    for i in pl.range(PARTS // 2):
        row = (first + i) * STEP
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="square") as task:
            out[row : row + STEP, :] = pl.mul(x[row : row + STEP, :], x[row : row + STEP, :])
        ids[first + i] = task
    return out


@pl.jit
def task_arrays(  # type: ignore[no-untyped-def]
    x: pl.Tensor[[N * STEP, COLS], pl.FP32],
    flag: pl.Tensor[[1], pl.INT32],
    out: pl.Out[pl.Tensor[[N * STEP, COLS], pl.FP32]],
    sums: pl.Out[pl.Tensor[[N * STEP, 1], pl.FP32]],
    count: pl.Out[pl.Tensor[[1], pl.INT32]],
):
    """Waits for all tasks of an array, for single ones, and for the one before it."""
    with pl.manual_scope():
        ids = pl.array.create(PARTS, pl.TASK_ID)
        for i in pl.range(PARTS):
            ids[i] = pl.system.task_invalid()
        out = squares(x, out, ids, 0)
        out = squares(x, out, ids, PARTS // 2)
        done = pl.system.task_dummy(deps=[ids])
        if pl.read(flag, [0]) > 0:
            with pl.at(level=pl.Level.CORE_GROUP, deps=[ids[PARTS - 1]], name_hint="last") as done:
                out[ROWS - 1 : ROWS, :] = pl.neg(out[ROWS - 1 : ROWS, :])
        before = done
        for i in pl.range(PARTS):
            with pl.at(level=pl.Level.CORE_GROUP, deps=[before], name_hint="sum") as task:
                sums[i * STEP : (i + 1) * STEP, :] = pl.row_sum(out[i * STEP : (i + 1) * STEP, :])
            before = task
        known = pl.cast(0, pl.INT32)
        for i in pl.range(PARTS):
            if pl.system.task_is_valid(ids[i]):
                known = pl.cast(known + 1, pl.INT32)
        with pl.at(level=pl.Level.CORE_GROUP, deps=[before, ids], name_hint="count"):
            pl.write(count, [0], known)
    return out, sums, count


def program() -> Program:
    """The program for any number of parts."""
    arrays = inputs(np.random.default_rng(0))
    outs = (np.zeros((ROWS, COLS), np.float32), np.zeros((ROWS, 1), np.float32), np.zeros(1, np.int32))
    return task_arrays.specialise(*arrays.values(), *outs)


def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """One random matrix, and a branch that is taken."""
    return {"x": rng.standard_normal((ROWS, COLS), dtype=np.float32), "flag": np.ones(1, np.int32)}


def golden(x: np.ndarray, flag: np.ndarray) -> dict[str, np.ndarray]:
    """The same with numpy, in double precision."""
    out = x.astype(np.float64) ** 2
    out[-1] *= -1
    return {"out": out, "sums": out.sum(axis=1, keepdims=True), "count": np.array([PARTS])}


TOLERANCE = 1e-4
