"""Scalars that nothing needs: their assignments, and the carries and results that hand them on.

What is kept is what an effect, a tile, a tensor, a bound, a condition, a return or a type needs, directly or through
other scalars. Calls go only when their operator has no effect beyond its result.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs

from pypto_core.ir import (
    AssignStmt,
    Call,
    ConstBool,
    ConstFloat,
    ConstInt,
    DataType,
    Expr,
    ForStmt,
    Function,
    IfStmt,
    InlineStmt,
    MakeTuple,
    Mutator,
    ScalarType,
    SeqStmts,
    Stmt,
    Submit,
    TensorType,
    TileType,
    TupleType,
    Var,
    WhileStmt,
    YieldStmt,
    child_fields,
    flatten,
    last_yield,
    map_nodes,
    regions,
    replace,
    seq,
    updated,
    walk,
    walk_stmts,
)  # fmt: skip
from pypto_core.ops import op_of
from pypto_plugin_structure.comments import in_place_of
from pypto_plugin_structure.dataflow import Uses

_LEAVES = (Var, ConstInt, ConstFloat, ConstBool)


def has_call(expr: Expr) -> bool:
    """Whether a call is part of the expression."""
    if isinstance(expr, _LEAVES):
        return False
    return any(isinstance(node, Call | Submit) for node in walk(expr))


def without_dead_scalars(function: Function) -> Function:
    """The function without scalars that nothing needs; the same object when there are none."""
    needs = _Needs()
    if any(isinstance(stmt, InlineStmt) for stmt in walk_stmts(function.body)):
        return function  # text for the host may name any variable
    needs.region(function.body)
    for kind in function.return_types:
        needs.roots.update(needs.uses.of_type(kind))
    for value in map_nodes(function.attrs):
        needs.roots.update(needs.uses.of_expr(value))
    alive = needs.alive()
    if all(var in alive for var in needs.because):
        return function
    body = _Sweeper(needs, alive).visit(function.body)
    return updated(function, body=body)


def _removable(stmt: AssignStmt) -> bool:
    """Whether the assignment does nothing but give its variable a value."""
    kind, value = stmt.var.type, stmt.value
    if isinstance(value, Var):
        return True
    if isinstance(kind, TileType | TensorType):
        return False
    if isinstance(kind, TupleType):
        return isinstance(value, MakeTuple) and not has_call(value)
    if not isinstance(kind, ScalarType) or kind.dtype is DataType.TASK_ID:
        return False
    if isinstance(value, _LEAVES):
        return True
    for node in walk(value):
        if isinstance(node, Submit):
            return False
        if isinstance(node, Call):
            op = op_of(node)
            if op is None or not op.pure:
                return False
    return True


def _is_scalar(var: Var) -> bool:
    return isinstance(var.type, ScalarType) and var.type.dtype is not DataType.TASK_ID


@attrs.define
class _Needs:
    """``roots``: needed whatever happens. ``because``: removable variables, and what each of them needs."""

    uses: Uses = attrs.field(factory=Uses)
    roots: set[Var] = attrs.field(factory=set[Var])
    because: dict[Var, list[Var]] = attrs.field(factory=dict[Var, "list[Var]"])

    def alive(self) -> set[Var]:
        """All that is needed."""
        found = set(self.roots)
        stack = list(found)
        while stack:
            for var in self.because.get(stack.pop(), ()):
                if var not in found:
                    found.add(var)
                    stack.append(var)
        return found

    def need(self, var: Var, things: Iterable[Var]) -> None:
        self.because.setdefault(var, []).extend(things)

    def region(self, body: Stmt | None) -> None:
        for stmt in flatten(body):
            self.statement(stmt)

    def statement(self, stmt: Stmt) -> None:
        if isinstance(stmt, AssignStmt) and _removable(stmt):
            self.need(stmt.var, (*self.uses.of_expr(stmt.value), *self.uses.of_type(stmt.var.type)))
        elif isinstance(stmt, IfStmt):
            self.roots |= self.uses.of_expr(stmt.condition)
            for body in (stmt.then_body, stmt.else_body):
                self.hand_on(stmt.return_vars, last_yield(body))
                self.region(body)
            self.types(stmt.return_vars)
        elif isinstance(stmt, ForStmt | WhileStmt):
            self.loop(stmt)
        elif not isinstance(stmt, YieldStmt):
            self.roots |= self.uses.of(stmt)
            for body in regions(stmt):
                self.region(body)

    def loop(self, stmt: ForStmt | WhileStmt) -> None:
        for field in child_fields(type(stmt)):
            if field.name in ("start", "stop", "step", "condition"):
                self.roots |= self.uses.of_expr(field.get(stmt))
            elif field.name == "attrs":
                for node in map_nodes(field.get(stmt)):
                    self.roots |= self.uses.of_expr(node)
        for arg in stmt.iter_args:
            self.pass_on(arg, self.uses.of_expr(arg.init_value), has_call(arg.init_value))
        self.hand_on(stmt.iter_args, last_yield(stmt.body))
        for arg, result in zip(stmt.iter_args, stmt.return_vars, strict=False):
            if _is_scalar(result):
                self.need(result, (arg,))
            else:
                self.roots.update((arg, result))
        self.types((*stmt.iter_args, *stmt.return_vars))
        self.region(stmt.body)

    def hand_on(self, variables: Sequence[Var], tail: YieldStmt | None) -> None:
        """What a yield hands to variables is needed when they are."""
        values = tail.values if tail is not None else ()
        if len(values) != len(variables):
            for value in values:
                self.roots |= self.uses.of_expr(value)
            return
        for var, value in zip(variables, values, strict=True):
            things = (value,) if isinstance(value, Var) else self.uses.of_expr(value)
            self.pass_on(var, things, has_call(value))

    def pass_on(self, var: Var, things: Iterable[Var], called: bool) -> None:
        if _is_scalar(var) and not called:
            self.need(var, things)
        else:
            self.roots.add(var)
            self.roots.update(things)

    def types(self, variables: Iterable[Var]) -> None:
        for var in variables:
            self.roots.update(self.uses.of_type(var.type))


class _Sweeper(Mutator):
    def __init__(self, needs: _Needs, alive: set[Var]) -> None:
        super().__init__()
        self.needs, self.alive = needs, alive

    def dead(self, var: Var) -> bool:
        return var in self.needs.because and var not in self.alive

    def visit_stmt(self, stmt: Stmt) -> Stmt:
        """Other statements keep everything but what their regions lose."""
        if isinstance(stmt, AssignStmt) and self.dead(stmt.var) and _removable(stmt):
            return in_place_of(stmt, ())
        if isinstance(stmt, ForStmt | WhileStmt):
            return self.loop(stmt)
        if isinstance(stmt, IfStmt):
            return self.branch(stmt)
        if isinstance(stmt, SeqStmts) or not regions(stmt):
            return stmt
        return updated(stmt, body=self.visit(regions(stmt)[0]))

    def visit_assign_stmt(self, node: AssignStmt) -> Stmt:
        """As any other."""
        return self.visit_stmt(node)

    def branch(self, stmt: IfStmt) -> Stmt:
        keep = self.kept(stmt.return_vars, (stmt.then_body, stmt.else_body))
        bodies = [None if b is None else self.body(b, keep) for b in (stmt.then_body, stmt.else_body)]
        results = tuple([v for v, k in zip(stmt.return_vars, keep, strict=True) if k])
        if all(keep):
            results = stmt.return_vars
        return updated(stmt, then_body=bodies[0], else_body=bodies[1], return_vars=results)

    def loop(self, stmt: ForStmt | WhileStmt) -> Stmt:
        keep = [True] * len(stmt.iter_args)
        if len(stmt.iter_args) == len(stmt.return_vars):
            keep = self.kept(stmt.iter_args, (stmt.body,))
        body = self.body(stmt.body, keep)
        if all(keep):
            return updated(stmt, body=body)
        args = tuple([a for a, k in zip(stmt.iter_args, keep, strict=True) if k])
        results = tuple([v for v, k in zip(stmt.return_vars, keep, strict=True) if k])
        return replace(stmt, iter_args=args, body=body, return_vars=results)

    def kept(self, variables: Sequence[Var], bodies: Iterable[Stmt | None]) -> list[bool]:
        """Which of the handed-on variables stay; all of them where a yield does not match."""
        tails = [last_yield(b) for b in bodies]
        if any(t is None or len(t.values) != len(variables) for t in tails):
            return [True] * len(variables)
        return [not self.dead(v) for v in variables]

    def body(self, body: Stmt, keep: Sequence[bool]) -> Stmt:
        if all(keep):
            return self.visit(body)
        tail = last_yield(body)
        assert tail is not None
        stmts: list[Stmt] = [self.visit(s) for s in flatten(body)[:-1]]
        values = tuple([x for x, k in zip(tail.values, keep, strict=True) if k])
        stmts.append(replace(tail, values=values) if values else in_place_of(tail, ()))
        return seq(stmts, body.span)
