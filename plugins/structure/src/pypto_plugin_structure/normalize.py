"""NormalizeStmtStructure: sequences are flat, never of length one, and a yield ends its region."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pypto_core.diagnostics import UserError
from pypto_core.ir import (
    AssignStmt,
    BreakStmt,
    ContinueStmt,
    Function,
    Mutator,
    ReturnStmt,
    SeqStmts,
    Stmt,
    YieldStmt,
    flatten,
    regions,
    seq,
    updated,
)
from pypto_plugin_structure.comments import with_comments


def normalize_stmt_structure(function: Function, ctx: Any = None) -> Function:
    """The function with its sequences in normal form; the same object when they are.

    Statements that nothing reaches, behind a return, break or continue, are dropped. Raises UserError PT333 for
    statements behind a yield.
    """
    return _Normalizer().visit(function)


_REGIONS = ("body", "then_body", "else_body")


class _Normalizer(Mutator):
    def visit_seq_stmts(self, node: SeqStmts) -> Stmt:
        """Flatten, and drop what stands behind the end of a region."""
        stmts: list[Stmt] = [self.visit(s) for s in node.stmts]
        flat = flatten(seq(stmts))
        kept = flat[: _end(flat)]
        if len(kept) == len(node.stmts) != 1 and all(a is b for a, b in zip(kept, node.stmts, strict=True)):
            return node
        return with_comments(kept, node.leading_comments, node.span)

    def visit_stmt(self, node: Stmt) -> Stmt:
        """Sequences lie in regions alone."""
        if not regions(node):
            return node
        parts = {
            name: self.visit(getattr(node, name))
            for name in _REGIONS
            if isinstance(getattr(node, name, None), Stmt)
        }
        return updated(node, **parts)

    def visit_assign_stmt(self, node: AssignStmt) -> Stmt:
        """As any other."""
        return self.visit_stmt(node)


def _end(stmts: Sequence[Stmt]) -> int:
    """How many of the statements can be reached."""
    for i, stmt in enumerate(stmts[:-1]):
        if isinstance(stmt, YieldStmt):
            later = stmts[i + 1]
            raise UserError(
                "a yield must be the last statement of its region",
                code="PT333",
                span=later.span if later.span.is_valid else stmt.span,
                remedy="move the yield to the end of the loop body or branch",
            )
        if isinstance(stmt, ReturnStmt | BreakStmt | ContinueStmt):
            return i + 1
    return len(stmts)
