"""Tuples put together in a kernel leave no trace: their elements are used as they are."""

from __future__ import annotations

import numpy as np

from pypto_core.host import load_host
from pypto_core.ir import TupleGetItemExpr, walk
from pypto_core.language import parse_program
from pypto_core.run import compile
from pypto_core.testing import assert_same_behaviour

SWAP = """
import pypto_core.language as pl

@pl.program
class Swap:
    @pl.function(type=pl.FunctionType.InCore)
    def swap(self, a: pl.Tensor[[128, 64], pl.FP32], out: pl.Out[pl.Tensor[[64, 64], pl.FP32]]):
        x = pl.load(a, [0, 0], [64, 64])
        y = pl.load(a, [64, 0], [64, 64])
        for i in pl.range(5):
            x, y = pl.add(x, y), pl.sub(x, y)
        return pl.store(pl.sub(x, y), [0, 0], out)
"""


def test_a_swap_of_computed_tiles_compiles_and_is_right_under_every_planner() -> None:
    program = parse_program(SWAP)
    host = load_host()
    data = np.arange(128 * 64, dtype=np.float32).reshape(128, 64) / 7
    x, y = data[:64], data[64:]
    for _ in range(5):
        x, y = x + y, x - y
    for planner in ("pypto", "dsa_rp", "ptoas"):
        compiled = compile(program, backend="910b", planner=planner, host=host)
        assert not any(isinstance(node, TupleGetItemExpr) for node in walk(compiled.program))
        result = host.engine("values").load()(compiled.program, {"a": data})
        np.testing.assert_array_equal(result.outputs["out"], x - y)
        assert_same_behaviour(program, compiled.program)
