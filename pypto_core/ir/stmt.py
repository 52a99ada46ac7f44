"""Statements: assignment, control flow and scopes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from pypto_core.diagnostics import UNKNOWN_SPAN, Span, UserError
from pypto_core.ir.attr_keys import PIPELINE_STAGES
from pypto_core.ir.enums import ForKind, Level, Role, SplitMode
from pypto_core.ir.expr import Expr, IterArg, Var
from pypto_core.ir.node import (
    MAP,
    MAYBE,
    NODES,
    PLAIN,
    Node,
    define,
    freeze_tuple,
    ignore,
    node_class,
    replace,
    use,
)


@node_class
class Stmt(Node):
    """Base of statements. ``leading_comments`` are the author's and survive rewriting."""

    leading_comments: tuple[str, ...] = ignore(default=(), kw_only=True, converter=freeze_tuple)


@node_class
class AssignStmt(Stmt):
    """``var = value``."""

    var: Var = define()
    value: Expr = use()
    visit_order: ClassVar[tuple[str, ...]] = ("value", "var")


@node_class
class EvalStmt(Stmt):
    """An expression evaluated for its effect."""

    expr: Expr = use()


@node_class
class SeqStmts(Stmt):
    """Statements in order. Build it with :func:`seq`: never nested, never of length one."""

    stmts: tuple[Stmt, ...] = use(NODES)


@node_class
class YieldStmt(Stmt):
    """The values a region hands on; the last statement of its region."""

    values: tuple[Expr, ...] = use(NODES, default=())


@node_class
class ReturnStmt(Stmt):
    """Leaves the function with ``values``."""

    values: tuple[Expr, ...] = use(NODES, default=())


@node_class
class BreakStmt(Stmt):
    """Leaves the loop."""


@node_class
class ContinueStmt(Stmt):
    """Goes on with the next trip."""


@node_class
class ForStmt(Stmt):
    """A counted loop: ``loop_var`` from ``start`` below ``stop`` in steps of ``step``.

    ``iter_args``, ``return_vars`` and the values of the body's last YieldStmt have one length; a loop without
    trips returns the initial values. Kind Pipeline goes with the attribute ``pipeline_stages`` and no other.
    """

    loop_var: Var = define()
    start: Expr = use()
    stop: Expr = use()
    step: Expr = use()
    iter_args: tuple[IterArg, ...] = define(NODES)
    body: Stmt = use()
    return_vars: tuple[Var, ...] = define(NODES)
    kind: ForKind = use(PLAIN, default=ForKind.Sequential)
    attrs: Mapping[str, Any] = use(MAP, factory=dict)

    visit_order: ClassVar[tuple[str, ...]] = (
        "start", "stop", "step", "attrs", "iter_args", "loop_var", "body", "return_vars",
    )  # fmt: skip

    def __attrs_post_init__(self) -> None:
        if (self.kind is ForKind.Pipeline) != (PIPELINE_STAGES in self.attrs):
            raise UserError(
                f"a {self.kind.name} loop "
                + ("lacks" if self.kind is ForKind.Pipeline else "must not carry")
                + f" the attribute '{PIPELINE_STAGES}'",
                code="PT210",
                span=self.span,
                remedy="write pl.pipeline(..., stage=F) for a pipelined loop, pl.range(...) otherwise",
            )


@node_class
class WhileStmt(Stmt):
    """A loop while ``condition``, which is an expression over ``iter_args``."""

    condition: Expr = use()
    iter_args: tuple[IterArg, ...] = define(NODES)
    body: Stmt = use()
    return_vars: tuple[Var, ...] = define(NODES)

    visit_order: ClassVar[tuple[str, ...]] = ("iter_args", "condition", "body", "return_vars")


@node_class
class IfStmt(Stmt):
    """Two ways; ``return_vars`` are the phis of what both branches yield."""

    condition: Expr = use()
    then_body: Stmt = use()
    else_body: Stmt | None = use(MAYBE, default=None)
    return_vars: tuple[Var, ...] = define(NODES, default=())


@node_class
class ScopeStmt(Stmt):
    """Base of scopes: a body that runs somewhere else or under other rules.

    ``task_id``: the variable that stands for the scope's task afterwards.
    """

    body: Stmt = use()
    name_hint: str = ignore(default="", kw_only=True)
    attrs: Mapping[str, Any] = use(MAP, factory=dict, kw_only=True)
    task_id: Var | None = define(MAYBE, default=None, kw_only=True)


