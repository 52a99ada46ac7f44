"""The loads of a loop that want a slot, and what keeps one from having it.

A load that is to be overwritten F trips later needs a buffer that is its own. A tile that a loop carries or a branch
yields shares its buffer with that result, and so does the source of a view or of an operator that works in place; each
also by another name that stands for the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeGuard

import attrs

from pypto_core.ir import (
    AssignStmt,
    Call,
    EvalStmt,
    Expr,
    ForStmt,
    MemorySpace,
    SeqStmts,
    Stmt,
    TileType,
    Var,
    WhileStmt,
    YieldStmt,
    base_name,
    static_dim,
    walk,
    walk_stmts,
)
from pypto_core.ops import alias_source
from pypto_plugin_slots.budget import Budget
from pypto_plugin_slots.decline import Decline

LOAD = "tile.load"
SPACES = (MemorySpace.Vec, MemorySpace.Mat, MemorySpace.Acc)
"""Memories that the assembler takes slots in."""


@attrs.frozen(eq=False)
class Uses:
    """Tiles of a loop's body by what happens to their bytes: the name that shares them, for messages."""

    carried: dict[Var, str]
    inherited: dict[Var, str]


def wanting(loop: ForStmt) -> tuple[AssignStmt, ...]:
    """The loads that are members of the body itself and not bound to an allocation yet."""
    return tuple(stmt for stmt in _loads(loop) if _tile(stmt.var).memref is None)


def nothing_wanted(loop: ForStmt) -> Decline:
    """Why a loop without such loads is not taken."""
    bound = [base_name(stmt.var.name_hint) for stmt in _loads(loop)]
    deeper = [
        base_name(stmt.var.name_hint)
        for stmt in walk_stmts(loop.body)
        if is_load(stmt) and base_name(stmt.var.name_hint) not in bound
    ]
    if bound:
        because = f"all it loads is bound to declared allocations ({', '.join(bound)})"
    elif deeper:
        because = f"it loads only inside of its inner loops and branches ({', '.join(deeper)})"
    else:
        because = "its body loads nothing"
    return Decline(
        code="PH-LS-007", gate="a load of its own",
        because=because,
        facts=(("bound loads", len(bound)), ("nested loads", len(deeper))),
        remedy="load in the body of this loop, or give the inner loop the stages and write pl.range here",
    )  # fmt: skip


def is_load(stmt: Stmt) -> TypeGuard[AssignStmt]:
    """Whether a statement loads a tile."""
    return (
        isinstance(stmt, AssignStmt)
        and isinstance(stmt.value, Call)
        and stmt.value.name == LOAD
        and isinstance(stmt.var.type, TileType)
    )


def uses_of(body: Stmt) -> Uses:
    """What happens to the tiles of a body, nested regions included."""
    root: dict[Var, Var] = {}
    carried: dict[Var, str] = {}
    inherited: dict[Var, str] = {}

    def note(found: dict[Var, str], expr: Expr, by: str) -> None:
        for node in walk(expr):
            if isinstance(node, Var):
                found.setdefault(_root(root, node), by)

    for stmt in walk_stmts(body):
        for source, by in _inherits(stmt):
            note(inherited, source, by)
        if isinstance(stmt, AssignStmt):
            source = _same_bytes(stmt)
            if source is not None and source is not stmt.var:
                root[stmt.var] = source
        elif isinstance(stmt, ForStmt | WhileStmt):
            for arg in stmt.iter_args:
                note(carried, arg.init_value, f"starts the carry '{base_name(arg.name_hint)}' of a loop")
        elif isinstance(stmt, YieldStmt):
            for value in stmt.values:
                note(carried, value, "is yielded")
    return Uses(carried, inherited)


