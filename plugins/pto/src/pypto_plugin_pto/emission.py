"""What recipes work with: the one object that stands for a function while it is being written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pypto_core.contract import Backend, OpEmitter, Operand, Recipe
from pypto_core.diagnostics import UNKNOWN_SPAN, DiagnosticError, InternalError, Span, UserError
from pypto_core.ir import (
    ArrayType,
    BufferType,
    Call,
    DataType,
    Expr,
    Function,
    GlobalVar,
    ScalarType,
    TensorType,
    TileType,
    Type,
    Var,
    base_name,
)
from pypto_core.ops import op_of
from pypto_plugin_pto.elsewhere import refusal
from pypto_plugin_pto.regions import Region, addressed_regions, plan_regions, write_regions
from pypto_plugin_pto.scalars import Scalars
from pypto_plugin_pto.signature import Signature
from pypto_plugin_pto.storage import Storage, TileHandle
from pypto_plugin_pto.target import TARGET_NAME
from pypto_plugin_pto.tensors import TensorHandle, Tensors
from pypto_plugin_pto.text import FunctionText
from pypto_plugin_pto.type_text import TypeWriter, element, register

_ADDRESSED_RINGS = "enable_addressed_slots"


class Emission:
    """A function while it is written; an :class:`~pypto_core.contract.EmitContext`.

    ``addresses``: buffers get addresses (level 3), else the assembler places them (level 2).
    """

    def __init__(
        self, function: Function, ctx: Any, emitters: Mapping[str, OpEmitter], addresses: bool
    ) -> None:
        self.function, self.ctx = function, ctx
        self.addresses = addresses
        self.text = FunctionText(bool(ctx.option("emit_source_loc", True)))
        self.scalars = Scalars(self.text)
        self.types = TypeWriter(ctx.backend)
        self.tensors = Tensors(self.text, self.scalars, self.types)
        regions = _regions(function, ctx, self.types, addresses)
        self.storage = Storage(self.text, self.scalars, self.types, addresses, regions)
        self.arrays: dict[Var, Operand] = {}
        self.buffers: dict[Expr, Operand] = {}
        self.signature = Signature(function, self.text, self.scalars, self.tensors)
        write_regions(regions, self.text, self.types)
        self._emitters = emitters
        self._recipes: dict[str, Recipe] = {}
        self._span: Span = UNKNOWN_SPAN

    # -- the protocol of recipes

    @property
    def backend(self) -> Backend | None:
        """The machine that is written for."""
        return self.ctx.backend

    def option(self, name: str, default: Any = None) -> Any:
        """An option of the compilation."""
        return self.ctx.option(name, default)

    def operand(self, expr: Expr) -> Operand:
        """A tile's buffer, a buffer by its handle, a tensor's pointer, an array, or a scalar in a register."""
        kind = expr.type
        if isinstance(kind, BufferType):
            return self.buffers[expr]
        if isinstance(kind, TileType):
            return self.storage.handle(expr)
        if isinstance(kind, TensorType):
            return self.tensors.handle(expr).pointer
        if isinstance(kind, ArrayType):
            return self.arrays[expr]  # type: ignore[index]
        return self.scalars.value(expr)

    def scalar(self, expr: Expr, dtype: DataType) -> Operand:
        """A scalar as an element of ``dtype``."""
        return self.scalars.coerced(expr, dtype)

    def index(self, expr: Expr) -> Operand:
        """An integer as an index."""
        return self.scalars.coerced(expr, DataType.INDEX)

    def constant(self, value: int | float | bool, dtype: DataType) -> Operand:
        """A constant."""
        return self.text.constant(value, dtype)

    def partition(
        self, tensor: Expr, offsets: Sequence[Expr], sizes: Sequence[Expr], what: str = ""
    ) -> Operand:
        """A window of a tensor."""
        handle = self.tensors.handle(tensor)
        return self.tensors.partition(handle, offsets, sizes, what or f"{handle.name}_p")

    def position(self, name: str) -> Operand:
        """What the runtime tells the kernel of its place."""
        return self.signature.hidden(f"__pypto_spmd_{name}")

    def output(self, result: Var | None) -> TileHandle:
        """The buffer that the result goes to."""
        return self.storage.output(self._needed(result))

    def output_onto(self, result: Var | None, operand: Expr) -> TileHandle:
        """The buffer of a result that starts as ``operand``."""
        return self.storage.onto(self._needed(result), operand)

    def bind(self, result: Var | None, value: Operand) -> None:
        """Let the result be a value that exists already; of an unsigned scalar, as memory holds it."""
        if result is None:
            return
        kind = result.type
        if isinstance(kind, TileType):
            is_handle = isinstance(value, TileHandle)
            self.storage.handles[result] = value if is_handle else TileHandle(value.name, value.type, kind)
        elif isinstance(kind, ScalarType):
            self.scalars.env[result] = self.scalars.inside(value, kind.dtype, result.name_hint)
        elif isinstance(kind, BufferType):
            self.buffers[result] = value
        elif isinstance(kind, ArrayType):
            self.arrays[result] = value
        else:
            raise InternalError(f"no value of type {kind!r} can be bound by a recipe", code="PTO-900")

    def line(self, text: str) -> None:
        """Write one operation."""
        self.text.line(text)

    def value(self, text: str, type: str, what: str = "") -> Operand:
        """Write one operation with a result."""
        return self.text.value(text, type, what)

    def type_of(self, kind: Type) -> str:
        """A type as text."""
        if isinstance(kind, TileType):
            return self.types.tile(kind)
        if isinstance(kind, BufferType):
            return self.types.buffer(kind)
        if isinstance(kind, TensorType):
            return self.types.pointer(kind)
        if isinstance(kind, ScalarType):
            return register(kind.dtype)
        if isinstance(kind, ArrayType):
            return f"!pto.local_array<{kind.extent}x{element(kind.dtype)}>"
        raise InternalError(f"no type {kind!r} in PTO text", code="PTO-900")

    def error(self, message: str, *, remedy: str = "", **facts: object) -> UserError:
        """An error at the call."""
        return UserError(message, code="PTO-002", span=self._span, facts=facts, remedy=remedy)

    # -- calls

    def call(self, call: Call, result: Var | None) -> None:
        """Write a call by its operator's recipe."""
        self._span = call.span
        name = call.op.name
        recipe = self._recipes.get(name) or self._found(call)
        if result is None and self._is_idle(call):
            return
        try:
            recipe(self, call, result)
        except DiagnosticError as error:
            raise error.located(call.span) from None

    def bind_tensor(self, result: Var | None, handle: TensorHandle) -> None:
        """Let a tensor variable be a window of a view."""
        if result is not None:
            self.tensors.handles[result] = handle

    def _is_idle(self, call: Call) -> bool:
        op = op_of(call)
        return op is not None and op.pure

    def _needed(self, result: Var | None) -> Var:
        if result is None:
            raise self.error("the result of this call is not assigned to anything", remedy="assign it")
        return result

    def _found(self, call: Call) -> Recipe:
        name = call.op.name
        if isinstance(call.op, GlobalVar):
            raise UserError(
                f"kernel '{self.function.name}' calls the function '{name}'",
                code="PTO-013",
                span=call.span,
                remedy="kernels call no functions: declare it with type=pl.FunctionType.Inline",
            )
        emitter = self._emitters.get(name)
        if emitter is None:
            raise refusal(call, self.function.name) or UserError(
                f"there is no recipe that writes '{name}' as PTO text",
                code="PTO-001",
                span=call.span,
                facts={"operator": name, "function": base_name(self.function.name)},
                remedy=f"a plugin gives one with the hook pypto_emitters: OpEmitter({TARGET_NAME!r}, {name!r}, recipe)",
            )
        recipe: Recipe = emitter.load()
        self._recipes[name] = recipe
        return recipe


def _regions(function: Function, ctx: Any, types: TypeWriter, addresses: bool) -> dict[Var, Region]:
    """The rings to declare; among buffers with addresses only where they were asked for."""
    if not addresses:
        return plan_regions(function, types)
    if ctx.option(_ADDRESSED_RINGS):
        return addressed_regions(function, types, ctx)
    return {}


OwnRecipe = Callable[[Emission, Call, Var | None], None]
"""A recipe of this plugin, which may use more of an emission than the protocol offers."""
