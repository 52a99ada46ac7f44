"""Loops: ``for i in pl.range(…)`` and its kinds, ``pl.while_`` with carried values, and plain ``while``."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

import attrs

from pypto_core.diagnostics import (
    ParserSyntaxError,
    ParserTypeError,
    UnsupportedFeatureError,
)
from pypto_core.ir import (
    CHUNK,
    PIPELINE_STAGES,
    DataType,
    Expr,
    ForKind,
    ForStmt,
    IterArg,
    ScalarType,
    Stmt,
    Type,
    Var,
    WhileStmt,
    YieldStmt,
    is_const,
    scalar_type,
)
from pypto_core.language.block import region, sequence
from pypto_core.language.context import Context, Dead, Yielded
from pypto_core.language.errors import check_distinct, did_you_mean, value_text
from pypto_core.language.notes import notes
from pypto_core.language.parse_expr import expression, integer, truth
from pypto_core.language.parse_stmt_scope import scope_loop
from pypto_core.language.parse_types import Spec, annotation, complete, joined, without_pinned

KINDS: dict[str, ForKind] = {
    "range": ForKind.Sequential,
    "parallel": ForKind.Parallel,
    "unroll": ForKind.Unroll,
    "pipeline": ForKind.Pipeline,
}
_INDEX = scalar_type(DataType.INDEX)


@attrs.frozen(eq=False)
class Head:
    """The bounds and options in a loop's head."""

    bounds: tuple[Expr, ...]
    initial: tuple[Expr, ...] | None
    notes: dict[str, Any]


def for_loop(ctx: Context, node: ast.For, out: list[Stmt]) -> None:
    """Any ``for``."""
    if node.orelse:
        raise ctx.fail(
            UnsupportedFeatureError,
            "else on a loop is not part of the kernel language",
            node.orelse[0],
            "put these statements after the loop",
        )
    source = node.iter
    path = ctx.path_of(source.func) if type(source) is ast.Call else None
    if path in KINDS:
        out.append(_counted(ctx, node, source, path))  # type: ignore[arg-type]
    elif path == "while_":
        out.append(_while_carrying(ctx, node, source))  # type: ignore[arg-type]
    elif path in ("spmd", "split_aiv"):
        out.append(scope_loop(ctx, node, source, path))  # type: ignore[arg-type]
    else:
        raise _no_iterator(ctx, source, path)


def _no_iterator(ctx: Context, source: ast.expr, path: str | None) -> Exception:
    plain = (
        type(source) is ast.Call
        and type(source.func) is ast.Name
        and source.func.id == "range"
        and path is None
    )
    if plain:
        return ctx.fail(
            ParserSyntaxError,
            "Python's range() is not part of the kernel language",
            source,
            "write pl.range(…), or pl.pipeline(…, stage=2), pl.parallel(…), pl.unroll(…)",
        )
    message = f"pl.{path} is no kind of loop" if path else "a loop runs over pl.range(…) or one of its kinds"
    names = ("range", "parallel", "unroll", "pipeline", "while_", "spmd", "split_aiv")
    return ctx.fail(
        ParserSyntaxError, message, source, did_you_mean(path or "", names, "write for i in pl.range(n):")
    )


def _counted(ctx: Context, node: ast.For, source: ast.Call, word: str) -> ForStmt:
    kind = KINDS[word]
    head = _head(ctx, source, word)
    variable, carried = _loop_names(ctx, node.target, head.initial, word)
    start, stop, step = head.bounds
    declared, body = declarations(ctx, node.body, [variable, *carried])
    same = start.type is stop.type and isinstance(start.type, ScalarType)
    kind_of_var = declared.get(variable.id) or (start.type if same else _INDEX)
    loop_var = Var(variable.id, kind_of_var, span=ctx.span(variable))
    args = _iter_args(ctx, carried, head.initial or (), declared)
    stmts, yielded = _body(ctx, body, [loop_var, *args], node, word)
    results = _results(ctx, args, stmts, yielded, node)
    return ForStmt(
        loop_var,
        start,
        stop,
        step,
        args,
        sequence(ctx, stmts, node),
        results,
        kind,
        head.notes,
        span=ctx.span(node),
    )


