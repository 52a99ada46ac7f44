"""Where tiles lie: the memories of a core, and the places that MemRefs name in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from pypto_core.contract import Backend
from pypto_core.diagnostics import Note, Span, UserError
from pypto_core.ir import (
    Add,
    ConstInt,
    Expr,
    Function,
    MemorySpace,
    MemRef,
    TileType,
    Var,
    base_name,
    defined_vars,
)
from pypto_plugin_simulator.arena import Arena, Event
from pypto_plugin_simulator.frame import Frame
from pypto_plugin_simulator.interpreter import Interpreter


def wrong(
    message: str,
    span: Span,
    *,
    code: str,
    remedy: str = "",
    events: tuple[tuple[str, Event], ...] = (),
    **facts: object,
) -> UserError:
    """An error about bytes. ``events``: what happened before, and where."""
    notes = tuple(Note(message=f"{said}: {event.what}", span=event.span) for said, event in events)
    return UserError(message, code=code, span=span, facts=facts, remedy=remedy, notes=notes)


@attrs.frozen(eq=False)
class Place:
    """Bytes ``start`` to ``stop`` of an arena."""

    arena: Arena
    start: int
    stop: int


@attrs.define(eq=False)
class Memories:
    """The on-chip memories of one core, and the allocations whose place is not planned.

    ``rings``: where the slots of an allocation begin, as the first of them was found.
    """

    backend: Backend | None
    arenas: dict[MemorySpace, Arena] = attrs.field(factory=dict)
    allocations: dict[Var, Arena] = attrs.field(factory=dict)
    rings: dict[Var, int] = attrs.field(factory=dict)
    names: dict[str, int] = attrs.field(factory=dict)

    def whole(self, space: MemorySpace) -> Arena:
        """A memory of the machine; without bound where the machine states none."""
        found = self.arenas.get(space)
        if found is None:
            size = self.backend.capacity(space) if self.backend is not None else 0
            found = self.arenas[space] = Arena(space, "", size or None)
        return found

    def allocation(self, base: Var, space: MemorySpace, size: int | None = None) -> Arena:
        """An allocation by itself, of the size that it was first seen with."""
        found = self.allocations.get(base)
        if found is None:
            found = self.allocations[base] = Arena(space, self.name(base.name_hint), size)
        return found

    def fresh(self, space: MemorySpace, name: str, size: int) -> Arena:
        """Bytes that nothing else has."""
        return Arena(space, self.name(name), size)

    def holds(self, arena: Arena) -> bool:
        """Whether an arena is one of the plan's, not bytes made up for a tile without a place."""
        return any(arena is known for known in (*self.arenas.values(), *self.allocations.values()))

    def keep(self) -> Callable[[], None]:
        """What gives every memory its present bytes and marks again."""
        arenas = (*self.arenas.values(), *self.allocations.values())
        saved = [(arena, arena.data.copy(), arena.marks.copy()) for arena in arenas]

        def back() -> None:
            for arena, data, marks in saved:
                arena.data, arena.marks = data.copy(), marks.copy()

        return back

    def name(self, name: str) -> str:
        """The name, numbered from the second time on."""
        count = self.names[name] = self.names.get(name, 0) + 1
        return name if count == 1 else f"{name}#{count}"


def core_of(frame: Frame, backend: Backend | None) -> Memories:
    """The memories of the core that a frame runs on."""
    found = frame.core.get("simulator.memories")
    if found is None:
        found = frame.core["simulator.memories"] = Memories(backend)
    return found


def memref_of(kind: Any) -> MemRef | None:
    """What a type says of where its tile lies on chip; None when it says nothing yet."""
    if not isinstance(kind, TileType) or kind.memory_space in (None, MemorySpace.DDR):
        return None
    memref = kind.memref
    return None if memref is None or memref.is_pinned else memref


def place_of(
    run: Interpreter, frame: Frame, memories: Memories, var: Var, addressed: bool, span: Span
) -> Place | None:
    """The bytes that a variable's MemRef names now; None when it names none.

    Raises UserError when they lie outside of the memory or of the allocation, or contradict the slot that it states.
    """
    kind, memref = var.type, memref_of(var.type)
    if memref is None:
        return None
    assert isinstance(kind, TileType) and kind.memory_space is not None
    start = run.evaluate(memref.byte_offset, frame)
    arena = (
        memories.whole(kind.memory_space)
        if addressed
        else memories.allocation(memref.base, kind.memory_space)
    )
    name, stop = base_name(var.name_hint), start + memref.size
    if start < 0 or (arena.size is not None and stop > arena.size):
        raise wrong(
            f"'{name}' lies outside of {arena.name or kind.memory_space.name}",
            span,
            code="SIM-011",
            bytes=f"[{start}, {stop})",
            size=arena.size,
            remedy="the plan is wrong: compile again, and report it to whoever planned the memory",
        )
    if memref.slot_count > 1 and memref.slot_index is not None:
        _check_slot(run, frame, memories, memref, start, addressed, name, span)
    return Place(arena, start, stop)


def _check_slot(
    run: Interpreter,
    frame: Frame,
    memories: Memories,
    memref: MemRef,
    start: int,
    addressed: bool,
    name: str,
    span: Span,
) -> None:
    """A slot's bytes begin slot index times slot size after those of slot 0."""
    assert memref.slot_index is not None
    slot = run.evaluate(memref.slot_index, frame)
    origin = start - slot * memref.size
    ring = memories.rings.setdefault(memref.base, origin) if addressed else 0
    if not 0 <= slot < memref.slot_count:
        raise wrong(
            f"'{name}' is in slot {slot} of {memref.slot_count}", span, code="SIM-012", allocation=memref.name
        )
    if origin != ring:
        raise wrong(
            f"'{name}' is in slot {slot}, but its bytes are not those of that slot",
            span,
            code="SIM-012",
            allocation=memref.name,
            bytes=f"from {start}",
            slot=f"from {ring + slot * memref.size}",
        )


def has_addresses(function: Function) -> bool:
    """Whether the MemRefs of a function count from the start of a memory rather than of an allocation.

    Found out from the least offset of each allocation: one that is not zero is an address. Where all are zero,
    allocations are told apart, which shows fewer faults.
    """
    least: dict[Var, int] = {}
    for var in (*function.params, *defined_vars(function.body)):
        memref = memref_of(var.type)
        if memref is not None:
            offset = _constant_part(memref.byte_offset)
            if memref.slot_count > 1 and isinstance(memref.slot_index, ConstInt):
                offset -= memref.slot_index.value * memref.size
            least[memref.base] = min(offset, least.get(memref.base, offset))
    return any(offset > 0 for offset in least.values())


def _constant_part(offset: Expr) -> int:
    if isinstance(offset, ConstInt):
        return offset.value
    if isinstance(offset, Add) and isinstance(offset.left, ConstInt):
        return offset.left.value
    return 0
