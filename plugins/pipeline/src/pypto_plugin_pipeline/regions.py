"""Going through statements and the regions in them without touching expressions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pypto_core.ir import (
    PIPELINE_DOUBLE_BUFFER_C,
    PIPELINE_OVERLAP_STORES,
    PIPELINE_STAGES,
    ForKind,
    ForStmt,
    IfStmt,
    ScopeStmt,
    SeqStmts,
    Stmt,
    WhileStmt,
    YieldStmt,
    flatten,
    replace,
    seq,
    updated,
)

_NOTES = (PIPELINE_STAGES, PIPELINE_OVERLAP_STORES, PIPELINE_DOUBLE_BUFFER_C)


def map_regions(stmt: Stmt, change: Callable[[Stmt], Stmt]) -> Stmt:
    """The statement with ``change`` applied to what is nested directly in it; the same object when none changes."""
    if isinstance(stmt, SeqStmts):
        new = [change(s) for s in stmt.stmts]
        if all(a is b for a, b in zip(new, stmt.stmts, strict=True)):
            return stmt
        return seq([replace(stmt, stmts=tuple(new))], stmt.span)
    if isinstance(stmt, ForStmt | WhileStmt | ScopeStmt):
        return updated(stmt, body=change(stmt.body))
    if isinstance(stmt, IfStmt):
        else_body = None if stmt.else_body is None else change(stmt.else_body)
        return updated(stmt, then_body=change(stmt.then_body), else_body=else_body)
    return stmt


def split_yield(body: Stmt) -> tuple[tuple[Stmt, ...], YieldStmt | None]:
    """The statements of a region without its yield, and the yield."""
    stmts = flatten(body)
    if stmts and isinstance(stmts[-1], YieldStmt):
        return stmts[:-1], stmts[-1]
    return stmts, None


def with_comments(stmts: Iterable[Stmt], comments: tuple[str, ...]) -> tuple[Stmt, ...]:
    """The statements, the first of them with these comments ahead of its own."""
    first, *rest = stmts
    if not comments:
        return (first, *rest)
    return (replace(first, leading_comments=comments + first.leading_comments), *rest)


def is_pipelined(stmt: Stmt) -> bool:
    """Whether a statement is a pipelined loop."""
    return isinstance(stmt, ForStmt) and stmt.kind is ForKind.Pipeline


def stages_of(loop: ForStmt) -> int:
    """How many trips of a pipelined loop are to be in flight at once."""
    stages: Any = loop.attrs[PIPELINE_STAGES]
    return int(stages)


def demoted(loop: ForStmt) -> ForStmt:
    """The loop as a sequential one, without the notes that only a pipelined one carries."""
    notes = {key: value for key, value in loop.attrs.items() if key not in _NOTES}
    return replace(loop, kind=ForKind.Sequential, attrs=notes)
