"""SplitMixedScopes: a scope with work for both cores becomes scopes for one core each, which exchange tensors.

A kernel runs on the cube or on the vector core. Statements of a scope are dealt out to as few parts as their order
allows. What one part makes and another uses lies in memory in between: outside of launches as it is, in launches as
one window per block. A loop or branch that needs both cores itself is left to the host, with its body dealt out; a
launch with such a loop becomes a loop over its blocks, which may run at the same time as they did. A scope stays whole
when it asks for that with ``pl.split``, or when dealing it out would change what it means.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from pypto_core.ir import (
    SLOT_NUM,
    SPLIT,
    ClusterScopeStmt,
    DataType,
    Function,
    InCoreScopeStmt,
    Mutator,
    Program,
    RuntimeScopeStmt,
    ScopeStmt,
    SpmdScopeStmt,
    Stmt,
    Var,
    defined_vars,
    map_functions,
    replace,
    scalar_type,
    seq,
    walk_stmts,
)
from pypto_core.verify import is_kernel_scope
from pypto_plugin_tensor.block_loop import BlockLoop
from pypto_plugin_tensor.cores import CUBE, Cores
from pypto_plugin_tensor.dealing import Dealing, Part, Undivided
from pypto_plugin_tensor.storage import Storage
from pypto_plugin_tensor.users import Users

_DEPS = "manual_dep_edges"


def split_mixed_scopes(program: Program, ctx: Any) -> Program:
    """The program with its mixed scopes dealt out; the same object when it has none.

    Each scope that was dealt out is reported as a hint (PH-OT-002), and each that stays whole without having been
    asked to (PH-OT-003).
    """
    return map_functions(program, partial(_split, program=program, ctx=ctx))


def _split(function: Function, program: Program, ctx: Any) -> Function:
    if function.is_incore:
        return function
    users = Users(function, is_kernel_scope)
    if not users.scopes:
        return function
    cores = Cores.of(function, getattr(ctx, "backend", None))
    mixed: dict[ScopeStmt, Cores] = {}
    for scope in users.scopes:
        here = cores.within(scope)
        if not _is_kept(scope) and len(here.seen(scope.body)) > 1:
            mixed[scope] = here
    return _Splitter(program, ctx, users, mixed).visit(function) if mixed else function


def _is_kept(scope: ScopeStmt) -> bool:
    """Whether the author asks for one kernel on both cores."""
    asked = SPLIT in scope.attrs or SLOT_NUM in scope.attrs
    return asked or (isinstance(scope, InCoreScopeStmt) and scope.split is not None)


class _Splitter(Mutator):
    def __init__(self, program: Program, ctx: Any, users: Users, mixed: Mapping[ScopeStmt, Cores]) -> None:
        super().__init__()
        self.program, self.ctx, self.users, self.mixed = program, ctx, users, mixed
        self.manual = False

    def visit_scope_stmt(self, scope: ScopeStmt) -> Stmt:
        """Deal out a mixed scope, or look inside; kernels of a cluster run together, so that none is added there."""
        if isinstance(scope, ClusterScopeStmt):
            return scope
        if scope in self.mixed:
            try:
                return self._dealt(scope)
            except Undivided as why:
                if self.ctx is not None and why.args:
                    _report_whole(scope, str(why), self.ctx)
                return scope
        around, self.manual = (
            self.manual,
            self.manual or (isinstance(scope, RuntimeScopeStmt) and scope.manual),
        )
        new = self.mutate_children(scope)
        self.manual = around
        return new

    def _dealt(self, scope: ScopeStmt) -> Stmt:
        number, cores = self.users.scopes[scope], self.mixed[scope]
        if (other := cores.unknown(scope.body)) is not None:
            raise Undivided(f"it has {other}")
        escapes = {v for v in defined_vars(scope.body) if self.users.used_outside(v, number)}
        chained = self.manual or scope.task_id is not None or _DEPS in scope.attrs
        try:
            stmts, around = self._parts(scope, escapes, cores, chained)
        except Undivided:
            if chained or not isinstance(scope, SpmdScopeStmt):
                raise
            loop = BlockLoop(scope, escapes, Storage(scope.body, self.program.functions))
            stmts, around = self._parts(loop.scope, loop.escapes, loop.cores(cores), chained)
            stmts, around = [loop.around(stmts)], around + 1
        if self.ctx is not None:
            _report(scope, stmts, around, self.ctx)
        comments = (*scope.leading_comments, *stmts[0].leading_comments)
        return seq([replace(stmts[0], leading_comments=comments), *stmts[1:]], scope.span)

    def _parts(
        self, scope: ScopeStmt, escapes: set[Var], cores: Cores, chained: bool
    ) -> tuple[list[Stmt], int]:
        """What takes a scope's place, and how many loops and branches in it are the host's."""
        scopes = _Scopes(scope, chained)
        dealing = Dealing(scope, cores, Storage(scope.body, self.program.functions), escapes, scopes.made)
        stmts = dealing.run()
        if scopes.count < 2:
            raise Undivided  # what fills a tensor is done by the core that uses it, and that core does all
        if chained and dealing.around:
            raise Undivided("a task waits for it, and the tasks of a loop or branch have no single id")
        return scopes.finished(stmts), dealing.around


class _Scopes:
    """Makes the scopes of the parts; where tasks are ordered by hand, each waits for the one before it."""

    def __init__(self, scope: ScopeStmt, chained: bool) -> None:
        self.scope, self.chained, self.count = scope, chained, 0
        self._last: tuple[ScopeStmt, ScopeStmt] | None = None
        self._before: Var | None = None

    def made(self, part: Part, body: Stmt, loop_var: Var | None) -> ScopeStmt:
        """The scope of one part."""
        scope = self.scope
        self.count += 1
        hint = f"{scope.name_hint}_{'cube' if part.core == CUBE else 'vector'}" if scope.name_hint else ""
        changes: dict[str, Any] = {}
        if isinstance(scope, SpmdScopeStmt):
            changes["loop_var"] = loop_var
        if self.chained:
            if self._before is not None:
                changes["attrs"] = {**scope.attrs, _DEPS: (self._before,)}
            self._before = Var(
                f"{hint or 'part'}__tmp_v{self.count}", scalar_type(DataType.TASK_ID), span=scope.span
            )
        new = replace(scope, body=body, name_hint=hint, task_id=self._before, leading_comments=(), **changes)
        self._last = new, replace(new, task_id=scope.task_id)
        return new

    def finished(self, stmts: list[Stmt]) -> list[Stmt]:
        """The task of the last part is that of the whole."""
        if self._last is None or not self.chained:
            return stmts
        old, new = self._last
        return [new if stmt is old else stmt for stmt in stmts]


def _report_whole(scope: ScopeStmt, why: str, ctx: Any) -> None:
    ctx.hint(
        "PH-OT-003",
        f"{_called(scope)} has work for the cube and for the vector core and stays one kernel",
        scope.span,
        facts=[("because", why)],
        remedy="write one scope per core, which exchange tensors: a kernel runs on one core",
    )


def _called(scope: ScopeStmt) -> str:
    return f"'{scope.name_hint}'" if scope.name_hint else "this scope"


def _report(scope: ScopeStmt, stmts: Iterable[Stmt], around: int, ctx: Any) -> None:
    parts = sum(isinstance(inner, ScopeStmt) for stmt in stmts for inner in walk_stmts(stmt))
    facts: list[tuple[str, object]] = [("kernels", parts)]
    if around:
        facts.append(("loops and branches left to the host", around))
    ctx.hint(
        "PH-OT-002",
        f"{_called(scope)} has work for the cube and for the vector core and becomes one kernel for each",
        scope.span,
        facts=facts,
        remedy="write one scope per core to choose yourself what lies in memory between them",
    )


__all__ = ["split_mixed_scopes"]
