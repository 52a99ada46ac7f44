"""Which bytes a handle stands for, as far as that can be proved, and whether two of them overlap."""

from __future__ import annotations

import attrs

from pypto_core.ir import (
    Add,
    BufferType,
    Call,
    Cast,
    ConstInt,
    Expr,
    MakeTuple,
    Mul,
    ScalarType,
    Sub,
    Var,
    dims_equal,
    int_range,
)
from pypto_plugin_buffer_ir.ops import ALLOC, RESHAPE, SUBVIEW


@attrs.frozen(eq=False)
class Place:
    """Bytes of an allocation: ``length`` from ``start`` on, gaps between the rows of a window included.

    ``pitch``: bytes from row to row. ``path``: offsets known at run time only, on the way to it; all of the window
    that they were cut from counts then.
    """

    root: Var
    start: int
    length: int
    pitch: int
    path: tuple[Expr, ...] = ()

    def is_same(self, other: Place) -> bool:
        """Whether two places in one allocation are surely the same bytes."""
        return (
            (self.start, self.length) == (other.start, other.length)
            and len(self.path) == len(other.path)
            and all(dims_equal(a, b) for a, b in zip(self.path, other.path, strict=True))
        )


class Unknown:
    """An address that is given and not known."""


Address = int | None | type[Unknown]


@attrs.define(eq=False)
class Places:
    """Places by handle, and the addresses of allocations (None: wherever the assembler puts them)."""

    of: dict[Expr, Place] = attrs.field(factory=dict)
    addresses: dict[Var, Address] = attrs.field(factory=dict)
    numbers: dict[Expr, int] = attrs.field(factory=dict)

    def own(self, var: Var, kind: BufferType, address: Address) -> None:
        """Take in storage that begins with ``var``."""
        self.of[var] = Place(var, 0, kind.size, _row(kind))
        self.addresses[var] = address

    def define(self, var: Var, call: Call) -> str:
        """Take in the definition of a handle; why it can't be, or nothing."""
        kind = var.type
        assert isinstance(kind, BufferType)
        if call.op.name == ALLOC:
            found = self.number(call.args[1]) if len(call.args) > 1 else None
            self.own(var, kind, Unknown if len(call.args) > 1 and found is None else found)
            return ""
        source = self.of.get(call.args[0])
        if source is None:
            return f"{call.op.name} requires proven source-window provenance"
        if call.op.name == RESHAPE:
            whole = call.args[0].type
            assert isinstance(whole, BufferType)
            if source.pitch != _row(whole):
                return "buffer.reshape of a window whose rows are not adjacent"
            self.of[var] = attrs.evolve(source, pitch=_row(kind))
        elif call.op.name == SUBVIEW:
            self.of[var] = self._window(source, kind, call.args[1])
        return ""

    def _window(self, source: Place, kind: BufferType, offsets: Expr) -> Place:
        assert isinstance(offsets, MakeTuple)
        row, col = (self.number(o) for o in offsets.elements)
        if row is None or col is None or source.path:
            path = source.path if (row, col) == (0, 0) else (*source.path, *offsets.elements)
            return attrs.evolve(source, path=path)
        rows, cols = kind.shape
        width = kind.dtype.element_bytes
        length = (rows - 1) * source.pitch + cols * width
        return Place(source.root, source.start + row * source.pitch + col * width, length, source.pitch)

    def number(self, expr: Expr) -> int | None:
        """An integer that is known, through the scalars it was computed from."""
        if isinstance(expr, ConstInt):
            return expr.value
        if expr in self.numbers:
            return self.numbers[expr]
        if isinstance(expr, Cast):
            value = self.number(expr.operand)
        elif isinstance(expr, Add | Sub | Mul):
            left, right = self.number(expr.left), self.number(expr.right)
            if left is None or right is None:
                return None
            value = (
                left + right
                if isinstance(expr, Add)
                else left - right
                if isinstance(expr, Sub)
                else left * right
            )
        else:
            return None
        kind = expr.type
        if value is None or not isinstance(kind, ScalarType) or not kind.dtype.is_int:
            return None
        low, high = int_range(kind.dtype)
        return value if low <= value <= high else None

    def clash(self, source: Expr, target: Expr, exact: bool) -> str:
        """Why an operator may not read ``source`` while it writes ``target``; empty when it may.

        ``exact``: they may be the very same bytes.
        """
        if source is target and exact:
            return ""
        have, out = source.type, target.type
        if (
            isinstance(have, BufferType)
            and isinstance(out, BufferType)
            and have.memory_space is not out.memory_space
        ):
            return ""
        a, b = self.of.get(source), self.of.get(target)
        if a is None or b is None:
            return "requires proven allocation provenance for distinct operands"
        first, second = a.start, b.start
        if a.root is not b.root:
            here, there = self.addresses.get(a.root), self.addresses.get(b.root)
            if here is None and there is None:
                return ""
            if not isinstance(here, int) or not isinstance(there, int):
                return "requires provably disjoint constant addresses or addressless allocations"
            if here < 0 or there < 0:
                return "requires nonnegative placed addresses"
            first, second = first + here, second + there
        if first + a.length <= second or second + b.length <= first:
            return ""
        if not exact:
            return "requires disjoint placed source and destination ranges"
        if attrs.evolve(a, start=first).is_same(attrs.evolve(b, start=second)):
            return ""
        return "rejects partially overlapping placed source and destination ranges"


def _row(kind: BufferType) -> int:
    return kind.shape[-1] * kind.dtype.element_bytes
