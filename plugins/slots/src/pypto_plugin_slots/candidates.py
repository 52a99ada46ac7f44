"""The loads of a loop that want a slot, and what keeps one from having it.

A load that is to be overwritten F trips later needs a buffer that is its own. A tile that a loop carries or a branch
yields shares its buffer with that result, and so does the source of a view or of an operator that works in place; each
also by another name that stands for the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator

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


def is_load(stmt: Stmt) -> bool:
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
    var, kind = load.var, _tile(load.var)
    name = base_name(var.name_hint)
    space = kind.memory_space
    if space not in SPACES:
        where = space.name if space is not None else "no known memory"
        return _decline(load, "PH-LS-008", "memory of the slots",
                        f"its load '{name}' lies in {where}, and rings lie in Vec, Mat or Acc", {"memory": where},
                        "load to Vec or Mat, and move from there")  # fmt: skip
    extents = [static_dim(extent) for extent in kind.valid_shape]
    if None in extents or not extents or budget.size(kind) is None:
        text = ", ".join("?" if e is None else str(e) for e in extents)
        return _decline(load, "PH-LS-009", "constant extents",
                        f"the valid extents of its load '{name}' are not constant, and a ring states one extent for "
                        "all slots" if None in extents else f"its load '{name}' has no size",
                        {"valid shape": f"[{text}]"},
                        "load whole tiles here and the rest behind the loop, or narrow the tile with a mask")  # fmt: skip
    if var in uses.carried:
        return _decline(load, "PH-LS-010", "not carried into a phi",
                        f"its load '{name}' {uses.carried[var]}, and a carried tile shares the buffer of what carries it",
                        {"carried": uses.carried[var]},
                        "carry a tile that is computed from it, or load again where it is needed")  # fmt: skip
    if var in uses.inherited:
        return _decline(load, "PH-LS-011", "not the source of a view or of an operator in place",
                        f"the result of {uses.inherited[var]} lies in the buffer of its load '{name}'",
                        {"operator": uses.inherited[var]},
                        "compute into a tile of its own first, or load the tile in the shape that is needed")  # fmt: skip
    return None


def _decline(load: AssignStmt, code: str, gate: str, because: str, facts: dict[str, object], remedy: str) -> Decline:  # fmt: skip
    name = base_name(load.var.name_hint)
    return Decline(
        code=code,
        gate=gate,
        because=because,
        facts=(("load", name), *facts.items()),
        remedy=remedy,
        span=load.span,
    )


def _loads(loop: ForStmt) -> Iterator[AssignStmt]:
    members = loop.body.stmts if isinstance(loop.body, SeqStmts) else ()
    for stmt in members:
        if isinstance(stmt, AssignStmt) and is_load(stmt):
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
