"""The set of known operators, and the one way to build a call.

A registry is a value: adding operators makes a new one. The built-in one holds the kernel's tables; a host that has
loaded plugins activates its own for the current context.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from types import MappingProxyType
from typing import Any

import attrs

from pypto_core.diagnostics import UNKNOWN_SPAN, DiagnosticError, InvalidOperationError, OpError, Span, UserError
from pypto_core.ir import (
    EMPTY_MAP, ArrayType, Call, DataType, Expr, MemorySpace, Op, PtrType, ScalarType, TensorType, TileType, TupleType,
    Type, freeze_map, replace,
)  # fmt: skip
from pypto_core.ops.opdef import INHERIT, FromOption, Kind, OpDef, OpMemory, Param


@attrs.frozen
class OpRegistry:
    """Operators by name."""

    table: Mapping[str, OpDef] = attrs.field(repr=False)

    @classmethod
    def of(cls, ops: Iterable[OpDef]) -> OpRegistry:
        """A registry of these operators; two of one name are an error."""
        table: dict[str, OpDef] = {}
        for op in ops:
            if op.name in table:
                raise UserError(f"operator '{op.name}' is registered twice", code="PT220")
            table[op.name] = op
        return cls(MappingProxyType(table))

    def extended(self, ops: Iterable[OpDef]) -> OpRegistry:
        """A registry with more operators."""
        return OpRegistry.of((*self.table.values(), *ops))

    def get(self, name: str) -> OpDef | None:
        """The operator of that name, or None."""
        return self.table.get(name)

    def __getitem__(self, name: str) -> OpDef:
        found = self.table.get(name)
        if found is None:
            raise unknown_op(name, self)
        return found

    def __contains__(self, name: object) -> bool:
        return name in self.table

    def __iter__(self) -> Iterator[OpDef]:
        return iter(self.table.values())


def unknown_op(name: str, registry: OpRegistry, span: Span = UNKNOWN_SPAN) -> InvalidOperationError:
    """The error for an operator nobody registered, with the nearest names."""
    from difflib import get_close_matches  # costs start-up time and is needed only here

    near = get_close_matches(name, list(registry.table), n=3)
    return InvalidOperationError(
        f"there is no operator '{name}'",
        span=span,
        remedy=f"did you mean {' or '.join(near)}?" if near else "list the operators with: pypto ops",
    )


@cache
def builtin_registry() -> OpRegistry:
    """The kernel's own operators."""
    from pypto_core.ops.builtin import BUILTIN_OPS  # the tables import this module

    return OpRegistry.of(BUILTIN_OPS)


_active: ContextVar[OpRegistry | None] = ContextVar("pypto_op_registry", default=None)


def active_registry() -> OpRegistry:
    """The registry in force: the activated one, else the built-in one."""
    return _active.get() or builtin_registry()


@contextmanager
def using_registry(registry: OpRegistry) -> Iterator[OpRegistry]:
    """Make ``registry`` the active one within the block."""
    token = _active.set(registry)
    try:
        yield registry
    finally:
        _active.reset(token)


@cache
def op_ref(name: str) -> Op:
    """The one Op node that refers to ``name``."""
    return Op(name)


def op_of(call: Call) -> OpDef | None:
    """The definition of the operator that a call applies; None for calls of functions."""
    return active_registry().table.get(call.op.name)


def create_call(
    name: str,
    args: Iterable[Expr],
    kwargs: Mapping[str, Any] | None = None,
    span: Span = UNKNOWN_SPAN,
    attrs: Mapping[str, Any] | None = None,
) -> Call:
    """A call of operator ``name`` with its type deduced.

    Raises InvalidOperationError for an unknown operator and OpError, at ``span``, for arguments or options that it
    does not accept.
    """
    registry = active_registry()
    op = registry.table.get(name)
    if op is None:
        raise unknown_op(name, registry, span)
    args = tuple(args)
    options = freeze_map(kwargs) if kwargs else EMPTY_MAP
    try:
        check_options(op, options)
        check_arity(op, args)
        kind = _stamp_space(op.memory, op.deduce(args, options), args, options)
    except DiagnosticError as error:
        raise error.located(span) from None
    return Call(op_ref(name), args, options, attrs or EMPTY_MAP, type=kind, span=span)


def rebuild_call(call: Call, args: tuple[Expr, ...], attrs: Mapping[str, Any] | None = None) -> Call:
    """``call`` with other arguments and its type deduced again; options, notes and span are kept.

    A call of a function keeps its type: what it returns is the function's to say.
    """
    notes = call.attrs if attrs is None else attrs
    if op_of(call) is None:
        return replace(call, args=args, attrs=notes)
    return create_call(call.op.name, args, call.kwargs, call.span, notes)


