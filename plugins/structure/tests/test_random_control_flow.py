"""The chain of passes on programs over integers: every nesting of loops, branches and exits."""

from __future__ import annotations

from typing import Any

import pytest

from pypto_core.diagnostics import DiagnosticError, UserError
from pypto_core.verify import STRUCTURAL, verify_or_raise

INPUTS = [{"n": n, "m": m} for n, m in ((0, 0), (1, 3), (3, 4), (5, 2))]
LOOSE = [name for name in STRUCTURAL if name != "UseAfterDef"]


@pytest.mark.parametrize("block", range(16))
def test_programs_that_assign_everything_first(
    prove: Any, kernel: Any, scalar_programs: Any, block: int
) -> None:
    for seed in range(10 * block, 10 * block + 10):
        text = scalar_programs.scalar_program(seed, unroll=seed % 2 == 0)
        prove.chain(kernel(text), seed, INPUTS)


@pytest.mark.parametrize("block", range(10))
def test_programs_that_may_read_too_early(
    prove: Any, kernel: Any, run_pass: Any, scalar_programs: Any, block: int
) -> None:
    """Such a program is refused, or does what it did: where it read nothing that had no value, it gives the same."""
    for seed in range(40 * block, 40 * block + 40):
        before = kernel(scalar_programs.scalar_program(seed, careful=False))
        structured = run_pass("CtrlFlowTransform")(before)
        verify_or_raise(structured, (*LOOSE, "StructuredCtrlFlow"))
        try:
            after = run_pass("ConvertToSSA")(structured)
        except UserError as error:
            assert error.diagnostics[0].code == "PT331"
            continue
        verify_or_raise(after, (*STRUCTURAL, "SSAForm"))
        # An accepted program never reads a variable without a value.
        for given in INPUTS:
            prove.same(prove.outputs(before, given), prove.outputs(after, given))


def test_what_is_refused_can_mostly_fail(
    prove: Any, kernel: Any, run_pass: Any, scalar_programs: Any
) -> None:
    """Of the refused programs nearly all do read an unassigned variable for some small arguments."""
    refused = harmless = 0
    for seed in range(2000, 2120):
        before = kernel(scalar_programs.scalar_program(seed, careful=False))
        try:
            run_pass("ConvertToSSA")(run_pass("CtrlFlowTransform")(before))
        except UserError:
            refused += 1
            harmless += not any(
                _reads_too_early(prove, before, n, m) for n in range(-2, 6) for m in range(-2, 6)
            )
    assert refused > 40
    assert harmless <= refused * 0.12


def _reads_too_early(prove: Any, program: Any, n: int, m: int) -> bool:
    try:
        prove.outputs(program, {"n": n, "m": m})
    except DiagnosticError as error:
        return error.diagnostics[0].code == "SIM-002"
    return False
