"""Rings of equal buffers: which allocations become one, and why one can't.

Where the assembler places buffers, a MemRef with several slots is declared once, ahead of the body, and each use takes
the slot that its index names. An allocation that does not fit that form is an error: single buffers in its stead would
be placed on top of each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs

from pypto_core.contract import Operand
from pypto_core.diagnostics import UserError
from pypto_core.ir import (
    AssignStmt,
    Call,
    DataType,
    ForStmt,
    Function,
    IfStmt,
    MemorySpace,
    Mul,
    ScalarType,
    Stmt,
    Sub,
    TileType,
    Var,
    WhileStmt,
    base_name,
    const_index,
    flatten,
    linear,
    regions,
    scalar_type,
    static_dim,
)
from pypto_core.ops import alias_source
from pypto_plugin_pto.text import FunctionText
from pypto_plugin_pto.type_text import LOCATIONS, Extents, TypeWriter, extents_of

MOST_SLOTS = 16
_SPACES = (MemorySpace.Vec, MemorySpace.Mat, MemorySpace.Acc)


@attrs.define(eq=False)
class Region:
    """One ring: its allocation, the variable it was first seen at, and what each slot is like.

    ``kind`` is the type of the first variable that names a slot; ``address`` is where its first slot lies, None where
    the assembler decides that; ``name`` is the ring in the text, once written.
    """

    base: Var
    first: Var
    slots: int
    kind: TileType | None = None
    address: int | None = None
    name: Operand | None = None


@attrs.frozen(eq=False)
class _Survey:
    """What is known of a function's tiles before any is judged."""

    tiles: tuple[Var, ...]
    carried: frozenset[Var]
    crowded: frozenset[Var]


def plan_regions(function: Function, types: TypeWriter) -> dict[Var, Region]:
    """The rings of a function by their base, in the order in which they appear.

    Raises UserError (PTO-011) at the first tile of an allocation that can't be one.
    """
    survey = _survey(function)
    found = _candidates(survey)
    for region, reason in _blocked(found, survey, types):
        raise _refusal(region, reason)
    return found


def addressed_regions(function: Function, types: TypeWriter, ctx: Any) -> dict[Var, Region]:
    """The rings of a function whose tiles have addresses, by their base, with the address of the first slot.

    An allocation that can't be a ring keeps a buffer at an address for each tile, which is as right, and a hint
    (PTO-022) says why.
    """
    survey = _survey(function)
    found = _candidates(survey)
    blocked: dict[Var, str] = {}
    for region, reason in _blocked(found, survey, types):
        blocked.setdefault(region.base, reason)
    for region in found.values():
        region.address = _address(region)
        if region.address is None:
            blocked.setdefault(region.base, "the address of its first slot is not a constant")
    for base, reason in blocked.items():
        region = found.pop(base)
        ctx.hint(
            "PTO-022",
            _cannot(region, reason),
            region.first.span if region.first.span.is_valid else base.span,
            facts={"tile": base_name(region.first.name_hint), "slots": region.slots},
            remedy="nothing has to be done: each of its tiles has a buffer at its address; change the declaration "
            "when its slots should be guarded one by one",
        )
    return found


def write_regions(regions: dict[Var, Region], text: FunctionText, types: TypeWriter) -> None:
    """Declare the rings in the head of the function."""
    for region in regions.values():
        assert region.kind is not None
        rows, cols = (
            text.constant(static_dim(v) or 0, DataType.INDEX).name for v in extents_of(region.kind).valid
        )
        type_ = f"!pto.multi_tile_buf<{types.tile(region.kind)}, count={region.slots}>"
        at = ""
        if region.address is not None:
            at = f"addr = {text.constant(region.address, DataType.INT64).name} "
        with text.section(text.head):
            region.name = text.value(
                f"pto.alloc_multi_tile {at}valid_row = {rows} valid_col = {cols} : {type_}",
                type_,
                f"{region.base.name_hint}_mb",
            )


def _candidates(survey: _Survey) -> dict[Var, Region]:
    found: dict[Var, Region] = {}
    for var in survey.tiles:
        assert isinstance(var.type, TileType) and var.type.memref is not None
        memref = var.type.memref
        if memref.slot_count > 1:
            region = found.setdefault(memref.base, Region(memref.base, var, memref.slot_count))
            if region.kind is None and memref.slot_index is not None:
                region.kind = var.type
    return found


def _blocked(found: dict[Var, Region], survey: _Survey, types: TypeWriter) -> Iterator[tuple[Region, str]]:
    """The regions that can't be rings, with the reason at each tile that gives one."""
    for var in survey.tiles if found else ():
        assert isinstance(var.type, TileType) and var.type.memref is not None
        region = found.get(var.type.memref.base)
        reason = _blocker(var, var.type, region, types, survey) if region is not None else None
        if region is not None and reason is not None:
            yield region, reason


