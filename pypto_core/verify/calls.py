"""NoNestedCalls: three-address form, every call is a statement's whole value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pypto_core.diagnostics import Diagnostic
from pypto_core.ir import (
    BinaryExpr,
    Call,
    Expr,
    ForStmt,
    IfStmt,
    MakeTuple,
    Program,
    Stmt,
    Submit,
    TupleGetItemExpr,
    UnaryExpr,
    WhileStmt,
    map_nodes,
)
from pypto_core.verify.rules import place, rule
from pypto_core.verify.scan import scan

_RULE = rule("NoNestedCalls", "NoNestedCall")
_ARGUMENT, _CONDITION, _BOUND, _BINARY, _UNARY = range(201, 206)
_WHERE = {
    _ARGUMENT: "as an argument of another call",
    _CONDITION: "as a condition",
    _BOUND: "as a bound of a loop",
    _BINARY: "as an operand of a scalar operator",
    _UNARY: "as the operand of a scalar operator",
}


def verify_no_nested_calls(program: Program, backend: object = None) -> Iterator[Diagnostic]:
    """Find calls inside expressions.

    201 as an argument, also as an element of a tuple that is one (offsets, shapes); 202 as a condition; 203 as a
    loop bound; 204 as an operand of a binary, 205 of a unary operator. A returned or yielded call is no nested one.
    """
    for function in program:
        reading = scan(function)
        if not reading.calls:
            continue
        for stmt in reading.of(IfStmt, WhileStmt):
            if isinstance(stmt.condition, Call | Submit):
                yield _nested(stmt.condition, stmt, _CONDITION)
        for stmt in reading.of(ForStmt):
            for bound in (stmt.start, stmt.stop, stmt.step):
                if isinstance(bound, Call | Submit):
                    yield _nested(bound, stmt, _BOUND)
        for stmt in reading.nested:
            yield from _inside(stmt)


def _nested(call: Call | Submit, stmt: Stmt, number: int) -> Diagnostic:
    return _RULE.error(
        number,
        f"the call of '{call.op.name}' is used {_WHERE[number]}",
        place(call.span, stmt.span),
        remedy="assign its result to a variable of its own, or run FlattenCallExpr",
    )


def _roots(stmt: Any) -> list[Expr]:
    if isinstance(stmt, ForStmt):
        return [stmt.start, stmt.stop, stmt.step, *(arg.init_value for arg in stmt.iter_args)]
    if isinstance(stmt, WhileStmt):
        return [*(arg.init_value for arg in stmt.iter_args), stmt.condition]
    found: list[Expr] = []
    for name in ("condition", "value", "expr", "core_num"):
        value = getattr(stmt, name, None)
        if isinstance(value, Expr):
            found.append(value)
    return [*found, *getattr(stmt, "values", ())]


def _inside(stmt: Stmt) -> Iterator[Diagnostic]:
    stack: list[Any] = _roots(stmt)[::-1]
    while stack:
        node = stack.pop()
        parts: tuple[Any, ...] = ()
        number = _ARGUMENT
        if isinstance(node, Call | Submit):
            parts = node.args
            extra = tuple(map_nodes(node.attrs))
            if isinstance(node, Submit):
                extra += tuple(x for x in (*node.deps, node.core_num, node.predicate) if x is not None)
            parts += tuple(part for part in extra if isinstance(part, Expr))
        elif isinstance(node, BinaryExpr):
            parts, number = (node.left, node.right), _BINARY
        elif isinstance(node, UnaryExpr):
            parts, number = (node.operand,), _UNARY
        elif isinstance(node, MakeTuple):
            stack.extend(node.elements[::-1])
        elif isinstance(node, TupleGetItemExpr):
            stack.append(node.tuple)
        for part in parts:
            yield from (_nested(call, stmt, number) for call in _direct(part))
        stack.extend(parts[::-1])


def _direct(part: Expr) -> Iterator[Call | Submit]:
    """The calls that an operand is, looking through tuples and their elements."""
    if isinstance(part, Call | Submit):
        yield part
    elif isinstance(part, MakeTuple):
        for element in part.elements:
            yield from _direct(element)
    elif isinstance(part, TupleGetItemExpr):
        yield from _direct(part.tuple)
