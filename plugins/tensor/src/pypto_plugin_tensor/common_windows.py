"""Windows that both ways of a branch take are taken ahead of it.

The commonest form of a sum of products takes the same windows in its first trip and in the others::

    if k == 0:
        acc = matmul(a[:, k : k + 32], b[k : k + 32, :])
    else:
        acc = matmul_acc(acc, a[:, k : k + 32], b[k : k + 32, :])

Taken once, they are loaded once, and the loop has the form that later passes know how to tile. A window of the first
way may be written with the constant that the condition compares with.
"""

from __future__ import annotations

from collections.abc import Mapping

from pypto_core.ir import (
    AssignStmt,
    BinaryExpr,
    Call,
    ConstInt,
    Eq,
    Expr,
    Function,
    IfStmt,
    Mutator,
    SeqStmts,
    Stmt,
    Var,
    defined_vars,
    flatten,
    fold_binary,
    replace,
    seq,
    structural_equal,
    substitute,
    types_equal,
    used_vars,
)


def take_common_windows(function: Function) -> Function:
    """The function with common windows ahead of their branches; the same object when it has none."""
    return _Taking().visit(function)


class _Taking(Mutator):
    def visit_if_stmt(self, node: IfStmt) -> Stmt:
        """Inner branches first, so that a window moves out as far as it can."""
        new = self.mutate_children(node)
        if not isinstance(new, IfStmt) or new.else_body is None:
            return new
        known = _known(new.condition)
        here, there = _windows(new.then_body), _windows(new.else_body)
        moved: dict[Var, AssignStmt] = {}
        same: dict[Var, Expr] = {}
        for other in there:
            match = next((w for w in here if w.var not in same and _is_same(w, other, known)), None)
            if match is not None:
                moved[other.var] = other
                same[match.var] = other.var
        if not moved:
            return new
        then_body = seq([s for s in flatten(new.then_body) if _defined(s) not in same], new.then_body.span)
        else_body = seq([s for s in flatten(new.else_body) if _defined(s) not in moved], new.else_body.span)
        rest = replace(new, then_body=substitute(then_body, same), else_body=else_body, leading_comments=())
        comments = SeqStmts((), leading_comments=new.leading_comments)
        return seq([comments, *moved.values(), rest], new.span)


def _defined(stmt: Stmt) -> Var | None:
    return stmt.var if isinstance(stmt, AssignStmt) else None


def _known(condition: Expr) -> Mapping[Var, Expr]:
    """What the condition says of a variable where it holds."""
    if (
        isinstance(condition, Eq)
        and isinstance(condition.left, Var)
        and isinstance(condition.right, ConstInt)
    ):
        return {condition.left: condition.right}
    return {}


def _windows(body: Stmt) -> list[AssignStmt]:
    """The windows that a way takes of what exists ahead of the branch."""
    inner = set(defined_vars(body))
    return [
        s
        for s in flatten(body)
        if isinstance(s, AssignStmt)
        and isinstance(s.value, Call)
        and s.value.name == "tensor.slice"
        and not inner & set(used_vars(s))
    ]


def _is_same(one: AssignStmt, other: AssignStmt, known: Mapping[Var, Expr]) -> bool:
    """Whether two windows are one where ``known`` holds."""
    if not types_equal(one.var.type, other.var.type):
        return False
    if structural_equal(one.value, other.value):
        return True
    return bool(known) and structural_equal(_settled(one.value, known), _settled(other.value, known))


def _settled(value: Expr, known: Mapping[Var, Expr]) -> Expr:
    """A window with what is known put in, and constants folded."""
    return _Folding(known).visit(value)


class _Folding(Mutator):
    def visit_binary_expr(self, node: BinaryExpr) -> Expr:
        """Fold behind the operands."""
        new = super().visit_binary_expr(node)
        return fold_binary(new) if isinstance(new, BinaryExpr) else new
