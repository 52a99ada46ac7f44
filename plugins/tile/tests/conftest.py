"""A kit for the passes: kernels from text, and what every run of a pass has to keep to."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from pypto_core.contract import Backend
from pypto_core.host import Host, load_host
from pypto_core.ir import Function, Program, assert_structural_equal, map_functions
from pypto_core.language import parse, parse_program
from pypto_core.run import PassContext
from pypto_core.testing import assert_same_behaviour
from pypto_core.text import print_program
from pypto_core.verify import STRUCTURAL, verify_or_raise

Transform = Callable[[Program], Program]

HEAD = """
import pypto_core.language as pl

@pl.program
class P:
    @pl.function(type=pl.FunctionType.{kind})
    def main(self, {params}){result}:
{body}
"""
KEPT = (
    "SSAForm",
    "SplitIncoreOrch",
    "IncoreTileOps",
    "TileOps2D",
    "NormalizedStmtStructure",
    "NoNestedCalls",
)


class Kit:
    """Shorthands of the tests."""

    def __init__(self, host: Host) -> None:
        self.host = host

    def kernel(self, params: str, body: str, result: str = "", kind: str = "InCore") -> Program:
        """A program of one kernel ``main``."""
        lines = textwrap.indent(textwrap.dedent(body).strip("\n"), " " * 8)
        arrow = f" -> {result}" if result else ""
        return parse(HEAD.format(kind=kind, params=params, result=arrow, body=lines))

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

    def prove(
        self,
        transform: Transform,
        before: Program,
        holds: Iterable[str] = (),
        *,
        inputs: Iterable[Any] = (None,),
        kept: Iterable[str] = KEPT,
        run: bool = True,
    ) -> Program:
        """The transformed program, after these checks.

        It does the same as before, bit by bit, for each of the inputs; the structural properties, those kept and those
        that are said to hold do; the text of a second run on the same program is the same; the text parses to an equal
        program.
        """
        verify_or_raise(before, (*STRUCTURAL, *kept), after="parsing")
        after = transform(before)
        verify_or_raise(after, (*STRUCTURAL, *kept, *holds), after="the pass")
        if run:
            for index, given in enumerate(inputs):
                assert_same_behaviour(before, after, given, seed=index, host=self.host)
        text = print_program(after)
        assert print_program(transform(before)) == text
        assert_structural_equal(parse_program(text), after)
        return after

    def equal(self, program: Program, params: str, body: str, result: str = "", kind: str = "InCore") -> None:
        """Assert that a program is the one of this text."""
        wanted = self.kernel(params, body, result, kind)
        try:
            assert_structural_equal(program, wanted)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{print_program(program, concise=True)}") from None


@pytest.fixture(scope="session")
def kit() -> Kit:
    """See :class:`Kit`."""
    return Kit(load_host())
