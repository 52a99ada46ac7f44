"""Where accumulators without an address are declared: as late as they can be.

The assembler keeps a buffer alive from its declaration on. One that all of whose uses lie in one region, such as the
body of a loop, is declared right before the first of them, so that it does not live across the loop's back edge.
"""

from __future__ import annotations

from collections.abc import Mapping, Set

from pypto_core.ir import (
    AssignStmt,
    BufferType,
    Call,
    EvalStmt,
    ForStmt,
    IfStmt,
    MemorySpace,
    Stmt,
    Var,
    WhileStmt,
    flatten,
    regions,
    replace,
    seq,
)
from pypto_plugin_buffer_ir.ops import ALLOC, RESHAPE


def place_accumulators(body: Stmt, stay: Set[Var]) -> Stmt:
    """Move the definitions of accumulators; ``stay``: handles whose storage loops or branches hand on."""
    moved = {
        stmt.var: stmt
        for stmt in flatten(body)
        if isinstance(stmt, AssignStmt) and _is_accumulator(stmt, stay)
    }
    if not moved:
        return body
    families = _families(moved)
    uses: dict[Var, list[tuple[Stmt, Stmt]]] = {root: [] for root in set(families.values())}
    _collect(body, moved, families, uses)
    before: dict[Stmt, list[Stmt]] = {}
    gone: set[Stmt] = set()
    for var, stmt in moved.items():
        found = uses[families[var]]
        if found and len({region for region, _ in found}) == 1:
            before.setdefault(found[0][1], []).append(stmt)
            gone.add(stmt)
    return _rebuilt(body, before, gone) if gone else body


def _is_accumulator(stmt: AssignStmt, stay: Set[Var]) -> bool:
    kind, call = stmt.var.type, stmt.value
    return (
        isinstance(kind, BufferType)
        and kind.memory_space is MemorySpace.Acc
        and isinstance(call, Call)
        and call.op.name in (ALLOC, RESHAPE)
        and stmt.var not in stay
    )


def _families(moved: Mapping[Var, AssignStmt]) -> dict[Var, Var]:
    """Each handle with the allocation that it is a view of."""
    found: dict[Var, Var] = {}
    for var, stmt in moved.items():
        call = stmt.value
        assert isinstance(call, Call)
        source = call.args[0] if call.op.name == RESHAPE else var
        assert isinstance(source, Var)
        found[var] = found.get(source, source)
    return found


def _collect(
    region: Stmt,
    moved: Mapping[Var, AssignStmt],
    families: Mapping[Var, Var],
    uses: dict[Var, list[tuple[Stmt, Stmt]]],
) -> None:
    for stmt in flatten(region):
        if isinstance(stmt, AssignStmt) and stmt.var in moved:
            continue
        if isinstance(stmt, EvalStmt) and isinstance(stmt.expr, Call):
            for root in dict.fromkeys(families[a] for a in stmt.expr.args if a in families):  # type: ignore[index]
                uses[root].append((region, stmt))
        for inner in regions(stmt):
            _collect(inner, moved, families, uses)


def _rebuilt(region: Stmt, before: Mapping[Stmt, list[Stmt]], gone: set[Stmt]) -> Stmt:
    out: list[Stmt] = []
    comments: tuple[str, ...] = ()
    for stmt in flatten(region):
        if stmt in gone:
            comments += stmt.leading_comments
            continue
        made = [replace(s, leading_comments=()) for s in before.get(stmt, ())]
        inner = _inside(stmt, before, gone)
        if comments:
            inner = replace(inner, leading_comments=comments + inner.leading_comments)
            comments = ()
        out += [*made, inner]
    return seq(out, region.span)


def _inside(stmt: Stmt, before: Mapping[Stmt, list[Stmt]], gone: set[Stmt]) -> Stmt:
    if isinstance(stmt, ForStmt | WhileStmt):
        return replace(stmt, body=_rebuilt(stmt.body, before, gone))
    if isinstance(stmt, IfStmt):
        other = None if stmt.else_body is None else _rebuilt(stmt.else_body, before, gone)
        return replace(stmt, then_body=_rebuilt(stmt.then_body, before, gone), else_body=other)
    return stmt
