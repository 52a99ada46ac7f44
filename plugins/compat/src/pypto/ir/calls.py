"""Calls of operators from Python values, and questions to the operator registry."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from pypto.arithmetic import index, operand
from pypto.ir.buffers import refuse_internal
from pypto.ir.definitions import check_options, definition
from pypto_core.diagnostics import UNKNOWN_SPAN, OpError, Span
from pypto_core.ir import (
    UNKNOWN,
    ArgEffect,
    Call,
    ConstInt,
    DataType,
    Expr,
    MakeTuple,
    MemorySpace,
    Op,
    ScalarType,
    Type,
    replace,
)
from pypto_core.ops import (
    INHERIT,
    REQUIRED,
    FromOption,
    Kind,
    OpDef,
    Param,
    active_registry,
    create_call,
    effect_of,
    find_op,
    op_ref,
)

_ABSENT: Any = object()


Options = Mapping[str, Any]


class WriteChannel(enum.Enum):
    """How an operator's writes to global memory travel: with the DMA engines, or from the scalar core."""

    Dma = 0
    Scalar = 1


_DEFERRED = "deferred"
_SCRATCH = ("tmp", "tmp_tile", "scratch")
_SCALAR_WRITES = ("tile.write", "tensor.write")


def create_op_call(op_name: str, args: Iterable[Any], *rest: Any, **named: Any) -> Call:
    """``create_op_call(op_name, args[, kwargs], span)``: a call with its type deduced.

    Numbers and lists are taken for constants and tuples, numbers and names for enum members where the operator asks for
    one. Raises InvalidOperationError for an unknown operator and OpError for what it does not accept.
    """
    options, span = _options_and_span(rest, named)
    refuse_internal(op_name)
    op = definition(op_name)
    check_options(op, options)
    values = [_positional(op, i, value, list(args)) for i, value in enumerate(args)]
    return create_call(op_name, values, {k: _option(op, k, v) for k, v in options.items()}, span)


def _options_and_span(rest: tuple[Any, ...], named: dict[str, Any]) -> tuple[Options, Span]:
    span: Span = named.pop("span", None) or next((r for r in rest if isinstance(r, Span)), UNKNOWN_SPAN)
    maps: list[Any] = [item for item in rest if isinstance(item, Mapping)]
    options: Options = named.pop("kwargs", None) or (maps[0] if maps else {})
    if named or any(not isinstance(r, Span | Mapping) for r in rest if r is not None):
        raise TypeError("create_op_call takes the operator's name, its arguments, its options and a span")
    return options, span


def make_call(op: Op | str, args: Iterable[Expr], *rest: Any, **named: Any) -> Call:
    """``make_call(op, args[, kwargs][, type], span)``: a call with the type given, deduced from nothing."""
    kind: Type = named.pop("type", None) or next((r for r in rest if isinstance(r, Type)), UNKNOWN)
    options, span = _options_and_span(tuple(r for r in rest if not isinstance(r, Type)), named)
    return Call(op_ref(op) if isinstance(op, str) else op, tuple(args), options, {}, type=kind, span=span)


def set_call_attrs(call: Call, attrs: Options) -> Call:
    """The call with these notes of the compiler instead of those it has."""
    return replace(call, attrs=attrs)


def get_op(name: str) -> Op:
    """The reference to a registered operator; raises InvalidOperationError for any other name."""
    return definition(name).ref


def is_op_registered(name: str) -> bool:
    """Whether an operator of that name is known."""
    return find_op(name) is not None


def get_op_memory_spec(op_name: str) -> dict[str, Any] | None:
    """``input_constraints`` (a list of spaces for each argument) and ``output_memory``; None without memory rules.

    The output memory is a space, ``"deferred"`` when an option or inference decides, ``"inherit_from_input"`` or None.
    """
    memory = definition(op_name).memory
    if memory is None:
        return None
    output = memory.output
    if isinstance(output, FromOption):
        output = _DEFERRED
    elif output == INHERIT:
        output = "inherit_from_input"
    return {"input_constraints": [list(spaces or ()) for spaces in memory.inputs], "output_memory": output}


def get_op_arg_effect(op_name: str, index: int, **kwargs: Any) -> ArgEffect:
    """What an operator does to the storage of an argument; an atomic write reads it too."""
    op = _functional(op_name)
    options = {name: _option(op, name, value) for name, value in kwargs.items()}
    return effect_of(Call(op.ref, (), options, {}, type=UNKNOWN), index)


def op_arg_is_workspace(op_name: str, index: int) -> bool:
    """Whether an argument is scratch: its elements mean nothing before the operator runs, nor afterwards.

    Raises OpError, a ValueError, for an operator of the Buffer stage, whose operands say so themselves.
    """
    op = _functional(op_name)
    return index < len(op.operands) and op.operands[index].name in _SCRATCH


def _functional(op_name: str) -> OpDef:
    op = definition(op_name)
    if op.buffer is not None:
        raise OpError(f"operator {op_name} is of the Buffer stage: it requires GetBufferArgEffect")
    return op


def op_has_declared_arg_effects(op_name: str) -> bool:
    """Whether an operator says what it does to the storage of its arguments."""
    return bool(definition(op_name).effects)


def op_has_declared_arg_effect(op_name: str, index: int) -> bool:
    """Whether an operator says what it does to the storage of this argument."""
    return index in definition(op_name).effects


