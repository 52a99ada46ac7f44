"""What lies where: a program's allocations with their bytes and addresses, read from the IR alone."""

from __future__ import annotations

import attrs

from pypto_core.contract import Backend
from pypto_core.diagnostics import checked
from pypto_core.ir import (
    Add,
    AssignStmt,
    Call,
    ConstInt,
    Function,
    MemorySpace,
    MemRef,
    Program,
    PtrType,
    TileType,
    Var,
    defined_vars,
    flatten,
)


@attrs.frozen(kw_only=True)
class MemoryRow:
    """One allocation of a function.

    ``bytes``: its size. ``address``: where it starts in its memory, None as long as none is assigned.
    ``capacity``: bytes of that memory, None without a backend or where it has no bound. ``used``: where the highest
    allocation of the function in that memory ends, or the sum of all sizes while there are no addresses.
    ``tiles``: names of the tiles that lie in it, in program order.
    """

    function: str
    space: MemorySpace
    name: str
    bytes: int
    address: int | None
    capacity: int | None
    used: int
    tiles: tuple[str, ...] = ()


@checked()
def memory_table(
    program: Program | Function, backend: Backend | None = None, *, addressed: bool | None = None
) -> tuple[MemoryRow, ...]:
    """One row per allocation, by function, memory, address and name.

    ``addressed``: whether addresses are assigned (AllocatedMemoryAddr holds). Before that every offset counts from
    its own allocation, and allocations that share address 0 look the same; where it is not said, a function in which
    all of several allocations of a memory start at 0 is taken to have no addresses yet.
    """
    functions = (program,) if isinstance(program, Function) else tuple(program)
    return tuple(row for function in functions for row in _rows(function, backend, addressed))


def _rows(function: Function, backend: Backend | None, addressed: bool | None) -> list[MemoryRow]:
    found: dict[Var, list[Var]] = {}
    spaces: dict[Var, MemorySpace] = {}
    for var in (*function.params, *defined_vars(function.body)):
        memref = _memref(var)
        if memref is not None:
            found.setdefault(memref.base, []).append(var)
            spaces[memref.base] = var.type.memory_space  # type: ignore[attr-defined]
    stated = _stated(function)
    sizes = {base: stated.get(base) or max(_size(v) for v in tiles) for base, tiles in found.items()}
    starts = {base: _start(tiles) for base, tiles in found.items()}
    if addressed is None:
        addressed = any(starts.values()) or len(set(spaces.values())) == len(found)
    rows: list[MemoryRow] = []
    for space in MemorySpace:
        bases = [base for base in found if spaces[base] is space]
        used = (
            max((starts[b] + sizes[b] for b in bases), default=0)
            if addressed
            else sum(sizes[b] for b in bases)
        )
        capacity = backend.capacity(space) or None if backend is not None else None
        block = [
            MemoryRow(
                function=function.name,
                space=space,
                name=base.name_hint,
                bytes=sizes[base],
                address=starts[base] if addressed else None,
                capacity=capacity,
                used=used,
                tiles=tuple(dict.fromkeys(v.name_hint for v in found[base])),
            )
            for base in bases
        ]
        rows += sorted(block, key=lambda r: (r.address or 0, r.name))
    return rows


def _memref(var: Var) -> MemRef | None:
    kind = var.type
    on_chip = isinstance(kind, TileType) and kind.memory_space not in (None, MemorySpace.DDR)
    return kind.memref if on_chip else None  # type: ignore[union-attr]


def _size(var: Var) -> int:
    memref = _memref(var)
    return memref.size if memref is not None else 0


def _stated(function: Function) -> dict[Var, int]:
    return {
        stmt.var: int(stmt.value.kwargs.get("size", 0))
        for stmt in flatten(function.body)
        if isinstance(stmt, AssignStmt)
        and isinstance(stmt.var.type, PtrType)
        and isinstance(stmt.value, Call)
    }


def _start(tiles: list[Var]) -> int:
    """The least address of the tiles, as if each slot were the first."""
    return min(_origin(memref) for memref in map(_memref, tiles) if memref is not None)


def _origin(memref: MemRef) -> int:
    offset = memref.byte_offset
    if isinstance(offset, ConstInt):
        slot = memref.slot_index.value if isinstance(memref.slot_index, ConstInt) else 0
        return offset.value - slot * memref.size
    if isinstance(offset, Add) and isinstance(offset.left, ConstInt):
        return offset.left.value
    return 0
