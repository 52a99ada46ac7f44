"""The chain of passes on programs in SSA form: most have nothing to do, and say so by returning the same object."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings

from pypto_core.ir import Program
from pypto_core.testing import SSA_FEATURES, programs, random_program

IDLE = ("InlineFunctions", "UnrollLoops", "CtrlFlowTransform", "ConvertToSSA", "NormalizeStmtStructure",
        "FlattenCallExpr")  # fmt: skip


@settings(max_examples=170, derandomize=True)
@given(program=programs(24, SSA_FEATURES))
def test_every_pass_keeps_what_the_program_does(prove: Any, program: Program) -> None:
    prove.chain(program, 1)


def test_nothing_to_do_gives_the_same_object(run_pass: Any) -> None:
    for seed in range(60):
        program = random_program(seed, size=20, features=SSA_FEATURES)
        for name in IDLE:
            assert run_pass(name)(program) is program, (seed, name)
