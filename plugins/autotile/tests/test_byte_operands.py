"""Products of one-byte elements are cut into blocks that the assembler takes, or left alone with a hint."""

from __future__ import annotations

import random

import pytest

import pypto_core.language as pl
from pypto_core.run import compile
from pypto_core.testing import assert_same_behaviour

KERNEL = """
import pypto_core.language as pl

@pl.program
class Kernel:
    @pl.function(type=pl.FunctionType.InCore)
    def main(self, a: pl.Tensor[[{M}, {K}], pl.INT8], b: pl.Tensor[[{K}, {N}], pl.INT8],
             out: pl.Out[pl.Tensor[[{M}, {N}], pl.INT32]]) -> pl.Tensor[[{M}, {N}], pl.INT32]:
        x = pl.load(a, [0, 0], [{M}, {K}], target_memory=pl.Mem.Mat)
        y = pl.load(b, [0, 0], [{K}, {N}], target_memory=pl.Mem.Mat)
        p = pl.matmul(x, y)
        return pl.store(p, [0, 0], out)
"""
# The first three were cut into blocks of 208, 48 and 144 elements of K, which are no whole fractals of 32.
SHAPES = [(144, 512, 416), (416, 32, 96), (96, 224, 864)]
RNG = random.Random(5)
SHAPES += [(16 * RNG.randint(1, 20), 32 * RNG.randint(1, 12), 32 * RNG.randint(1, 20)) for _ in range(12)]


@pytest.mark.parametrize(("M", "N", "K"), SHAPES)
@pytest.mark.parametrize("backend", ["910b", "a5"])
def test_what_is_cut_can_be_written(M: int, N: int, K: int, backend: str) -> None:
    program = pl.parse(KERNEL.format(M=M, N=N, K=K))
    compiled = compile(program, backend=backend)
    assert compiled.artifacts
    if M * N * K < 1 << 24:
        tiled = compile(program, backend=backend, goal="AllocatedMemoryAddr")
        assert_same_behaviour(program, tiled.program)