def load_decline(load: AssignStmt, uses: Uses, budget: Budget) -> Decline | None:
    """The first gate that a load does not pass."""
    kind = _tile(load.var)
    return (
        _space_decline(load, kind.memory_space)
        or _extent_decline(load, kind, budget)
        or _carried_decline(load, uses.carried.get(load.var))
        or _inherited_decline(load, uses.inherited.get(load.var))
    )


def _space_decline(load: AssignStmt, space: MemorySpace | None) -> Decline | None:
    if space in SPACES:
        return None
    where = space.name if space is not None else "no known memory"
    return Decline(
        code="PH-LS-008", gate="memory of the slots",
        because=f"its load '{_name(load)}' lies in {where}, and rings lie in Vec, Mat or Acc",
        facts=(("load", _name(load)), ("memory", where)),
        remedy="load to Vec or Mat, and move from there",
        span=load.span,
    )  # fmt: skip


def _extent_decline(load: AssignStmt, kind: TileType, budget: Budget) -> Decline | None:
    extents = [static_dim(extent) for extent in kind.valid_shape]
    if extents and None not in extents and budget.size(kind) is not None:
        return None
    if None in extents:
        because = (
            f"its load '{_name(load)}' has valid extents of run time, and a ring states one for all its slots"
        )
    else:
        because = f"its load '{_name(load)}' has no constant size"
    text = ", ".join("?" if extent is None else str(extent) for extent in extents)
    return Decline(
        code="PH-LS-009", gate="constant extents",
        because=because,
        facts=(("load", _name(load)), ("valid shape", f"[{text}]")),
        remedy="load whole tiles in this loop, and what is left over behind it",
        span=load.span,
    )  # fmt: skip


def _carried_decline(load: AssignStmt, how: str | None) -> Decline | None:
    if how is None:
        return None
    return Decline(
        code="PH-LS-010", gate="not carried into a phi",
        because=f"its load '{_name(load)}' {how}, and what carries a tile shares its buffer",
        facts=(("load", _name(load)), ("carried", how)),
        remedy="carry a tile that is computed from it, or load it again where it is needed",
        span=load.span,
    )  # fmt: skip


def _inherited_decline(load: AssignStmt, operator: str | None) -> Decline | None:
    if operator is None:
        return None
    return Decline(
        code="PH-LS-011", gate="not the source of a view or of an operator in place",
        because=f"the result of {operator} lies in the buffer of its load '{_name(load)}'",
        facts=(("load", _name(load)), ("operator", operator)),
        remedy="compute into a tile of its own first, or load the tile in the shape that is needed",
        span=load.span,
    )  # fmt: skip


def _name(load: AssignStmt) -> str:
    return base_name(load.var.name_hint)


def _loads(loop: ForStmt) -> Iterator[AssignStmt]:
    members = loop.body.stmts if isinstance(loop.body, SeqStmts) else ()
    for stmt in members:
        if is_load(stmt):
            yield stmt


def _tile(var: Var) -> TileType:
    assert isinstance(var.type, TileType)
    return var.type


def _root(root: dict[Var, Var], var: Var) -> Var:
    while (above := root.get(var)) is not None:
        var = above
    return var


def _same_bytes(stmt: AssignStmt) -> Var | None:
    """The tile that an assigned tile is another name of, or a view of, or that it was computed into."""
    value = stmt.value
    if not isinstance(stmt.var.type, TileType):
        return None
    if isinstance(value, Call):
        index = alias_source(value)
        value = value.args[index] if index is not None and index < len(value.args) else value
    return value if isinstance(value, Var) else None


def _inherits(stmt: Stmt) -> Iterator[tuple[Expr, str]]:
    """The operands whose bytes a tile that is made here takes over, and the operator that takes them."""
    value = stmt.value if isinstance(stmt, AssignStmt) else stmt.expr if isinstance(stmt, EvalStmt) else None
    for node in walk(value) if value is not None else ():
        if isinstance(node, Call) and isinstance(node.type, TileType):
            index = alias_source(node)
            if index is not None and index < len(node.args):
                yield node.args[index], node.name
