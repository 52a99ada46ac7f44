"""The kit notices whatever a pass may do wrong."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from pypto_core.diagnostics import VerificationError
from pypto_core.host import load_host
from pypto_core.ir import Program
from pypto_core.testing import KernelKit

PARAMS = "x: pl.Tensor[[16, 16], pl.FP32], out: pl.Out[pl.Tensor[[16, 16], pl.FP32]]"
RESULT = "pl.Tensor[[16, 16], pl.FP32]"
BODY = """
    t__ssa_v0 = pl.load(x, [0, 0], [16, 16])
    u__ssa_v0 = pl.{op}(t__ssa_v0, t__ssa_v0)
    out__ssa_v1 = pl.store(u__ssa_v0, [0, 0], out)
    return out__ssa_v1
    """


@pytest.fixture(scope="module")
def kit() -> KernelKit:
    return KernelKit(load_host())


def kernel(kit: KernelKit, op: str) -> Program:
    return kit.kernel(PARAMS, BODY.format(op=op), RESULT)


def test_what_is_right_comes_back(kit: KernelKit) -> None:
    before = kernel(kit, "add")
    # x + x is 2 x, whatever x is.
    after = kit.prove(lambda program: kernel(kit, "add"), before, ["SSAForm"])
    kit.equal(after, PARAMS, BODY.format(op="add"), RESULT)
    x = np.arange(256, dtype=np.float32).reshape(16, 16)
    assert kit.prove(lambda program: program, before, inputs=[{"x": x}, None]) is before


def test_another_behaviour_is_noticed(kit: KernelKit) -> None:
    with pytest.raises(AssertionError, match="'out'"):
        kit.prove(lambda program: kernel(kit, "mul"), kernel(kit, "add"))
    assert kit.prove(lambda program: kernel(kit, "mul"), kernel(kit, "add"), run=False)


def test_only_the_given_inputs_count(kit: KernelKit) -> None:
    """Where every element is 2, sum and product of it with itself are the same."""
    two = {"x": np.full((16, 16), 2, np.float32)}
    kit.prove(lambda program: kernel(kit, "mul"), kernel(kit, "add"), inputs=[two])
    with pytest.raises(AssertionError, match="'out'"):
        kit.prove(lambda program: kernel(kit, "mul"), kernel(kit, "add"), inputs=[two, None])


def test_a_lost_property_is_noticed(kit: KernelKit) -> None:
    """A name that is assigned twice is no SSA, and a program on tiles has no addresses yet."""
    twice = BODY.replace("u__ssa_v0 =", "t__ssa_v0 =").replace("store(u__", "store(t__").format(op="add")
    with pytest.raises(VerificationError, match="SSAForm"):
        kit.prove(lambda program: kit.kernel(PARAMS, twice, RESULT), kernel(kit, "add"))
    with pytest.raises(VerificationError, match="after 'the pass' for properties {HasMemRefs}"):
        kit.prove(lambda program: program, kernel(kit, "add"), ["HasMemRefs"])
    with pytest.raises(VerificationError, match="after 'parsing' for properties {HasMemRefs}"):
        kit.prove(lambda program: program, kernel(kit, "add"), kept=["HasMemRefs"])


def test_two_runs_that_differ_are_noticed(kit: KernelKit) -> None:
    numbers = itertools.count()

    def rename(program: Program) -> Program:
        number = next(numbers)
        text = BODY.replace("u__ssa_v0", f"u{number}__ssa_v0").format(op="add")
        return kit.kernel(PARAMS, text, RESULT)

    with pytest.raises(AssertionError, match="a second run"):
        kit.prove(rename, kernel(kit, "add"))


def test_a_kernel_that_is_another_is_shown(kit: KernelKit) -> None:
    with pytest.raises(AssertionError, match=r"mul\(t"):
        kit.equal(kernel(kit, "mul"), PARAMS, BODY.format(op="add"), RESULT)
