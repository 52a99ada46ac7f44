"""Scopes: ``with pl.at(…)``, ``pl.cluster``, ``pl.spmd``, ``pl.split_aiv``, ``pl.scope``, and their loop forms.

Dependencies and hints of a scope are kept as notes under the keys that the passes read.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from pypto_core.diagnostics import InvalidOperationError, ParserSyntaxError, ParserTypeError
from pypto_core.ir import (
    AUTO_CHUNK,
    SLOT_NUM,
    SPLIT,
    ClusterScopeStmt,
    CommDomainScopeStmt,
    DataType,
    Expr,
    HierarchyScopeStmt,
    InCoreScopeStmt,
    Level,
    Role,
    RuntimeScopeStmt,
    ScopeMode,
    ScopeStmt,
    SplitAivScopeStmt,
    SplitMode,
    SpmdScopeStmt,
    Stmt,
    Var,
    replace,
    scalar_type,
)
from pypto_core.language.block import region, sequence
from pypto_core.language.context import Context, Dead
from pypto_core.language.environment import items_of
from pypto_core.language.errors import did_you_mean, value_text
from pypto_core.language.notes import notes
from pypto_core.language.parse_expr import integer
from pypto_core.language.parse_function_call import dependencies
from pypto_core.language.parse_stmt_assign import bind
from pypto_core.language.vocabulary import SCOPES

Arguments = dict[str, ast.expr]

_NOTED = {
    "deps": "manual_dep_edges",
    "no_dep_args": "arg_direction_overrides_vars",
    "dumps": "dump_vars",
}
"""Arguments that list variables, and the notes that keep them."""

_FLAGS = ("allow_early_resolve", "windowize")

_OPTIMIZED = ("at", "spmd")
"""Scopes whose body is a kernel, which optimizations say how to make."""


def with_scope(ctx: Context, node: ast.With, out: list[Stmt]) -> None:
    """Any ``with``."""
    item = node.items[0]
    source = item.context_expr
    path = ctx.path_of(source.func) if type(source) is ast.Call else None
    if path not in SCOPES or len(node.items) != 1:
        raise ctx.fail(
            InvalidOperationError,
            "a with block opens one scope of pl",
            source,
            did_you_mean(path or "", SCOPES, "write with pl.at(level=pl.Level.CORE_GROUP):"),
        )
    assert type(source) is ast.Call and path is not None
    build, given, extra = _arguments(ctx, source, path)
    body = _body(ctx, node)
    made = build(ctx, source, given, extra, body, None, node)
    if item.optional_vars is not None:
        made = replace(made, task_id=_task_id(ctx, item.optional_vars, path))
    out.append(made)


def scope_loop(ctx: Context, node: ast.For, source: ast.Call, path: str) -> Stmt:
    """``for b in pl.spmd(n)`` and ``for lane in pl.split_aiv(2)``."""
    build, given, extra = _arguments(ctx, source, path)
    if type(node.target) is not ast.Name:
        raise ctx.fail(
            ParserSyntaxError, "this loop names one variable", node.target, f"write for i in pl.{path}(n):"
        )
    from pypto_core.language.parse_stmt_loop import declarations  # loops and scopes contain each other

    declared, nodes = declarations(ctx, node.body, [node.target])
    kind = declared.get(node.target.id) or scalar_type(DataType.INDEX)
    loop_var = Var(node.target.id, kind, span=ctx.span(node.target))
    ctx.names[loop_var.name_hint] = loop_var
    ctx.loop_vars.add(loop_var)
    body = _body(ctx, node, nodes)
    if ctx.names.get(loop_var.name_hint) is loop_var:
        ctx.names[loop_var.name_hint] = Dead("the variable of a loop", loop_var.span)
    return build(ctx, source, given, extra, body, loop_var, node)


def _body(ctx: Context, node: ast.With | ast.For, nodes: Any = None) -> Stmt:
    loops, ctx.loops = ctx.loops, 0
    stmts, yielded = region(ctx, node.body if nodes is None else nodes)
    ctx.loops = loops
    if yielded is not None:
        raise ctx.fail(
            ParserSyntaxError, "a scope yields nothing", yielded.node, "assign plainly: names outlive a scope"
        )
    return sequence(ctx, stmts, node)


def _task_id(ctx: Context, target: ast.expr, path: str) -> Var:
    if type(target) is not ast.Name or path == "scope":
        raise ctx.fail(
            ParserSyntaxError, "the id of a scope's task is one name", target, "write with pl.at(…) as tid:"
        )
    return bind(ctx, target.id, scalar_type(DataType.TASK_ID), target, None)


Builder = Callable[[Context, ast.Call, Arguments, dict[str, Any], Stmt, Var | None, Any], ScopeStmt]


def _arguments(ctx: Context, source: ast.Call, path: str) -> tuple[Builder, Arguments, dict[str, Any]]:
    """The builder of a scope, its own arguments by name, and what is kept as notes."""
    build, names = _SCOPES[path]
    if len(source.args) > len(names):
        raise ctx.fail(
            ParserTypeError,
            f"pl.{path} takes at most {len(names)} positional arguments",
            source.args[len(names)],
            "arguments: " + (", ".join(names) or "none by position"),
        )
    given: Arguments = dict(zip(names, source.args, strict=False))
    extra: dict[str, Any] = {}
    for keyword in source.keywords:
        key, value = str(keyword.arg), keyword.value
        if key in names and key not in given or key == "name_hint":
            given[key] = value
        elif key in _NOTED:
            read = dependencies(ctx, value) if key == "deps" else _variables(ctx, value, key)
            extra[_NOTED[key]] = read
        elif key in _FLAGS:
            if _flag(ctx, value, key):
                extra[key] = True
        elif key == "optimizations" and path in _OPTIMIZED:
            _optimizations(ctx, value, given, extra)
        elif key == "attrs":
            extra.update(notes(ctx, value))
        else:
            own = ["optimizations"] if path in _OPTIMIZED else []
            known = [*names, *own, "name_hint", "attrs", *_NOTED, *_FLAGS]
            raise ctx.fail(
                ParserTypeError,
                f"pl.{path} has no argument '{key}'",
                keyword,
                did_you_mean(key, known, "arguments: " + ", ".join(known)),
            )
    return build, given, extra


def _variables(ctx: Context, node: ast.expr, key: str) -> tuple[Expr, ...]:
    value = items_of(ctx.expr(node))
    if value is not None and all(isinstance(v, Expr) for v in value):
        return tuple(value)
    raise ctx.fail(ParserTypeError, f"{key} must be a list of variables", node, f"write {key}=[x]")


def _flag(ctx: Context, node: ast.expr, key: str) -> bool:
    value = ctx.expr(node)
    if isinstance(value, bool):
        return value
    raise ctx.fail(
        ParserTypeError,
        f"{key} must be True or False, not {value_text(value)}",
        node,
        f"write {key}=True, or leave it out",
    )


def _optimizations(ctx: Context, node: ast.expr, given: Arguments, extra: dict[str, Any]) -> None:
    if type(node) is not ast.List and type(node) is not ast.Tuple:
        raise ctx.fail(
            ParserTypeError, "optimizations must be a list", node, "write optimizations=[pl.split(…)]"
        )
    for part in node.elts:
        called = type(part) is ast.Call
        path = ctx.path_of(part.func if type(part) is ast.Call else part)
        if path == "split" and called:
            mode, slots = _clause(ctx, part, ("mode", "slot_num"))
            if mode is not None:
                given[SPLIT] = mode
            _slot_num(ctx, slots, extra)
        elif path == "cross_core_slot" and called:
            [slots] = _clause(ctx, part, ("slot_num",))
            _slot_num(ctx, slots, extra)
        elif path == "auto_chunk":
            if called:
                _clause(ctx, part, ())
            extra[AUTO_CHUNK] = True
        else:
            raise ctx.fail(
                ParserTypeError,
                "this is no optimization",
                part,
                "optimizations: pl.split(mode), pl.cross_core_slot(slot_num=n), pl.auto_chunk",
            )


def _clause(ctx: Context, node: ast.expr, names: tuple[str, ...]) -> tuple[ast.expr | None, ...]:
    """The arguments of one optimization, in the order of their names."""
    assert type(node) is ast.Call
    word = ctx.path_of(node.func)
    if len(node.args) > len(names):
        raise ctx.fail(
            ParserTypeError,
            f"pl.{word} takes at most {len(names)} arguments",
            node.args[len(names)],
            "arguments: " + (", ".join(names) or "none"),
        )
    found: dict[str, ast.expr] = dict(zip(names, node.args, strict=False))
    for keyword in node.keywords:
        key = str(keyword.arg)
        if key not in names or key in found:
            raise ctx.fail(
                ParserTypeError,
                f"argument '{key}' of pl.{word} is given twice"
                if key in found
                else f"pl.{word} has no argument '{key}'",
                keyword,
                did_you_mean(key, names, "arguments: " + (", ".join(names) or "none")),
            )
        found[key] = keyword.value
    return tuple(found.get(name) for name in names)


def _slot_num(ctx: Context, node: ast.expr | None, extra: dict[str, Any]) -> None:
    if node is None:
        return
    value = ctx.expr(node)
    if type(value) is not int or value < 1:
        raise ctx.fail(
            ParserTypeError,
            f"slot_num must be a positive integer, not {value_text(value)}",
            node,
            "write slot_num=2",
        )
    extra[SLOT_NUM] = value


def _member(ctx: Context, given: Arguments, key: str, owner: type, default: Any) -> Any:
    node = given.get(key)
    if node is None:
        return default
    value = ctx.expr(node)
    if not isinstance(value, owner):
        members = ", ".join(f"pl.{owner.__name__}.{m}" for m in owner.__members__)  # type: ignore[attr-defined]
        raise ctx.fail(
            ParserTypeError,
            f"{key} must be a {owner.__name__}, not {value_text(value)}",
            node,
            f"one of {members}",
        )
    return value


def _hint(ctx: Context, given: Arguments) -> str:
    node = given.get("name_hint")
    if node is None:
        return ""
    value = ctx.expr(node)
    if not isinstance(value, str):
        raise ctx.fail(
            ParserTypeError,
            f"name_hint must be a string, not {value_text(value)}",
            node,
            'write name_hint="name"',
        )
    return value


def _at(
    ctx: Context, source: ast.Call, given: Arguments, extra: Any, body: Stmt, var: Var | None, node: Any
) -> ScopeStmt:
    level = _member(ctx, given, "level", Level, None)
    if level is None:
        raise ctx.fail(
            ParserTypeError, "pl.at needs its level", source, "write pl.at(level=pl.Level.CORE_GROUP)"
        )
    role = _member(ctx, given, "role", Role, None)
    hint, span = _hint(ctx, given), ctx.span(node)
    if level is not Level.CORE_GROUP:
        return HierarchyScopeStmt(body, name_hint=hint, attrs=extra, level=level, role=role, span=span)
    if role is not None:
        extra = {**extra, "role": role}
    split = _member(ctx, given, SPLIT, SplitMode, None)
    return InCoreScopeStmt(body, name_hint=hint, attrs=extra, split=split, span=span)


def _cluster(
    ctx: Context, source: ast.Call, given: Arguments, extra: Any, body: Stmt, var: Var | None, node: Any
) -> ScopeStmt:
    return ClusterScopeStmt(body, name_hint=_hint(ctx, given), attrs=extra, span=ctx.span(node))


def _spmd(
    ctx: Context, source: ast.Call, given: Arguments, extra: Any, body: Stmt, var: Var | None, node: Any
) -> ScopeStmt:
    if "core_num" not in given:
        raise ctx.fail(ParserTypeError, "pl.spmd needs the number of blocks", source, "write pl.spmd(n)")
    split = _member(ctx, given, SPLIT, SplitMode, None)
    if split is not None:
        extra = {**extra, SPLIT: split}
    return SpmdScopeStmt(
        body,
        name_hint=_hint(ctx, given),
        attrs=extra,
        core_num=integer(ctx, given["core_num"], "the number of blocks"),
        sync_start="sync_start" in given and _flag(ctx, given["sync_start"], "sync_start"),
        loop_var=var,
        span=ctx.span(node),
    )


def _split_aiv(
    ctx: Context, source: ast.Call, given: Arguments, extra: Any, body: Stmt, var: Var | None, node: Any
) -> ScopeStmt:
    count = ctx.expr(given["count"]) if "count" in given else 2
    if type(count) is not int or count < 1:
        raise ctx.fail(
            ParserTypeError,
            f"the number of lanes must be a constant, not {value_text(count)}",
            source,
            "write pl.split_aiv(2)",
        )
    split = _member(ctx, given, "mode", SplitMode, SplitMode.UP_DOWN)
    return SplitAivScopeStmt(
        body,
        name_hint=_hint(ctx, given),
        attrs=extra,
        split=split,
        count=count,
        loop_var=var,
        span=ctx.span(node),
    )


def _runtime(
    ctx: Context, source: ast.Call, given: Arguments, extra: Any, body: Stmt, var: Var | None, node: Any
) -> ScopeStmt:
    manual = (
        ctx.path_of(source.func) == "manual_scope"
        or _member(ctx, given, "mode", ScopeMode, ScopeMode.AUTO) is ScopeMode.MANUAL
    )
    return RuntimeScopeStmt(
        body, name_hint=_hint(ctx, given), attrs=extra, manual=manual, span=ctx.span(node)
    )


def _domain(
    ctx: Context, source: ast.Call, given: Arguments, extra: Any, body: Stmt, var: Var | None, node: Any
) -> ScopeStmt:
    parts: dict[str, Any] = {k: _variables(ctx, given[k], k) for k in ("devices", "slots") if k in given}
    return CommDomainScopeStmt(body, name_hint=_hint(ctx, given), attrs=extra, **parts, span=ctx.span(node))


_SCOPES: dict[str, tuple[Builder, tuple[str, ...]]] = {
    "at": (_at, ("level", "role")),
    "cluster": (_cluster, ()),
    "spmd": (_spmd, ("core_num", "sync_start")),
    "split_aiv": (_split_aiv, ("count", "mode")),
    "scope": (_runtime, ("mode",)),
    "manual_scope": (_runtime, ()),
    "comm_domain": (_domain, ("devices", "slots")),
}

WITH: dict[type, Any] = {ast.With: with_scope}
