"""The engine ``values``: every tile is a value of its own, wherever it will lie in memory.

Storage is shared only as the program means it: tensors are memory, written through by whoever holds them; tiles are
values, and what an operator changes in place is a new value under the result's name. Placement is not looked at, so a
program means the same before and after memory planning.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from pypto_core.contract import ArrayValue, BlockPosition, OpExecutor, RunResult, entry_function
from pypto_core.diagnostics import DiagnosticError, InternalError, UserError
from pypto_core.ir import AssignStmt, Call, DataType, Expr, Function, Program, TensorType, TileType, Type
from pypto_plugin_simulator.catalogue import executors
from pypto_plugin_simulator.entry import bind_inputs, collect
from pypto_plugin_simulator.formats import Array, numpy_dtype, poisoned
from pypto_plugin_simulator.frame import Frame
from pypto_plugin_simulator.interpreter import DEFAULT_MAX_STEPS, Interpreter
from pypto_plugin_simulator.meanings.parts import result_dtype
from pypto_plugin_simulator.meanings.windows import corner
from pypto_plugin_simulator.rounding import convert

if TYPE_CHECKING:
    from pypto_core.host import Host


@attrs.frozen(eq=False)
class Context:
    """What a meaning sees of the run: an :class:`pypto_core.contract.ExecContext`."""

    run: Interpreter
    frame: Frame
    call: Call

    @property
    def block(self) -> BlockPosition:
        """Where in the launch the call runs."""
        return self.frame.block

    def empty(self, shape: tuple[int, ...], dtype: DataType) -> Array:
        """A new array of undefined elements."""
        return poisoned(shape, dtype)

    def value(
        self, part: Any, shape: tuple[int, ...] | None = None, dtype: DataType | None = None
    ) -> ArrayValue:
        """A new tile or tensor with ``part`` in its corner."""
        dtype = dtype or result_dtype(self)
        valid = tuple(part.shape)
        shape = valid if shape is None else shape
        is_tensor = isinstance(self.call.type, TensorType)
        if valid == shape:
            data = np.array(part, numpy_dtype(dtype), order="C")
        else:
            data = poisoned(shape, dtype)
            data[corner(valid)] = part
        return ArrayValue(data, dtype, valid, shape, is_tensor)

    def convert(self, data: Any, dtype: DataType) -> Array:
        """Floats or integers in the format of ``dtype``."""
        if data.dtype == numpy_dtype(dtype):
            return data
        source = DataType.FP64 if data.dtype.kind == "f" else DataType.INT64
        return convert(data, source, dtype)

    def evaluate(self, expr: Expr) -> Any:
        """The value of an expression where the call stands."""
        return self.run.evaluate(expr, self.frame)

    def error(self, message: str, *, remedy: str = "", **facts: object) -> UserError:
        """An error at the call."""
        return UserError(message, code="SIM-006", span=self.call.span, facts=facts, remedy=remedy)


@attrs.define(eq=False)
class ValuesMachine:
    """Applies operators by their meanings, which are looked up once each."""

    host: Host | None
    loaded: dict[str, Any] = attrs.field(factory=dict)

    def call(self, run: Interpreter, frame: Frame, call: Call, operands: tuple[Any, ...]) -> Any:
        """The result of an operator, valid where its type says."""
        name = call.op.name
        meaning = self.loaded.get(name) or self._load(call)
        try:
            value = meaning(Context(run, frame, call), *operands, **call.kwargs)
        except DiagnosticError as error:
            raise error.located(call.span) from error.__cause__
        except Exception as error:
            raise InternalError(
                f"the meaning of {name} failed: {type(error).__name__}: {error}",
                code="SIM-007",
                span=call.span,
                facts={"operands": ", ".join(map(_describe, operands))},
            ) from error
        return _as_declared(value, call.type, run, frame)

    def _load(self, call: Call) -> Any:
        executor = find_executor(call.op.name, self.host)
        if executor is None:
            raise UserError(
                f"the simulator does not know what {call.op.name} computes",
                code="SIM-008",
                span=call.span,
                remedy="a plugin that registers the operator can give its meaning with the hook pypto_executors",
            )
        return self.loaded.setdefault(call.op.name, executor.load())

    def assign(self, run: Interpreter, frame: Frame, stmt: AssignStmt, value: Any) -> Any:
        """The value as it is: a name costs nothing."""
        return value


def _describe(operand: Any) -> str:
    shown = (ArrayValue, int, float, tuple)
    return str(operand) if type(operand) in shown else type(operand).__name__


def _as_declared(value: Any, kind: Type, run: Interpreter, frame: Frame) -> Any:
    """``value`` with the valid extents of its type, which the author may have declared.

    A type that mentions a variable without a value here leaves the extents that the operator found.
    """
    if not (isinstance(value, ArrayValue) and isinstance(kind, TensorType | TileType)):
        return value
    if len(kind.shape) != len(value.shape):
        return value
    view = kind.tile_view if isinstance(kind, TileType) else kind.tensor_view
    if view is None and value.is_fully_valid:
        return value
    try:
        valid = tuple(run.evaluate(extent, frame) for extent in kind.valid_shape)
    except UserError:
        return value
    valid = tuple(min(max(n, 0), have) for n, have in zip(valid, value.data.shape, strict=True))
    return value if valid == value.valid else attrs.evolve(value, valid=valid)


def run(
    program: Program | Function,
    inputs: Mapping[str, Any] | Iterable[Any] = (),
    entry: str | None = None,
    *,
    host: Host | None = None,
    max_steps: int = DEFAULT_MAX_STEPS,
    block_num: int = 1,
) -> RunResult:
    """Run a function of ``program`` on ``inputs`` and return what it wrote and returned.

    ``inputs``: arrays and numbers by parameter name, or in the order of the parameters. They are copied. Out parameters
    may be left out: they then begin undefined. ``entry``: the function to run; needed only when several functions are
    called by no other. ``host``: where to find the meanings of operators of other plugins; the installed ones when
    None. ``max_steps``: statements and trips after which the run is stopped. ``block_num``: how many blocks a kernel is
    launched on where the program does not say.

    Raises UserError, at the place in the source, for inputs that don't fit, accesses out of bounds, operators without
    a meaning, division of integers by zero and runs that don't end.
    """
    functions = {program.name: program} if isinstance(program, Function) else program.functions
    function = entry_function(program, entry)
    run = Interpreter(functions, ValuesMachine(host), max_steps, block_num)
    with np.errstate(all="ignore"):  # infinities and NaN are values here, not accidents
        arguments = bind_inputs(function, inputs, run)
        returned = run.launch(function, arguments, None, None, function.span)
    return collect(function, arguments, returned)


@cache
def _built_in() -> Mapping[str, OpExecutor]:
    return {executor.op: executor for executor in executors()}


def find_executor(name: str, host: Host | None) -> OpExecutor | None:
    """The meaning of an operator: the built-in one, else that of ``host``, or of the installed plugins when None."""
    found = _built_in().get(name)
    if found is not None:
        return found
    if host is None:
        from pypto_core.host import load_host

        host = load_host()
    return host.executors.get(name)