_BOUND_NAMES = ("start", "stop", "step")


def _head(ctx: Context, source: ast.Call, word: str) -> Head:
    if len(source.args) > 3:
        raise ctx.fail(
            ParserTypeError, f"pl.{word} takes at most three bounds", source.args[3], "start, stop, step"
        )
    given: dict[str, ast.expr] = {}
    names = ("stop",) if len(source.args) == 1 else _BOUND_NAMES
    given.update(zip(names, source.args, strict=False))
    initial: tuple[Expr, ...] | None = None
    stage: int | None = None
    chunk: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    for keyword in source.keywords:
        key = keyword.arg
        if key == "init_values":
            initial = _initial(ctx, keyword.value)
        elif key == "stage" and word == "pipeline":
            stage = _count(ctx, keyword.value, "stage")
        elif key == "chunk" and word == "parallel":
            chunk = {CHUNK: _count(ctx, keyword.value, "chunk")}
        elif key == "attrs":
            extra = notes(ctx, keyword.value, plain=True)
        elif key in _BOUND_NAMES and key not in given:
            given[key] = keyword.value
        else:
            raise _bad_option(ctx, keyword, word)
    if "stop" not in given:
        raise ctx.fail(ParserTypeError, f"pl.{word} needs its bound", source, f"write pl.{word}(n)")
    if initial is not None and word == "unroll":
        raise ctx.fail(
            ParserTypeError, "an unrolled loop can't carry values", source, "use pl.range, or assign plainly"
        )
    if word == "pipeline":
        if stage is None:
            raise ctx.fail(ParserTypeError, "pl.pipeline needs its number of stages", source, "add stage=2")
        if PIPELINE_STAGES in extra:
            raise ctx.fail(
                ParserTypeError,
                f"'{PIPELINE_STAGES}' is given by stage=",
                source,
                f"leave '{PIPELINE_STAGES}' out of attrs",
            )
        extra = {PIPELINE_STAGES: stage, **extra}
    if chunk and CHUNK in extra:
        raise ctx.fail(
            ParserTypeError, f"'{CHUNK}' is given by chunk=", source, f"leave '{CHUNK}' out of attrs"
        )
    extra = {**chunk, **extra}
    index = ctx.session.index
    start = integer(ctx, given["start"], "a loop's start") if "start" in given else index(0)
    step = integer(ctx, given["step"], "a loop's step") if "step" in given else index(1)
    if is_const(step, 0):
        raise ctx.fail(ParserTypeError, "a loop's step can't be 0", given["step"], "give a step of 1 or more")
    return Head((start, integer(ctx, given["stop"], "a loop's bound"), step), initial, extra)


def _bad_option(ctx: Context, keyword: ast.keyword, word: str) -> Exception:
    own = {"pipeline": ["stage"], "parallel": ["chunk"]}.get(word, [])
    known = ["init_values", "attrs", *own]
    if keyword.arg == "stage":
        return ctx.fail(ParserTypeError, f"pl.{word} has no stages", keyword, "write pl.pipeline(…, stage=2)")
    if keyword.arg == "chunk":
        return ctx.fail(ParserTypeError, f"pl.{word} has no chunks", keyword, "write pl.parallel(…, chunk=2)")
    return ctx.fail(
        ParserTypeError,
        f"pl.{word} has no argument '{keyword.arg}'",
        keyword,
        did_you_mean(str(keyword.arg), known, "arguments: " + ", ".join(known)),
    )


def _count(ctx: Context, node: ast.expr, key: str) -> int:
    value = ctx.expr(node)
    if type(value) is not int or value < 1:
        raise ctx.fail(
            ParserTypeError,
            f"{key} must be a constant of at least 1, not {value_text(value)}",
            node,
            f"write {key}=2",
        )
    return value


def _initial(ctx: Context, node: ast.expr) -> tuple[Expr, ...]:
    if type(node) is ast.Tuple or type(node) is ast.List:
        return tuple(expression(ctx, ctx.expr(e), e) for e in node.elts)
    raise ctx.fail(ParserTypeError, "init_values must be a tuple", node, "write init_values=(x,)")


