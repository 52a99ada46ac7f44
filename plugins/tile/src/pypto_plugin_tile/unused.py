"""Taking out views and copies that a rewrite has left without a reader."""

from __future__ import annotations

from collections import Counter
from collections.abc import Set

from pypto_core.ir import (
    EMPTY,
    AssignStmt,
    ForStmt,
    Function,
    IfStmt,
    Mutator,
    ScopeStmt,
    SeqStmts,
    Stmt,
    Var,
    WhileStmt,
    replace,
    seq,
    used_vars,
    walk_stmts,
)


def without_unused(function: Function, candidates: Set[Var]) -> Function:
    """The function without the assignments to ``candidates`` that nothing reads, directly or for one another.

    The values of the candidates have no effect. The same function when all are read.
    """
    uses: Counter[Var] = Counter()
    defined: dict[Var, Stmt] = {}
    for stmt in walk_stmts(function.body):
        uses.update(_own_uses(stmt))
        if isinstance(stmt, AssignStmt) and stmt.var in candidates:
            defined[stmt.var] = stmt
    dead: set[Stmt] = set()
    todo = [var for var in defined if not uses[var]]
    while todo:
        stmt = defined[todo.pop()]
        dead.add(stmt)
        for var in _own_uses(stmt):
            uses[var] -= 1
            if not uses[var] and var in defined:
                todo.append(var)
    return _Sweeper(dead).visit(function) if dead else function


def _own_uses(stmt: Stmt) -> tuple[Var, ...]:
    """The variables that a statement uses itself, regions left out."""
    if isinstance(stmt, ForStmt | WhileStmt | ScopeStmt):
        return used_vars(replace(stmt, body=EMPTY))
    if isinstance(stmt, IfStmt):
        return used_vars(replace(stmt, then_body=EMPTY, else_body=None))
    return used_vars(stmt)


class _Sweeper(Mutator):
    def __init__(self, dead: set[Stmt]) -> None:
        super().__init__()
        self.dead = dead

    def visit_seq_stmts(self, node: SeqStmts) -> Stmt:
        """Comments of what goes stay with what follows."""
        kept: list[Stmt] = []
        comments: tuple[str, ...] = ()
        for stmt in node.stmts:
            if stmt in self.dead:
                comments += stmt.leading_comments
                continue
            new = self.visit(stmt)
            if comments:
                new, comments = replace(new, leading_comments=comments + new.leading_comments), ()
            kept.append(new)
        if len(kept) == len(node.stmts) and all(a is b for a, b in zip(kept, node.stmts, strict=True)):
            return node
        return seq(kept, node.span)

    def visit_assign_stmt(self, node: AssignStmt) -> Stmt:
        """Nothing to look into."""
        return node
