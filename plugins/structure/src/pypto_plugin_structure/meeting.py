"""Values that meet in a phi or a carry: their types, and the yields that hand them on."""

from __future__ import annotations

from collections.abc import Iterable

from pypto_core.diagnostics import InternalError, Span, UserError
from pypto_core.ir import (
    Expr,
    Function,
    Stmt,
    TileType,
    Type,
    Var,
    YieldStmt,
    base_name,
    defined_vars,
    flatten,
    last_yield,
    replace,
    seq,
    type_vars,
)
from pypto_core.verify import mismatches
from pypto_plugin_structure.retype import is_open


def unpinned(kind: Type) -> Type:
    """A declared allocation binds only the tile that it is written on, not what tiles meet in."""
    if isinstance(kind, TileType) and kind.memref is not None and kind.memref.is_pinned:
        return replace(kind, memref=None)
    return kind


def check_types(function: Function, var: Var, first: Type, second: Type, stmt: Stmt, where: str) -> None:
    """Refuse values of one variable whose types differ; only extents that name variables can (PT334)."""
    for difference in mismatches(unpinned(first), unpinned(second)):
        name = base_name(var.name_hint)
        sides = {"one": difference.left, "other": difference.right}
        raise UserError(
            f"{difference.what} of '{name}' differs between {where}",
            code="PT334",
            span=stmt.span,
            facts={"function": function.name, **(sides if difference.left != difference.right else {})},
            remedy=f"compute the extent before it, or narrow '{name}' with pl.set_validshape after it",
        )


def check_visible(
    function: Function, var: Var, kind: Type, bodies: Iterable[Stmt | None], stmt: Stmt
) -> None:
    """Refuse a type that would outlive a variable it mentions (PT334)."""
    mentioned = set(type_vars(kind)) if is_open(kind) else set[Var]()
    if mentioned and any(v in mentioned for body in bodies if body is not None for v in defined_vars(body)):
        raise loose_extent(function, var, stmt)


def loose_extent(function: Function, var: Var, stmt: Stmt) -> UserError:
    """The error for a type that mentions what only the region knows."""
    name = base_name(var.name_hint)
    return UserError(
        f"'{name}' is used after this branch or loop, but its valid extent is only known inside",
        code="PT334",
        span=stmt.span,
        facts={"function": function.name},
        remedy=f"compute the extent before it, or narrow '{name}' with pl.set_validshape after it",
    )


def yielding(body: Stmt | None, values: list[Expr], span: Span, ahead: list[Stmt]) -> Stmt:
    """The region with further values at its yield, and statements before it."""
    stmts = flatten(body)
    tail = last_yield(body)
    if tail is None:
        return seq((*stmts, *ahead, YieldStmt(tuple(values), span=span)), span)
    if not isinstance(stmts[-1], YieldStmt):
        raise InternalError("the yield of a region must come last", span=span)
    return seq((*stmts[:-1], *ahead, replace(tail, values=(*tail.values, *values))), span)
