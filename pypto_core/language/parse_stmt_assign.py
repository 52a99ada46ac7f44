"""Assignments: plain, annotated, unpacking, of windows, and the binding of what a yield hands on."""

from __future__ import annotations

import ast
from typing import Any

from pypto_core.diagnostics import (
    Note,
    ParserSyntaxError,
    ParserTypeError,
    Span,
    SSAViolationError,
    UnsupportedFeatureError,
)
from pypto_core.ir import (
    MAKE,
    PTR,
    AssignStmt,
    Call,
    DataType,
    Expr,
    MakeTuple,
    ScalarType,
    Stmt,
    Submit,
    TileType,
    TupleGetItemExpr,
    TupleType,
    Type,
    UnknownType,
    Var,
    VoidType,
    YieldStmt,
    replace,
    types_equal,
)
from pypto_core.language.annotations import MemRef as Declared
from pypto_core.language.context import Context, Target, Yielded
from pypto_core.language.errors import check_distinct, type_text, types_apart
from pypto_core.language.parse_call import literal
from pypto_core.language.parse_expr import expression
from pypto_core.language.parse_types import Spec, annotation, joined, without_pinned
from pypto_core.language.slicing import assign_element

_make_assign, _make_var = MAKE[AssignStmt], MAKE[Var]

TUPLE_NAME = "_tuple_tmp"
"""Name of the variable that holds a tuple while it is unpacked."""


def assign(ctx: Context, node: ast.Assign, out: list[Stmt]) -> None:
    """``x = e``, ``a, b = e``, ``x[…] = e``."""
    if len(node.targets) != 1:
        raise ctx.fail(
            UnsupportedFeatureError,
            "chained assignments are not part of the kernel language",
            node,
            "assign one name at a time",
        )
    target = node.targets[0]
    kind = type(target)
    if type(node.value) is ast.Call and _is_yield(ctx, node.value):
        _yield(ctx, _targets(ctx, target, None), node.value, out)
    elif kind is ast.Name:
        _name(ctx, target, None, node.value, out)  # type: ignore[arg-type]
    elif kind is ast.Tuple or kind is ast.List:
        _unpack(ctx, target, node, out)  # type: ignore[arg-type]
    elif kind is ast.Subscript:
        value = ctx.expr(node.value)
        var, new = assign_element(ctx, target, value, node)  # type: ignore[arg-type]
        bound = bind(ctx, target.value.id, new.type, target, None)  # type: ignore[attr-defined]
        assert bound is var or type(var) is not Var
        out.append(AssignStmt(bound, new, span=ctx.span(node)))
    else:
        raise ctx.fail(
            UnsupportedFeatureError,
            "only names and windows can be assigned",
            target,
            "assign to a name, or to a window such as x[0:16, 0:16]",
        )


def ann_assign(ctx: Context, node: ast.AnnAssign, out: list[Stmt]) -> None:
    """``x: T = e``, and ``x: T`` that announces the type of a name a yield will bind."""
    target = node.target
    if type(target) is not ast.Name:
        raise ctx.fail(
            UnsupportedFeatureError,
            "only names can be annotated",
            target,
            "annotate the variable that the value is assigned to",
        )
    if node.value is None:
        ctx.declared[target.id] = node.annotation
    elif type(node.value) is ast.Call and _is_yield(ctx, node.value):
        _yield(ctx, (Target(target.id, target, node.annotation),), node.value, out)
    else:
        _name(ctx, target, node.annotation, node.value, out)


def _is_yield(ctx: Context, node: ast.Call) -> bool:
    func = node.func
    name = func.attr if type(func) is ast.Attribute else func.id if type(func) is ast.Name else None
    return name == "yield_" and ctx.path_of(func) == "yield_"


def _targets(ctx: Context, target: ast.expr, note: ast.expr | None) -> tuple[Target, ...]:
    names = target.elts if type(target) is ast.Tuple or type(target) is ast.List else [target]
    out: list[Target] = []
    for part in names:
        if type(part) is not ast.Name:
            raise ctx.fail(ParserSyntaxError, "pl.yield_ binds names", part, "write r1, r2 = pl.yield_(a, b)")
        out.append(Target(part.id, part, ctx.declared.pop(part.id, note)))
    check_distinct(ctx, [part for part in names if type(part) is ast.Name])
    return tuple(out)