def _address(region: Region) -> int | None:
    """Where the first slot lies: what is left of a slot's address without its index; None when that is no number."""
    memref = region.kind.memref if region.kind is not None else None
    if memref is None or memref.slot_index is None:
        return None
    within = Mul(memref.slot_index, const_index(memref.size), scalar_type(DataType.INDEX))
    rest, terms = linear(Sub(memref.byte_offset, within, scalar_type(DataType.INDEX)))
    return rest if not terms else None


def _cannot(region: Region, reason: str) -> str:
    name = base_name(region.base.name_hint)
    return f'pl.MemRef("{name}", slots={region.slots}) can\'t be a ring of buffers: {reason}'


def _refusal(region: Region, reason: str) -> UserError:
    return UserError(
        _cannot(region, reason),
        code="PTO-011",
        span=region.first.span if region.first.span.is_valid else region.base.span,
        facts={"tile": base_name(region.first.name_hint), "slots": region.slots},
        remedy="change the declaration, or choose the planner pypto, which gives each slot an address",
    )


def _blocker(var: Var, kind: TileType, region: Region, types: TypeWriter, survey: _Survey) -> str | None:
    """Why this tile keeps its allocation from being a ring; None when it does not."""
    memref, name = kind.memref, base_name(var.name_hint)
    assert memref is not None
    slot, reference = memref.slot_index, region.kind
    if slot is None or reference is None:
        return f"tile '{name}' binds it without selecting a slot"
    if not (isinstance(slot.type, ScalarType) and slot.type.dtype.is_int):
        return f"the slot index of tile '{name}' must be an integer or index"
    if memref.slot_count != region.slots:
        return f"its tiles disagree on the number of slots, {region.slots} and {memref.slot_count}"
    if not 2 <= region.slots <= MOST_SLOTS:
        return f"a ring has 2 to {MOST_SLOTS} slots, not {region.slots}"
    if types.tile(kind) != types.tile(reference):
        return "its slots hold differently shaped tiles, and a ring has slots of one type"
    mine, theirs = extents_of(kind), extents_of(reference)
    for owner, extents in ((var, mine), (None, theirs)):
        if None in _numbers(extents):
            who = base_name(owner.name_hint) if owner is not None else base_name(region.first.name_hint)
            return f"tile '{who}' has a runtime valid shape, and a ring states one extent for all its slots"
    if _numbers(mine) != _numbers(theirs):
        (a, b), (c, d) = _numbers(mine), _numbers(theirs)
        return f"its slots have different valid shapes ({c}x{d} and {a}x{b})"
    if kind.memory_space not in _SPACES:
        where = LOCATIONS.get(kind.memory_space, "?") if kind.memory_space else "?"
        return f"a ring lies in vec, mat or acc, not in {where}"
    if memref.base in survey.carried:
        return "one of its slots is carried by a loop or is the result of an if, as a phi"
    if memref.base in survey.crowded:
        return "two of its slots are live at once inside a loop, and the assembler guards only one a trip"
    return None


def _numbers(extents: Extents) -> tuple[int | None, int | None]:
    rows, cols = (static_dim(v) for v in extents.valid)
    return rows, cols


def _survey(function: Function) -> _Survey:
    tiles: list[Var] = []
    carried: set[Var] = set()
    crowded: set[Var] = set()
    for stmt in _statements(function.body):
        if isinstance(stmt, AssignStmt) and isinstance(stmt.var.type, TileType) and stmt.var.type.memref:
            tiles.append(stmt.var)
        phis: tuple[Var, ...] = ()
        if isinstance(stmt, ForStmt | WhileStmt):
            phis = (*stmt.iter_args, *stmt.return_vars)
            crowded |= _crowded(stmt.body)
        elif isinstance(stmt, IfStmt):
            phis = stmt.return_vars
        carried |= {v.type.memref.base for v in phis if isinstance(v.type, TileType) and v.type.memref}
    return _Survey(tuple(tiles), frozenset(carried), frozenset(crowded))


def _statements(body: Stmt) -> Iterator[Stmt]:
    for stmt in flatten(body):
        yield stmt
        for inner in regions(stmt):
            yield from _statements(inner)


def _crowded(body: Stmt) -> set[Var]:
    """Bases of which one trip selects several slots; aliases and views of a selected slot select none."""
    once: set[Var] = set()
    twice: set[Var] = set()
    for stmt in _same_trip(body):
        memref = stmt.var.type.memref if isinstance(stmt.var.type, TileType) else None
        if memref is None or memref.slot_count < 2 or memref.slot_index is None:
            continue
        if isinstance(stmt.value, Call) and alias_source(stmt.value) is None:
            (twice if memref.base in once else once).add(memref.base)
    return twice


def _same_trip(body: Stmt) -> Iterator[AssignStmt]:
    """Assignments of a loop's body that no inner loop repeats."""
    for stmt in flatten(body):
        if isinstance(stmt, AssignStmt):
            yield stmt
        elif not isinstance(stmt, ForStmt | WhileStmt):
            for inner in regions(stmt):
                yield from _same_trip(inner)
