"""Rules about scopes and about what may be left in orchestration and kernels after outlining."""

from __future__ import annotations

from collections.abc import Iterator

from pypto_core.diagnostics import Diagnostic, Severity
from pypto_core.ir import (
    Call,
    ClusterScopeStmt,
    FunctionType,
    HierarchyScopeStmt,
    InCoreScopeStmt,
    Program,
    SpmdScopeStmt,
    walk_stmts,
)
from pypto_core.verify.incore import incore_calls
from pypto_core.verify.kernels import is_kernel_scope, is_tile_compute
from pypto_core.verify.rules import Rule, place, rule
from pypto_core.verify.scan import scan

_NESTED = rule("NoNestedInCore")
_SPLIT = rule("SplitIncoreOrch")
_CLUSTER = rule("ClusterOutlined")
_HIERARCHY = rule("HierarchyOutlined")
_TILES = rule("IncoreTileOps")

# Orchestration makes, cuts, joins and describes tensors itself; everything else on them is a kernel's work.
_ORCHESTRATES = frozenset(
    f"tensor.{name}"
    for name in (
        "alloc", "assemble", "create", "dim", "expand_clone", "full", "get_block_idx", "get_block_num",
        "get_subblock_idx", "read", "reshape", "set_validshape", "slice", "transpose", "view", "write",
    )
)  # fmt: skip


def verify_no_nested_in_core(program: Program, backend: object = None) -> Iterator[Diagnostic]:
    """Find InCore scopes inside InCore scopes (1)."""
    for function in program:
        inner: dict[InCoreScopeStmt, None] = {}
        for scope in scan(function).of(InCoreScopeStmt):
            if scope in inner:
                continue
            inner.update((s, None) for s in walk_stmts(scope.body) if isinstance(s, InCoreScopeStmt))
        for scope in inner:
            yield _NESTED.error(
                1,
                f"an InCore scope lies inside another one in function '{function.name}'",
                scope.span,
                remedy="remove the inner scope: its code runs on the core already",
            )


def _left(program: Program, which: Rule, classes: tuple[type, ...], remedy: str) -> Iterator[Diagnostic]:
    for function in program:
        for scope in scan(function).of(*classes):
            kind = type(scope).__name__.removesuffix("ScopeStmt")
            yield which.error(
                1, f"a {kind} scope is left in function '{function.name}'", scope.span, remedy=remedy
            )


def verify_split_incore_orch(program: Program, backend: object = None) -> Iterator[Diagnostic]:
    """Find scopes with kernel code that are not functions yet (1), and warn of tensor compute in orchestration (2)."""
    yield from _left(program, _SPLIT, (InCoreScopeStmt,), "run OutlineIncoreScopes")
    for function in program:
        kernels: list[InCoreScopeStmt | SpmdScopeStmt] = [*scan(function).of(InCoreScopeStmt)]
        for scope in scan(function).of(SpmdScopeStmt):
            if is_kernel_scope(scope):
                kernels.append(scope)
                yield _SPLIT.error(
                    1,
                    f"an Spmd scope of function '{function.name}' holds kernel code",
                    scope.span,
                    remedy="run OutlineIncoreScopes",
                )
        if function.func_type is not FunctionType.Orchestration:
            continue
        outlined = {stmt for scope in kernels for stmt in walk_stmts(scope.body)}  # these will be kernels
        for call, stmt in scan(function).calls:
            name = call.op.name
            if stmt in outlined:
                continue
            if isinstance(call, Call) and name.startswith("tensor.") and name not in _ORCHESTRATES:
                yield _SPLIT.error(
                    2,
                    f"orchestration function '{function.name}' computes with '{name}'",
                    place(call.span, stmt.span),
                    remedy="move it into a kernel, for example under pl.at(level=pl.Level.CORE_GROUP)",
                    severity=Severity.WARNING,
                )


def verify_cluster_outlined(program: Program, backend: object = None) -> Iterator[Diagnostic]:
    """Find cluster and SPMD scopes that are not functions yet (1)."""
    return _left(program, _CLUSTER, (ClusterScopeStmt, SpmdScopeStmt), "run OutlineClusterScopes")


def verify_hierarchy_outlined(program: Program, backend: object = None) -> Iterator[Diagnostic]:
    """Find scopes of outer levels that are not functions yet (1)."""
    return _left(program, _HIERARCHY, (HierarchyScopeStmt,), "run OutlineHierarchyScopes")


def verify_incore_tile_ops(program: Program, backend: object = None) -> Iterator[Diagnostic]:
    """Find tensor operators in kernels that have to be tile operators (1)."""
    for function, call, stmt in incore_calls(program):
        if isinstance(call, Call) and is_tile_compute(call.op.name):
            yield _TILES.error(
                1,
                f"kernel code of function '{function.name}' works on a tensor with '{call.op.name}'",
                place(call.span, stmt.span),
                remedy="run ConvertTensorToTileOps, or write the tile operator and load the tensor first",
            )
