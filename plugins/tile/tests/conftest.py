"""A kit for the passes."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import pytest

from pypto_core.contract import Backend
from pypto_core.host import load_host
from pypto_core.ir import Function, Program, map_functions
from pypto_core.language import parse
from pypto_core.run import PassContext
from pypto_core.testing import KernelKit

Transform = Callable[[Program], Program]


class Kit(KernelKit):
    """Shorthands of the tests."""

    def context(self, backend: str | Backend | None = None, planner: str = "pypto") -> PassContext:
        """The context of a run; ``backend`` by name or as it is."""
        machine = self.host.backend(backend) if isinstance(backend, str) else backend
        return PassContext(backend=machine, planner=planner, host=self.host)

    def run(self, change: Any, backend: str | Backend | None = None) -> Transform:
        """A pass over programs as a plain function."""
        return lambda program: change(program, self.context(backend))

    def on_functions(
        self, change: Callable[[Function, Any], Function], backend: str | Backend | None = None
    ) -> Transform:
        """A pass over functions as one over programs."""
        context = self.context(backend)
        return lambda program: map_functions(program, lambda function: change(function, context))

    def program(self, text: str) -> Program:
        """A program of several functions."""
        return parse(f"import pypto_core.language as pl\n\n{textwrap.dedent(text)}")


@pytest.fixture(scope="session")
def kit() -> Kit:
    """See :class:`Kit`."""
    return Kit(load_host())
