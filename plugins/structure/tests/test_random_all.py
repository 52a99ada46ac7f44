"""The chain of passes on programs as authors write them: inlining, unrolling, exits, reassignment, nested calls."""

from __future__ import annotations

from typing import Any

import pytest

from pypto_core.testing import ALL_FEATURES, random_program


@pytest.mark.parametrize("block", range(15))
def test_every_pass_keeps_what_the_program_does(prove: Any, block: int) -> None:
    for seed in range(10 * block, 10 * block + 10):
        prove.chain(random_program(seed, size=26, features=ALL_FEATURES), seed)
