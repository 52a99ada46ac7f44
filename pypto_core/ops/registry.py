"""The set of known operators, and the one way to build a call.

A registry is a value: adding operators makes a new one. The built-in one holds the kernel's tables; a host that has
loaded plugins activates its own for the current context.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any

import attrs
from attrs import evolve

from pypto_core.diagnostics import (
    UNKNOWN_SPAN,
    DiagnosticError,
    InvalidOperationError,
    OpError,
    Span,
    UserError,
)
from pypto_core.ir import (
    EMPTY_MAP,
    MAKE,
    Call,
    DataType,
    DistributedTensorType,
    Expr,
    MemorySpace,
    Op,
    TensorType,
    TileType,
    freeze_map,
    replace,
    too_deep,
)
from pypto_core.ops.kinds import OPERAND_TEXT, Kind, kind_remedy
from pypto_core.ops.opdef import INHERIT, FromOption, OpDef, OpMemory, Param
from pypto_core.ops.wording import type_text, value_text

_make_call = MAKE[Call]


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
                raise UserError(
                    f"operator '{op.name}' is registered twice",
                    code="PT220",
                    remedy="give one of them another name",
                )
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
        remedy=how_to_get(name)
        or (f"did you mean {' or '.join(near)}?" if near else "list the operators with: pypto ops"),
    )


@cache
def builtin_registry() -> OpRegistry:
    """The kernel's own operators."""
    from pypto_core.ops.builtin import BUILTIN_OPS  # the tables import this module

    return OpRegistry.of(BUILTIN_OPS)


_active: ContextVar[OpRegistry | None] = ContextVar("pypto_op_registry", default=None)


def active_registry() -> OpRegistry:
    """The registry in force: the activated one, else the built-in one."""
    active = _active.get()
    return active if active is not None else builtin_registry()


@cache
def _installed_registry() -> OpRegistry:
    return import_module("pypto_core.host").load_host().ops  # by name, as it lies layers above


def full_registry() -> OpRegistry:
    """The activated registry, else the kernel's operators with those of all installed plugins, which are loaded."""
    active = _active.get()
    return active if active is not None else _installed_registry()


def find_op(name: str) -> OpDef | None:
    """The operator of that full name, or None. Plugins are asked last: who uses none of theirs does not load them."""
    op = active_registry().table.get(name)
    return op if op is not None or "." not in name else full_registry().table.get(name)


def how_to_get(name: str) -> str:
    """What to install for an operator of a group that nothing has; empty where the group is there or not heard of."""
    group = name.partition(".")[0]
    if any(op.namespace == group for op in full_registry()):
        return ""
    host = import_module("pypto_core.host").load_host()
    return import_module("pypto_core.host.lookup").install_advice("operator", group, host.health)


@contextmanager
def using_registry(registry: OpRegistry) -> Generator[OpRegistry]:
    """Make ``registry`` the active one within the block."""
    token = _active.set(registry)
    try:
        yield registry
    finally:
        _active.reset(token)


def op_ref(name: str) -> Op:
    """The one Op node that refers to ``name``: the operator's own, else one that is made for the name."""
    op = find_op(name)
    return op.ref if op is not None else _stray_ref(name)


@cache
def _stray_ref(name: str) -> Op:
    return Op(name)


def op_of(call: Call) -> OpDef | None:
    """The definition of the operator that a call applies; None for calls of functions."""
    return find_op(call.op.name)


def create_call(
    name: str,
    args: Iterable[Expr],
    kwargs: Mapping[str, Any] | None = None,
    span: Span = UNKNOWN_SPAN,
    attrs: Mapping[str, Any] | None = None,
) -> Call:
    """A call of operator ``name`` with its type deduced.

    Trailing operands that the operator can fill in itself may be left out. Options that are not given stay absent:
    the defaults of the written form are the parser's to add.

    Raises InvalidOperationError for an unknown operator and OpError, at ``span``, for arguments or options that it
    does not accept.
    """
    op = find_op(name)
    if op is None:
        raise unknown_op(name, full_registry(), span)
    operands = tuple(args)
    options = freeze_map(kwargs) if kwargs else EMPTY_MAP
    try:
        if op.complete is not None and len(operands) < op.most:
            operands = _completed(op, operands)
        if options or op.needed:
            check_options(op, options)
        if not op.least <= len(operands) <= op.most:
            raise _wrong_count(op, len(operands))
        for check, arg in zip(op.checks, operands):  # noqa: B905 - an operator may have more operands than arguments
            if not check(arg):
                check_arity(op, operands)
        kind = op.deduce(operands, options)
        if op.memory is not None and type(kind) is TileType and kind.memory_space is None:
            kind = _stamp_space(op.memory, kind, operands, options)
        elif isinstance(kind, TensorType):
            kind = _local_or_distributed(op, kind, operands)
    except DiagnosticError as error:
        raise _named(error, name).located(span) from None
    except RecursionError:
        raise too_deep(next(iter(operands), None), f"apply {name} to it").located(span) from None
    return _make_call(op.ref, operands, options, freeze_map(attrs), span, kind)


