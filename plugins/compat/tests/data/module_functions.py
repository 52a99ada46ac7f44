# ruff: noqa: I002 - kernel files are written without it
"""Functions of the module that a program pulls in, an inlined one, symbolic extents, and a program from a factory."""

import pypto.language as pl
from pypto import DataType

M = pl.dynamic("M")
SCALE = 2.0
DTYPE = DataType.FP32


@pl.function(type=pl.FunctionType.InCore)
def scale_rows(
    x: pl.Tensor[[64, 64], DTYPE],
    out: pl.Out[pl.Tensor[[64, 64], DTYPE]],
) -> pl.Tensor[[64, 64], DTYPE]:
    t = pl.load(x, [0, 0], [64, 64])
    return pl.store(pl.mul(t, SCALE), [0, 0], out)


@pl.function(type=pl.FunctionType.InCore)
def copy_rows(
    x: pl.Tensor[[M, 64], pl.FP32],
    out: pl.Out[pl.Tensor[[M, 64], pl.FP32]],
) -> pl.Tensor[[M, 64], pl.FP32]:
    for i in pl.range(M // 16):
        t = pl.load(x, [i * 16, 0], [16, 64])
        out = pl.store(t, [i * 16, 0], out)
    return out


@pl.program
class ModuleFunctions:
    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self,
        x: pl.Tensor[[64, 64], pl.FP32],
        y: pl.Out[pl.Tensor[[64, 64], pl.FP32]],
        z: pl.Out[pl.Tensor[[64, 64], pl.FP32]],
    ) -> pl.Tensor[[64, 64], pl.FP32]:
        y = scale_rows(x, y)
        z = copy_rows(y, z)
        return z


def build(rows: int, width: int):
    half = width // 2

    @pl.program
    class Halves:
        @pl.function(type=pl.FunctionType.InCore)
        def main(
            self,
            x: pl.Tensor[[rows, width], pl.FP32],
            out: pl.Out[pl.Tensor[[rows, half], pl.FP32]],
        ) -> pl.Tensor[[rows, half], pl.FP32]:
            left = pl.load(x, [0, 0], [rows, half])
            right = pl.load(x, [0, half], [rows, half])
            return pl.store(pl.add(left, right), [0, 0], out)

    return Halves


Halves = build(32, 128)
