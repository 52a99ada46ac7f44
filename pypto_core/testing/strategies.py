"""Random programs as hypothesis strategies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pypto_core.ir import FunctionType, Program
from pypto_core.testing.features import SSA_FEATURES, Feature
from pypto_core.testing.generator import random_program

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


def programs(
    max_size: int = 40,
    features: Iterable[Feature] = SSA_FEATURES,
    *,
    always: Iterable[Feature] = (),
    kind: FunctionType = FunctionType.InCore,
) -> SearchStrategy[Program]:
    """Programs of up to about ``max_size`` statements with some of ``features``, and with all of ``always``.

    Shrinking takes statements and features away. A program's name says its seed and size; its features are those
    drawn, so a failing example prints everything that :func:`random_program` needs to make it again.
    """
    from hypothesis import strategies as st

    chosen = sorted(features, key=lambda f: f.name)
    fixed = frozenset(always)

    def make(seed: int, size: int, drawn: frozenset[Feature]) -> Program:
        return random_program(seed, size, drawn | fixed, kind=kind)

    return st.builds(
        make,
        st.integers(0, 2**32 - 1),
        st.integers(1, max_size),
        st.frozensets(st.sampled_from(chosen)) if chosen else st.just(frozenset[Feature]()),
    )
