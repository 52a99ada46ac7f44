"""Statements, one after the other from a work list, so that nesting costs no recursion.

What a yield hands on is bound to the region's return variables. Types print where they can't be read off:
``r: T = pl.yield_(u)`` for one value; for several a line ``r1: T1`` before the yield for each return variable whose
type is not that of every value it can take (what the branches or the body yield, and a loop's initial value).
Likewise a carried variable whose type is not its initial value's, and a loop variable whose type is not that of its
bounds, stands as ``c: T`` at the head of the loop's body.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pypto_core.ir import (
    CHUNK,
    PIPELINE_STAGES,
    AssignStmt,
    BreakStmt,
    ClusterScopeStmt,
    CommDomainScopeStmt,
    ConstFloat,
    ConstInt,
    ContinueStmt,
    DataType,
    EvalStmt,
    Expr,
    ForKind,
    ForStmt,
    HierarchyScopeStmt,
    IfStmt,
    InCoreScopeStmt,
    InlineStmt,
    IterArg,
    Level,
    ReturnStmt,
    RuntimeScopeStmt,
    SeqStmts,
    SplitAivScopeStmt,
    SpmdScopeStmt,
    Stmt,
    Var,
    WhileStmt,
    YieldStmt,
    last_yield,
)
from pypto_core.text.writer import Writer, double_quoted, unprintable

INDENT = "    "
_RANGES = {
    ForKind.Sequential: "range",
    ForKind.Parallel: "parallel",
    ForKind.Unroll: "unroll",
    ForKind.Pipeline: "pipeline",
}

Targets = tuple[tuple[Var, bool], ...]
"""The variables that a region's yield binds, each with whether its type needs a line of its own."""

Work = tuple[Stmt | str, str, Targets]
"""A statement or a ready line, its indentation, and what the yield that ends it binds."""


def body(w: Writer, region: Stmt, pad: str) -> None:
    """Print a region at an indentation."""
    stack: list[Work] = []
    _push_region(w, stack, region, pad, ())
    lines, names = w.lines, w.names
    while stack:
        stmt, pad, targets = stack.pop()
        if type(stmt) is str:
            lines.append(pad + stmt)
            continue
        assert isinstance(stmt, Stmt)
        if stmt.leading_comments:
            comments(w, stmt.leading_comments, pad)
        if type(stmt) is AssignStmt:
            var, value = stmt.var, stmt.value
            text = w.expr(value, 0, _retyped(var, value))
            if w.concise:
                lines.append(f"{pad}{names[var]} = {text}")
            else:
                lines.append(f"{pad}{names[var]}: {w.type(var.type)} = {text}")
            continue
        printer = STATEMENTS.get(type(stmt))
        if printer is None:
            raise unprintable("statement", stmt)
        printer(w, stmt, pad, targets, stack)


def comments(w: Writer, texts: tuple[str, ...], pad: str) -> None:
    """Print an author's comments, one line each."""
    for text in texts:
        for line in text.splitlines() or ("",):
            w.lines.append(pad + (line if line.startswith("#") else f"# {line}".rstrip()))


def _retyped(var: Var, value: Expr) -> bool:
    """Whether the variable's annotation would make a literal value another type than it has."""
    return isinstance(value, ConstInt | ConstFloat) and value.dtype is not getattr(var.type, "dtype", None)


def _push_region(w: Writer, stack: list[Work], region: Stmt, pad: str, targets: Targets) -> None:
    """Put a region's statements on the work list; an empty one is ``pass``."""
    if type(region) is not SeqStmts:
        stack.append((region, pad, targets))
        return
    if not region.stmts:
        stack.append(("pass", pad, ()))
    else:
        stack.append((region.stmts[-1], pad, targets))
        stack.extend([(s, pad, ()) for s in reversed(region.stmts[:-1])])
    if region.leading_comments:
        comments_first = [c if c.startswith("#") else f"# {c}".rstrip() for c in region.leading_comments]
        stack.extend([(c, pad, ()) for c in reversed(comments_first)])


def _seq(w: Writer, stmt: SeqStmts, pad: str, targets: Targets, stack: list[Work]) -> None:
    # A sequence inside a sequence is not well formed; print it in place all the same.
    _push_region(w, stack, SeqStmts(stmt.stmts), pad, targets)


def _eval(w: Writer, stmt: EvalStmt, pad: str, targets: Targets, stack: list[Work]) -> None:
    w.lines.append(pad + w.expr(stmt.expr))


def _return(w: Writer, stmt: ReturnStmt, pad: str, targets: Targets, stack: list[Work]) -> None:
    w.lines.append(f"{pad}return {_values(w, stmt.values)}".rstrip())


def _values(w: Writer, values: tuple[Expr, ...]) -> str:
    return ", ".join([w.expr(v) for v in values])


