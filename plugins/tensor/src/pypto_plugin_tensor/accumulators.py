"""Which tensors of a kernel stay in the accumulator: products, and carries and results in which only products meet."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

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
    TileType,
    TupleGetItemExpr,
    Var,
    WhileStmt,
    is_const,
    last_yield,
    shapes_equal,
    walk_stmts,
)

PRODUCTS = frozenset({"tensor.matmul", "tensor.matmul_acc"})
MADE = frozenset({"tensor.create", "tensor.full"})


@attrs.frozen(eq=False)
class _Way:
    """A value on its way into a carry or result; ``first``: what a loop starts with."""

    value: Var
    first: bool = False


def find_accumulators(
    function: Function,
    kind: type[TensorType | TileType] = TensorType,
    from_products: frozenset[str] = PRODUCTS,
    from_nothing: frozenset[str] = MADE,
) -> frozenset[Var]:
    """The variables that hold a matrix product where the matrix unit left it.

    ``kind``: their type. ``from_products``, ``from_nothing``: the operators that give products, and that make what
    products are added to.

    A carry or result does when every value that reaches it is a product or undefined. What a loop starts with may be
    filled as well: a sum of products begins with zeros, which the first product takes the place of.
    """
    products: set[Var] = set()
    undefined: set[Var] = set()
    filled: set[Var] = set()
    meets: dict[Var, list[_Way]] = {}
    tuples: dict[Expr, MakeTuple] = {}
    for stmt in walk_stmts(function.body):
        if isinstance(stmt, AssignStmt):
            value = stmt.value
            if isinstance(value, TupleGetItemExpr) and value.tuple in tuples:
                value = tuples[value.tuple].elements[value.index]
            if isinstance(value, Call) and value.name in from_products:
                products.add(stmt.var)
            elif isinstance(value, Call) and value.name in from_nothing:
                (undefined if _is_undefined(value) else filled).add(stmt.var)
            elif isinstance(value, Var):
                meets[stmt.var] = [_Way(value)]
            elif isinstance(value, Call) and is_same_matrix(value):
                assert isinstance(value.args[0], Var)
                meets[stmt.var] = [_Way(value.args[0])]
            elif isinstance(value, MakeTuple):
                tuples[stmt.var] = value
        for result, ways in _meetings(stmt, kind):
            meets.setdefault(result, []).extend(ways)
    found = products | _reached(products, meets)

    def fits(way: _Way) -> bool:
        return way.value in found or way.value in undefined or (way.first and way.value in filled)

    while lost := {v for v in found - products if not all(map(fits, meets[v]))}:
        found -= lost
    return frozenset(found)


def is_same_matrix(call: Call) -> bool:
    """Whether a call only gives a matrix leading axes of one, or takes such from it."""
    if not call.name.endswith(".reshape") or not isinstance(call.args[0], Var):
        return False
    shapes = [k.shape for k in (call.args[0].type, call.type) if isinstance(k, TensorType | TileType)]
    if (
        len(shapes) != 2
        or any(len(s) < 2 for s in shapes)
        or not shapes_equal(shapes[0][-2:], shapes[1][-2:])
    ):
        return False
    return all(is_const(d, 1) for s in shapes for d in s[:-2])


def _is_undefined(call: Call) -> bool:
    return call.name.endswith(".create") and "init_value" not in call.kwargs


def _reached(products: set[Var], meets: dict[Var, list[_Way]]) -> set[Var]:
    """Everything that a product becomes part of."""
    becomes: dict[Var, list[Var]] = {}
    for result, ways in meets.items():
        for way in ways:
            becomes.setdefault(way.value, []).append(result)
    found: set[Var] = set()
    todo = list(products)
    while todo:
        for var in becomes.get(todo.pop(), ()):
            if var not in found:
                found.add(var)
                todo.append(var)
    return found


def _meetings(stmt: Stmt, kind: type[TensorType | TileType]) -> Iterator[tuple[Var, list[_Way]]]:
    if isinstance(stmt, ForStmt | WhileStmt):
        tail = last_yield(stmt.body)
        for i, (arg, result) in enumerate(zip(stmt.iter_args, stmt.return_vars, strict=True)):
            if isinstance(arg.type, kind):
                begun = [_Way(arg.init_value, first=True)] if isinstance(arg.init_value, Var) else []
                handed = tail.values[i : i + 1] if tail is not None else ()
                yield arg, [*begun, *(_Way(v) for v in handed if isinstance(v, Var))]
                yield result, [_Way(arg)]
    elif isinstance(stmt, IfStmt):
        tails = [t for b in (stmt.then_body, stmt.else_body) if (t := last_yield(b)) is not None]
        for i, result in enumerate(stmt.return_vars):
            if isinstance(result.type, kind):
                yield result, [_Way(v) for t in tails for v in t.values[i : i + 1] if isinstance(v, Var)]
