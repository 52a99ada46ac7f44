"""OutlineIncoreScopes: every scope that runs on a core becomes a kernel of its own, and is called where it stood.

That is the body of ``pl.at(level=CORE_GROUP)``, and that of ``pl.spmd`` where it computes by itself. One walk finds who
uses which variable; each scope is then looked at by itself, so that the work grows with the program and not with its
square.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import Any

from pypto_core.ir import (
    SLOT_NUM,
    SPLIT,
    AssignStmt,
    Expr,
    Function,
    FunctionType,
    InCoreScopeStmt,
    Mutator,
    NameSource,
    Program,
    ScopeStmt,
    SeqStmts,
    SpmdScopeStmt,
    Stmt,
    Var,
    defined_vars,
    replace,
    seq,
    used_vars,
    walk_stmts,
)
from pypto_core.ops import create_call
from pypto_core.verify import is_kernel_scope
from pypto_plugin_tensor.outline import Plan, outline
from pypto_plugin_tensor.users import Users


def outline_incore_scopes(program: Program, ctx: Any) -> Program:
    """The program with its core scopes as InCore functions; the same object when it has none.

    An Opaque function that had some is an Orchestration function afterwards.

    Raises UserError for scopes whose scalars (PT370) or tiles (PT371) are used outside of them.
    """
    names = FunctionNames(program)
    made: list[Function] = []
    changed: dict[str, Function] = {}
    for function in program:
        if function.is_incore:
            new = _Dissolving().visit(function)
        else:
            new = _Incore(function, program, names, made).run()
        if new is not function:
            changed[function.name] = new
    if not changed:
        return program
    kept = [changed.get(f.name, f) for f in program]
    return replace(program, functions=[*kept, *made])


class FunctionNames:
    """Names of functions, each once."""

    def __init__(self, program: Program) -> None:
        self.taken = set(program.functions)
        self.counts: dict[str, int] = {}

    def fresh(self, base: str) -> str:
        """``base`` with the next free number behind it."""
        while True:
            number = self.counts.get(base, 0)
            self.counts[base] = number + 1
            name = f"{base}_{number}"
            if name not in self.taken:
                self.taken.add(name)
                return name

    def hinted(self, hint: str, base: str) -> str:
        """The author's name for a scope, as an identifier, where it is free; else a numbered one."""
        hint = re.sub(r"\W|^(?=\d)", "_", hint)
        if hint and hint not in self.taken:
            self.taken.add(hint)
            return hint
        return self.fresh(hint or base)


class ScopeOutliner(Mutator, ABC):
    """Replaces the scopes of one function: which ones, and by what, is the business of the passes."""

    def __init__(self, function: Function, program: Program, made: list[Function]) -> None:
        super().__init__()
        self.function, self.program, self.made = function, program, made
        self.users = Users(function, self.is_scope)
        self.values = NameSource()
        self.pending: dict[Var, Var] = {}
        self.named: dict[Var, tuple[Var, ...]] = {}
        """The variables of the function as it was that go by a name that a call gave."""

    @abstractmethod
    def is_scope(self, scope: ScopeStmt) -> bool:
        """Whether a scope is outlined here."""

    @abstractmethod
    def outlined(self, scope: ScopeStmt, number: int) -> Stmt:
        """What takes a scope's place."""

    def visit_seq_stmts(self, node: SeqStmts) -> Stmt:
        """Tensors that a scope wrote in place go by the name that its call gave them, to the end of the region."""
        before: dict[Var, Expr | None] = {}
        stmts: list[Stmt] = []
        for stmt in node.stmts:
            stmts.append(self.visit(stmt))
            if isinstance(stmt, ScopeStmt):
                for known, name in self.pending.items():
                    own = self.named.get(known, ())
                    if known not in self.named or known in self.users.defined:
                        own = (*own, known)
                    self.named[name] = own
                    for var in own:
                        before.setdefault(var, self.remap.get(var))
                        self.remap[var] = name
            self.pending = {}
        for var, name in before.items():
            if name is None:
                self.remap.pop(var, None)
            else:
                self.remap[var] = name
        if all(a is b for a, b in zip(stmts, node.stmts, strict=True)):
            return node
        return seq(stmts, node.span)

    def visit_scope_stmt(self, scope: ScopeStmt) -> Stmt:
        """Outline it, or look inside."""
        number = self.users.scopes.get(scope)
        if number is None:
            new = self.mutate_children(scope)
            self.pending = {}
            return new
        return self.outlined(scope, number)

    def live_and_escaping(self, number: int, body: Stmt) -> tuple[frozenset[Var], frozenset[Var]]:
        """The variables at a scope's border that something else uses as well."""
        shared = self.users.used_outside
        live = frozenset(self.remap.get(v, v) for v in used_vars(body) if shared(v, number))
        return live, frozenset(v for v in defined_vars(body) if shared(v, number))  # type: ignore[arg-type]


