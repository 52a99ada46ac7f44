"""The calls of a body, in order. Programs that are written have none inside of other expressions."""

from __future__ import annotations

from collections.abc import Iterator

from pypto_core.ir import AssignStmt, Call, EvalStmt, Stmt, Submit, flatten, regions


def calls_of(body: Stmt) -> Iterator[Call | Submit]:
    """Calls that are a statement's whole value, those of nested regions included."""
    for stmt in flatten(body):
        cls = type(stmt)
        if cls is AssignStmt:
            value = stmt.value  # type: ignore[attr-defined]
        elif cls is EvalStmt:
            value = stmt.expr  # type: ignore[attr-defined]
        else:
            for inner in regions(stmt):
                yield from calls_of(inner)
            continue
        if isinstance(value, Call | Submit):
            yield value
