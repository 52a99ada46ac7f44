"""NormalizeReturnOrder: kernels return the parameters that they wrote, by name and in the order of the parameters.

What a kernel returns is, as a rule, a parameter that it stored into. Returning the parameter itself says so. Kernels
whose returned values are exactly their output parameters return them in the parameters' order, and callers pick
their results at the new places.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pypto_core.ir import (
    AssignStmt,
    Call,
    EvalStmt,
    Expr,
    Function,
    GlobalVar,
    Mutator,
    ParamDirection,
    Program,
    ReturnStmt,
    Stmt,
    Submit,
    TupleGetItemExpr,
    TupleType,
    Var,
    is_wrapper,
    replace,
    seq,
    updated,
    walk,
    walk_stmts,
)
from pypto_plugin_tile.origins import Origins, returned_parameter

Orders = dict[str, tuple[int, ...]]
"""Kernel → old position of what stands at each new one."""


def normalize_return_order(program: Program, ctx: Any) -> Program:
    """The program with explicit returns in the order of parameters; the same object when they are so already."""
    functions = dict(program.functions)
    for name in _callees_first(program):
        function = functions[name]
        if function.is_incore or is_wrapper(function.func_type):
            functions[name] = _Naming(Origins(function, functions)).visit(function)
    wanted = {n: order for n, f in functions.items() if f.is_incore and (order := _order(f)) is not None}
    awkward: set[str] = _awkward_callees(functions) if wanted else set()
    orders: Orders = {name: order for name, order in wanted.items() if name not in awkward}
    for name, order in orders.items():
        functions[name] = _permuted(functions[name], order)
    if orders:
        functions = {name: _Picking(orders).visit(function) for name, function in functions.items()}
    if all(functions[name] is function for name, function in program.functions.items()):
        return program
    return replace(program, functions=functions.values())


def _callees_first(program: Program) -> Iterator[str]:
    """The names of all functions, each behind those it calls."""
    calls: dict[str, list[str]] = {}
    for function in program:
        names = [n.op.name for n in walk(function.body) if isinstance(n, Call | Submit)]
        calls[function.name] = [n for n in dict.fromkeys(names) if n in program.functions]
    done: dict[str, None] = {}
    for root in calls:
        stack = [(root, iter(calls[root]))]
        open_names = {root}
        while stack:
            name, rest = stack[-1]
            below = next((n for n in rest if n not in done and n not in open_names), None)
            if below is None:
                done.setdefault(name)
                stack.pop()
            else:
                open_names.add(below)
                stack.append((below, iter(calls[below])))
    yield from done


class _Naming(Mutator):
    """Returns parameters under their own names."""

    def __init__(self, origins: Origins) -> None:
        super().__init__()
        self.origins = origins

    def visit_return_stmt(self, node: ReturnStmt) -> Stmt:
        """Each value that is a parameter becomes the parameter; what wrote it stays, as a statement before."""
        named = tuple([self.origins.of(v) or v for v in node.values])
        kept = [
            AssignStmt(Var("returned", v.type, span=v.span), v, span=node.span)
            for v, name in zip(node.values, named, strict=True)
            if name is not v and not isinstance(v, Var)
        ]
        new = updated(node, values=named)
        return seq([*kept, new]) if kept else new

    def visit_assign_stmt(self, node: AssignStmt) -> Stmt:
        """Nothing to look into."""
        return node

    visit_eval_stmt = visit_assign_stmt  # type: ignore[assignment]


def _order(function: Function) -> tuple[int, ...] | None:
    """The order that a kernel's returned values should have; None when they have it, or are not its outputs."""
    outputs = [i for i, d in enumerate(function.param_directions) if d is not ParamDirection.In]
    count = len(function.return_types)
    found = [returned_parameter(function, k) for k in range(count)]
    if count < 2 or sorted(p for p in found if p is not None) != outputs:
        return None
    order = tuple(found.index(p) for p in outputs)
    return None if order == tuple(range(count)) else order


