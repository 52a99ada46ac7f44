"""The on-chip allocations of a function, read from its tile types and alloc statements."""

from __future__ import annotations

import attrs

from pypto_core.diagnostics import UNKNOWN_SPAN, Span
from pypto_core.ir import (
    AssignStmt,
    Call,
    Function,
    MemorySpace,
    MemRef,
    PtrType,
    Stmt,
    TileType,
    Var,
    base_name,
    defined_vars,
    flatten,
)


@attrs.define(eq=False)
class Allocation:
    """One base and the tiles that lie in it.

    ``size``: bytes, those of its largest member or of its alloc statement when it was declared. ``tiles``: its
    members in program order. ``name``: unique in the function.
    """

    base: Var
    space: MemorySpace
    name: str
    size: int
    declared: bool
    tiles: list[Var] = attrs.field(factory=list)
    span: Span = UNKNOWN_SPAN

    @property
    def label(self) -> str:
        """The author's name of the first tile, with its line."""
        first = self.tiles[0] if self.tiles else self.base
        where = f" ({first.span})" if first.span.is_valid else ""
        return f"{base_name(first.name_hint)}{where}"


def memref_of(value: object) -> MemRef | None:
    """The MemRef of an on-chip tile variable; None for anything else."""
    kind = getattr(value, "type", None)
    if not isinstance(kind, TileType) or kind.memory_space in (None, MemorySpace.DDR):
        return None
    return kind.memref


def is_alloc(stmt: Stmt) -> bool:
    """Whether a statement states an allocation."""
    return isinstance(stmt, AssignStmt) and isinstance(stmt.var.type, PtrType)


def alloc_facts(function: Function) -> dict[Var, tuple[int, bool]]:
    """(bytes, declared by the author) of each allocation that the body states."""
    found: dict[Var, tuple[int, bool]] = {}
    for stmt in flatten(function.body):
        if isinstance(stmt, AssignStmt) and is_alloc(stmt) and isinstance(stmt.value, Call):
            options = stmt.value.kwargs
            found[stmt.var] = (int(options.get("size", 0)), bool(options.get("pinned", False)))
    return found


def allocations(function: Function) -> dict[Var, Allocation]:
    """The allocations of a function by base, in the order in which tiles name them."""
    stated = alloc_facts(function)
    found: dict[Var, Allocation] = {}
    names: dict[str, int] = {}
    for var in (*function.params, *defined_vars(function.body)):
        memref = memref_of(var)
        if memref is None:
            continue
        kind = var.type
        assert isinstance(kind, TileType) and kind.memory_space is not None
        known = found.get(memref.base)
        if known is None:
            size, declared = stated.get(memref.base, (0, False))
            count = names[memref.name] = names.get(memref.name, 0) + 1
            known = found[memref.base] = Allocation(
                base=memref.base,
                space=kind.memory_space,
                name=memref.name if count == 1 else f"{memref.name}#{count}",
                size=size if declared else 0,
                declared=declared,
                span=var.span,
            )
        known.size = max(known.size, memref.size)
        known.tiles.append(var)
    return found
