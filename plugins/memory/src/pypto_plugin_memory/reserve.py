"""Buffers that a function reserves for rings between cores: where they lie, ahead of all tiles."""

from __future__ import annotations

import attrs

from pypto_core.contract import Backend
from pypto_core.diagnostics import Span, UserError
from pypto_core.ir import (
    AssignStmt,
    Call,
    EvalStmt,
    Function,
    FunctionType,
    MemorySpace,
    Mutator,
    replace,
    round_up,
    walk_stmts,
)

_OP = "system.reserve_buffer"
_AUTO = -1
_ALIGNMENT = 32


@attrs.frozen(kw_only=True, eq=False)
class Reserved:
    """One reserved buffer with the bytes it gets."""

    call: Call
    name: str
    space: MemorySpace
    base: int
    end: int


def reserved_ranges(function: Function, backend: Backend | None) -> tuple[Reserved, ...]:
    """The reserved buffers of a function: at the base they name, else behind those before them.

    Raises UserError when two overlap.
    """
    space = MemorySpace.Mat if function.func_type is FunctionType.AIC else MemorySpace.Vec
    spec = backend.memory(space) if backend is not None else None
    alignment = max(spec.alignment, spec.address_alignment) if spec is not None else _ALIGNMENT
    found: list[Reserved] = []
    top = 0
    for call, span in _calls(function):
        size = int(call.kwargs["size"])
        given = int(call.kwargs.get("base", _AUTO))
        base = round_up(top, alignment) if given == _AUTO else given
        item = Reserved(
            call=call,
            name=str(call.kwargs.get("name", "")),
            space=space,
            base=base,
            end=round_up(base + size, alignment),
        )
        for other in found:
            if base < other.end and other.base < base + size:
                raise _overlap(item, other, span)
        found.append(item)
        top = max(top, item.end)
    return tuple(found)


def _calls(function: Function) -> list[tuple[Call, Span]]:
    out: list[tuple[Call, Span]] = []
    for stmt in walk_stmts(function.body):
        value = (
            stmt.value if isinstance(stmt, AssignStmt) else stmt.expr if isinstance(stmt, EvalStmt) else None
        )
        if isinstance(value, Call) and value.op.name == _OP:
            out.append((value, value.span if value.span.is_valid else stmt.span))
    return out


def _overlap(item: Reserved, other: Reserved, span: Span) -> UserError:
    return UserError(
        f"the reserved buffers '{other.name}' and '{item.name}' overlap",
        code="PT627",
        span=span,
        facts={
            other.name: f"bytes {other.base} to {other.end}",
            item.name: f"bytes {item.base} to {item.end}",
        },
        remedy="leave the base out, so that it is chosen",
    )


class _Settle(Mutator):
    def __init__(self, places: dict[Call, int]) -> None:
        super().__init__()
        self.places = places

    def visit_call(self, node: Call) -> Call:
        """Write down the base that a reserved buffer got."""
        base = self.places.get(node)
        if base is not None and node.kwargs.get("base", _AUTO) != base:
            return replace(node, kwargs={**node.kwargs, "base": base})
        new = super().visit_call(node)
        assert isinstance(new, Call)
        return new


def settle_reserved(function: Function, reserved: tuple[Reserved, ...]) -> Function:
    """The function with the base of each reserved buffer written into its call."""
    if not reserved:
        return function
    return _Settle({item.call: item.base for item in reserved}).visit(function)