def _local_or_distributed(op: OpDef, kind: TensorType, operands: tuple[Expr, ...]) -> TensorType:
    """A view of a distributed tensor is one itself; what is computed from one is a tensor of its own."""
    memory = op.memory
    if memory is not None and memory.view_of is not None:
        source = type(operands[memory.view_of].type)
        if source is DistributedTensorType and type(kind) is TensorType:
            return DistributedTensorType(kind.shape, kind.dtype, kind.memref, kind.tensor_view)
    elif type(kind) is DistributedTensorType and (memory is None or memory.reuses is None):
        if any(type(operand.type) is DistributedTensorType for operand in operands):
            return TensorType(kind.shape, kind.dtype, None, kind.tensor_view)
    return kind


def _completed(op: OpDef, args: tuple[Expr, ...]) -> tuple[Expr, ...]:
    given: list[Expr | None] = [*args, *([None] * (op.most - len(args)))]
    assert op.complete is not None
    op.complete(given)
    while given and given[-1] is None:
        given.pop()
    return tuple([a for a in given if a is not None]) if None not in given else args


def _named(error: DiagnosticError, name: str) -> DiagnosticError:
    """Say which operator an error is about, where its facts don't yet."""
    error.diagnostics = tuple(
        d
        if any(fact == "operator" for fact, _ in d.facts)
        else evolve(d, facts=(("operator", name), *d.facts))
        for d in error.diagnostics
    )
    return error


def rebuild_call(call: Call, args: tuple[Expr, ...], attrs: Mapping[str, Any] | None = None) -> Call:
    """``call`` with other arguments and its type deduced again; options, notes and span are kept.

    A call of a function keeps its type: what it returns is the function's to say.
    """
    notes = call.attrs if attrs is None else attrs
    if op_of(call) is None:
        return replace(call, args=args, attrs=notes)
    return create_call(call.op.name, args, call.kwargs, call.span, notes)


def _stamp_space(
    memory: OpMemory, kind: TileType, args: tuple[Expr, ...], options: Mapping[str, Any]
) -> TileType:
    """Give a tile result without a space the one that the operator's memory rule names."""
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
        if not accepts(param, value):
            raise wrong_option(op, param, value_text(value))
    for param in op.needed:
        if param.name not in options:
            raise OpError(
                f"{op.name} needs the option '{param.name}'",
                facts={param.name: describe(param)},
                remedy=f"add {param.name}=… to the call",
            )


def wrong_option(op: OpDef, param: Param, have: str) -> OpError:
    """The error for an option with a value of the wrong type, which is shown as ``have``."""
    return OpError(
        f"option '{param.name}' of {op.name} must be {describe(param)}, not {have}",
        remedy=_members(param.name, param),
    )


def accepts(param: Param, value: Any) -> bool:
    """Whether an option may have this value, as far as its type tells."""
    if param.kind is Kind.ENUM:
        assert param.enum is not None
        return isinstance(value, param.enum)
    if param.kind in (Kind.INT, Kind.FLOAT) and isinstance(value, bool):
        return False
    return isinstance(value, _OPTION_TYPES[param.kind])


def describe(param: Param) -> str:
    """What an option takes, in words."""
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


def _members(key: str, param: Param) -> str:
    if param.enum is not None:
        return "one of " + ", ".join(param.enum.__members__)
    example = {
        Kind.DTYPE: "pl.FP32",
        Kind.SPACE: "pl.Mem.Vec",
        Kind.INT: "1",
        Kind.FLOAT: "0.0",
        Kind.FLAG: "True",
        Kind.TEXT: "'text'",
    }[param.kind]
    return f"write it like {key}={example}"


def _near(name: str, names: list[str]) -> str:
    from difflib import get_close_matches  # costs start-up time and is needed only here

    near = get_close_matches(name, names, n=1)
    return f"did you mean '{near[0]}'?" if near else "remove it"


def check_arity(op: OpDef, args: tuple[Expr, ...]) -> None:
    """Refuse too few or too many arguments, and arguments of the wrong kind."""
    if not op.least <= len(args) <= op.most:
        raise _wrong_count(op, len(args))
    for param, check, arg in zip(op.operands, op.checks, args, strict=False):
        if not check(arg):
            raise OpError(
                f"argument '{param.name}' of {op.name} must be {OPERAND_TEXT[param.kind]}, not {type_text(arg.type)}",
                remedy=kind_remedy(param.kind, arg.type),
            )


def _wrong_count(op: OpDef, count: int) -> OpError:
    wanted = str(op.least) if op.least == op.most else f"{op.least} to {op.most}"
    return OpError(
        f"{op.name} takes {wanted} arguments, not {count}",
        facts={"arguments": ", ".join(p.name for p in op.operands) or "none"},
        remedy="give each of the arguments listed" if count < op.least else "remove what is not listed",
    )
