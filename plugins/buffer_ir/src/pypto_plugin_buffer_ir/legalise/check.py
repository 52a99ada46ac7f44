"""VerifyTileStorage: every tile has a place, and loops and branches hand their tiles on in one place each.

Two stages share the walk. *Legalized*: places count from the start of their allocation, before addresses are given.
*Allocated*: they count from the start of their memory; addresses are constants, and no copy overlaps what it reads.
This says nothing of lifetimes, nor of what has been written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import attrs

from pypto_core.diagnostics import Diagnostic, Span, VerificationError
from pypto_core.ir import (
    AssignStmt,
    Call,
    Expr,
    ForStmt,
    Function,
    IfStmt,
    MemorySpace,
    MemRef,
    Program,
    Stmt,
    TileType,
    TupleType,
    Var,
    WhileStmt,
    base_name,
    defined_vars,
    dims_equal,
    last_yield,
    static_dim,
    walk_stmts,
)
from pypto_core.verify import rule
from pypto_plugin_buffer_ir.selection import wants_buffer_ir

_LEGALIZED, _ALLOCATED = rule("TileStorageLegalized"), rule("TileStorageAllocated")
NOWHERE, REGION, OVERLAP, COPY = range(1, 5)


def verify_tile_storage_legalized(program: Program, backend: object = None) -> Iterator[Diagnostic]:
    """Find tiles without a place (1), ones that a loop or branch does not hand on in one place (2), and ones that share
    it with others that are handed on beside them (3).
    """
    for function in program:
        if wants_buffer_ir(function):
            yield from storage_problems(function, addressed=False)


def verify_tile_storage_allocated(program: Program, backend: object = None) -> Iterator[Diagnostic]:
    """The same once tiles have addresses, and copies that overlap what they read (4)."""
    for function in program:
        if wants_buffer_ir(function):
            yield from storage_problems(function, addressed=True)


def verify_tile_storage(function: Function, ctx: Any) -> Function:
    """The function itself. Raises VerificationError, also where verification is switched off."""
    if wants_buffer_ir(function):
        found = tuple(storage_problems(function, addressed=False))
        if found:
            raise VerificationError(diagnostics=found)
    return function


def storage_problems(function: Function, addressed: bool) -> Iterable[Diagnostic]:
    """What is wrong with the places of a function's tiles; nothing when lowering can rely on them."""
    walk = _Walk(function, addressed)
    walk.run()
    return walk.found