def _yield(ctx: Context, targets: tuple[Target, ...], node: ast.Call, out: list[Stmt]) -> None:
    read_yield(ctx, node, out, targets)
    last = out[-1]
    assert isinstance(last, YieldStmt)
    if len(last.values) != len(targets):
        raise ctx.fail(
            ParserSyntaxError,
            f"{len(last.values)} yielded values for {len(targets)} names",
            node,
            "bind one name per value",
        )


def read_yield(ctx: Context, node: ast.Call, out: list[Stmt], targets: tuple[Target, ...] = ()) -> None:
    """``pl.yield_(a, b)`` with or without names bound to it."""
    if ctx.regions == 0:
        raise ctx.fail(
            ParserSyntaxError,
            "pl.yield_ stands at the end of a loop's body or a branch",
            node,
            "use return to leave the function",
        )
    if node.keywords:
        raise ctx.fail(
            ParserTypeError, "pl.yield_ takes no named arguments", node.keywords[0], "write pl.yield_(a, b)"
        )
    values = tuple(expression(ctx, ctx.expr(a), a) for a in node.args)
    out.append(YieldStmt(values, span=ctx.span(node)))
    ctx.yielded = Yielded(targets, node)


def _name(
    ctx: Context, target: ast.Name, note: ast.expr | None, value_node: ast.expr, out: list[Stmt]
) -> None:
    spec = None if note is None else annotation(ctx, note)
    value = ctx.readers[type(value_node)](ctx, value_node)
    if spec is None and ctx.specialised is not None and ctx.specialised.keeps(ctx, target, value):
        return
    made = value if isinstance(value, Expr) else _made(ctx, spec, value, value_node)
    kind = made.type
    if spec is None:
        if type(kind) is not ScalarType:
            if type(kind) is VoidType:
                raise ctx.fail(
                    ParserTypeError,
                    "this call returns nothing",
                    value_node,
                    "call it as a statement of its own",
                )
            kind = without_pinned(kind)
    elif spec.type is not kind or type(kind) is not ScalarType:
        if spec.memref is not None and spec.memref.is_pinned:
            _check_binding(ctx, spec, made)
        have = kind
        kind, wanted = joined(ctx, spec, have)
        if wanted is not have and isinstance(made, Call | Submit):
            made = replace(made, type=wanted)
    span = ctx.span(target)
    out.append(_make_assign(bind(ctx, target.id, kind, target, spec, span), made, span, ()))


def _made(ctx: Context, spec: Spec | None, value: Any, node: ast.expr) -> Expr:
    """A Python value as the value of a variable."""
    if type(value) is Declared:
        raise ctx.fail(
            ParserTypeError,
            "a declared allocation can't be given another name",
            node,
            "use the declared name in the annotations",
        )
    if spec is not None and isinstance(value, int | float):
        value = _retyped(ctx, spec, value, node)
    return expression(ctx, value, node)


def _retyped(ctx: Context, spec: Spec, value: Any, node: ast.expr) -> Any:
    """A literal under a scalar annotation takes its element type."""
    kind = spec.type
    if not isinstance(kind, ScalarType) or isinstance(value, bool):
        return value
    if kind.dtype.is_float and isinstance(value, int):
        raise ctx.fail(
            ParserTypeError,
            f"{value} is an integer, the annotation says {kind.dtype}",
            node,
            f"write {value}.0",
        )
    return literal(ctx, value, kind.dtype, node) if kind.dtype.is_int or kind.dtype.is_float else value


def _check_binding(ctx: Context, spec: Spec, value: Expr) -> None:
    if not (isinstance(value, Call) and isinstance(value.type, TileType | UnknownType)):
        raise ctx.fail(
            ParserTypeError,
            "a declared allocation binds only a tile that an operation makes",
            spec.node,
            "annotate the load or computation that makes the tile",
        )


