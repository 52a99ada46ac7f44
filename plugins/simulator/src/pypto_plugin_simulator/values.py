"""The engine ``values``: every tile is a value of its own, wherever it will lie in memory.

Storage is shared only as the program means it: tensors are memory, written through by whoever holds them; tiles are
values, and what an operator changes in place is a new value under the result's name. Placement is not looked at, so a
program means the same before and after memory planning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import attrs
import numpy as np

from pypto_core.contract import RunResult, TileStorage, entry_function
from pypto_core.diagnostics import Span, checked
from pypto_core.host import Host
from pypto_core.ir import Call, Function, Program, Var
from pypto_plugin_simulator.arena import Ledger
from pypto_plugin_simulator.context import Context, Meanings, as_declared
from pypto_plugin_simulator.devices.uses import note_uses
from pypto_plugin_simulator.devices.world import World
from pypto_plugin_simulator.entry import bind_inputs, collect
from pypto_plugin_simulator.frame import Frame
from pypto_plugin_simulator.interpreter import DEFAULT_MAX_STEPS, Interpreter
from pypto_plugin_simulator.storage import Lenient, root_of


@attrs.define(eq=False)
class ValuesMachine:
    """Applies operators by their meanings; what storage there is, is each root's own."""

    meanings: Meanings
    ledger: Ledger = attrs.field(factory=Ledger)

    def call(self, run: Interpreter, frame: Frame, call: Call, operands: tuple[Any, ...]) -> Any:
        """The result of an operator, valid where its type says."""
        context = Context(run, frame, call, self)
        note_uses(context, self.meanings, operands)
        return as_declared(self.meanings.apply(context, operands), call.type, run, frame)

    def settle(self, run: Interpreter, frame: Frame, var: Var | None, value: Any, span: Span) -> Any:
        """The value as it is: a name costs nothing."""
        return value

    def keep(self, frame: Frame) -> Callable[[], None]:
        """Values need no memory."""
        return lambda: None

    def fork(self) -> ValuesMachine:
        """One like it."""
        return ValuesMachine(self.meanings)

    def state(self, frame: Frame) -> dict[str, Any]:
        """What operators keep while the block runs."""
        return frame.core

    def storage(
        self, context: Context, kind: Any, address: int | None, valid: tuple[int, ...] | None, name: str
    ) -> TileStorage:
        """A new root, wherever it is said to lie."""
        return root_of(Lenient(self.ledger), kind, valid, name or context.call.name, context.call.span)


@checked()
def run(
    program: Program | Function,
    inputs: Mapping[str, Any] | Iterable[Any] = (),
    entry: str | None = None,
    *,
    host: Host | None = None,
    max_steps: int = DEFAULT_MAX_STEPS,
    block_num: int = 1,
    world_size: int = 1,
) -> RunResult:
    """Run a function of ``program`` on ``inputs`` and return what it wrote and returned.

    ``inputs``: arrays and numbers by parameter name, or in the order of the parameters. They are copied. Out parameters
    may be left out: they then begin undefined. ``entry``: the function to run; needed only when several functions are
    called by no other. ``host``: where to find the meanings of operators of other plugins; the installed ones when
    None. ``max_steps``: statements and trips after which the run is stopped. ``block_num``: how many blocks a kernel is
    launched on where the program does not say. ``world_size``: devices that take part in a run that begins on the host.

    Raises UserError, at the place in the source, for inputs that don't fit, accesses out of bounds, operators without
    a meaning, division of integers by zero and runs that don't end.
    """
    functions = {program.name: program} if isinstance(program, Function) else program.functions
    function = entry_function(program, entry)
    world = World.of(function, world_size)
    run = Interpreter(functions, ValuesMachine(Meanings(host)), max_steps, block_num)
    with np.errstate(all="ignore"):  # infinities and NaN are values here, not accidents
        arguments = bind_inputs(function, inputs, run)
        returned = run.main(function, arguments, world)
    return collect(function, arguments, returned)
