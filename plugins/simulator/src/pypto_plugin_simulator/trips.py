"""How many steps a loop takes at least: one that can't end within a run's limit is refused before it begins."""

from __future__ import annotations

from collections.abc import Iterable

from pypto_core.ir import (
    BreakStmt,
    ConstInt,
    ContinueStmt,
    Expr,
    ForStmt,
    ReturnStmt,
    ScopeStmt,
    SeqStmts,
    Stmt,
    walk_stmts,
)


def trips_of(start: int, stop: int, step: int) -> int:
    """The number of trips of a loop with these bounds; 0 for a step of zero."""
    return max(0, -((start - stop) // step)) if step else 0


def least_per_trip(loop: ForStmt) -> int:
    """The steps that every trip takes at least, or 0 for a loop that may be left before its last trip.

    A step is a statement, and a trip of a loop.
    """
    inside = list(walk_stmts(loop.body))
    if any(isinstance(stmt, BreakStmt | ReturnStmt) for stmt in inside):
        return 0
    if any(isinstance(stmt, ContinueStmt) for stmt in inside):
        return 1
    return 1 + _least(loop.body)


def _least(stmt: Stmt) -> int:
    if isinstance(stmt, SeqStmts):
        return 1 + sum(map(_least, stmt.stmts))
    if isinstance(stmt, ForStmt):
        bounds = _numbers((stmt.start, stmt.stop, stmt.step))
        return 1 + (trips_of(*bounds) * (1 + _least(stmt.body)) if bounds is not None else 0)
    return 1 + _least(stmt.body) if isinstance(stmt, ScopeStmt) else 1


def _numbers(bounds: Iterable[Expr]) -> tuple[int, int, int] | None:
    start, stop, step = (bound.value if isinstance(bound, ConstInt) else None for bound in bounds)
    return None if start is None or stop is None or step is None else (start, stop, step)
