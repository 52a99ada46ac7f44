"""The engine ``bytes``: every tile lies where the plan says, in memories that remember who wrote which byte.

Operators mean what they mean in the engine ``values``; their operands are read from bytes and their results written to
bytes. A variable names a value: bytes of one root up to one event (see :mod:`arena`). Reading a byte that
belongs to another value, or to none, is an error, whatever number it holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import attrs
import numpy as np

from pypto_core.contract import RESULT, ArrayValue, Backend, RunResult, TileStorage, Touch, entry_function
from pypto_core.diagnostics import Span, checked
from pypto_core.host import Host
from pypto_core.ir import (
    AccRowAlignment,
    Call,
    CompactMode,
    Function,
    MemorySpace,
    Program,
    PtrType,
    TileType,
    Var,
    base_name,
    conservative_acc_rows,
    physical_bytes,
)
from pypto_core.ops import alias_source, is_view, scratch_arguments
from pypto_plugin_simulator.accesses import (
    Access,
    check_current,
    check_overlap,
    check_pitch,
    check_room,
    fetch,
    read_tile,
    shell,
)
from pypto_plugin_simulator.arena import (
    NOBODY,
    Event,
    Ledger,
    Tile,
    holds_any,
    mark_part,
    peek_part,
    write_part,
)
from pypto_plugin_simulator.context import Context, Meanings, as_declared
from pypto_plugin_simulator.devices.uses import note_uses
from pypto_plugin_simulator.devices.world import World
from pypto_plugin_simulator.entry import bind_inputs, collect
from pypto_plugin_simulator.formats import poisoned
from pypto_plugin_simulator.frame import Frame
from pypto_plugin_simulator.interpreter import DEFAULT_MAX_STEPS, Interpreter
from pypto_plugin_simulator.journal import Journal
from pypto_plugin_simulator.meanings.windows import corner
from pypto_plugin_simulator.places import Memories, Place, core_of, has_addresses, memref_of, place_of, wrong
from pypto_plugin_simulator.results import Allocated, Pending
from pypto_plugin_simulator.storage import first_byte, map_of, root_of
from pypto_plugin_simulator.tile_views import look
from pypto_plugin_simulator.trace import Recorder

Extents = tuple[int, ...]


@attrs.define(eq=False)
class BytesMachine:
    """Applies operators to bytes.

    ``addressed``: whether offsets in kernels are addresses, None to find out by function. ``loads``: what the running
    operator has read of storage that it holds itself.
    """

    meanings: Meanings
    backend: Backend | None = None
    addressed: bool | None = None
    journal: Journal = attrs.field(factory=Journal)
    ledger: Ledger = attrs.field(factory=Ledger)
    loads: list[Access] = attrs.field(init=False, factory=list)
    _by_function: dict[int, bool] = attrs.field(init=False, factory=dict)

    # -- the machine

    @property
    def acc_rows(self) -> AccRowAlignment:
        """Rows to which accumulators are padded."""
        return self.backend.acc_row_alignment if self.backend is not None else conservative_acc_rows

    def memories(self, frame: Frame) -> Memories:
        """Those of the core that a frame runs on."""
        return core_of(frame, self.backend)

    def has_addresses(self, frame: Frame) -> bool:
        """Whether the offsets in the frame's function are addresses."""
        if self.addressed is not None:
            return self.addressed and frame.function.is_incore
        key = id(frame.function)
        if key not in self._by_function:
            self._by_function[key] = has_addresses(frame.function)
        return self._by_function[key]

    def keep(self, frame: Frame) -> Callable[[], None]:
        """What brings all bytes of a core, and the marks on them, back to what they are now."""
        return self.memories(frame).keep()

    def fork(self) -> BytesMachine:
        """One like it; nobody records what it does."""
        return BytesMachine(self.meanings, self.backend, self.addressed)

    def state(self, frame: Frame) -> dict[str, Any]:
        """What operators keep while the block runs."""
        return frame.core

    def storage(
        self, context: Context, kind: Any, address: int | None, valid: Extents | None, name: str
    ) -> TileStorage:
        """A new root, at its address when it has one."""
        memories, span = self.memories(context.frame), context.call.span
        name = name or context.call.name
        place = None if address is None else (memories.whole(kind.memory_space), address)
        root = root_of(Strict(self, context), kind, valid, name, span, place, self.acc_rows)
        low, high = root.tile.room
        arena = root.tile.arena
        if arena.size is not None and not 0 <= low <= high <= arena.size:
            raise wrong(
                f"'{name}' lies outside of {arena.space.name}",
                span,
                code="SIM-011",
                bytes=f"[{low}, {high})",
                size=arena.size,
            )
        if place is None:
            arena.name = memories.name(name)
        return root

    # -- operators

    def call(self, run: Interpreter, frame: Frame, call: Call, operands: tuple[Any, ...]) -> Any:
        """The result of an operator: a number, a tile in memory, or one that is still to be put there."""
        operands = tuple(
            self.settle(run, frame, None, op, call.span) if isinstance(op, Pending) else op for op in operands
        )
        self.journal.begin(call)
        self.loads = []
        context = Context(run, frame, call, self)
        note_uses(context, self.meanings, operands)
        if operands and isinstance(operands[0], Tile) and is_view(call):
            return look(context, operands[0], operands, self.acc_rows)
        onto_index = alias_source(call)
        onto = operands[onto_index] if onto_index is not None and onto_index < len(operands) else None
        onto = onto if isinstance(onto, Tile) else None
        given, touches = self._touches(context, operands)
        reads = tuple(Access(t.operand, operands[t.operand], t) for t in touches or () if not t.writes)
        reads = reads if touches is not None else self._all_read(call, operands)
        data = fetch(self.ledger, call, given, reads)
        for access in reads:
            self.journal.read(access.operand, access.touch)
        self._clobber(call, operands, reads)
        found = self.meanings.apply(context, data)
        value = as_declared(found, call.type, run, frame)
        writes = tuple(t for t in touches if t.writes) if touches is not None else None
        if isinstance(value, ArrayValue) and not value.is_tensor and isinstance(call.type, TileType):
            extent = tuple(map(min, found.valid, value.valid))
            whole = (Touch(operand=RESULT, offset=(0,) * len(extent), extent=extent, writes=True),)
            return Pending(
                call=call, value=value, operands=operands, reads=reads,
                writes=whole if writes is None else writes, onto=onto, onto_index=onto_index,
                so_far=(self.journal.reads, self.journal.writes),
            )  # fmt: skip
        self._write_operands(call, operands, data, writes or ())
        self.journal.end(context, self.meanings.executor(call), self.backend, operands, value)
        if isinstance(call.type, PtrType):
            return Allocated(call.kwargs["memory_space"], int(call.kwargs["size"]))
        return value

    def _touches(
        self, context: Context, operands: tuple[Any, ...]
    ) -> tuple[tuple[Any, ...], tuple[Touch, ...] | None]:
        """The operands without their data, and what the operator's executor says that it touches."""
        given = tuple(shell(op) if isinstance(op, Tile) else op for op in operands)
        function = self.meanings.touches(context.call)
        return given, None if function is None else self.meanings.guarded(context, function, given)

    def _all_read(self, call: Call, operands: tuple[Any, ...]) -> tuple[Access, ...]:
        scratch = scratch_arguments(call)
        tiles = [(i, op) for i, op in enumerate(operands) if isinstance(op, Tile) and i not in scratch]
        return tuple(
            Access(i, op, Touch(operand=i, offset=(0,) * len(op.valid), extent=op.valid)) for i, op in tiles
        )

    def _clobber(self, call: Call, operands: tuple[Any, ...], reads: tuple[Access, ...]) -> None:
        """Scratch is overwritten with what nobody may read."""
        for index in scratch_arguments(call):
            tile = operands[index]
            if isinstance(tile, Tile):
                touch = Touch(operand=index, offset=(0,) * len(tile.shape), extent=tile.shape, writes=True)
                check_overlap(call, reads, tile, touch, in_place=False)
                event = Event(f"{call.name} uses '{tile.name}' as scratch", call.span)
                mark_part(tile, tile.shape, self.ledger.record(event, NOBODY))
                self.journal.write(tile, touch)

    def _write_operands(
        self, call: Call, operands: tuple[Any, ...], data: tuple[Any, ...], writes: Iterable[Touch]
    ) -> None:
        """What an operator without a result changes: elements of a tile, whose value stays the one it is."""
        for touch in writes:
            target = operands[touch.operand]
            if isinstance(target, Tile):
                check_current(self.ledger, call, target)
                part = data[touch.operand].data[_window(touch)]
                write_part(target, part, touch.offset, target.time)
            self.journal.write(target, touch)

    # -- results

    def settle(self, run: Interpreter, frame: Frame, var: Var | None, value: Any, span: Span) -> Any:
        """What a variable will hold: a result is put into its place, a value that has one gets the variable's."""
        if isinstance(value, Allocated):
            if var is not None and not self.has_addresses(frame):
                self.memories(frame).allocation(var, value.space, value.size)
            return None
        if isinstance(value, Pending):
            return self._put(run, frame, var, value, span)
        if isinstance(value, Tile) and var is not None:
            return self._named(run, frame, var, value, span)
        if var is not None and isinstance(var.type, TileType) and isinstance(value, ArrayValue):
            return self._arrived(run, frame, var, value, span)
        return value

    def _arrived(self, run: Interpreter, frame: Frame, var: Var, value: ArrayValue, span: Span) -> Tile:
        """A tile that comes from outside, or from a result of several parts."""
        place = place_of(run, frame, self.memories(frame), var, self.has_addresses(frame), span)
        mark = self.ledger.record(Event(f"'{base_name(var.name_hint)}' gets its value", span))
        assert isinstance(var.type, TileType)
        tile = self._tile(frame, var.type, value, place, mark, mark, base_name(var.name_hint))
        touch = Touch(operand=RESULT, offset=(0,) * len(value.valid), extent=value.valid, writes=True)
        check_room(tile, touch, span)
        write_part(tile, value.defined, touch.offset, mark)
        return tile

    def _tile(
        self,
        frame: Frame,
        kind: TileType,
        value: ArrayValue,
        place: Place | None,
        root: int,
        time: int,
        name: str,
    ) -> Tile:
        if place is None:
            space = kind.memory_space or MemorySpace.Vec
            size = physical_bytes(kind, self.acc_rows)
            place = Place(self.memories(frame).fresh(space, name, size), 0, size)
        layout = map_of(kind, value.valid, self.acc_rows)
        return Tile(
            arena=place.arena, start=place.start, map=layout, shape=value.shape, valid=value.valid, root=root,
            time=time, room=(place.start, place.stop), name=name,
        )  # fmt: skip

    def _put(self, run: Interpreter, frame: Frame, var: Var | None, done: Pending, span: Span) -> Tile:
        call = done.call
        self.journal.begin(call, *done.so_far)
        kind = var.type if var is not None and isinstance(var.type, TileType) else call.type
        assert isinstance(kind, TileType)
        name = base_name(var.name_hint) if var is not None else call.name
        memories = self.memories(frame)
        place = None if var is None else place_of(run, frame, memories, var, self.has_addresses(frame), span)
        event = Event(f"{call.name} writes '{name}'", call.span if call.span.is_valid else span)
        onto = done.onto
        placed = (
            memref_of(kind) is not None
            if var is not None
            else onto is not None and memories.holds(onto.arena)
        )
        if onto is not None and placed:
            tile = self._in_place(done, onto, place, event, name)
        else:
            mark = self.ledger.record(event)
            tile = self._tile(frame, kind, done.value, place, mark, mark, name)
            if onto is not None:
                self._carry_over(onto, tile, mark)
        for touch in done.writes:
            check_overlap(call, done.reads, tile, touch, onto=done.onto_index)
            check_pitch(call, tile, touch.extent, self.acc_rows)
            check_room(tile, touch, span)
            write_part(tile, done.value.data[_window(touch)], touch.offset, tile.time)
            self.journal.write(tile, touch)
        context = Context(run, frame, call, self)
        executor = self.meanings.executor(call)
        self.journal.end(context, executor, self.backend, done.operands, done.value, tile.arena.space)
        return tile

    def _in_place(self, done: Pending, onto: Tile, place: Place | None, event: Event, name: str) -> Tile:
        """The operand's bytes as a new value, of which the operator has set a part."""
        call, at = done.call, first_byte(onto)
        if place is not None and (place.arena is not onto.arena or place.start != at):
            raise wrong(
                f"{call.name} works in place, but '{name}' does not lie where '{onto.name}' does",
                call.span,
                code="SIM-012",
                events=(("written there", self.ledger.events[onto.root]),),
                operand=f"{onto.arena.space.name} from {at}",
                result=f"{place.arena.space.name} from {place.start}",
            )
        mark = self.ledger.record(event, onto.root)
        tile = attrs.evolve(onto, valid=done.value.valid, time=mark, name=name)
        if done.renews:  # nothing of what was there is kept
            return attrs.evolve(tile, written=None)
        check_current(self.ledger, call, onto)
        return tile

    def _carry_over(self, onto: Tile, tile: Tile, mark: int) -> None:
        """Where nothing is planned, working in place means working on a copy."""
        origin = (0,) * len(onto.valid)
        data, good = peek_part(onto, onto.valid, origin, self.ledger)
        write_part(tile, data, origin, mark, good)

    def _named(self, run: Interpreter, frame: Frame, var: Var, tile: Tile, span: Span) -> Tile:
        """A value under another name: read where and how that name says."""
        place = place_of(run, frame, self.memories(frame), var, self.has_addresses(frame), span)
        home = tile.written or tile
        layout, arena, start = home.map, home.arena, home.start
        if _is_compact(var.type) and not layout.origin:
            layout = map_of(var.type, tile.valid, self.acc_rows)
        if place is not None:
            arena, start = place.arena, home.start + place.start - first_byte(home)
        there = arena is home.arena and start == home.start and layout == home.map
        there = there or not holds_any(home, self.ledger)
        return attrs.evolve(
            tile,
            arena=arena,
            start=start,
            map=layout,
            room=tile.room if place is None else (place.start, place.stop),
            name=base_name(var.name_hint),
            written=None if there else home,
        )

    def loaded(self, value: Any) -> Any:
        """A value that leaves the run: what a tile holds."""
        if isinstance(value, tuple):
            return tuple(self.loaded(item) for item in value)  # pyright: ignore[reportUnknownVariableType]
        if not isinstance(value, Tile):
            return value
        part, _ = peek_part(value, value.valid, (0,) * len(value.valid), self.ledger)
        data = poisoned(value.shape, value.dtype)
        data[corner(value.valid)] = part
        return ArrayValue(data, value.dtype, value.valid, value.shape)


