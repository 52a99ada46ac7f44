"""Programs that Python code nests deeper than recursion follows: one error instead of a RecursionError."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pypto_core.diagnostics import Span, UserError
from pypto_core.ir import (
    Add,
    AssignStmt,
    ConstBool,
    DataType,
    Expr,
    Function,
    IfStmt,
    Min,
    Mutator,
    Stmt,
    Var,
    Visitor,
    bounds_of,
    deep_clone,
    dims_equal,
    is_deep,
    linear,
    prove_eq,
    scalar_type,
    structural_equal,
    structural_hash,
    substitute,
    type_vars,
    types_equal,
    used_vars,
    walk,
)

INDEX = scalar_type(DataType.INDEX)
X = Var("x", INDEX)
LEVELS = 5000
SPAN = Span("k.py", 7, 1)


def expression(cls: type = Add) -> Expr:
    node: Expr = X
    for _ in range(LEVELS):
        node = cls(node, X, INDEX, span=SPAN)
    return node


def blocks() -> Stmt:
    stmt: Stmt = AssignStmt(Var("y", INDEX), X)
    for _ in range(LEVELS):
        stmt = IfStmt(ConstBool(True), stmt, span=SPAN)
    return stmt


def function(body: Any) -> Function:
    return Function("f", (X,), (), body if isinstance(body, Stmt) else AssignStmt(Var("z", INDEX), body))


class _Reader(Visitor):
    pass


WORK: dict[str, Callable[[Any, Any], object]] = {
    "rewrite": lambda a, b: Mutator().visit(function(a)),
    "clone": lambda a, b: deep_clone(function(a)),
    "substitute": lambda a, b: substitute(a, {X: Var("q", INDEX)}),
    "compare": lambda a, b: structural_equal(function(a), function(b)),
    "hash": lambda a, b: structural_hash(function(a)),
    "visit": lambda a, b: _Reader().visit(function(a)),
    "uses": lambda a, b: used_vars(function(a)),
}


@pytest.mark.parametrize("make", [expression, blocks])
@pytest.mark.parametrize("work", WORK.values(), ids=list(WORK))
def test_one_error(make: Callable[[], Any], work: Callable[[Any, Any], object]) -> None:
    with pytest.raises(UserError) as caught:
        work(make(), make())
    [found] = caught.value.diagnostics
    assert (found.code, bool(found.remedy)) == ("PT213", True)


@pytest.mark.parametrize(
    "work",
    [
        lambda: linear(expression()),
        lambda: bounds_of(expression(Min)),
        lambda: dims_equal(expression(), expression()),
        lambda: prove_eq(expression(), expression()),
    ],
)
def test_extents_too(work: Callable[[], object]) -> None:
    with pytest.raises(UserError, match="nested too deeply"):
        work()


def test_what_needs_no_recursion_follows_any_depth() -> None:
    assert len(list(type_vars(expression()))) == LEVELS + 1
    assert sum(1 for _ in walk(function(blocks()))) > LEVELS


def test_the_error_says_where() -> None:
    with pytest.raises(UserError) as caught:
        Mutator().visit(expression())
    assert caught.value.span == SPAN


def test_ordinary_depth_is_followed() -> None:
    node: Expr = X
    for _ in range(300):
        node = Add(node, X, INDEX)
    copy = deep_clone(function(node))[0]
    assert structural_equal(copy, function(node), enable_auto_mapping=True)
    assert types_equal(INDEX, INDEX)


def test_a_walk_that_never_ends_is_not_blamed_on_the_program() -> None:
    class Endless(Mutator):
        def visit_assign_stmt(self, node: AssignStmt) -> Stmt:
            return self.visit(node)

    with pytest.raises(RecursionError):
        Endless().visit(function(X))
    assert not is_deep(function(X))
    assert is_deep(function(expression())) and is_deep(blocks())
