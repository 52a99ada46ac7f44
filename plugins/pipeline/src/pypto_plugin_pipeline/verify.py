"""The verifiers of this plugin's properties."""

from __future__ import annotations

from collections.abc import Iterator

from pypto_core.diagnostics import Diagnostic, Severity
from pypto_core.ir import ForStmt, Function, Program, walk_stmts
from pypto_plugin_pipeline.regions import is_pipelined, stages_of
from pypto_plugin_pipeline.skew import crosses_cores


def _pipelined(program: Program) -> Iterator[tuple[Function, ForStmt]]:
    for function in program:
        for stmt in walk_stmts(function.body):
            if isinstance(stmt, ForStmt) and is_pipelined(stmt):
                yield function, stmt


def verify_loops_replicated(program: Program) -> Iterator[Diagnostic]:
    """Find pipelined loops of more than one stage."""
    for function, loop in _pipelined(program):
        if stages_of(loop) > 1:
            yield _error(
                "PT352", f"a loop of {stages_of(loop)} pipeline stages in '{function.name}' is not replicated",
                loop, "run LowerPipelineLoops",
            )  # fmt: skip


def verify_cross_core_sequential(program: Program) -> Iterator[Diagnostic]:
    """Find pipelined loops that both push tiles to the other core and pop tiles from it."""
    for function, loop in _pipelined(program):
        if crosses_cores(loop):
            yield _error(
                "PT353", f"a pipelined loop in '{function.name}' pushes to the other core and pops from it",
                loop, "run SkewCrossCorePipeline",
            )  # fmt: skip


def _error(code: str, message: str, loop: ForStmt, remedy: str) -> Diagnostic:
    return Diagnostic(code=code, severity=Severity.ERROR, message=message, span=loop.span, remedy=remedy)