def bind(
    ctx: Context, name: str, kind: Type, node: ast.AST, spec: Spec | None, span: Span | None = None
) -> Var:
    """The variable that an assignment defines: the known one of that name, or a new one.

    ``span``: where ``node`` stands, if that is known already.
    """
    found = ctx.names.get(name)
    if type(found) is Var:
        if found in ctx.loop_vars:
            raise ctx.fail(
                ParserTypeError,
                f"'{name}' is the variable of a loop and can't be assigned",
                node,
                "use another name",
            )
        if ctx.fresh is not None and name in ctx.fresh:
            raise _assigned_twice(ctx, name, found, node)
        strict = spec is not None and spec.memref is not None
        if found.type is kind or types_equal(found.type, kind, compare_memref=strict):
            if ctx.fresh is not None:
                ctx.fresh.add(name)
            return found
        if ctx.specialised is None or not ctx.specialised.may_rebind(name):
            raise _other_type(ctx, name, found, kind, node)
    if ctx.fresh is not None:
        ctx.fresh.add(name)
    if kind is PTR and name not in ctx.defined_bases:
        var = ctx.base(name)
        ctx.defined_bases.add(name)
    else:
        var = _make_var(name, kind, span or ctx.span(node))
    ctx.names[name] = var
    if ctx.specialised is not None:
        ctx.specialised.bound(name)
    return var


def _assigned_twice(ctx: Context, name: str, found: Var, node: ast.AST) -> Exception:
    return ctx.fail(
        SSAViolationError,
        f"'{name}' is assigned twice, which strict_ssa forbids",
        node,
        "give the second value a name of its own",
        notes=[Note(message="first assigned here", span=found.span)],
    )


def _other_type(ctx: Context, name: str, found: Var, kind: Type, node: ast.AST) -> Exception:
    return ctx.fail(
        ParserTypeError,
        f"'{name}' already holds a value of another type",
        node,
        _remedy(found.type, kind),
        types_apart(found.type, kind),
        [Note(message=f"'{name}' got its type here", span=found.span)],
    )


_NOT_CAST = (DataType.BOOL, DataType.TASK_ID)


def _remedy(before: Type, after: Type) -> str:
    other = "use another name for this value"
    if not isinstance(before, ScalarType) or not isinstance(after, ScalarType):
        return other
    if before.dtype in _NOT_CAST or after.dtype in _NOT_CAST:
        return other
    return f"convert it with pl.cast(…, pl.{before.dtype.name}), or {other}"


def _unpack(ctx: Context, target: ast.Tuple, node: ast.Assign, out: list[Stmt]) -> None:
    names = target.elts
    for part in names:
        if type(part) is not ast.Name:
            raise ctx.fail(
                UnsupportedFeatureError,
                "only names can be unpacked into",
                part,
                "unpack into names, then assign the window from one of them",
            )
    found = ctx.expr(node.value)
    if ctx.specialised is not None and ctx.specialised.unpacks(ctx, names, found):
        return
    value = expression(ctx, found, node.value)
    kind = value.type
    if not isinstance(kind, TupleType):
        what = "an unknown type" if isinstance(kind, UnknownType) else f"a {type_text(kind)}"
        raise ctx.fail(
            ParserTypeError,
            f"{what} can't be unpacked into {len(names)} names",
            node.value,
            "only calls with several results and lists can be unpacked",
        )
    if len(kind.types) != len(names):
        raise ctx.fail(
            ParserTypeError,
            f"{len(kind.types)} values for {len(names)} names",
            node,
            "give one name per value",
            {"values": type_text(kind)},
        )
    span = ctx.span(node)
    whole = Var(TUPLE_NAME, kind if not isinstance(value, MakeTuple) else value.type, span=span)
    out.append(AssignStmt(whole, value, span=span))
    for i, part in enumerate(names):
        assert type(part) is ast.Name
        var = bind(ctx, part.id, without_pinned(kind.types[i]), part, None)
        out.append(AssignStmt(var, TupleGetItemExpr(whole, i, span=span), span=span))


ASSIGNMENTS: dict[type, Any] = {ast.Assign: assign, ast.AnnAssign: ann_assign}
