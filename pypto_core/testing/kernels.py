"""Kernels from the text of their bodies, and what every run of a pass on them has to keep to."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pypto_core.diagnostics import UserError
from pypto_core.host import Host
from pypto_core.ir import Program, assert_structural_equal
from pypto_core.language import parse_program
from pypto_core.testing.behaviour import assert_same_behaviour
from pypto_core.text import print_program
from pypto_core.verify import STRUCTURAL, verify_or_raise

Transform = Callable[[Program], Program]

_HEAD = """
import pypto_core.language as pl

@pl.program
class P:
    @pl.function(type=pl.FunctionType.{kind})
    def main(self, {params}){result}:
{body}
"""
TILE_KERNEL = (
    "SSAForm",
    "SplitIncoreOrch",
    "IncoreTileOps",
    "TileOps2D",
    "NormalizedStmtStructure",
    "NoNestedCalls",
)
"""What holds of a kernel on two-dimensional tiles once its statements are normal: most passes on tiles ask for it."""


class KernelKit:
    """Programs of one kernel ``main``, and the checks of a pass on them.

    ``host``: where the engine comes from that runs programs before and after.
    """

    def __init__(self, host: Host) -> None:
        self.host = host

    def kernel(self, params: str, body: str, result: str = "", kind: str = "InCore") -> Program:
        """A program of one kernel ``main``: what stands in its parentheses, its statements, its result's annotation."""
        lines = textwrap.indent(textwrap.dedent(body).strip("\n"), " " * 8)
        arrow = f" -> {result}" if result else ""
        return parse_program(_HEAD.format(kind=kind, params=params, result=arrow, body=lines))

    def prove(
        self,
        transform: Transform,
        before: Program,
        holds: Iterable[str] = (),
        *,
        inputs: Iterable[Mapping[str, Any] | None] = (None,),
        kept: Iterable[str] = TILE_KERNEL,
        run: bool = True,
    ) -> Program:
        """The transformed program, after these checks.

        It does the same as before, bit by bit, for each of the inputs (None: random ones); the structural properties,
        those ``kept`` and those that are said to hold do; a second run on the same program gives the same text; the
        text parses to an equal program, of which the same text is printed. ``run``: whether the programs are executed.
        Raises AssertionError, VerificationError, or UserError (PT410) where the program differs that the text is.
        """
        verify_or_raise(before, (*STRUCTURAL, *kept), after="parsing")
        after = transform(before)
        verify_or_raise(after, (*STRUCTURAL, *kept, *holds), after="the pass")
        for seed, given in enumerate(inputs if run else ()):
            assert_same_behaviour(before, after, given, seed=seed, host=self.host)
        text = print_program(after)
        if print_program(transform(before)) != text:
            raise AssertionError("a second run of the pass on the same program gives another text")
        again = parse_program(text)
        assert_structural_equal(again, after)
        if print_program(again) != text:
            raise AssertionError("the program that the text is read as is printed in another way")
        return after

    def equal(self, program: Program, params: str, body: str, result: str = "", kind: str = "InCore") -> None:
        """Raise AssertionError unless a program is the one of this text, whatever its variables are called."""
        try:
            assert_structural_equal(program, self.kernel(params, body, result, kind))
        except UserError as error:
            raise AssertionError(f"{error}\n{print_program(program, concise=True)}") from None