@attrs.frozen(eq=False)
class Strict:
    """Reads and writes of storage that operators hold themselves: checked, and recorded for the running operator."""

    machine: BytesMachine
    context: Context

    @property
    def ledger(self) -> Ledger:
        """The events of the run."""
        return self.machine.ledger

    def load(self, tile: Tile) -> Any:
        """The valid elements of a tile."""
        journal, origin = self.machine.journal, (0,) * len(tile.valid)
        touch = Touch(operand=RESULT, offset=origin, extent=tile.valid)
        self.machine.loads.append(Access(RESULT, tile, touch))
        journal.read(tile, touch)
        return read_tile(self.ledger, journal.call or self.context.call, tile, tile.valid, origin)

    def mark(self, tile: Tile, touch: Touch) -> int:
        """The event of a part of a tile being written, which has to lie in its allocation."""
        journal = self.machine.journal
        call = journal.call or self.context.call
        check_room(tile, touch, call.span)
        check_overlap(call, self.machine.loads, tile, touch)
        journal.write(tile, touch)
        return self.ledger.record(Event(f"{call.name} writes '{tile.name}'", call.span), tile.root)


def _is_compact(kind: Any) -> bool:
    """Whether a tile's rows lie at the pitch of its valid ones."""
    if not isinstance(kind, TileType) or kind.memory_space is not MemorySpace.Acc:
        return False
    return kind.view.compact is not CompactMode.null


