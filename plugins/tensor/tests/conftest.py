"""A kit for the passes: programs from text, and what every run of a pass has to keep to."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import Any

import pytest

from pypto_core.host import Host, load_host
from pypto_core.ir import Function, Program, assert_structural_equal, map_functions
from pypto_core.language import parse, parse_program
from pypto_core.run import PassContext, compile
from pypto_core.testing import assert_same_behaviour
from pypto_core.text import print_program
from pypto_core.verify import STRUCTURAL, verify_or_raise

FRONT = (
    "InlineFunctions",
    "UnrollLoops",
    "CtrlFlowTransform",
    "ConvertToSSA",
    "Simplify",
    "NormalizeStmtStructure",
    "FlattenCallExpr",
)
KEPT = ("SSAForm", "NormalizedStmtStructure", "NoNestedCalls")


class Kit:
    """Shorthands of the tests."""

    def __init__(self, host: Host) -> None:
        self.host = host

    def program(self, text: str) -> Program:
        """A program from its text."""
        return parse(f"import pypto_core.language as pl\n\n{textwrap.dedent(text)}")

    def main(self, params: str, body: str, result: str = "", kind: str = "Orchestration") -> Program:
        """A program of one function ``main``."""
        lines = textwrap.indent(textwrap.dedent(body).strip("\n"), " " * 8)
        arrow = f" -> {result}" if result else ""
        return self.program(
            f"@pl.program\nclass P:\n    @pl.function(type=pl.FunctionType.{kind})\n"
            f"    def main(self, {params}){arrow}:\n{lines}\n"
        )

    def apply(self, program: Program, *names: str, backend: str = "910b") -> Program:
        """The program after these passes."""
        context = PassContext(backend=self.host.backend(backend), host=self.host)
        for name in names:
            pass_ = self.host.find_pass(name)
            body = pass_.load()
            if pass_.scope.value == "program":
                program = body(program, context)
            else:

                def change(function: Function, body: Any = body) -> Function:
                    return body(function, context)

                program = map_functions(program, change)
        return program

    def front(self, program: Program) -> Program:
        """The program as it comes out of the structure passes."""
        return self.apply(program, *FRONT)

    def prove(
        self,
        before: Program,
        *passes: str,
        holds: Iterable[str] = (),
        inputs: Any = None,
        rtol: float = 0.0,
        atol: float = 0.0,
        dims: Any = None,
    ) -> Program:
        """The program after the passes, after these checks.

        It does the same as before; the structural properties, those kept and those that are said to hold do; another
        run gives the same text; a run on the result changes nothing; the text parses to an equal program.
        """
        after = self.apply(before, *passes)
        verify_or_raise(after, (*STRUCTURAL, *KEPT, *holds), after="the pass")
        assert_same_behaviour(before, after, inputs, rtol=rtol, atol=atol, dims=dims, host=self.host)
        text = print_program(after)
        assert print_program(self.apply(before, *passes)) == text
        again = self.apply(after, *passes)
        assert again is after or print_program(again) == text
        assert_structural_equal(parse_program(text), after)
        return after

    def everywhere(
        self,
        program: Program,
        *,
        inputs: Any = None,
        atol: float = 0.0,
        dims: Any = None,
        planners: Iterable[str] = (),
    ) -> None:
        """Compile to text for both machines and run the results: one planner each, or all of ``planners``."""
        chosen = [(m, p) for m in ("910b", "a5") for p in planners] or [("910b", "pypto"), ("a5", "ptoas")]
        for machine, planner in chosen:
            compiled = compile(program, backend=machine, planner=planner, host=self.host)
            assert compiled.artifacts
            assert_same_behaviour(program, compiled.program, inputs, atol=atol, dims=dims, host=self.host)

    def equal(self, program: Program, wanted: str) -> None:
        """Assert that a program is the one of this text, whatever its variables are called."""
        try:
            assert_structural_equal(program, self.program(wanted))
        except (AssertionError, ValueError) as error:
            raise AssertionError(f"{error}\n{print_program(program, concise=True)}") from None


@pytest.fixture(scope="session")
def kit() -> Kit:
    """See :class:`Kit`."""
    return Kit(load_host())
