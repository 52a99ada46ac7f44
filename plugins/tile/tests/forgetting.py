"""Takes the memory spaces out of a program, as if nobody had chosen them yet."""

from __future__ import annotations

from typing import Any

from pypto_core.ir import AssignStmt, Call, Expr, IterArg, Mutator, Var, flatten, last_yield, replace
from pypto_core.ops import create_call, op_of

_OPEN = frozenset({"tile.load", "tile.create"})


class Forgetting(Mutator):
    """Loads and creations without their space; every type that follows from theirs is deduced again."""

    def visit_call(self, node: Call) -> Expr:
        new = super().visit_call(node)
        if op_of(new) is None or (new is node and node.name not in _OPEN):
            return new
        options = {k: v for k, v in new.kwargs.items() if k != "target_memory" or node.name not in _OPEN}
        return create_call(new.name, new.args, options, new.span, new.attrs)

    def visit_assign_stmt(self, node: AssignStmt) -> Any:
        value = self.visit(node.value)
        return replace(node, var=self.like(node.var, value), value=value)

    def like(self, var: Var, value: Any) -> Var:
        new = Var(var.name_hint, value.type, span=var.span)
        self.remap[var] = new
        return new

    def visit_for_stmt(self, node: Any) -> Any:
        bounds = {name: self.visit(getattr(node, name)) for name in ("start", "stop", "step")}
        return self.loop(node, **bounds, loop_var=self.visit_def(node.loop_var))

    def visit_while_stmt(self, node: Any) -> Any:
        return self.loop(node)

    def loop(self, node: Any, **parts: Any) -> Any:
        args = []
        for arg in node.iter_args:
            init = self.visit(arg.init_value)
            args.append(IterArg(arg.name_hint, init.type, init, span=arg.span))
            self.remap[arg] = args[-1]
        if hasattr(node, "condition"):
            parts["condition"] = self.visit(node.condition)
        body = self.visit(node.body)
        results = [self.like(v, a) for v, a in zip(node.return_vars, args, strict=True)]
        return replace(node, iter_args=args, body=body, return_vars=results, **parts)

    def visit_if_stmt(self, node: Any) -> Any:
        condition, then_body = self.visit(node.condition), self.visit(node.then_body)
        else_body = None if node.else_body is None else self.visit(node.else_body)
        tail = last_yield(then_body)
        results = [
            self.like(v, x) for v, x in zip(node.return_vars, tail.values if tail else (), strict=True)
        ]
        return replace(
            node, condition=condition, then_body=then_body, else_body=else_body, return_vars=results
        )


def without_spaces(program: Any) -> Any:
    """The program with every choice of a space for loads and creations left open."""
    return Forgetting().visit(program)


def names(stmt: Any) -> list[str]:
    """What the statements of a region assign, in short."""
    return [s.var.name_hint for s in flatten(stmt) if isinstance(s, AssignStmt)]
