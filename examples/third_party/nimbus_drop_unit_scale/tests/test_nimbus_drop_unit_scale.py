"""NimbusDropUnitScale: what it changes, what it leaves, and that the numbers stay."""

from __future__ import annotations

import pytest
from pypto_plugin_nimbus_drop_unit_scale.nimbus_drop_unit_scale import nimbus_drop_unit_scale

import pypto_core.language as pl
from pypto_core.host import load_host
from pypto_core.ir import Program, map_functions
from pypto_core.run import PassContext
from pypto_core.testing import assert_same_behaviour
from pypto_core.text import print_program

KERNEL = """
import pypto_core.language as pl

@pl.program
class Kernel:
    @pl.function(type=pl.FunctionType.InCore)
    def main(self, a: pl.Tensor[[16, 32], pl.FP32], out: pl.Out[pl.Tensor[[16, 32], pl.FP32]]):
        x = pl.load(a, [0, 0], [16, 32])
        y = pl.mul(x, {factor})
        z = pl.add(y, y)
        pl.store(z, [0, 0], out)
"""


def changed(program: Program) -> Program:
    ctx = PassContext(host=load_host())
    return map_functions(program, lambda function: nimbus_drop_unit_scale(function, ctx))


def test_a_factor_of_one_goes() -> None:
    before = pl.parse(KERNEL.format(factor="1.0"))
    after = changed(before)
    assert "muls" in print_program(before)
    assert "muls" not in print_program(after)
    assert_same_behaviour(before, after)


@pytest.mark.parametrize("factor", ["2.0", "0.0", "-1.0"])
def test_any_other_factor_stays(factor: str) -> None:
    before = pl.parse(KERNEL.format(factor=factor))
    assert changed(before) is before
