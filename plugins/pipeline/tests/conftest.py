"""A kit for the passes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pypto_core.host import load_host
from pypto_core.ir import Function, Program, map_functions
from pypto_core.testing import KernelKit

Transform = Callable[[Program], Program]


class Kit(KernelKit):
    """Shorthands of the tests."""

    def on_functions(self, change: Callable[[Function, Any], Function]) -> Transform:
        """A pass over functions as one over programs."""
        return lambda program: map_functions(program, lambda function: change(function, None))


@pytest.fixture(scope="session")
def kit() -> Kit:
    """See :class:`Kit`."""
    return Kit(load_host())
