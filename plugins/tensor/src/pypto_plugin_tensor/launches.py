"""OutlineHierarchyScopes and OutlineClusterScopes: scopes around kernels become functions as well.

A scope of an outer level becomes a function of that level, ``pl.cluster`` a Group and ``pl.spmd`` a launch. They run
when something wants ``HierarchyOutlined`` or ``ClusterOutlined``; scopes mean the same to everything before that.
"""

from __future__ import annotations

from typing import Any

from pypto_core.diagnostics import UserError
from pypto_core.ir import (
    SLOT_NUM,
    SPLIT,
    ClusterScopeStmt,
    ConstInt,
    Function,
    FunctionType,
    HierarchyScopeStmt,
    Level,
    Program,
    ScopeStmt,
    SpmdScopeStmt,
    Stmt,
    replace,
    seq,
)
from pypto_plugin_tensor.incore import FunctionNames, ScopeOutliner, block_index
from pypto_plugin_tensor.outline import Plan, outline


def outline_hierarchy_scopes(program: Program, ctx: Any) -> Program:
    """The program with scopes of outer levels as functions; the same object when it has none."""
    return _outlined(program, _Hierarchy)


def outline_cluster_scopes(program: Program, ctx: Any) -> Program:
    """The program with clusters and launches as functions; the same object when it has none."""
    return _outlined(program, _Clusters)


def _outlined(program: Program, outliner: type[_Around]) -> Program:
    names = FunctionNames(program)
    made: list[Function] = []
    changed: dict[str, Function] = {}
    queue = list(program)
    for function in queue:
        here: list[Function] = []
        new = outliner(function, program, names, here).run()
        queue += here  # what was outlined may hold scopes itself
        if new is not function:
            changed[function.name] = new
        made += here
    if not changed:
        return program
    kept = [changed.get(f.name, f) for f in (*program, *made)]
    return replace(program, functions=kept)


class _Around(ScopeOutliner):
    def __init__(
        self, function: Function, program: Program, names: FunctionNames, made: list[Function]
    ) -> None:
        self.names = names
        super().__init__(function, program, made)

    def run(self) -> Function:
        return self.visit(self.function) if self.users.scopes else self.function

    def call(self, scope: ScopeStmt, number: int, suffix: str, **kind: Any) -> Stmt:
        """Outline a scope as a function of this kind."""
        live, escapes = self.live_and_escaping(number, scope.body)
        prologue, bound = block_index(scope)
        plan = Plan(
            name=self.names.hinted(scope.name_hint, f"{self.function.name}_{suffix}"),
            body=self.visit(scope.body),
            scope=replace(scope, attrs=self.mutate_map(scope.attrs)) if scope.attrs else scope,
            escapes=escapes,
            defined=self.users.defined,
            names=self.values,
            functions=self.program.functions,
            prologue=prologue,
            bound=bound,
            live=live,
            **kind,
        )
        result = outline(plan)
        self.made.append(result.function)
        self.pending = dict(result.renamed)
        return seq((*result.ahead, *result.stmts), scope.span)


class _Hierarchy(_Around):
    def is_scope(self, scope: ScopeStmt) -> bool:
        return isinstance(scope, HierarchyScopeStmt)

    def outlined(self, scope: ScopeStmt, number: int) -> Stmt:
        assert isinstance(scope, HierarchyScopeStmt)
        chip = scope.level is Level.CHIP
        return self.call(
            scope,
            number,
            scope.level.name.lower(),
            func_type=FunctionType.Orchestration if chip else FunctionType.Opaque,
            level=None if chip else scope.level,
            role=None if chip else scope.role,
        )


class _Clusters(_Around):
    def is_scope(self, scope: ScopeStmt) -> bool:
        return isinstance(scope, ClusterScopeStmt | SpmdScopeStmt)

    def outlined(self, scope: ScopeStmt, number: int) -> Stmt:
        if isinstance(scope, ClusterScopeStmt):
            return self.call(scope, number, "cluster", func_type=FunctionType.Group)
        assert isinstance(scope, SpmdScopeStmt)
        _check_optimizations(scope)
        notes: dict[str, Any] = {"sync_start": True} if scope.sync_start else {}
        count = self.visit(scope.core_num)
        if isinstance(count, ConstInt):
            # A number belongs to the launch; what is known at run time only, to each call of it.
            notes["core_num"] = count.value
        else:
            scope = replace(scope, attrs={**scope.attrs, "core_num": count})
        return self.call(scope, number, "spmd", func_type=FunctionType.Spmd, attrs=notes)


def _check_optimizations(scope: SpmdScopeStmt) -> None:
    """Refuse to lose what a launch says about a kernel that it only calls."""
    given = [name for name in (SPLIT, SLOT_NUM) if name in scope.attrs]
    if given:
        raise UserError(
            "this launch only calls kernels, and how a kernel is divided between the cores is said where it is made",
            code="PT380",
            span=scope.span,
            facts={"given": ", ".join(given)},
            remedy="put the optimizations at the pl.at that makes the kernel, or into its pl.func_attr({…})",
        )
