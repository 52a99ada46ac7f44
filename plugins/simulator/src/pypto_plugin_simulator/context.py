"""How a meaning is applied: what it sees of the run, and what its result is taken for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

import attrs
import numpy as np

from pypto_core.contract import (
    ArrayValue,
    BlockPosition,
    Device,
    DistributedValue,
    OpExecutor,
    TileStorage,
    load_reference,
)
from pypto_core.diagnostics import DiagnosticError, InternalError, UserError
from pypto_core.ir import Call, DataType, Expr, Op, TensorType, TileType, Type
from pypto_core.ops import is_view
from pypto_plugin_simulator.catalogue import executors
from pypto_plugin_simulator.formats import Array, numpy_dtype, poisoned
from pypto_plugin_simulator.frame import Frame
from pypto_plugin_simulator.interpreter import Interpreter
from pypto_plugin_simulator.meanings.parts import result_dtype
from pypto_plugin_simulator.meanings.windows import corner
from pypto_plugin_simulator.rounding import convert

if TYPE_CHECKING:
    from pypto_core.host import Host


class StorageSource(Protocol):
    """What an engine gives to operators that work on storage."""

    @property
    def meanings(self) -> Meanings:
        """Where it finds meanings."""
        ...

    def state(self, frame: Frame) -> dict[str, Any]:
        """What operators keep while the block runs."""
        ...

    def storage(
        self, context: Context, kind: Any, address: int | None, valid: tuple[int, ...] | None, name: str
    ) -> TileStorage:
        """A new root."""
        ...


@attrs.frozen(eq=False)
class Context:
    """What a meaning sees of the run: an :class:`pypto_core.contract.ExecContext`."""

    run: Interpreter
    frame: Frame
    call: Call
    source: StorageSource

    @property
    def block(self) -> BlockPosition:
        """Where in the launch the call runs."""
        return self.frame.block

    @property
    def device(self) -> Device:
        """The device that the call runs on; what it says is about this call."""
        self.run.device.span = self.call.span
        return self.run.device

    @property
    def run_state(self) -> dict[str, Any]:
        """What operators keep while the block runs."""
        return self.source.state(self.frame)

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

    def storage(
        self,
        kind: Any,
        address: int | None = None,
        valid: tuple[int, ...] | None = None,
        name: str = "",
    ) -> TileStorage:
        """A new root."""
        return self.source.storage(self, kind, address, valid, name)

    def compute(self, op: str, kind: Type, *operands: Any, **options: Any) -> Any:
        """What another operator gives for these operands."""
        call = Call(Op(op), self.call.args, options, type=kind, span=self.call.span)
        return self.source.meanings.apply(attrs.evolve(self, call=call), operands)


@attrs.define(eq=False)
class Meanings:
    """The meanings of operators, which are looked up once each."""

    host: Host | None
    known: dict[str, OpExecutor] = attrs.field(factory=dict)
    loaded: dict[str, Any] = attrs.field(factory=dict)

    def executor(self, call: Call) -> OpExecutor:
        """Who says what the call computes."""
        name = call.op.name
        found = self.known.get(name) or find_executor(name, self.host)
        if found is None:
            raise UserError(
                f"the simulator does not know what {name} computes",
                code="SIM-008",
                span=call.span,
                remedy="a plugin that registers the operator can give its meaning with the hook pypto_executors",
            )
        return self.known.setdefault(name, found)

    def waiting(self) -> frozenset[str]:
        """The operators that may have to wait for other devices."""
        host = self.host
        if host is None:
            from pypto_core.host import load_host

            host = load_host()
        return frozenset(name for name, executor in host.executors.items() if executor.waits)

    def touches(self, call: Call) -> Any:
        """The function of the call's executor that says what is touched; None where that is all that is valid."""
        executor = self.executor(call)
        if isinstance(executor.touches, str):
            executor = attrs.evolve(
                executor, touches=load_reference(executor.touches, f"touches of {executor.op}")
            )
            self.known[executor.op] = executor
        return executor.touches

    def apply(self, context: Context, operands: tuple[Any, ...]) -> Any:
        """The result of the context's call."""
        call = context.call
        meaning = self.loaded.get(call.op.name)
        if meaning is None:
            meaning = self.loaded.setdefault(call.op.name, self.executor(call).load())
        value = self.guarded(context, meaning, operands)
        if isinstance(value, DistributedValue) and is_view(call):
            return self._view_everywhere(context, meaning, value, operands)
        return value

    def _view_everywhere(
        self, context: Context, meaning: Any, value: DistributedValue, operands: tuple[Any, ...]
    ) -> DistributedValue:
        """The same look at what each device has."""
        source, rest = operands[0], operands[1:]
        parts = tuple(
            self.guarded(context, meaning, (source.on(rank), *rest)).data for rank in range(len(source.parts))
        )
        if value.data.size and not np.may_share_memory(value.data, source.data):
            raise context.error(
                "this look at a distributed tensor is a copy, which no other device sees",
                remedy="take the window of the tensor itself, and reshape what is loaded from it",
            )
        return attrs.evolve(value, parts=parts)

    def guarded(self, context: Context, function: Any, operands: tuple[Any, ...]) -> Any:
        """What a function of an executor gives; its errors become errors at the call."""
        call = context.call
        try:
            return function(context, *operands, **call.kwargs)
        except DiagnosticError as error:
            raise error.located(call.span) from error.__cause__
        except Exception as error:
            raise InternalError(
                f"the meaning of {call.op.name} failed: {type(error).__name__}: {error}",
                code="SIM-007",
                span=call.span,
                facts={"operands": ", ".join(map(_describe, operands))},
            ) from error


def _describe(operand: Any) -> str:
    shown = (ArrayValue, int, float, tuple)
    return str(operand) if type(operand) in shown else type(operand).__name__


def as_declared(value: Any, kind: Type, run: Interpreter, frame: Frame) -> Any:
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
