"""The chain of passes on programs that assign variables again, in loops, branches and after them."""

from __future__ import annotations

from typing import Any

import pytest

from pypto_core.testing import PLAIN_FEATURES, random_program


@pytest.mark.parametrize("seed", [40, 97, 189, 265, 275])
def test_first_assignments_in_loops_that_surely_run(prove: Any, seed: int) -> None:
    """Nested, pipelined and constant loops whose variables are used after them."""
    prove("ConvertToSSA", random_program(seed, size=30, features=PLAIN_FEATURES), ["SSAForm"])


@pytest.mark.parametrize("block", range(17))
def test_every_pass_keeps_what_the_program_does(prove: Any, block: int) -> None:
    for seed in range(1000 + 10 * block, 1010 + 10 * block):
        prove.chain(random_program(seed, size=26, features=PLAIN_FEATURES), seed)
