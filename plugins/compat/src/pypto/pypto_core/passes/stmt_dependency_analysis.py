"""Which statements of a region need which others."""

from __future__ import annotations

import attrs

from pypto_core.ir import (
    EMPTY,
    AssignStmt,
    Call,
    Expr,
    Function,
    GlobalVar,
    ParamDirection,
    Program,
    Stmt,
    Submit,
    Var,
    defined_vars,
    flatten,
    replace,
    used_vars,
    walk,
)
from pypto_core.ops import written_arguments
from pypto_core.verify import verify_or_raise


@attrs.frozen(eq=False)
class StmtDependencyGraph:
    """The statements of a region in order, and for each the earlier ones whose values or writes it sees."""

    stmts: tuple[Stmt, ...]
    _edges: dict[Stmt, tuple[Stmt, ...]] = attrs.field(repr=False)

    def get_predecessors(self, stmt: Stmt) -> list[Stmt]:
        """The statements that have to come before, in program order."""
        return list(self._edges.get(stmt, ()))


def build_stmt_dependency_graph(region: Stmt, program: Program | None = None) -> StmtDependencyGraph:
    """The graph of a region's direct statements.

    A statement follows the last ones that defined or wrote what it uses; one that defines or writes a variable anew
    follows those that used it before. ``program`` says which parameters a called function writes.
    """
    stmts = flatten(region)
    last_write: dict[Var, int] = {}
    reads: dict[Var, list[int]] = {}
    edges: dict[Stmt, tuple[Stmt, ...]] = {}
    for at, stmt in enumerate(stmts):
        used, made = used_vars(stmt), (*_defined(stmt), *_written(stmt, program))
        before = {last_write[var] for var in (*used, *made) if var in last_write}
        before |= {i for var in made for i in reads.get(var, ())}
        before.discard(at)
        edges[stmt] = tuple(stmts[i] for i in sorted(before))
        for var in used:
            reads.setdefault(var, []).append(at)
        for var in made:
            last_write[var], reads[var] = at, []
    return StmtDependencyGraph(stmts, edges)


def _defined(stmt: Stmt) -> tuple[Var, ...]:
    return (stmt.var,) if isinstance(stmt, AssignStmt) else defined_vars(stmt)


def _written(stmt: Stmt, program: Program | None) -> tuple[Var, ...]:
    found: list[Expr] = []
    for node in walk(stmt):
        if isinstance(node, Submit) or (isinstance(node, Call) and isinstance(node.op, GlobalVar)):
            callee = program.get_function(node.op.name) if program is not None else None
            directions = callee.param_directions if callee is not None else ()
            found += [a for a, d in zip(node.args, directions, strict=False) if d is not ParamDirection.In]
        elif isinstance(node, Call):
            found += [node.args[i] for i in written_arguments(node)]
    return tuple(var for var in found if isinstance(var, Var))


def check_inout_use_discipline(region: Stmt, program: Program) -> None:
    """Raise VerificationError when a region reads a variable after handing it to a function that writes it."""
    inside = set(defined_vars(region))
    free = [var for var in used_vars(region) if var not in inside]
    name = "region"
    while name in program.functions:
        name += "_"
    probe = Function(name, tuple(free), (), region, span=region.span)
    signatures = [replace(function, body=EMPTY) for function in program]
    verify_or_raise(Program(program.name, [*signatures, probe]), ("InOutUseValid",))