class _Incore(ScopeOutliner):
    def __init__(
        self, function: Function, program: Program, names: FunctionNames, made: list[Function]
    ) -> None:
        self.names = names
        super().__init__(function, program, made)

    def run(self) -> Function:
        if not self.users.scopes:
            return self.function
        new = self.visit(self.function)
        if new.func_type is FunctionType.Opaque:
            new = replace(new, func_type=FunctionType.Orchestration, level=None, role=None)
        return new

    def is_scope(self, scope: ScopeStmt) -> bool:
        return is_kernel_scope(scope)

    def outlined(self, scope: ScopeStmt, number: int) -> Stmt:
        live, escapes = self.live_and_escaping(number, scope.body)
        inner = (scope,)
        inner += tuple(s for s in walk_stmts(scope.body) if isinstance(s, InCoreScopeStmt))
        body = _Dissolving(self.remap).visit(scope.body)
        hint = scope.name_hint or next((s.name_hint for s in inner if s.name_hint), "")
        prologue, bound = block_index(scope)
        plan = Plan(
            name=self.names.hinted(hint, f"{self.function.name}_incore"),
            body=body,
            func_type=FunctionType.InCore,
            scope=replace(scope, attrs=self.mutate_map(scope.attrs)) if scope.attrs else scope,
            escapes=escapes,
            defined=self.users.defined,
            names=self.values,
            functions=self.program.functions,
            prologue=prologue,
            bound=bound,
            attrs=_function_notes(inner),
            live=live,
        )
        result = outline(plan)
        self.made.append(result.function)
        self.pending = dict(result.renamed)
        call = seq(result.stmts, scope.span)
        if isinstance(scope, SpmdScopeStmt):
            count = self.visit(scope.core_num)
            # Its notes are on the call, its comments ahead of it.
            call = replace(scope, core_num=count, loop_var=None, task_id=None, attrs={}, body=call)
            call = replace(call, leading_comments=())
        return seq((*result.ahead, call), scope.span)


def block_index(scope: ScopeStmt) -> tuple[tuple[Stmt, ...], dict[Var, Expr]]:
    """Statements ahead of a scope's body, and what they define: an SPMD loop's variable is the number of the block."""
    old = scope.loop_var if isinstance(scope, SpmdScopeStmt) else None
    if old is None:
        return (), {}
    call = create_call("tile.get_block_idx", (), {}, scope.span)
    new = Var(old.name_hint, call.type, span=old.span)
    return (AssignStmt(new, call, span=scope.span),), {old: new}


def _function_notes(scopes: tuple[ScopeStmt, ...]) -> dict[str, Any]:
    """What the scopes say about how the kernel is to be split."""
    notes: dict[str, Any] = {}
    for scope in scopes:
        split = scope.split if isinstance(scope, InCoreScopeStmt) else scope.attrs.get(SPLIT)
        if split is not None:
            notes.setdefault(SPLIT, split)
        if SLOT_NUM in scope.attrs:
            notes.setdefault(SLOT_NUM, scope.attrs[SLOT_NUM])
    return notes


class _Dissolving(Mutator):
    """Core scopes inside of kernels: their statements run on the core already."""

    def visit_in_core_scope_stmt(self, scope: InCoreScopeStmt) -> Stmt:
        """The body."""
        body = self.visit(scope.body)
        return seq([SeqStmts((), leading_comments=scope.leading_comments), body], body.span)