def _loop_names(
    ctx: Context, target: ast.expr, initial: tuple[Expr, ...] | None, word: str
) -> tuple[ast.Name, list[ast.Name]]:
    if type(target) is ast.Name:
        if initial is not None:
            raise ctx.fail(
                ParserTypeError,
                "init_values needs names for the carried values",
                target,
                "write for i, (c,) in …",
            )
        return target, []
    if type(target) is ast.Tuple and len(target.elts) == 2 and type(target.elts[0]) is ast.Name:
        carried = carried_names(ctx, target.elts[1])
        if initial is None:
            raise ctx.fail(ParserTypeError, "carried values need init_values", target, "add init_values=(x,)")
        check_count(ctx, carried, initial, target)
        check_distinct(ctx, [target.elts[0], *carried])
        return target.elts[0], carried
    raise ctx.fail(
        ParserSyntaxError,
        "a loop names its variable, and its carried values in a tuple",
        target,
        f"write for i in pl.{word}(n): or for i, (c,) in pl.{word}(n, init_values=(x,)):",
    )


def carried_names(ctx: Context, node: ast.expr) -> list[ast.Name]:
    """The names in a tuple of carried values."""
    if type(node) is ast.Tuple or type(node) is ast.List:
        names = [e for e in node.elts if type(e) is ast.Name]
        if len(names) == len(node.elts):
            return names
    raise ctx.fail(ParserSyntaxError, "carried values are named in a tuple", node, "write (c,) or (c1, c2)")


def check_count(ctx: Context, names: list[ast.Name], initial: tuple[Expr, ...], node: ast.AST) -> None:
    """Refuse other numbers of carried names than of initial values."""
    if len(names) != len(initial):
        raise ctx.fail(
            ParserTypeError,
            f"{len(names)} carried names for {len(initial)} initial values",
            node,
            "name each value once",
        )


def declarations(
    ctx: Context, body: Sequence[ast.stmt], names: Sequence[ast.Name]
) -> tuple[dict[str, Type], Sequence[ast.stmt]]:
    """Types that lines ``c: T`` at the head of a loop's body give to its variables, and the rest of the body."""
    known = {n.id for n in names}
    found: dict[str, Type] = {}
    for at, node in enumerate(body):
        if (
            type(node) is ast.AnnAssign
            and node.value is None
            and type(node.target) is ast.Name
            and node.target.id in known
        ):
            found[node.target.id] = complete(annotation(ctx, node.annotation))
        else:
            return found, body[at:]
    raise ctx.fail(ParserSyntaxError, "this loop's body has only declarations", body[0], "write pass")


def _iter_args(
    ctx: Context, names: list[ast.Name], initial: tuple[Expr, ...], declared: dict[str, Type]
) -> tuple[IterArg, ...]:
    return tuple(
        IterArg(n.id, declared.get(n.id) or without_pinned(value.type), value, span=ctx.span(n))
        for n, value in zip(names, initial, strict=True)
    )


def _body(
    ctx: Context, nodes: Sequence[ast.stmt], variables: Sequence[Var], node: ast.AST, kind: str = "while"
) -> tuple[list[Stmt], Yielded | None]:
    """Read a loop's body with its variables in scope; afterwards their names mean nothing."""
    enter(ctx, variables)
    outer, ctx.loop_kind = ctx.loop_kind, kind
    ctx.loops += 1
    stmts, yielded = region(ctx, nodes)
    ctx.loops -= 1
    ctx.loop_kind = outer
    leave(ctx, variables)
    return stmts, yielded


def enter(ctx: Context, variables: Sequence[Var]) -> None:
    """Bring a loop's variables into scope."""
    for var in variables:
        ctx.names[var.name_hint] = var
        if not isinstance(var, IterArg):
            ctx.loop_vars.add(var)


def leave(ctx: Context, variables: Sequence[Var]) -> None:
    """Take a loop's variables out of scope, unless their names were given to other values."""
    for var in variables:
        if ctx.names.get(var.name_hint) is var:
            what = "a value carried by a loop" if isinstance(var, IterArg) else "the variable of a loop"
            ctx.names[var.name_hint] = Dead(what, var.span)


