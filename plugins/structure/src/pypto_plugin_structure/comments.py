"""An author's comments stay with what a statement became."""

from __future__ import annotations

from collections.abc import Sequence

from pypto_core.diagnostics import Span
from pypto_core.ir import SeqStmts, Stmt, replace, seq


def in_place_of(stmt: Stmt, made: Sequence[Stmt]) -> Stmt:
    """What ``stmt`` became, as one statement; its comments stand above the first.

    When nothing is left of it they wait in an empty sequence for the statement that follows.
    """
    return with_comments(made, stmt.leading_comments, stmt.span)


def with_comments(made: Sequence[Stmt], comments: tuple[str, ...], span: Span) -> Stmt:
    """Statements as one, with comments above the first."""
    flat = seq(made, span)
    if not comments:
        return flat
    if not isinstance(flat, SeqStmts) or not flat.stmts:
        return replace(flat, leading_comments=(*comments, *flat.leading_comments))
    first, *rest = flat.stmts
    first = replace(first, leading_comments=(*comments, *first.leading_comments))
    return SeqStmts((first, *rest), span=span)
