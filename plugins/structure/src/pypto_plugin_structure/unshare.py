"""Statements that occur in several places of a program, told apart."""

from __future__ import annotations

from typing import Any

from pypto_core.ir import SeqStmts, Stmt, regions, replace, walk_stmts


def unshared(body: Stmt) -> Stmt:
    """``body`` with every compound statement occurring once; the same object when that is so already.

    Unrolled trips share what does not depend on the trip. Facts about branches and loops are kept by statement, so
    each place needs one of its own.
    """
    seen: set[int] = set()
    for stmt in walk_stmts(body):
        if regions(stmt):
            if id(stmt) in seen:
                return _copied(body, set())
            seen.add(id(stmt))
    return body


def _copied(node: Stmt, seen: set[int]) -> Stmt:
    if isinstance(node, SeqStmts):
        stmts = tuple([_copied(s, seen) for s in node.stmts])
        same = all(a is b for a, b in zip(stmts, node.stmts, strict=True))
        return node if same else replace(node, stmts=stmts)
    if not regions(node):
        return node
    again = id(node) in seen
    seen.add(id(node))
    parts: dict[str, Any] = {
        name: _copied(part, seen)
        for name in ("body", "then_body", "else_body")
        if isinstance(part := getattr(node, name, None), Stmt)
    }
    changed = again or any(getattr(node, name) is not part for name, part in parts.items())
    return replace(node, **parts) if changed else node