def get_op_write_channel(op_name: str) -> WriteChannel:
    """How what the operator writes gets to memory."""
    return WriteChannel.Scalar if definition(op_name).name in _SCALAR_WRITES else WriteChannel.Dma


class OpNamespace:
    """Operators of one group as Python functions: ``ir.op.tile.load(tensor, [0, 0], [64, 64])``.

    Arguments and options are named and ordered as in the kernel language; ``span=`` gives the place.
    """

    def __init__(self, group: str) -> None:
        self._group = group

    def __getattr__(self, name: str) -> Callable[..., Call]:
        if name.startswith("__"):
            raise AttributeError(name)
        full = f"{self._group}.{name.rstrip('_')}"
        if not is_op_registered(full):
            raise AttributeError(f"there is no operator '{full}'")
        return wrapper(full)

    def __dir__(self) -> list[str]:
        prefix = self._group + "."
        find_op(prefix)  # which looks into plugins, as the kernel has no operator of that name
        return sorted(op.name.removeprefix(prefix) for op in active_registry() if op.name.startswith(prefix))

    def __repr__(self) -> str:
        return f"<pypto.ir.op.{self._group}>"


def wrapper(op_name: str) -> Callable[..., Call]:
    """The operator as a function."""

    def call(*args: Any, span: Span | None = None, **named: Any) -> Call:
        return _call(definition(op_name), list(args), named, span or UNKNOWN_SPAN)

    call.__name__ = call.__qualname__ = op_name.rpartition(".")[2]
    call.__doc__ = definition(op_name).summary
    return call


def _call(op: OpDef, given: list[Any], named: dict[str, Any], span: Span) -> Call:
    values = _matched(op, given, named)
    scalar = op.scalar_form
    operands = [p.name for p in op.operands]
    if scalar is not None and len(operands) > 1 and _is_scalar(values.get(operands[1])):
        op = definition(scalar)
        values = _matched(op, given, named)
    args: list[Expr | None] = []
    options: dict[str, Any] = {}
    for param in op.params:
        value = values.get(param.name, _ABSENT)
        if param.is_operand:
            args.append(None if value is _ABSENT or value is None else _operand(param, value, args))
        elif value is not _ABSENT and value is not None:
            options[param.name] = _option(op, param.name, value)
        elif value is _ABSENT and param.default is not REQUIRED and param.default is not None:
            options[param.name] = param.default
    return create_call(op.name, _filled(op, args), options, span)


def _matched(op: OpDef, given: list[Any], named: dict[str, Any]) -> dict[str, Any]:
    positional = [param.name for param in op.params if not param.keyword_only]
    if len(given) > len(positional):
        raise OpError(
            f"{op.name} takes at most {len(positional)} positional arguments, not {len(given)}",
            facts={"arguments": ", ".join(p.name for p in op.params)},
            remedy="give each of the arguments listed",
        )
    values = dict(zip(positional, given, strict=False))
    known = {param.name for param in op.params}
    for name, value in named.items():
        target = name if name in known else name.rstrip("_")
        if target not in known or target in values:
            raise OpError(
                f"{op.name} has no argument '{name}'" if target not in known else f"'{name}' is given twice",
                facts={"arguments": ", ".join(p.name for p in op.params)},
                remedy="give each of the arguments listed once",
            )
        values[target] = value
    return values


def _filled(op: OpDef, args: list[Expr | None]) -> tuple[Expr, ...]:
    """The arguments with those that the operator works out itself; an open one in the middle is an empty tuple."""
    if None in args and op.complete is not None:
        op.complete(args)
    while args and args[-1] is None:
        args.pop()
    return tuple(MakeTuple(()) if arg is None else arg for arg in args)


def _is_scalar(value: Any) -> bool:
    return isinstance(value, int | float) or (isinstance(value, Expr) and isinstance(value.type, ScalarType))


def _positional(op: OpDef, i: int, value: Any, args: list[Any]) -> Expr:
    if isinstance(value, Expr):
        return value
    if i >= len(op.operands):
        return operand(value)
    return _operand(op.operands[i], value, [a if isinstance(a, Expr) else None for a in args])


def _operand(param: Param, value: Any, args: list[Expr | None]) -> Expr:
    if isinstance(value, Expr):
        return value
    if isinstance(value, list | tuple):
        items = cast("list[Any]", value)
        return MakeTuple(tuple(index(item) for item in items))
    if param.kind in (Kind.INDEX, Kind.DIMS):
        return index(value)
    model = args[param.like] if param.like is not None and param.like < len(args) else None
    dtype = getattr(model.type, "dtype", None) if model is not None else None
    if isinstance(dtype, DataType) and not isinstance(value, bool):
        return operand(value, ConstInt(0, dtype))
    return operand(value) if not isinstance(value, int) or isinstance(value, bool) else index(value)


def _option(op: OpDef, name: str, value: Any) -> Any:
    """A number or a name as the member that the option asks for; anything else as it is."""
    param = op.option_table.get(name)
    owner: type[enum.Enum] | None = None
    if param is not None and param.kind is Kind.ENUM:
        owner = param.enum
    elif param is not None and param.kind is Kind.SPACE:
        owner = MemorySpace
    if owner is None or isinstance(value, owner | bool):
        return value
    if isinstance(value, str) and value in owner.__members__:
        return owner[value]
    return owner(value) if isinstance(value, int) else value