def _stamp_space(
    memory: OpMemory | None, kind: Type, args: tuple[Expr, ...], options: Mapping[str, Any]
) -> Type:
    """Give a tile result without a space the one that the operator's memory rule names."""
    if memory is None or not isinstance(kind, TileType) or kind.memory_space is not None:
        return kind
    space = output_space(memory, args, options)
    return kind if space is None else replace(kind, memory_space=space)


def output_space(memory: OpMemory, args: tuple[Expr, ...], options: Mapping[str, Any]) -> MemorySpace | None:
    """The space that an operator's tile result lies in; None when it is not decided yet."""
    rule = memory.output
    if isinstance(rule, MemorySpace):
        return rule
    if isinstance(rule, FromOption):
        return options.get(rule.option, rule.default)
    if rule == INHERIT:
        for arg in args:
            if isinstance(arg.type, TileType):
                return arg.type.memory_space
    return None


_OPTION_TYPES: dict[Kind, type | tuple[type, ...]] = {
    Kind.DTYPE: DataType,
    Kind.SPACE: MemorySpace,
    Kind.INT: int,
    Kind.FLOAT: (int, float),
    Kind.FLAG: bool,
    Kind.TEXT: str,
}


def check_options(op: OpDef, options: Mapping[str, Any]) -> None:
    """Refuse options that the operator does not have, of the wrong type, or missing."""
    for key, value in options.items():
        param = op.option_table.get(key)
        if param is None:
            raise OpError(
                f"{op.name} has no option '{key}'",
                facts={"options": ", ".join(p.name for p in op.options) or "none"},
                remedy=_near(key, [p.name for p in op.params]),
            )
        if not _accepts(param, value):
            raise OpError(
                f"option '{key}' of {op.name} must be {_describe(param)}, not {value!r}",
                remedy=_members(param),
            )
    for param in op.options:
        if param.required and param.name not in options:
            raise OpError(
                f"{op.name} needs the option '{param.name}'",
                facts={param.name: _describe(param)},
                remedy=f"add {param.name}=… to the call",
            )


def _accepts(param: Param, value: Any) -> bool:
    if param.kind is Kind.ENUM:
        assert param.enum is not None
        return isinstance(value, param.enum)
    if param.kind in (Kind.INT, Kind.FLOAT) and isinstance(value, bool):
        return False
    return isinstance(value, _OPTION_TYPES[param.kind])


def _describe(param: Param) -> str:
    if param.kind is Kind.ENUM:
        assert param.enum is not None
        return f"a {param.enum.__name__}"
    return {
        Kind.DTYPE: "an element type such as pl.FP32",
        Kind.SPACE: "a memory space such as pl.Mem.Vec",
        Kind.INT: "an int",
        Kind.FLOAT: "a number",
        Kind.FLAG: "True or False",
        Kind.TEXT: "a string",
    }[param.kind]


def _members(param: Param) -> str:
    return "one of " + ", ".join(param.enum.__members__) if param.enum is not None else ""


def _near(name: str, names: list[str]) -> str:
    from difflib import get_close_matches  # costs start-up time and is needed only here

    near = get_close_matches(name, names, n=1)
    return f"did you mean '{near[0]}'?" if near else "remove it"


def check_arity(op: OpDef, args: tuple[Expr, ...]) -> None:
    """Refuse too few or too many arguments, and arguments of the wrong kind."""
    least = sum(1 for p in op.operands if p.required)
    if not least <= len(args) <= len(op.operands):
        wanted = str(least) if least == len(op.operands) else f"{least} to {len(op.operands)}"
        raise OpError(
            f"{op.name} takes {wanted} arguments, not {len(args)}",
            facts={"arguments": ", ".join(p.name for p in op.operands)},
        )
    for param, arg in zip(op.operands, args, strict=False):
        if not _is_kind(param.kind, arg.type):
            raise OpError(
                f"argument '{param.name}' of {op.name} must be a {param.kind.value}, not {arg.type!r}",
                remedy=_kind_remedy(param.kind, arg.type),
            )


def _is_kind(kind: Kind, have: Type) -> bool:
    if kind is Kind.ANY:
        return True
    if kind is Kind.TILE:
        return isinstance(have, TileType)
    if kind is Kind.TENSOR:
        return isinstance(have, TensorType)
    if kind is Kind.DIMS:
        return isinstance(have, TupleType) and all(
            isinstance(t, ScalarType) and t.dtype.is_int for t in have.types
        )
    if kind is Kind.PTR:
        return isinstance(have, PtrType | ArrayType)
    if not isinstance(have, ScalarType):
        return False
    if kind is Kind.INDEX:
        return have.dtype.is_int
    return have.dtype is DataType.BOOL if kind is Kind.BOOL else True


def _kind_remedy(kind: Kind, have: Type) -> str:
    if kind is Kind.TILE and isinstance(have, TensorType):
        return "load the tensor into a tile first: pl.load(tensor, offsets, shapes)"
    if kind is Kind.TENSOR and isinstance(have, TileType):
        return "a tile lives on chip: pass the tensor, or use the pl.tile operation of that name"
    return ""
