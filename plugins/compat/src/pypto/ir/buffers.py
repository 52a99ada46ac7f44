"""What PyPTO tells of the operators on buffers: their stage, what they do to operands, and what they give."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from pypto.ir.definitions import check_options, definition
from pypto_core import ops
from pypto_core.diagnostics import UNKNOWN_SPAN, OpError, Span
from pypto_core.ir import BufferType, Call, MakeTuple, ScalarType, Type
from pypto_core.ops import BufferUse, Kind, OpDef, create_call


class OpIRStage(enum.IntEnum):
    """Which form of a function an operator belongs to."""

    Functional = 0
    Buffer = 1


class BufferAccess(enum.IntEnum):
    """How one side of a buffer is used."""

    None_ = 0
    Read = 1
    Write = 2
    ReadWrite = 3


class BufferResultBehavior(enum.IntEnum):
    """What an operator's result is."""

    None_ = 0
    Allocate = 1
    Alias = 2
    Borrow = 3
    Value = 4


_ACCESS = dict(zip(ops.BufferAccess, BufferAccess, strict=True))
_RESULT = dict(zip(ops.BufferResult, BufferResultBehavior, strict=True))


@attrs.frozen
class BufferArgEffect:
    """The use of an operand: of its elements and of its valid extents; ``non_memory`` for a number."""

    data: BufferAccess = BufferAccess.None_
    metadata: BufferAccess = BufferAccess.None_
    non_memory: bool = False


@attrs.frozen
class BufferResultSpec:
    """What the result is, and the operand that an alias is of."""

    behavior: BufferResultBehavior
    alias_arg: int | None = None


def get_op_ir_stage(name: str) -> OpIRStage:
    """The stage of an operator; raises InvalidOperationError for an unknown one."""
    return OpIRStage.Functional if definition(name).buffer is None else OpIRStage.Buffer


def get_op_output_arity(name: str) -> int:
    """How many results an operator has; 0 for one that only writes its destination."""
    use = definition(name).buffer
    return 0 if use is not None and use.result is ops.BufferResult.NONE else 1


def get_op_buffer_arg_effect(name: str, index: int) -> BufferArgEffect:
    """The use of one operand. Raises OpError, a ValueError, where the operator declares none."""
    use = _use(definition(name))
    if not 0 <= index < len(use.effects):
        raise OpError(f"operator {name} declares no buffer effect for operand {index}")
    effect = use.effects[index]
    if effect is None:
        return BufferArgEffect(non_memory=True)
    return BufferArgEffect(_ACCESS[effect.data], _ACCESS[effect.metadata])


def get_op_buffer_result_spec(name: str) -> BufferResultSpec:
    """What an operator on buffers gives."""
    use = _use(definition(name))
    return BufferResultSpec(_RESULT[use.result], use.alias_arg)


def _use(op: OpDef) -> BufferUse:
    if op.buffer is None:
        raise OpError(f"operator {op.name} has no buffer effect: it is none of the Buffer stage")
    return op.buffer


def refuse_internal(name: str) -> None:
    """Operators on buffers are made by lowering alone."""
    if definition(name).buffer is not None:
        raise OpError(f"operator {name} is internal-only: lowering makes its calls", remedy="write tiles")


def create_internal_op_call(name: str, args: Iterable[Any], kwargs: Mapping[str, Any], *rest: Any) -> Call:
    """``_create_internal_op_call(name, args, kwargs[, result_type], span)``: a call of any operator."""
    kind = next((item for item in rest if isinstance(item, Type)), None)
    span = next((item for item in rest if isinstance(item, Span)), UNKNOWN_SPAN)
    op, given = definition(name), list(args)
    check_options(op, kwargs)
    if op.buffer is not None:
        _check_operands(op, given)
    if kind is None:
        return create_call(name, given, dict(kwargs), span)
    if op.buffer is not None and op.buffer.check_type is not None:
        op.buffer.check_type(tuple(given), kwargs, kind)
    return Call(op.ref, tuple(given), dict(kwargs), {}, type=kind, span=span)


def _check_operands(op: OpDef, args: list[Any]) -> None:
    """Number and handles, before what the operator itself asks of them."""
    if not op.operands and args:
        raise OpError(f"{op.name} requires no arguments")
    if op.least == op.most != len(args):
        raise OpError(f"{op.name} requires {op.most} explicit operands, got {len(args)}")
    for number, (param, arg) in enumerate(zip(op.operands, args, strict=False)):
        if param.kind is Kind.BUFFER and not isinstance(arg.type, BufferType):
            raise OpError(f"operand {number} of {op.name} must have BufferType")
        if param.kind is Kind.DIMS and isinstance(arg, MakeTuple):
            for element in arg.elements:
                if not isinstance(element.type, ScalarType) or not element.type.dtype.is_int:
                    raise OpError(
                        f"an element of operand {number} of {op.name} must be an integer or INDEX scalar"
                    )
