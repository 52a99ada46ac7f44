"""Rules about storage: HasMemRefs and AllocatedMemoryAddr."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from pypto_core.diagnostics import Diagnostic
from pypto_core.ir import (
    AssignStmt,
    Call,
    Expr,
    Function,
    IterArg,
    MemorySpace,
    MemRef,
    Program,
    Stmt,
    TileType,
    Var,
    bounds_of,
)
from pypto_core.ops import alias_source
from pypto_core.verify.rules import place, rule, shown
from pypto_core.verify.scan import Scan, scan
from pypto_core.verify.tiles import unlowered

if TYPE_CHECKING:
    from pypto_core.contract import Backend

_HAS = rule("HasMemRefs")
_ADDR = rule("AllocatedMemoryAddr")
_NO_ADDRESS, _OVER = 0, 1


def verify_has_mem_refs(program: Program, backend: object = None) -> Iterator[Diagnostic]:
    """Find tiles without a place in memory (1), and kernels that still work on tensors (2).

    An allocation that the author declared is no place before it is laid out. What a pop from another core's pipe
    yields, and views and aliases of it, lie in the pipe and have none.
    """
    yield from unlowered(program, _HAS, 2)
    for function in program:
        reading = scan(function)
        for var, stmt in _placeless(reading):
            yield _HAS.error(
                1,
                f"tile {shown(var)} has no MemRef",
                place(var.span, stmt.span),
                remedy="run InitMemRef",
                facts={"function": function.name},
            )
        for call, stmt in _unnamed(reading):
            yield _HAS.error(
                1,
                f"the tile that '{call.op.name}' makes has no variable, hence no MemRef",
                place(call.span, stmt.span),
                remedy="run FlattenCallExpr, then InitMemRef",
                facts={"function": function.name},
            )
        for var, stmt in reading.defs.items():
            kind = var.type
            if isinstance(kind, TileType) and kind.memref is not None and kind.memref.is_pinned:
                yield _HAS.error(
                    1,
                    f"tile {shown(var)} lies in '{kind.memref.name}', which has not been laid out",
                    place(var.span, stmt.span),
                    remedy="run InitMemRef",
                    facts={"function": function.name},
                )


def _placeless(reading: Scan) -> list[tuple[Var, Stmt]]:
    """The tile variables without a MemRef that need one."""
    found: list[tuple[Var, Stmt]] = []
    in_pipe: set[Var] = set()
    for var, stmt in reading.defs.items():
        kind = var.type
        if not isinstance(kind, TileType) or kind.memref is not None:
            continue
        value = stmt.value if isinstance(stmt, AssignStmt) else None
        if isinstance(var, IterArg):
            value = var.init_value
        if value is not None and _lies_in_pipe(value, in_pipe):
            in_pipe.add(var)
        else:
            found.append((var, stmt))
    return found


def _unnamed(reading: Scan) -> Iterator[tuple[Call, Stmt]]:
    """Calls inside of other expressions that make a tile: it will need a place of its own."""
    for call, stmt in reading.calls:
        whole = stmt.value if isinstance(stmt, AssignStmt) else getattr(stmt, "expr", None)
        if isinstance(call, Call) and isinstance(call.type, TileType) and call is not whole:
            yield call, stmt


def _lies_in_pipe(value: Expr, in_pipe: set[Var]) -> bool:
    if isinstance(value, Var):
        return value in in_pipe
    if not isinstance(value, Call):
        return False
    if value.op.name.startswith("tile.tpop_"):
        return True
    index = alias_source(value)
    source = value.args[index] if index is not None and index < len(value.args) else None
    return isinstance(source, Var) and source in in_pipe


def verify_allocated_memory_addr(program: Program, backend: Backend | None = None) -> Iterator[Diagnostic]:
    """Find on-chip tiles without an address (0), and memories that the addresses overfill (1).

    Addresses that are only known at run time count with the greatest value they can be shown to have, or not at all.
    The bounds are the backend's; without one they are not checked.
    """
    yield from unlowered(program, _ADDR, _NO_ADDRESS)
    for function in program:
        reading = scan(function)
        for var, stmt in _placeless(reading):
            yield _unplaced(function, shown(var), stmt, "it has no MemRef")
        for call, stmt in _unnamed(reading):
            yield _unplaced(function, f"of '{call.op.name}'", stmt, "it has no variable, hence no MemRef")
        highest: dict[MemorySpace, tuple[int, str]] = {}
        for var, stmt in reading.defs.items():
            kind = var.type
            if not isinstance(kind, TileType) or kind.memref is None or kind.memory_space is MemorySpace.DDR:
                continue
            assert kind.memory_space is not None
            reason = _no_address(kind.memref)
            if reason:
                yield _unplaced(function, shown(var), stmt, reason)
                continue
            _, last = bounds_of(kind.memref.byte_offset)
            end = 0 if last is None else last + kind.memref.size
            if end > highest.get(kind.memory_space, (0, ""))[0]:
                highest[kind.memory_space] = (end, shown(var))
        if backend is not None:
            yield from _overfull(function, highest, backend)


def _unplaced(function: Function, name: str, stmt: Stmt, reason: str) -> Diagnostic:
    return _ADDR.error(
        _NO_ADDRESS,
        f"Function '{function.name}': tile {name} has no address: {reason}",
        stmt.span,
        remedy="run AllocateMemoryAddr",
    )


def _no_address(memref: MemRef) -> str:
    if memref.is_pinned:
        return "its declared allocation has not been laid out"
    _, last = bounds_of(memref.byte_offset)
    if last is not None and last < 0:
        return f"its offset is {last}"
    return ""


def _overfull(
    function: Function, highest: Mapping[MemorySpace, tuple[int, str]], backend: Backend
) -> Iterator[Diagnostic]:
    for space in MemorySpace:
        used, name = highest.get(space, (0, ""))
        spec = backend.memory(space)
        limit = backend.capacity(space)
        if not limit or used <= limit:
            continue
        yield _ADDR.error(
            _OVER,
            f"Function '{function.name}': {space.name} buffer usage ({used} bytes) "
            f"exceeds platform limit ({limit} bytes)",
            function.span,
            remedy="use smaller tiles or fewer pipeline stages",
            facts={
                "used": f"{used} bytes, up to the end of {name}",
                "limit": f"{limit} bytes of {backend.title}",
                "reserved": f"{spec.reserved if spec else 0} bytes",
            },
        )
