"""What every pass of this plugin has to keep to, checked on one program."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from pypto_core.host import load_host
from pypto_core.ir import Function, Program, assert_structural_equal, map_functions
from pypto_core.language import parse_program
from pypto_core.testing import assert_same_behaviour
from pypto_core.text import print_program
from pypto_core.verify import STRUCTURAL, verify_or_raise

Transform = Callable[[Program], Program]


def _on_functions(change: Callable[[Function, Any], Function]) -> Transform:
    return lambda program: map_functions(program, lambda function: change(function, None))


def _prove(
    transform: Transform, before: Program, holds: Iterable[str] = (), *, seed: int = 0, runs: int = 1
) -> Program:
    """The transformed program, after these checks.

    It does the same as before, bit by bit; what is said to hold does; a second run returns the same object; the text
    of a run on the same program is the same; parsing the text gives an equal program.
    """
    after = transform(before)
    verify_or_raise(after, (*STRUCTURAL, *holds), after="the pass")
    for i in range(runs):
        assert_same_behaviour(before, after, seed=seed + i, host=_host())
    assert transform(after) is after, "a second run changed something"
    text = print_program(after)
    assert print_program(transform(before)) == text
    assert_structural_equal(parse_program(text), after)
    return after


_HOSTS: list[Any] = []


def _host() -> Any:
    if not _HOSTS:
        _HOSTS.append(load_host())
    return _HOSTS[0]


@pytest.fixture(scope="session")
def on_functions() -> Callable[[Any], Transform]:
    """Lifts a pass over functions to programs."""
    return _on_functions


@pytest.fixture(scope="session")
def prove() -> Callable[..., Program]:
    """``prove(transform, program, properties)``: the transformed program, checked in every way there is."""
    return _prove