@attrs.define(eq=False)
class _Walk:
    function: Function
    addressed: bool
    found: list[Diagnostic] = attrs.field(factory=list[Diagnostic])
    windows: set[Var] = attrs.field(factory=set[Var])

    def say(self, number: int, message: str, span: Span) -> None:
        """Note a finding."""
        kind = _ALLOCATED if self.addressed else _LEGALIZED
        remedy = "run InitMemRef, LegalizeTileStorage and MaterializeSemanticAliases, in this order"
        message = f"Function '{self.function.name}': {message}"
        self.found.append(kind.error(number, message, span, remedy=remedy))

    def run(self) -> None:
        """Look at all variables and statements."""
        for stmt in walk_stmts(self.function.body):
            if isinstance(stmt, AssignStmt):
                self.note_window(stmt)
        for var in (*self.function.params, *defined_vars(self.function.body)):
            self.variable(var)
        if self.found:
            return
        for stmt in walk_stmts(self.function.body):
            if isinstance(stmt, ForStmt | WhileStmt):
                self.loop(stmt)
            elif isinstance(stmt, IfStmt):
                self.branch(stmt)
            elif self.addressed and isinstance(stmt, AssignStmt):
                self.move(stmt)

    # -- variables

    def note_window(self, stmt: AssignStmt) -> None:
        """Parts of tiles may begin at places that are known at run time only."""
        value = stmt.value
        source = value.args[0] if isinstance(value, Call) and value.args else value
        cut = isinstance(value, Call) and value.op.name == "tile.slice"
        looked = not isinstance(value, Call) or value.op.name in ("tile.reshape", "tile.reinterpret_view")
        if cut or (looked and source in self.windows):
            self.windows.add(stmt.var)

    def variable(self, var: Var) -> None:
        """A tile has a memory and a place in it."""
        kind, name = var.type, base_name(var.name_hint)
        if isinstance(kind, TupleType) and any(isinstance(t, TileType) for t in kind.types):
            self.say(NOWHERE, f"'{name}': tiles in tuples must be flattened", var.span)
        if not isinstance(kind, TileType):
            return
        memref = kind.memref
        if memref is None or kind.memory_space in (None, MemorySpace.DDR):
            self.say(NOWHERE, f"tile '{name}' must have a MemRef and memory space", var.span)
        elif memref.size <= 0:
            self.say(NOWHERE, f"tile '{name}' must have a MemRef of a positive size", var.span)
        elif self.addressed and var not in self.windows:
            address = static_dim(memref.byte_offset)
            if address is None or address < 0:
                self.say(NOWHERE, f"tile '{name}' must have a constant address, from 0 on", var.span)

    # -- regions

    def loop(self, stmt: ForStmt | WhileStmt) -> None:
        """Initial value, carry, yielded value and result of each tile are one window."""
        tail = last_yield(stmt.body)
        yields: Sequence[Expr] = tail.values if tail is not None else ()
        for slot, (arg, result) in enumerate(zip(stmt.iter_args, stmt.return_vars, strict=True)):
            if _memref(arg) is None:
                continue
            others = (arg.init_value, yields[slot] if slot < len(yields) else None, result)
            if not all(_same_window(_memref(arg), _memref(other)) for other in others):
                self.say(
                    REGION,
                    f"initial value, carry and result of '{base_name(arg.name_hint)}' must share canonical storage",
                    _span(stmt, arg),
                )
        self.disjoint(stmt.iter_args, stmt, identical=False)

    def branch(self, stmt: IfStmt) -> None:
        """Both arms leave each tile where the result is declared."""
        for body in (stmt.then_body, stmt.else_body):
            tail = last_yield(body)
            yields: Sequence[Expr] = tail.values if tail is not None else ()
            for slot, result in enumerate(stmt.return_vars):
                place = _memref(result)
                if place is None:
                    continue
                if slot >= len(yields) or not _same_window(place, _memref(yields[slot])):
                    name = base_name(result.name_hint)
                    self.say(
                        REGION,
                        f"Every tile branch arm must yield its declared storage: '{name}' does not",
                        _span(stmt, result),
                    )
        self.disjoint(stmt.return_vars, stmt, identical=True)

    def disjoint(self, variables: Sequence[Var], stmt: Stmt, *, identical: bool) -> None:
        """No two of the tiles share a byte; ``identical``: unless they are one window."""
        groups: dict[object, list[tuple[Var, MemRef]]] = {}
        for var in variables:
            memref, kind = _memref(var), var.type
            if memref is not None and isinstance(kind, TileType):
                key = kind.memory_space if self.addressed else (kind.memory_space, memref.base)
                groups.setdefault(key, []).append((var, memref))
        for members in groups.values():
            self.apart(members, stmt, identical)

    def apart(self, members: list[tuple[Var, MemRef]], stmt: Stmt, identical: bool) -> None:
        """Tiles of one allocation, or of one memory, in the order of their places."""
        if len(members) < 2:
            return
        placed: list[tuple[int, int, Var]] = []
        for var, memref in members:
            begin = static_dim(memref.byte_offset)
            if begin is None:
                self.say(
                    OVERLAP,
                    f"'{base_name(var.name_hint)}' has an unprovable symbolic overlap",
                    _span(stmt, var),
                )
                return
            placed.append((begin, begin + memref.size, var))
        placed.sort(key=lambda item: item[:2])
        last, reach = placed[0], placed[0][1]
        for item in placed[1:]:
            same = item[:2] == last[:2]
            if item[0] < reach and not (same and identical):
                names = [base_name(v.name_hint) for v in (last[2], item[2])]
                self.say(OVERLAP, f"windows overlap: '{names[0]}' and '{names[1]}'", _span(stmt, item[2]))
            last, reach = item, max(reach, item[1])

    # -- copies

    def move(self, stmt: AssignStmt) -> None:
        """What a copy reads and writes is the same bytes or has none in common."""
        value = stmt.value
        if not isinstance(value, Call) or value.op.name != "tile.move":
            return
        source, target = _memref(value.args[0]), _memref(stmt.var)
        if source is None or target is None or _space(value.args[0]) is not _space(stmt.var):
            return
        begin, other = static_dim(source.byte_offset), static_dim(target.byte_offset)
        if begin is None or other is None or (begin, source.size) == (other, target.size):
            return
        if begin < other + target.size and other < begin + source.size:
            self.say(COPY, "a copy overlaps a part of what it reads", _span(stmt, stmt.var))


def _memref(expr: Expr | None) -> MemRef | None:
    kind = expr.type if expr is not None else None
    return kind.memref if isinstance(kind, TileType) else None


def _space(expr: Expr) -> MemorySpace | None:
    kind = expr.type
    return kind.memory_space if isinstance(kind, TileType) else None


def _same_window(a: MemRef | None, b: MemRef | None) -> bool:
    if a is None or b is None:
        return False
    slots = a.slot_index is b.slot_index or (
        a.slot_index is not None and b.slot_index is not None and dims_equal(a.slot_index, b.slot_index)
    )
    sizes = (a.size, a.slot_count) == (b.size, b.slot_count)
    return a.base is b.base and sizes and slots and dims_equal(a.byte_offset, b.byte_offset)


def _span(stmt: Stmt, var: Var) -> Span:
    return stmt.span if stmt.span.is_valid else var.span
