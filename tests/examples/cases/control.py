"""Loops, branches, scalars and subscripts as kernels use them."""

from __future__ import annotations

import numpy as np

import pypto_core.language as pl

SCALES = [1.0, 2.0, -0.5, 4.0]
WIDE = 8


@pl.program
class Control:
    """Bounds, conditions and indices that are known only when the program runs."""

    @pl.function(type=pl.FunctionType.Orchestration)
    def control(
        self,
        x: pl.Tensor[[64, 32], pl.FP32],
        order: pl.Tensor[[4], pl.INT32],
        limits: pl.Tensor[[2], pl.INT64],
        line: pl.Tensor[[64], pl.FP32],
        blocks: pl.Scalar[pl.INDEX],
        out: pl.InOut[pl.Tensor[[64, 32], pl.FP32]],
        ends: pl.Out[pl.Tensor[[64], pl.FP32]],
        marks: pl.Out[pl.Tensor[[4], pl.FP32]],
    ) -> tuple[pl.Tensor[[64, 32], pl.FP32], pl.Tensor[[64], pl.FP32], pl.Tensor[[4], pl.FP32]]:
        for block in pl.spmd(blocks, name_hint="blocks"):
            most = pl.cast(limits[1], pl.INDEX)
            for i in pl.pipeline(0, most, stage=2):
                row = block * 16 + i * 8
                part = x[row : row + 8, :]
                if i >= 1 and block < 2:
                    out[row : row + 8, :] = pl.add(part, -1.0)
                elif block != 2 or i > 0:
                    out[row : row + 8, :] = pl.mul(part, 2.0)
                else:
                    out[row : row + 8, :] = pl.neg(part)
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="vectors"):
            same = line
            ends[0:32] = pl.neg(same[32:64])
            ends[32:64] = pl.mul(same[:32], WIDE / 2)
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="picks"):
            places = [pl.cast(order[k], pl.INDEX) for k in range(2)]
            for i in pl.unroll(2):
                pl.write(marks, [i], pl.tensor.read(x, [pl.cast(order[i + 2], pl.INDEX), 3]))
            pl.write(marks, [2], pl.tensor.read(x, [places[0], 3]) * SCALES[2])
            pl.tensor.write(marks, [3], pl.read(x, [places[1], 3]) * SCALES[3])
            for i in pl.range(48, 64):
                if i % 4 == 1 or i <= 49:
                    out[i : i + 1, :] = pl.mul(x[i : i + 1, :], SCALES[1])
                elif i // 4 > 13:
                    out[i : i + 1, :] = pl.sub(x[i : i + 1, :], SCALES[3])
            if WIDE > 3:
                out[60:64, :] = pl.full([4, 32], dtype=pl.FP32, value=0.25)
            else:
                out[60:64, :] = pl.full([4, 32], dtype=pl.FP32, value=-0.25)
            if WIDE == 8:
                out[62:64, :] = pl.full([2, 32], dtype=pl.FP32, value=0.5)
        return out, ends, marks


def inputs(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Random numbers; three blocks of two parts."""
    return {
        "x": rng.standard_normal((64, 32), dtype=np.float32),
        "order": np.array([5, 0, 63, 17], np.int32),
        "limits": np.array([9, 2], np.int64),
        "line": rng.standard_normal(64, dtype=np.float32),
        "blocks": 3,
        "out": rng.standard_normal((64, 32), dtype=np.float32),
    }


def golden(
    x: np.ndarray, order: np.ndarray, limits: np.ndarray, line: np.ndarray, blocks: int, out: np.ndarray
) -> dict[str, np.ndarray]:
    """The same with numpy."""
    want = out.copy()
    for block in range(blocks):
        for i in range(int(limits[1])):
            rows = slice(block * 16 + i * 8, block * 16 + i * 8 + 8)
            if i >= 1 and block < 2:
                want[rows] = x[rows] - 1
            elif block != 2 or i > 0:
                want[rows] = x[rows] * 2
            else:
                want[rows] = -x[rows]
    for i in range(48, 64):
        if i % 4 == 1 or i <= 49:
            want[i] = x[i] * 2
        elif i // 4 > 13:
            want[i] = x[i] - 4
    want[60:62], want[62:] = 0.25, 0.5
    marks = np.array([x[order[2], 3], x[order[3], 3], x[order[0], 3] * SCALES[2], x[order[1], 3] * SCALES[3]])
    return {"out": want, "ends": np.concatenate([-line[32:], line[:32] * 4]), "marks": marks}


TOLERANCE = 0.0
