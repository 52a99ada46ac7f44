"""NormalizeStmtStructure: sequences are flat, never of length one, and a yield ends its region."""

from __future__ import annotations

from typing import Any

from pypto_core.diagnostics import UserError
from pypto_core.ir import (
    BreakStmt,
    ContinueStmt,
    Function,
    Mutator,
    ReturnStmt,
    SeqStmts,
    Stmt,
    YieldStmt,
    seq,
)


def normalize_stmt_structure(function: Function, ctx: Any) -> Function:
    """The function with its sequences in normal form; the same object when they are."""
    return _Normalizer().visit(function)


class _Normalizer(Mutator):
    def visit_seq_stmts(self, node: SeqStmts) -> Stmt:
        """Flatten, and drop what stands behind the end of a region."""
        stmts: list[Stmt] = [self.visit(s) for s in node.stmts]
        new = seq(stmts, node.span)
        if isinstance(new, SeqStmts):
            new = _cut(new)
            if len(new.stmts) == len(node.stmts) and all(
                a is b for a, b in zip(new.stmts, node.stmts, strict=True)
            ):
                return node
            return seq(new.stmts, node.span)
        return new


def _cut(node: SeqStmts) -> SeqStmts:
    """Nothing runs behind a return, break or continue; something behind a yield is a mistake."""
    for i, stmt in enumerate(node.stmts[:-1]):
        if isinstance(stmt, YieldStmt):
            raise UserError(
                "a yield must be the last statement of its region",
                code="PT333",
                span=node.stmts[i + 1].span if node.stmts[i + 1].span.is_valid else stmt.span,
                remedy="move the yield to the end of the loop body or branch",
            )
        if isinstance(stmt, ReturnStmt | BreakStmt | ContinueStmt):
            return SeqStmts(node.stmts[: i + 1], span=node.span)
    return node
