"""Two thousand generated programs come back unchanged from text and bytes, and every verifier accepts them."""

from __future__ import annotations

import pytest

from pypto_core.ir import assert_structural_equal
from pypto_core.language import parse_program
from pypto_core.testing import ALL_FEATURES, Feature, random_program
from pypto_core.text import dumps, loads, print_program
from pypto_core.verify import STRUCTURAL, verify_properties

PROGRAMS = 2_000
CHUNK = 100


def features_of(seed: int) -> frozenset[Feature]:
    """Every third program draws from all features, the others leave out a changing one."""
    everything = sorted(ALL_FEATURES, key=lambda f: f.name)
    return frozenset(everything) - {everything[seed % len(everything)]} if seed % 3 else frozenset(everything)


@pytest.mark.parametrize("first", range(0, PROGRAMS, CHUNK))
def test_text_bytes_and_verifiers(first: int) -> None:
    for seed in range(first, first + CHUNK):
        program = random_program(seed, size=20, features=features_of(seed))
        assert verify_properties(program, STRUCTURAL) == []
        text = print_program(program)
        again = parse_program(text)
        # Open dims are free variables of the program: they are matched by position.
        assert_structural_equal(program, again, enable_auto_mapping=True, compare_memref=True)
        assert print_program(again) == text
        data = dumps(program)
        restored = loads(data)
        assert_structural_equal(program, restored, enable_auto_mapping=True, compare_memref=True)
        assert dumps(restored) == data