def _window(touch: Touch) -> tuple[slice, ...]:
    return tuple(slice(o, o + n) for o, n in zip(touch.offset, touch.extent, strict=True))


@checked()
def run(
    program: Program | Function,
    inputs: Mapping[str, Any] | Iterable[Any] = (),
    entry: str | None = None,
    *,
    host: Host | None = None,
    backend: Backend | None = None,
    addressed: bool | None = None,
    recorder: Recorder | None = None,
    max_steps: int = DEFAULT_MAX_STEPS,
    block_num: int = 1,
    world_size: int = 1,
) -> RunResult:
    """Run a function of ``program`` on bytes; arguments and result as of :func:`pypto_plugin_simulator.values.run`.

    ``backend``: the machine, which bounds its memories and pads its accumulators; unbounded memories when None.
    ``addressed``: whether the offsets in MemRefs are addresses, as after a planner that assigns them; found out by
    function when None. ``recorder``: takes a :class:`pypto_plugin_simulator.trace.Step` per operator.

    Raises UserError also for bytes that are read although no one, or another value, has written them; for places
    outside of a memory or an allocation; for results that overwrite their operands while they are read.
    """
    functions = {program.name: program} if isinstance(program, Function) else program.functions
    function = entry_function(program, entry)
    world = World.of(function, world_size)
    machine = BytesMachine(Meanings(host), backend, addressed, Journal(recorder))
    run = Interpreter(functions, machine, max_steps, block_num)
    with np.errstate(all="ignore"):
        arguments = bind_inputs(function, inputs, run)
        for param, value in zip(function.params, arguments, strict=True):
            if isinstance(value, ArrayValue):
                machine.journal.name_tensor(value, base_name(param.name_hint))
        returned = run.main(function, arguments, world)
        returned = tuple(machine.loaded(value) for value in returned)
    return collect(function, arguments, returned)
