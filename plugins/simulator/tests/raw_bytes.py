"""An oracle for plans: runs on the planned bytes and believes everything it reads.

Shares the meanings and the element maps with the engine, none of its checks: every name reads the bytes that its
MemRef names, an operator writes all of its result there. A wrong plan shows in the numbers, or not at all.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from pypto_core.contract import ArrayValue
from pypto_core.ir import MemorySpace, TileType, physical_bytes
from pypto_core.ops import is_view
from pypto_plugin_simulator.arena import ANY_TIME, Arena, Event, Ledger, Tile, peek_part, write_part
from pypto_plugin_simulator.context import Context, Meanings, as_declared
from pypto_plugin_simulator.entry import bind_inputs, collect
from pypto_plugin_simulator.formats import poisoned
from pypto_plugin_simulator.interpreter import Interpreter
from pypto_plugin_simulator.places import memref_of
from pypto_plugin_simulator.storage import first_byte, map_of
from pypto_plugin_simulator.tile_views import look


@attrs.define(eq=False)
class RawMachine:
    meanings: Meanings
    backend: Any
    addressed: bool
    ledger: Ledger = attrs.field(factory=Ledger)
    arenas: dict[Any, Arena] = attrs.field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self.ledger.record(Event("anybody"))  # the one root that all bytes belong to

    def keep(self, frame: Any) -> Any:
        return lambda: None

    def state(self, frame: Any) -> dict[str, Any]:
        return frame.core

    def data(self, value: Any) -> Any:
        if not isinstance(value, Tile):
            return value
        data = poisoned(value.shape, value.dtype)
        part, _ = peek_part(value, value.valid, (0,) * len(value.valid), self.ledger)
        data[tuple(slice(0, n) for n in value.valid)] = part
        return ArrayValue(data, value.dtype, value.valid, value.shape)

    def call(self, run: Any, frame: Any, call: Any, operands: tuple[Any, ...]) -> Any:
        context = Context(run, frame, call, self)
        if operands and isinstance(operands[0], Tile) and is_view(call):
            return look(context, operands[0], operands, self.backend.acc_row_alignment)
        given = tuple(self.data(operand) for operand in operands)
        value = as_declared(self.meanings.apply(context, given), call.type, run, frame)
        if call.name == "tile.write":
            write_part(operands[0], given[0].defined, (0,) * len(given[0].valid), 1)
        return value

    def place(self, run: Any, frame: Any, var: Any) -> tuple[Arena, int] | None:
        if memref_of(var.type) is None:
            return None
        memref = var.type.memref
        key = var.type.memory_space if self.addressed else memref.base
        arena = self.arenas.setdefault(key, Arena(var.type.memory_space, str(key), None))
        return arena, run.evaluate(memref.byte_offset, frame)

    def settle(self, run: Any, frame: Any, var: Any, value: Any, span: Any) -> Any:
        if var is None or not isinstance(var.type, TileType):
            return value
        place = self.place(run, frame, var)
        if isinstance(value, Tile):
            if place is None:
                return value
            arena, start = place
            return attrs.evolve(value, arena=arena, start=value.start + start - first_byte(value))
        kind = var.type
        arena, start = place or (Arena(kind.memory_space or MemorySpace.Vec, var.name_hint, None), 0)
        tile = Tile(
            arena=arena, start=start, map=map_of(kind, value.valid, self.backend.acc_row_alignment),
            shape=value.shape, valid=value.valid, root=1, time=ANY_TIME,
            room=(0, start + physical_bytes(kind)), name=var.name_hint,
        )  # fmt: skip
        write_part(tile, value.defined, (0,) * len(value.valid), 1)
        return tile


def run_raw(program: Any, inputs: Any, backend: Any, addressed: bool, host: Any) -> dict[str, Any]:
    """What the program writes."""
    from pypto_core.contract import entry_function

    function = entry_function(program, None)
    machine = RawMachine(Meanings(host), backend, addressed)
    run = Interpreter(program.functions, machine, 1_000_000)
    with np.errstate(all="ignore"):
        arguments = bind_inputs(function, inputs, run)
        returned = run.launch(function, arguments, None, None, function.span)
    return dict(collect(function, arguments, [machine.data(value) for value in returned]).outputs)
