"""Which variables a function assigns so that they need new names, and what can't be named at all."""

from __future__ import annotations

from pypto_core.diagnostics import UserError
from pypto_core.ir import (
    BreakStmt,
    ContinueStmt,
    ForStmt,
    Function,
    IfStmt,
    ReturnStmt,
    Stmt,
    Var,
    WhileStmt,
    defined_vars,
    flatten,
    walk_stmts,
)
from pypto_plugin_structure.dataflow import Dataflow, own_defs


def refuse_exits(function: Function) -> None:
    """Raise PT330 where control leaves a region before its end."""
    last = flatten(function.body)[-1:]
    words: dict[type, str] = {BreakStmt: "break", ContinueStmt: "continue", ReturnStmt: "early return"}
    for stmt in walk_stmts(function.body):
        word = words.get(type(stmt))
        if word is not None and stmt not in last:
            raise UserError(
                f"'{word}' can't be brought into SSA form" if word != "early return" else
                "a return that is not the function's last statement can't be brought into SSA form",
                code="PT330",
                span=stmt.span,
                facts={"function": function.name},
                remedy="run CtrlFlowTransform first: it makes conditions out of early exits",
            )  # fmt: skip


def variables_to_rename(function: Function, body: Stmt, flow: Dataflow) -> set[Var]:
    """Variables that are assigned more than once, or read where their assignment is not visible."""
    counts: dict[Var, int] = dict.fromkeys(function.params, 1)
    for var in defined_vars(body):
        counts[var] = counts.get(var, 0) + 1
    repeated = {v for v, n in counts.items() if n > 1}
    for stmt in walk_stmts(body):
        if isinstance(stmt, ForStmt | WhileStmt | IfStmt):
            inner, own = flow.inside[id(stmt)], own_defs(stmt)
            repeated.update(v for v in flow.live[id(stmt)] if v not in own)
            if not isinstance(stmt, IfStmt):
                repeated.update(v for v in inner.exposed if v in inner.assigned)
    repeated.update(v for v in flow.whole.assigned if v in flow.whole.exposed)
    return repeated
