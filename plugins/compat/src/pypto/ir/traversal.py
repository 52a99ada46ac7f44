"""IRVisitor and IRMutator: one ``visit_<node>`` method per class, each of which may be overridden and called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pypto_core import ir as kernel
from pypto_core.ir import (
    BinaryExpr,
    Expr,
    Function,
    Mutator,
    Program,
    Stmt,
    Type,
    UnaryExpr,
    Var,
    child_fields,
    map_functions,
    snake_name,
)

_BASES = (Expr, Stmt, BinaryExpr, UnaryExpr, kernel.ScopeStmt)


def _concrete(base: type) -> list[type]:
    found = [cls for cls in vars(kernel).values() if isinstance(cls, type) and issubclass(cls, base)]
    return sorted((cls for cls in found if cls not in _BASES), key=lambda cls: cls.__name__)


def _handler(visitor: Any, node: Any) -> Callable[[Any], Any] | None:
    for base in type(node).__mro__:
        if base in (Expr, Stmt, kernel.Node):
            return None
        found = getattr(visitor, f"visit_{snake_name(base)}", None)
        if found is not None:
            return found
    return None


class IRVisitor:
    """Reads a program. Override what is of interest, and call ``super().visit_<node>(node)`` to go on below it.

    Every expression passes through ``visit_expr`` and every statement through ``visit_stmt``; types are not visited.
    Variables come to ``visit_var_like`` at definitions and uses alike.
    """

    def visit_program(self, program: Program) -> None:
        """Visit the functions in the order of their names."""
        for function in program:
            self.visit_function(function)

    def visit_function(self, function: Function) -> None:
        """Visit parameters and body."""
        for param in function.params:
            self.visit_expr(param)
        self.visit_stmt(function.body)

    def visit_expr(self, expr: Expr) -> None:
        """Visit an expression by its class."""
        handler = _handler(self, expr)
        if handler is not None:
            handler(expr)
        else:
            self._visit_parts(expr)

    def visit_stmt(self, stmt: Stmt) -> None:
        """Visit a statement by its class."""
        handler = _handler(self, stmt)
        if handler is not None:
            handler(stmt)
        else:
            self._visit_parts(stmt)

    def visit_var_like(self, var: Var) -> None:
        """Visit a variable of whatever kind; a carried one has its initial value below it."""

    def visit_var(self, var: Var) -> None:
        """Visit a plain variable."""
        self.visit_var_like(var)

    def visit_iter_arg(self, var: Var) -> None:
        """Visit a carried variable: its initial value, then itself."""
        init = getattr(var, "init_value", None)
        if init is not None:
            self.visit_expr(init)
        self.visit_var_like(var)

    def visit_binary_expr(self, expr: BinaryExpr) -> None:
        """Visit both operands."""
        self.visit_expr(expr.left)
        self.visit_expr(expr.right)

    def visit_unary_expr(self, expr: UnaryExpr) -> None:
        """Visit the operand."""
        self.visit_expr(expr.operand)

    def _visit_parts(self, node: Any) -> None:
        for field in child_fields(node.__class__):
            value = field.get(node)
            if field.kind == kernel.MAP:
                items: Any = kernel.map_nodes(value)
            else:
                items = value if field.kind == kernel.NODES else (value,)
            for item in items:
                if isinstance(item, Expr):
                    self.visit_expr(item)
                elif isinstance(item, Stmt):
                    self.visit_stmt(item)


class IRMutator(Mutator):
    """Rewrites a program; what does not change comes back as the same object.

    Override ``visit_<node>`` to return another node, and call ``super().visit_<node>(node)`` to rewrite what is below.
    Every expression passes through ``visit_expr`` and every statement through ``visit_stmt``.
    """

    def visit(self, node: Any) -> Any:
        """The rewritten node, by what it is."""
        if isinstance(node, Expr):
            return self.visit_expr(node)
        if isinstance(node, Stmt):
            return self.visit_stmt(node)
        if isinstance(node, Function):
            return self.visit_function(node)
        if isinstance(node, Program):
            return self.visit_program(node)
        return self.visit_type(node) if isinstance(node, Type) else node

    def visit_program(self, node: Program) -> Program:
        """Rewrite each function."""
        return map_functions(node, self.visit_function)

    def visit_function(self, function: Function) -> Function:
        """Rewrite parameters, return types and body."""
        return self.mutate_children(function)

    def visit_expr(self, expr: Expr) -> Expr:
        """Rewrite an expression by its class."""
        handler = _handler(self, expr)
        return handler(expr) if handler is not None else self.mutate_children(expr)

    def visit_stmt(self, stmt: Stmt) -> Stmt:
        """Rewrite a statement by its class."""
        handler = _handler(self, stmt)
        return handler(stmt) if handler is not None else self.mutate_children(stmt)

    def visit_var_like(self, var: Var) -> Expr:
        """What a use of a variable becomes."""
        return self.remap.get(var, var)

    def visit_var(self, var: Var) -> Expr:
        """What a use of a plain variable becomes."""
        return self.visit_var_like(var)

    def visit_iter_arg(self, var: Var) -> Expr:
        """What a use of a carried variable becomes."""
        return self.visit_var_like(var)


def _default(below: str) -> Callable[[Any, Any], Any]:
    def visit(self: Any, node: Any) -> Any:
        return getattr(self, below)(node)

    return visit


def _complete(owner: type, rest: str) -> None:
    """Give ``owner`` a method for each class of node that it has none for."""
    for cls in [*_concrete(Expr), *_concrete(Stmt)]:
        name = f"visit_{snake_name(cls)}"
        if hasattr(owner, name):
            continue
        below = "visit_binary_expr" if issubclass(cls, BinaryExpr) else rest
        method = _default("visit_unary_expr" if issubclass(cls, UnaryExpr) else below)
        method.__name__, method.__doc__ = name, f"What happens to a {cls.__name__}."
        setattr(owner, name, method)


_complete(IRVisitor, "_visit_parts")
_complete(IRMutator, "mutate_children")

__all__ = ["IRMutator", "IRVisitor"]