def _yield(w: Writer, stmt: YieldStmt, pad: str, targets: Targets, stack: list[Work]) -> None:
    text = f"{w.pl}yield_({_values(w, stmt.values)})"
    names = w.names
    if not targets:
        w.lines.append(pad + text)
    elif len(targets) == 1:
        var = targets[0][0]
        annotation = "" if w.concise else f": {w.type(var.type)}"
        w.lines.append(f"{pad}{names[var]}{annotation} = {text}")
    else:
        for var, declared in targets:
            if declared and not w.concise:
                _declare(w, var, pad)
        w.lines.append(f"{pad}{', '.join([names[v] for v, _ in targets])} = {text}")


def _declare(w: Writer, var: Var, pad: str) -> None:
    w.lines.append(f"{pad}{w.names[var]}: {w.type(var.type)}")


def _targets(w: Writer, found: tuple[Var, ...], sources: list[tuple[Expr, ...]]) -> Targets:
    if len(found) < 2:
        return tuple((v, True) for v in found)
    rows: list[tuple[Var, bool]] = []
    for i, var in enumerate(found):
        text = w.type(var.type)
        rows.append((var, any(i >= len(s) or w.type(s[i].type) != text for s in sources)))
    return tuple(rows)


def _yielded(region: Stmt | None) -> tuple[Expr, ...]:
    last = last_yield(region)
    return () if last is None else last.values


def _carried(w: Writer, pad: str, iter_args: tuple[IterArg, ...]) -> None:
    if w.concise:
        return
    for arg in iter_args:
        if w.type(arg.type) != w.type(arg.init_value.type):
            _declare(w, arg, pad)


def _tuple_of(parts: list[str]) -> str:
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"


def _for(w: Writer, stmt: ForStmt, pad: str, targets: Targets, stack: list[Work]) -> None:
    parts = _bounds(w, stmt)
    own = ""
    if stmt.kind is ForKind.Pipeline:
        own = PIPELINE_STAGES
        parts.append(f"stage={w.option(stmt.attrs[PIPELINE_STAGES], double_quoted)}")
    elif stmt.kind is ForKind.Parallel and _is_count(stmt.attrs.get(CHUNK)):
        own = CHUNK
        parts.append(f"chunk={stmt.attrs[CHUNK]}")
    head = w.names[stmt.loop_var]
    if stmt.iter_args:
        head += ", " + _tuple_of([w.names[a] for a in stmt.iter_args])
        parts.append(f"init_values={_tuple_of([w.expr(a.init_value) for a in stmt.iter_args])}")
    notes = w.notes(stmt.attrs, without=own)
    if notes:
        parts.append("attrs=" + notes)
    w.lines.append(f"{pad}for {head} in {w.pl}{_RANGES[stmt.kind]}({', '.join(parts)}):")
    inner = pad + INDENT
    loop_var = w.type(stmt.loop_var.type)
    if not w.concise and any(w.type(b.type) != loop_var for b in (stmt.start, stmt.stop)):
        _declare(w, stmt.loop_var, inner)
    _carried(w, inner, stmt.iter_args)
    _push_loop(w, stmt, inner, stack)


def _is_count(value: Any) -> bool:
    """Whether the value can stand as the number of trips in a chunk; anything else stays among the notes."""
    return type(value) is int and value >= 1


def _push_loop(w: Writer, stmt: ForStmt | WhileStmt, inner: str, stack: list[Work]) -> None:
    sources = [_yielded(stmt.body), tuple(a.init_value for a in stmt.iter_args)]
    _push_region(w, stack, stmt.body, inner, _targets(w, stmt.return_vars, sources))


def _bounds(w: Writer, stmt: ForStmt) -> list[str]:
    by_one = _is_index(stmt.step, 1)
    if by_one and _is_index(stmt.start, 0):
        return [w.expr(stmt.stop)]
    parts = [w.expr(stmt.start), w.expr(stmt.stop)]
    return parts if by_one else [*parts, w.expr(stmt.step)]


def _is_index(node: Expr, value: int) -> bool:
    return type(node) is ConstInt and node.value == value and node.dtype is DataType.INDEX


def _while(w: Writer, stmt: WhileStmt, pad: str, targets: Targets, stack: list[Work]) -> None:
    inner = pad + INDENT
    if not stmt.iter_args:
        w.lines.append(f"{pad}while {w.expr(stmt.condition)}:")
    else:
        carried = _tuple_of([w.names[a] for a in stmt.iter_args])
        initial = _tuple_of([w.expr(a.init_value) for a in stmt.iter_args])
        w.lines.append(f"{pad}for {carried} in {w.pl}while_(init_values={initial}):")
        _carried(w, inner, stmt.iter_args)
        w.lines.append(f"{inner}{w.pl}cond({w.expr(stmt.condition)})")
    _push_loop(w, stmt, inner, stack)


