"""UnrollLoops: loops of kind Unroll become their trips, one after the other.

Variables keep their identity, so that a trip reads what the previous one assigned and what follows reads the last;
conversion to SSA tells the trips apart. The loop variable becomes its number. Where a type mentions it (a slot of an
allocation, a valid extent) it is assigned before each trip instead: a variable has one type for all trips.
"""

from __future__ import annotations

from typing import Any

from pypto_core.diagnostics import UserError
from pypto_core.ir import (
    AssignStmt,
    BinaryExpr,
    ConstInt,
    DataType,
    Expr,
    ForKind,
    ForStmt,
    Function,
    Mutator,
    NameSource,
    ScalarType,
    Stmt,
    Var,
    defined_vars,
    flatten,
    fold_binary,
    last_yield,
    type_vars,
    walk_stmts,
)
from pypto_plugin_structure.comments import in_place_of

MAX_STATEMENTS = 200_000
"""What the trips of one loop may come to; beyond that the loop was hardly meant to be unrolled."""


def unroll_loops(function: Function, ctx: Any = None) -> Function:
    """The function without loops to unroll; the same object when it has none.

    Raises UserError PT320 for bounds that are no constants, PT321 for a loop whose trips come to more than
    :data:`MAX_STATEMENTS`.
    """
    return _Unroller(function).visit(function)


class _Unroller(Mutator):
    def __init__(self, function: Function) -> None:
        super().__init__()
        self.function = function
        self.names = NameSource()
        self.numbers: dict[Var, Expr] | None = None

    def visit_for_stmt(self, node: ForStmt) -> Stmt:
        """The trips of a loop to unroll; other loops keep their form."""
        if node.kind is not ForKind.Unroll:
            return self.mutate_children(node)
        if self.numbers is None:
            self.numbers = _constants(self.function)
        start, stop, step = (self.number(node, name) for name in ("start", "stop", "step"))
        trips = range(start, stop, step)
        size = sum(1 for _ in walk_stmts(node.body))
        if len(trips) * size > MAX_STATEMENTS:
            raise UserError(
                f"unrolling this loop makes {len(trips)} trips of {size} statements each",
                code="PT321",
                span=node.span,
                facts={"limit": MAX_STATEMENTS, "function": self.function.name},
                remedy="use pl.range, or unroll a loop of fewer trips inside of it",
            )
        carried: list[Expr] = [a.init_value for a in node.iter_args]
        typed = any(node.loop_var in type_vars(v.type) for v in defined_vars(node.body))
        stmts: list[Stmt] = []
        for value in trips:
            body, carried = self.trip(node, ConstInt(value, _dtype(node)), carried, typed)
            stmts += body
        results = zip(node.return_vars, carried, strict=True)
        stmts += [AssignStmt(var, value, span=node.span) for var, value in results]
        return in_place_of(node, stmts)

    def trip(
        self, node: ForStmt, value: ConstInt, carried: list[Expr], typed: bool
    ) -> tuple[list[Stmt], list[Expr]]:
        """The statements of one trip, and what the next one takes over."""
        stmts: list[Stmt] = []
        mapping: dict[Var, Expr] = {}
        # Names of their own, as a carried variable may be assigned before the carry is read.
        for arg, init in zip(node.iter_args, carried, strict=True):
            var = Var(self.names.fresh(arg.name_hint, "iter"), arg.type, span=arg.span)
            stmts.append(AssignStmt(var, init, span=node.span))
            mapping[arg] = var
        if typed:
            stmts.append(AssignStmt(node.loop_var, value, span=node.span))
            assert self.numbers is not None
            self.numbers[node.loop_var] = value
        else:
            mapping[node.loop_var] = value
        body = _Folding(mapping).visit(node.body) if mapping else node.body
        inner = self.visit(body)
        tail = last_yield(inner)
        stmts += flatten(inner)[:-1] if tail is not None else flatten(inner)
        return stmts, [*tail.values] if tail is not None else carried

    def number(self, node: ForStmt, name: str) -> int:
        """A bound as a number."""
        bound: Expr = getattr(node, name)
        if not isinstance(bound, ConstInt):
            bound = _Folding(self.numbers or {}).visit(bound)
        if not isinstance(bound, ConstInt):
            raise UserError(
                f"the {name} of a loop to unroll must be a constant",
                code="PT320",
                span=node.span,
                facts={"function": self.function.name},
                remedy="use pl.range for bounds that are known only when the kernel runs",
            )
        if name == "step" and bound.value == 0:
            raise UserError(
                "a loop's step can't be 0", code="PT320", span=node.span, remedy="write a step of 1"
            )
        return bound.value


class _Folding(Mutator):
    """Substitutes, and folds what becomes constant."""

    def visit_binary_expr(self, node: BinaryExpr) -> Expr:
        new = super().visit_binary_expr(node)
        return fold_binary(new) if new is not node and isinstance(new, BinaryExpr) else new


def _dtype(node: ForStmt) -> DataType:
    kind = node.loop_var.type
    assert isinstance(kind, ScalarType)
    return kind.dtype


def _constants(function: Function) -> dict[Var, Expr]:
    """Variables that are assigned once, and to a number."""
    counts: dict[Var, int] = dict.fromkeys(function.params, 1)
    for var in defined_vars(function.body):
        counts[var] = counts.get(var, 0) + 1
    return {
        stmt.var: stmt.value
        for stmt in walk_stmts(function.body)
        if isinstance(stmt, AssignStmt) and isinstance(stmt.value, ConstInt) and counts[stmt.var] == 1
    }


__all__ = ["MAX_STATEMENTS", "unroll_loops"]
