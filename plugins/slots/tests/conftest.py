"""A kit for the pass: kernels from text, what every run of it has to keep to, and the hints that it gives."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from pypto_core.diagnostics import Diagnostic
from pypto_core.host import load_host
from pypto_core.ir import (
    PIPELINE_STAGES,
    AssignStmt,
    ForKind,
    ForStmt,
    MemRef,
    Program,
    TileType,
    assert_structural_equal,
    map_functions,
    walk_stmts,
)
from pypto_core.language import parse_program
from pypto_core.run import PassContext
from pypto_core.testing import KernelKit, assert_same_behaviour
from pypto_core.text import print_expr, print_program
from pypto_core.verify import STRUCTURAL, verify_or_raise
from pypto_plugin_slots.rotate import lower_pipeline_to_slots

KEPT = (
    "SSAForm",
    "SplitIncoreOrch",
    "IncoreTileOps",
    "TileMemoryInferred",
    "NormalizedStmtStructure",
)


@attrs.frozen(eq=False)
class Outcome:
    """A program after the pass, and what the pass said."""

    before: Program
    after: Program
    hints: tuple[Diagnostic, ...]

    @property
    def codes(self) -> list[str]:
        """The codes of the hints, in order."""
        return [hint.code for hint in self.hints]

    @property
    def untouched(self) -> bool:
        """Whether the function is the very same object."""
        return self.after["main"] is self.before["main"]

    @property
    def rings(self) -> dict[str, tuple[str, int, str]]:
        """Tile → (ring, slots, slot index as text), for tiles that lie in a declared ring."""
        found: dict[str, tuple[str, int, str]] = {}
        for stmt in walk_stmts(self.after["main"].body):
            if isinstance(stmt, AssignStmt) and (ring := ring_of(stmt)) is not None:
                index = print_expr(ring.slot_index) if ring.slot_index is not None else ""
                found[stmt.var.name_hint] = (ring.name, ring.slot_count, index)
        return found

    @property
    def loops(self) -> list[tuple[str, ForKind, Any]]:
        """(counter, kind, stages) of the loops, outer ones first."""
        return [
            (s.loop_var.name_hint, s.kind, s.attrs.get(PIPELINE_STAGES))
            for s in walk_stmts(self.after["main"].body)
            if isinstance(s, ForStmt)
        ]


def ring_of(stmt: AssignStmt) -> MemRef | None:
    """The declaration that a tile is bound to."""
    return stmt.var.type.memref if isinstance(stmt.var.type, TileType) else None


class Kit(KernelKit):
    """Shorthands of the tests."""

    def context(self, backend: str | None = "a5", planner: str = "ptoas", **options: Any) -> PassContext:
        """A context of this host."""
        machine = self.host.backend(backend) if backend is not None else None
        return PassContext(backend=machine, planner=planner, host=self.host, options=options)

    def apply(self, program: Program, **context: Any) -> Outcome:
        """The pass and nothing else."""
        ctx = self.context(**context)
        with ctx:
            after = map_functions(program, lambda function: lower_pipeline_to_slots(function, ctx))
        return Outcome(program, after, tuple(ctx.log))

    def rotate(self, program: Program, *, run: bool = True, **context: Any) -> Outcome:
        """The pass, and what has to hold of any run of it.

        What it requires is kept, what comes out does the same bit by bit, its text parses to it, a second run gives
        equal text and hints, and a run on the result changes nothing.
        """
        verify_or_raise(program, (*STRUCTURAL, *KEPT), after="parsing")
        done = self.apply(program, **context)
        verify_or_raise(done.after, (*STRUCTURAL, *KEPT), after="the pass")
        text = print_program(done.after)
        assert_structural_equal(parse_program(text), done.after)
        twice = self.apply(program, **context)
        assert print_program(twice.after) == text
        assert [h.message for h in twice.hints] == [h.message for h in done.hints]
        again = self.apply(done.after, **context)
        assert again.untouched, "the pass finds nothing left to do in its own result"
        assert sorted(again.codes) == sorted(done.codes)
        if run:
            assert_same_behaviour(program, done.after, host=self.host)
        return done


@pytest.fixture(scope="session")
def kit() -> Kit:
    """See :class:`Kit`."""
    return Kit(load_host())
