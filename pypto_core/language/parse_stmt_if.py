"""``if`` and ``else``; values that both branches yield under one name are joined."""

from __future__ import annotations

import ast
from typing import Any

from pypto_core.diagnostics import Note, ParserSyntaxError
from pypto_core.ir import AssignStmt, ConstBool, Expr, IfStmt, Stmt, YieldStmt
from pypto_core.language.block import region, sequence, yielding
from pypto_core.language.context import Context, Target, Yielded
from pypto_core.language.parse_expr import truth
from pypto_core.language.parse_stmt_loop import result


def branches(ctx: Context, node: ast.If, out: list[Stmt]) -> None:
    """``if c: … else: …``; ``elif`` is an ``if`` in the ``else``."""
    taken = None if ctx.specialised is None else _decided(ctx, node.test)
    if taken is not None:
        _take(ctx, node.body if taken else node.orelse, out)
        return
    condition = truth(ctx, node.test, "a condition")
    before = ctx.fresh
    ctx.fresh = None if before is None else set(before)
    then, then_yield = region(ctx, node.body)
    after_then, ctx.fresh = ctx.fresh, None if before is None else set(before)
    other: list[Stmt] | None = None
    other_yield: Yielded | None = None
    if node.orelse:
        other, other_yield = region(ctx, node.orelse)
    if before is not None:
        ctx.fresh = before | (after_then or set()) | (ctx.fresh or set())
    other_yield = _passed_on(ctx, then_yield, other, other_yield)
    targets = _agreed(ctx, node, then_yield, other_yield, other)
    values = then[-1].values if targets and isinstance(then[-1], YieldStmt) else ()
    results = tuple(result(ctx, t, v.type) for t, v in zip(targets, values, strict=True))
    out.append(
        IfStmt(
            condition,
            sequence(ctx, then, node),
            None if other is None else sequence(ctx, other, node.orelse[0]),
            results,
            span=ctx.span(node),
        )
    )


def _decided(ctx: Context, node: ast.expr) -> bool | None:
    """The value of a condition that is known while the kernel is read; None for any other."""
    value = ctx.expr(node)
    if isinstance(value, ConstBool):
        return value.value
    return None if isinstance(value, Expr) else bool(value)


def _take(ctx: Context, nodes: list[ast.stmt], out: list[Stmt]) -> None:
    """Read the branch that a known condition chooses as if it stood there alone; its yield assigns."""
    if not nodes:
        return
    stmts, found = yielding(ctx, nodes)
    if found is not None:
        last = stmts.pop()
        assert isinstance(last, YieldStmt)
        stmts += [
            AssignStmt(result(ctx, target, value.type), value, span=last.span)
            for target, value in zip(found.targets, last.values, strict=True)
        ]
    out.extend(stmts)


def _passed_on(
    ctx: Context, then_yield: Yielded | None, other: list[Stmt] | None, other_yield: Yielded | None
) -> Yielded | None:
    """With ``elif``: what the inner ``if`` joined is yielded on under the same names."""
    if then_yield is None or not then_yield.targets or other_yield is not None or other is None:
        return other_yield
    inner = other[-1] if len(other) == 1 else None
    names = [t.name for t in then_yield.targets]
    if not isinstance(inner, IfStmt) or [v.name_hint for v in inner.return_vars] != names:
        return None
    other.append(YieldStmt(inner.return_vars, span=inner.span))
    return then_yield


def _agreed(
    ctx: Context, node: ast.If, then: Yielded | None, other: Yielded | None, stmts: list[Stmt] | None
) -> tuple[Target, ...]:
    """The names that both branches bind; an error when they don't agree."""
    if then is None and other is None:
        return ()
    if stmts is None:
        assert then is not None
        if not then.targets:
            return _unnamed(ctx, then)
        raise ctx.fail(
            ParserSyntaxError,
            "an if that yields values needs an else",
            then.node,
            "yield the same names in an else",
        )
    if then is None or other is None:
        one = then or other
        assert one is not None
        if not one.targets:
            return _unnamed(ctx, one)
        raise ctx.fail(
            ParserSyntaxError,
            "one branch yields values and the other does not",
            one.node,
            "end both branches with pl.yield_ under the same names",
        )
    a, b = [t.name for t in then.targets], [t.name for t in other.targets]
    if a != b:
        raise ctx.fail(
            ParserSyntaxError,
            "the branches yield under different names",
            other.node,
            "bind the same names in the same order",
            {"then": ", ".join(a) or "none", "else": ", ".join(b) or "none"},
            [Note(message="the other branch", span=ctx.span(then.node))],
        )
    return _unnamed(ctx, then) if not a else then.targets


def _unnamed(ctx: Context, found: Yielded) -> tuple[Target, ...]:
    if found.node.args:  # type: ignore[attr-defined]
        raise ctx.fail(
            ParserSyntaxError,
            "a branch must name what it yields",
            found.node,
            "write r = pl.yield_(x) in both branches",
        )
    return ()


BRANCHES: dict[type, Any] = {ast.If: branches}
