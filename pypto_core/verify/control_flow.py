"""Rules about loops: where break and continue may stand, and which kinds of loops are left."""

from __future__ import annotations

from collections.abc import Iterator

from pypto_core.diagnostics import Diagnostic
from pypto_core.ir import (
    PIPELINE_STAGES,
    BreakStmt,
    ContinueStmt,
    ForKind,
    ForStmt,
    Function,
    Level,
    Program,
    Role,
    Stmt,
    WhileStmt,
    flatten,
    is_orchestration_like,
    regions,
)
from pypto_core.verify.rules import rule
from pypto_core.verify.scan import scan

_BREAK = rule("BreakContinueValid")
_STRUCTURED = rule("StructuredCtrlFlow")
_UNROLL = rule("UnrollResolved")
_PIPELINE = rule("PipelineLoopValid")
_RESOLVED = rule("PipelineResolved")
_OUTSIDE, _WRONG_LOOP = 1, 2
_LACKS, _STRAY = 0, 1
_WORD: dict[type, str] = {BreakStmt: "break", ContinueStmt: "continue"}
_NO_EXIT = (ForKind.Parallel, ForKind.Unroll)


def verify_break_continue_valid(program: Program, backend: object = None) -> Iterator[Diagnostic]:
    """Find break and continue 1 outside of a loop, 2 in a parallel or unrolled loop."""
    for function in program:
        if any(scan(function).of(BreakStmt, ContinueStmt)):
            yield from _exits(function.body, None)


def _exits(body: Stmt, loop: ForStmt | WhileStmt | None) -> Iterator[Diagnostic]:
    for stmt in flatten(body):
        word = _WORD.get(type(stmt))
        if word is not None:
            if loop is None:
                yield _BREAK.error(
                    _OUTSIDE,
                    f"'{word}' stands outside of a loop",
                    stmt.span,
                    remedy="remove it, or put it into the loop that it should leave",
                )
            elif isinstance(loop, ForStmt) and loop.kind in _NO_EXIT:
                yield _BREAK.error(
                    _WRONG_LOOP,
                    f"'{word}' stands in a {loop.kind.name.lower()} loop, whose trips all run",
                    stmt.span,
                    remedy="use pl.range, whose trips run one after the other",
                )
        inner = stmt if isinstance(stmt, ForStmt | WhileStmt) else loop
        for region in regions(stmt):
            yield from _exits(region, inner)


def _on_the_host(function: Function) -> bool:
    if is_orchestration_like(function.func_type) or function.role is Role.Orchestrator:
        return True
    return function.level is not None and function.level.value >= Level.HOST.value


def verify_structured_ctrl_flow(program: Program, backend: object = None) -> Iterator[Diagnostic]:
    """Find break and continue in functions for the device (1); host code and orchestration keep theirs."""
    for function in program:
        if _on_the_host(function):
            continue
        for stmt in scan(function).of(BreakStmt, ContinueStmt):
            yield _STRUCTURED.error(
                1,
                f"'{_WORD[type(stmt)]}' is left in function '{function.name}'",
                stmt.span,
                remedy="run CtrlFlowTransform, which turns it into conditions",
            )


def _loops_of(program: Program, kind: ForKind) -> Iterator[tuple[Function, ForStmt]]:
    for function in program:
        for loop in scan(function).of(ForStmt):
            if loop.kind is kind:
                yield function, loop


def verify_unroll_resolved(program: Program, backend: object = None) -> Iterator[Diagnostic]:
    """Find loops that are still to be unrolled (1)."""
    for function, loop in _loops_of(program, ForKind.Unroll):
        yield _UNROLL.error(
            1,
            f"a loop to unroll is left in function '{function.name}'",
            loop.span,
            remedy="run UnrollLoops",
        )


def verify_pipeline_loop_valid(program: Program, backend: object = None) -> Iterator[Diagnostic]:
    """Find 0 pipelined loops that don't say their stages, 1 stages on loops of another kind."""
    for function in program:
        for loop in scan(function).of(ForStmt):
            pipelined = loop.kind is ForKind.Pipeline
            if pipelined == (PIPELINE_STAGES in loop.attrs):
                continue
            yield _PIPELINE.error(
                _LACKS if pipelined else _STRAY,
                f"a {loop.kind.name} loop "
                + ("lacks" if pipelined else "must not carry")
                + f" the attribute '{PIPELINE_STAGES}'",
                loop.span,
                remedy="change kind and attribute together",
                facts={"function": function.name},
            )


def verify_pipeline_resolved(program: Program, backend: object = None) -> Iterator[Diagnostic]:
    """Find pipelined loops that no pass has lowered (1)."""
    for function, loop in _loops_of(program, ForKind.Pipeline):
        yield _RESOLVED.error(
            1,
            f"a pipelined loop is left in function '{function.name}'",
            loop.span,
            remedy="run the passes that lower pipelines, CanonicalizeIOOrder last",
            facts={PIPELINE_STAGES: loop.attrs.get(PIPELINE_STAGES)},
        )
