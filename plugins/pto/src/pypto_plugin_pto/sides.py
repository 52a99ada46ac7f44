"""Which core a kernel runs on: the cube, the vector unit, or neither in particular."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from pypto_core.diagnostics import UserError
from pypto_core.ir import (
    SPLIT,
    BufferType,
    Call,
    CoreType,
    Function,
    FunctionType,
    MemorySpace,
    TileType,
    Type,
)
from pypto_core.ops import op_of
from pypto_plugin_pto.calls import calls_of

KIND_NAMES = {CoreType.CUBE: "cube", CoreType.VECTOR: "vector"}
_DECLARED = {FunctionType.AIC: CoreType.CUBE, FunctionType.AIV: CoreType.VECTOR}

_BRINGING = {"tile.load", "tile.move"}
"""A kernel that does nothing else on the vector core only brings operands to the cube by way of Vec."""


@attrs.frozen
class _Use:
    call: Call
    core: CoreType


def core_of(function: Function) -> CoreType | None:
    """The core of a kernel, from its type and from what it does.

    Raises UserError (PTO-017) for one with operators of both cores, or of the other core than its type says.
    """
    declared = _DECLARED.get(function.func_type)
    first: dict[CoreType, list[Call]] = {CoreType.CUBE: [], CoreType.VECTOR: []}
    for use in _uses(function):
        first[use.core].append(use.call)
    here = [core for core, calls in first.items() if calls]
    if len(here) > 1 or (declared is not None and here and here[0] is not declared):
        raise _mixed(function, first, declared)
    return declared or (here[0] if here else None)


def _uses(function: Function) -> Iterator[_Use]:
    for call in calls_of(function.body):
        if isinstance(call, Call) and call.op.name != "tile.alloc":
            for core in _cores(call):
                yield _Use(call, core)


def _cores(call: Call) -> list[CoreType]:
    op = op_of(call)
    if op is not None and op.core is not None:
        return [op.core]
    spaces = [_space(t) for t in (call.type, *(a.type for a in call.args))]
    found = [_core(space) for space in spaces if space is not None]
    return [core for core in (CoreType.CUBE, CoreType.VECTOR) if core in found]


def _space(kind: Type) -> MemorySpace | None:
    return kind.memory_space if isinstance(kind, TileType | BufferType) else None


def _core(space: MemorySpace) -> CoreType:
    return CoreType.VECTOR if space is MemorySpace.Vec else CoreType.CUBE


def _mixed(function: Function, calls: dict[CoreType, list[Call]], declared: CoreType | None) -> UserError:
    facts = [(KIND_NAMES[core], _list(found)) for core, found in calls.items() if found]
    if declared is not None:
        facts.insert(0, ("type", function.func_type.name))
        other = CoreType.VECTOR if declared is CoreType.CUBE else CoreType.CUBE
        mine, theirs = KIND_NAMES[declared], KIND_NAMES[other]
        message = f"kernel '{function.name}' is for the {mine} core and uses the {theirs} core"
        span = calls[other][0].span
    else:
        message = f"kernel '{function.name}' mixes operators of the cube and of the vector core"
        span = max((found[0] for found in calls.values()), key=lambda c: c.span.begin_line).span
    return UserError(
        message,
        code="PTO-017",
        span=span if span.is_valid else function.span,
        facts=facts,
        remedy=_remedy(function, calls[CoreType.VECTOR]),
    )


def _remedy(function: Function, on_vector: list[Call]) -> str:
    if {call.op.name for call in on_vector} <= _BRINGING:
        return "load what the cube multiplies with target_memory=pl.Mem.Mat"
    if SPLIT in function.attrs:
        return "leave pl.split out: a scope on tensors then becomes one kernel per core"
    return "split it into one kernel per core that exchange data through tensors"


def _list(calls: list[Call]) -> str:
    names = list(dict.fromkeys(c.op.name for c in calls))
    return ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
