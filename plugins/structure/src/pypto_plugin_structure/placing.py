"""Tiles whose memory nobody said get it from their values, once parameters are what was passed for them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pypto_core.ir import (
    AssignStmt,
    Call,
    Expr,
    ForStmt,
    IfStmt,
    IterArg,
    Stmt,
    Type,
    Var,
    WhileStmt,
    YieldStmt,
    flatten,
    lies_anywhere,
    placed_like,
    replace,
)
from pypto_core.ops import op_of, rebuild_call
from pypto_plugin_structure.retype import TypeFollower


class Placing(TypeFollower):
    """Follows the memory of values through calls, assignments, carries and branches."""

    def __init__(self) -> None:
        super().__init__()
        self.sources: dict[Var, Expr] = {}

    def define(self, var: Var, kind: Type) -> Var:
        """The same variable for each assignment, a new one where the first of them changes its type."""
        made = self._made.get(var)
        if made is not None:
            return made
        return self._make(var, var if kind is var.type else Var(var.name_hint, kind, span=var.span))

    def visit_def(self, var: Var) -> Var:
        """A carry lies where its initial value does, a result where what it stands for does."""
        if var in self._made or not lies_anywhere(var.type):
            return super().visit_def(var)
        if isinstance(var, IterArg):
            init = self.visit(var.init_value)
            kind = placed_like(self.visit_type(var.type), init.type)
            return self._make(var, IterArg(var.name_hint, kind, init, span=var.span))
        source = self.sources.get(var)
        kind = self.visit_type(var.type)
        return self.define(var, kind if source is None else placed_like(kind, self.visit(source).type))

    def visit_call(self, node: Call) -> Expr:
        """A call whose operands say where its result lies."""
        new = super().visit_call(node)
        if not isinstance(new, Call) or op_of(new) is None or not lies_anywhere(new.type):
            return new
        kind = placed_like(new.type, rebuild_call(new, new.args).type)
        return new if kind is new.type else replace(new, type=kind)

    def visit_assign_stmt(self, node: AssignStmt) -> Stmt:
        """What is assigned lies where its value does."""
        value = self.visit(node.value)
        kind = value.type if node.var.type is node.value.type else self.visit_type(node.var.type)
        var = self.define(node.var, placed_like(kind, value.type))
        if var is node.var and isinstance(value, Call) and node.value.type is var.type is not value.type:
            value = replace(
                value, type=var.type
            )  # a value that lies anywhere was assigned before: so does this one
        return node if var is node.var and value is node.value else replace(node, var=var, value=value)

    def visit_for_stmt(self, node: ForStmt) -> Stmt:
        """The results are the carries of the last trip."""
        self.sources |= zip(node.return_vars, node.iter_args, strict=False)
        return self.mutate_children(node)

    def visit_while_stmt(self, node: WhileStmt) -> Stmt:
        """As a counted loop."""
        self.sources |= zip(node.return_vars, node.iter_args, strict=False)
        return self.mutate_children(node)

    def visit_if_stmt(self, node: IfStmt) -> Stmt:
        """The results are what the first branch yields."""
        last: Iterable[Any] = flatten(node.then_body)[-1:]
        for stmt in last:
            if isinstance(stmt, YieldStmt):
                self.sources |= zip(node.return_vars, stmt.values, strict=False)
        return self.mutate_children(node)