def _permuted(function: Function, order: tuple[int, ...]) -> Function:
    class Permuting(Mutator):
        def visit_return_stmt(self, node: ReturnStmt) -> Stmt:
            return replace(node, values=tuple(node.values[i] for i in order))

    types = tuple(function.return_types[i] for i in order)
    return replace(Permuting().visit(function), return_types=types)


def _awkward_callees(functions: Mapping[str, Function]) -> set[str]:
    """Functions of which some caller uses the results other than one by one: their order has to stay."""
    awkward: set[str] = set()
    for function in functions.values():
        held: dict[Var, str] = {}
        allowed: set[int] = set()
        for stmt in walk_stmts(function.body):
            call = (
                stmt.value
                if isinstance(stmt, AssignStmt)
                else stmt.expr
                if isinstance(stmt, EvalStmt)
                else None
            )
            if isinstance(call, Call | Submit):
                allowed.add(id(call))
                if isinstance(stmt, AssignStmt) and isinstance(call.type, TupleType):
                    held[stmt.var] = call.op.name
        for node in walk(function.body):
            if isinstance(node, TupleGetItemExpr):
                allowed.add(id(node.tuple))
        picked = {id(n.tuple) for n in walk(function.body) if isinstance(n, TupleGetItemExpr)}
        for name in _loose(function, held, allowed, picked):
            awkward.add(name)
    return awkward


def _loose(function: Function, held: Mapping[Var, str], allowed: set[int], picked: set[int]) -> Iterator[str]:
    """Callees whose results, as a whole, go somewhere else than into a variable that is taken apart."""
    for node in walk(function.body):
        below: list[Expr] = []
        if isinstance(node, Call | Submit):
            below = list(node.args)
        elif isinstance(node, Stmt) and not isinstance(node, EvalStmt):
            values: Any = getattr(node, "values", None)
            below = list(values) if values else []
            if isinstance(node, AssignStmt) and isinstance(node.value, Var):
                below.append(node.value)
            below += [arg.init_value for arg in getattr(node, "iter_args", ())]
        for value in below:
            if isinstance(value, Var) and value in held:
                yield held[value]
            elif isinstance(value, Call | Submit) and isinstance(value.type, TupleType):
                yield value.op.name


class _Picking(Mutator):
    """Takes results of reordered kernels from their new places."""

    def __init__(self, orders: Orders) -> None:
        super().__init__()
        self.orders = orders
        self.held: dict[Expr, tuple[int, ...]] = {}

    def visit_call(self, node: Call) -> Expr:
        """The type of a call lists the results in their new order."""
        new = super().visit_call(node)
        return self.reordered(new) if isinstance(new, Call) and isinstance(new.op, GlobalVar) else new

    def visit_submit(self, node: Submit) -> Expr:
        """As for calls; the task id stays last."""
        return self.reordered(self.mutate_children(node))

    def reordered(self, call: Any) -> Expr:
        order = self.orders.get(call.op.name)
        if order is None or not isinstance(call.type, TupleType):
            return call
        types = call.type.types
        kept = tuple(types[i] for i in order) + types[len(order) :]
        new = replace(call, type=TupleType(kept))
        self.held[new] = order
        return new

    def visit_assign_stmt(self, node: AssignStmt) -> Stmt:
        """A variable that holds all results has their type."""
        value = self.visit(node.value)
        if value in self.held:
            var = Var(node.var.name_hint, value.type, span=node.var.span)
            self.remap[node.var] = var
            self.held[var] = self.held[value]
            return replace(node, var=var, value=value)
        return updated(node, value=value, var=self.visit_def(node.var))

    def visit_tuple_get_item_expr(self, node: TupleGetItemExpr) -> Expr:
        """One result, from where it stands now."""
        source = self.visit(node.tuple)
        order = self.held.get(source)
        if order is None:
            return updated(node, tuple=source)
        index = order.index(node.index) if node.index < len(order) else node.index
        return replace(node, tuple=source, index=index)