@node_class
class InCoreScopeStmt(ScopeStmt):
    """``pl.at(level=CORE_GROUP)``: becomes an InCore function."""

    split: SplitMode | None = use(PLAIN, default=None, kw_only=True)


@node_class
class HierarchyScopeStmt(ScopeStmt):
    """``pl.at`` of a level outside the core."""

    level: Level = use(PLAIN, kw_only=True)
    role: Role | None = use(PLAIN, default=None, kw_only=True)


@node_class
class ClusterScopeStmt(ScopeStmt):
    """``pl.cluster()``."""


@node_class
class SpmdScopeStmt(ScopeStmt):
    """``pl.spmd(n)``: the body once per block."""

    core_num: Expr = use(kw_only=True)
    sync_start: bool = use(PLAIN, default=False, kw_only=True)
    loop_var: Var | None = define(MAYBE, default=None, kw_only=True)
    visit_order: ClassVar[tuple[str, ...]] = ("core_num", "loop_var", "attrs", "body")


@node_class
class SplitAivScopeStmt(ScopeStmt):
    """``pl.split_aiv(n)``: the body once per vector lane."""

    split: SplitMode = use(PLAIN, kw_only=True)
    count: int = use(PLAIN, default=2, kw_only=True)
    loop_var: Var | None = define(MAYBE, default=None, kw_only=True)
    visit_order: ClassVar[tuple[str, ...]] = ("loop_var", "attrs", "body")


@node_class
class RuntimeScopeStmt(ScopeStmt):
    """``pl.scope(mode=...)``: dependency tracking of the runtime."""

    manual: bool = use(PLAIN, default=False, kw_only=True)


@node_class
class CommDomainScopeStmt(ScopeStmt):
    """A communication domain."""

    devices: tuple[Expr, ...] = use(NODES, default=(), kw_only=True)
    slots: tuple[Expr, ...] = use(NODES, default=(), kw_only=True)


@node_class
class InlineStmt(Stmt):
    """Text handed to the host level as it is."""

    body: str = use(PLAIN)
    language: str = use(PLAIN, default="python")


EMPTY = SeqStmts(())


def seq(stmts: Iterable[Stmt], span: Span = UNKNOWN_SPAN) -> Stmt:
    """One statement out of many: nested sequences are absorbed, a single one stands for itself.

    A nested sequence's own comments move to the statement that follows them, or to the last one when none does.
    """
    flat: list[Stmt] = []
    pending = _flatten_into(flat, stmts, ())
    if pending:
        if not flat:
            return SeqStmts((), span=span, leading_comments=pending)
        flat[-1] = replace(flat[-1], leading_comments=flat[-1].leading_comments + pending)
    if len(flat) == 1:
        return flat[0]
    return SeqStmts(tuple(flat), span=span)


def _flatten_into(out: list[Stmt], stmts: Iterable[Stmt], pending: tuple[str, ...]) -> tuple[str, ...]:
    """Append the statements to ``out``; the comments that still wait for a statement are returned."""
    for stmt in stmts:
        if type(stmt) is SeqStmts:
            pending = _flatten_into(out, stmt.stmts, pending + stmt.leading_comments)
        elif pending:
            out.append(replace(stmt, leading_comments=pending + stmt.leading_comments))
            pending = ()
        else:
            out.append(stmt)
    return pending


def flatten(body: Stmt | None) -> tuple[Stmt, ...]:
    """The statements of a region, in order; none for None."""
    if body is None:
        return ()
    return body.stmts if type(body) is SeqStmts else (body,)


def last_yield(body: Stmt | None) -> YieldStmt | None:
    """The yield that ends a region, or None."""
    stmts = flatten(body)
    return stmts[-1] if stmts and isinstance(stmts[-1], YieldStmt) else None


def regions(stmt: Stmt) -> tuple[Stmt, ...]:
    """The bodies nested directly in a statement."""
    if isinstance(stmt, ForStmt | WhileStmt | ScopeStmt):
        return (stmt.body,)
    if isinstance(stmt, IfStmt):
        return (stmt.then_body,) if stmt.else_body is None else (stmt.then_body, stmt.else_body)
    return ()