def _results(
    ctx: Context, args: tuple[IterArg, ...], stmts: list[Stmt], yielded: Yielded | None, node: ast.stmt
) -> tuple[Var, ...]:
    values = stmts[-1].values if yielded is not None and isinstance(stmts[-1], YieldStmt) else ()
    if not args:
        if values:
            assert yielded is not None
            raise ctx.fail(
                ParserTypeError,
                "this loop carries no values and can't yield any",
                yielded.node,
                "add init_values=(x,) to the loop, or assign plainly",
            )
        return ()
    if yielded is None:
        raise ctx.fail(
            ParserSyntaxError,
            "a loop that carries values must yield them at the end of its body",
            node.body[-1] if isinstance(node, ast.For) else node,
            "end the body with " + ", ".join(a.name_hint for a in args) + " = pl.yield_(…)",
        )
    if len(values) != len(args):
        raise ctx.fail(
            ParserTypeError,
            f"{len(values)} yielded values for {len(args)} carried ones",
            yielded.node,
            "yield one value per carried value, in their order",
        )
    if not yielded.targets:
        return tuple(Var(a.name_hint, without_pinned(a.type), span=a.span) for a in args)
    return tuple(result(ctx, t, a.type) for t, a in zip(yielded.targets, args, strict=True))


def result(ctx: Context, target: Any, deduced: Type) -> Var:
    """The variable that a region hands on under a name bound by its yield."""
    kind = without_pinned(deduced)
    if target.annotation is not None:
        spec = annotation(ctx, target.annotation)
        kind = complete(spec) if _is_exact(spec) else joined(ctx, spec, kind)[0]
        if spec.type is None:
            joined(ctx, spec, deduced)  # refuses what contradicts the value
    var = Var(target.name, kind, span=ctx.span(target.node))
    ctx.names[target.name] = var
    return var


def _is_exact(spec: Spec) -> bool:
    """Whether an annotation says all there is to say: a tile with its memory space."""
    return spec.tile and spec.space is not None


def _while_carrying(ctx: Context, node: ast.For, source: ast.Call) -> WhileStmt:
    options = {k.arg: k.value for k in source.keywords}
    if source.args or list(options) != ["init_values"]:
        raise ctx.fail(
            ParserTypeError,
            "pl.while_ takes init_values alone",
            source,
            "write for (c,) in pl.while_(init_values=(x,)):",
        )
    initial = _initial(ctx, options["init_values"])
    names = carried_names(ctx, node.target)
    check_count(ctx, names, initial, node.target)
    check_distinct(ctx, names)
    declared, body = declarations(ctx, node.body, names)
    args = _iter_args(ctx, names, initial, declared)
    first = body[0]
    call = first.value if type(first) is ast.Expr else None
    if not (type(call) is ast.Call and ctx.path_of(call.func) == "cond" and len(call.args) == 1):
        raise ctx.fail(
            ParserSyntaxError,
            "the body of pl.while_ begins with its condition",
            first,
            "write pl.cond(i < n) first",
        )
    enter(ctx, args)
    condition = truth(ctx, call.args[0], "a loop's condition")
    if len(body) == 1:
        raise ctx.fail(
            ParserSyntaxError,
            "a loop that carries values must yield them at the end of its body",
            first,
            "end the body with " + ", ".join(a.name_hint for a in args) + " = pl.yield_(…)",
        )
    stmts, yielded = _body(ctx, body[1:], args, node)
    results = _results(ctx, args, stmts, yielded, node)
    return WhileStmt(condition, args, sequence(ctx, stmts, node), results, span=ctx.span(node))


def while_loop(ctx: Context, node: ast.While, out: list[Stmt]) -> None:
    """``while c:`` without carried values."""
    if node.orelse:
        raise ctx.fail(
            UnsupportedFeatureError,
            "else on a loop is not part of the kernel language",
            node.orelse[0],
            "put these statements after the loop",
        )
    condition = truth(ctx, node.test, "a loop's condition")
    stmts, yielded = _body(ctx, node.body, (), node)
    results = _results(ctx, (), stmts, yielded, node)
    out.append(WhileStmt(condition, (), sequence(ctx, stmts, node), results, span=ctx.span(node)))


LOOPS: dict[type, Any] = {ast.For: for_loop, ast.While: while_loop}
