"""Which tensors of a kernel stay in the accumulator: products, and carries and results in which only products meet."""

from __future__ import annotations

from collections.abc import Iterator

from pypto_core.ir import (
    AssignStmt,
    Call,
    Expr,
    ForStmt,
    Function,
    IfStmt,
    MakeTuple,
    Stmt,
    TensorType,
    TupleGetItemExpr,
    Var,
    WhileStmt,
    last_yield,
    walk_stmts,
)

_PRODUCTS = frozenset({"tensor.matmul", "tensor.matmul_acc"})
_MADE = frozenset({"tensor.create", "tensor.full"})


def find_accumulators(function: Function) -> frozenset[Var]:
    """The variables that hold a matrix product where the matrix unit left it.

    A carry or result does when every value that reaches it is a product, or a tensor that was made to be one.
    """
    products: set[Var] = set()
    made: set[Var] = set()
    aliases: dict[Var, Var] = {}
    meets: dict[Var, list[Var]] = {}
    tuples: dict[Expr, MakeTuple] = {}
    for stmt in walk_stmts(function.body):
        if isinstance(stmt, AssignStmt):
            if isinstance(stmt.value, Call) and stmt.value.name in _PRODUCTS:
                products.add(stmt.var)
            elif isinstance(stmt.value, Call) and stmt.value.name in _MADE:
                made.add(stmt.var)
            elif isinstance(stmt.value, Var):
                aliases[stmt.var] = stmt.value
            elif isinstance(stmt.value, MakeTuple):
                tuples[stmt.var] = stmt.value
            elif isinstance(stmt.value, TupleGetItemExpr) and stmt.value.tuple in tuples:
                element = tuples[stmt.value.tuple].elements[stmt.value.index]
                if isinstance(element, Var):
                    aliases[stmt.var] = element
        for result, ways in _meetings(stmt):
            meets.setdefault(result, []).extend(ways)
    for alias, source in aliases.items():
        meets[alias] = [source]
    found = products | _reached(products, meets)
    while True:
        lost = {v for v in found - products if any(w not in found and w not in made for w in meets[v])}
        if not lost:
            return frozenset(found)
        found -= lost


def _reached(products: set[Var], meets: dict[Var, list[Var]]) -> set[Var]:
    """Everything that a product becomes part of."""
    becomes: dict[Var, list[Var]] = {}
    for result, ways in meets.items():
        for way in ways:
            becomes.setdefault(way, []).append(result)
    found: set[Var] = set()
    todo = list(products)
    while todo:
        for var in becomes.get(todo.pop(), ()):
            if var not in found:
                found.add(var)
                todo.append(var)
    return found


def _meetings(stmt: Stmt) -> Iterator[tuple[Var, list[Var]]]:
    if isinstance(stmt, ForStmt | WhileStmt):
        tail = last_yield(stmt.body)
        for i, (arg, result) in enumerate(zip(stmt.iter_args, stmt.return_vars, strict=True)):
            if isinstance(arg.type, TensorType):
                ways = [
                    v
                    for v in (arg.init_value, *(tail.values[i : i + 1] if tail else ()))
                    if isinstance(v, Var)
                ]
                yield arg, ways
                yield result, [arg]
    elif isinstance(stmt, IfStmt):
        tails = [t for b in (stmt.then_body, stmt.else_body) if (t := last_yield(b)) is not None]
        for i, result in enumerate(stmt.return_vars):
            if isinstance(result.type, TensorType):
                yield result, [v for t in tails for v in t.values[i : i + 1] if isinstance(v, Var)]