def _if(w: Writer, stmt: IfStmt, pad: str, targets: Targets, stack: list[Work]) -> None:
    w.lines.append(f"{pad}if {w.expr(stmt.condition)}:")
    sources = [_yielded(stmt.then_body)]
    if stmt.else_body is not None:
        sources.append(_yielded(stmt.else_body))
    found = _targets(w, stmt.return_vars, sources)
    inner = pad + INDENT
    if stmt.else_body is not None:
        _push_region(w, stack, stmt.else_body, inner, found)
        stack.append(("else:", pad, ()))
    _push_region(w, stack, stmt.then_body, inner, found)


def _scope(arguments: Callable[[Writer, Any], tuple[str, list[str]]]) -> Any:
    def printer(w: Writer, stmt: Any, pad: str, targets: Targets, stack: list[Work]) -> None:
        name, parts = arguments(w, stmt)
        if stmt.name_hint:
            parts.append(f"name_hint={double_quoted(stmt.name_hint)}")
        if stmt.attrs:
            parts.append("attrs=" + w.notes(stmt.attrs))
        loop_var: Var | None = getattr(stmt, "loop_var", None)
        opening = "with" if loop_var is None else f"for {w.names[loop_var]} in"
        bound = "" if stmt.task_id is None else f" as {w.names[stmt.task_id]}"
        w.lines.append(f"{pad}{opening} {w.pl}{name}({', '.join(parts)}){bound}:")
        inner = pad + INDENT
        if loop_var is not None and w.type(loop_var.type) != f"{w.pl}Scalar[{w.pl}INDEX]":
            _declare(w, loop_var, inner)
        _push_region(w, stack, stmt.body, inner, ())

    return printer


def _in_core(w: Writer, stmt: InCoreScopeStmt) -> tuple[str, list[str]]:
    parts = [f"level={w.member(Level.CORE_GROUP)}"]
    if stmt.split is not None:
        parts.append(f"optimizations=[{w.pl}split({w.member(stmt.split)})]")
    return "at", parts


def _hierarchy(w: Writer, stmt: HierarchyScopeStmt) -> tuple[str, list[str]]:
    role = [] if stmt.role is None else [f"role={w.member(stmt.role)}"]
    return "at", [f"level={w.member(stmt.level)}", *role]


def _cluster(w: Writer, stmt: ClusterScopeStmt) -> tuple[str, list[str]]:
    return "cluster", []


def _spmd(w: Writer, stmt: SpmdScopeStmt) -> tuple[str, list[str]]:
    return "spmd", [w.expr(stmt.core_num), *(["sync_start=True"] if stmt.sync_start else [])]


def _split_aiv(w: Writer, stmt: SplitAivScopeStmt) -> tuple[str, list[str]]:
    return "split_aiv", [str(stmt.count), f"mode={w.member(stmt.split)}"]


def _runtime(w: Writer, stmt: RuntimeScopeStmt) -> tuple[str, list[str]]:
    return "scope", [f"mode={w.pl}ScopeMode.MANUAL"] if stmt.manual else []


def _comm_domain(w: Writer, stmt: CommDomainScopeStmt) -> tuple[str, list[str]]:
    return "comm_domain", [
        f"{name}=[{_values(w, values)}]"
        for name, values in (("devices", stmt.devices), ("slots", stmt.slots))
        if values
    ]


def _inline(w: Writer, stmt: InlineStmt, pad: str, targets: Targets, stack: list[Work]) -> None:
    text = f"{w.pl}inline_stmt({double_quoted(stmt.body)}, language={double_quoted(stmt.language)})"
    w.lines.append(pad + text)


def _word(word: str) -> Any:
    def printer(w: Writer, stmt: Stmt, pad: str, targets: Targets, stack: list[Work]) -> None:
        w.lines.append(pad + word)

    return printer


STATEMENTS: dict[type, Any] = {
    SeqStmts: _seq,
    EvalStmt: _eval,
    ReturnStmt: _return,
    YieldStmt: _yield,
    ForStmt: _for,
    WhileStmt: _while,
    IfStmt: _if,
    BreakStmt: _word("break"),
    ContinueStmt: _word("continue"),
    InCoreScopeStmt: _scope(_in_core),
    HierarchyScopeStmt: _scope(_hierarchy),
    ClusterScopeStmt: _scope(_cluster),
    SpmdScopeStmt: _scope(_spmd),
    SplitAivScopeStmt: _scope(_split_aiv),
    RuntimeScopeStmt: _scope(_runtime),
    CommDomainScopeStmt: _scope(_comm_domain),
    InlineStmt: _inline,
}
