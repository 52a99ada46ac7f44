"""Allocations that the author declares: how large they are and where each slot lies."""

from __future__ import annotations

from typing import Any

import attrs

from pypto_core.diagnostics import Span, UserError
from pypto_core.ir import (
    AccRowAlignment,
    ConstInt,
    DataType,
    Expr,
    Function,
    MemorySpace,
    MemRef,
    Mul,
    TileType,
    Var,
    base_name,
    const_index,
    defined_vars,
    is_const,
    physical_bytes,
    replace,
    scalar_type,
    static_shape,
)

_MOST = (1 << 64) - 1


@attrs.frozen(kw_only=True)
class Declaration:
    """One declared allocation: ``slots`` equal parts of ``slot_size`` bytes."""

    base: Var
    space: MemorySpace
    slot_size: int
    slots: int
    span: Span

    @property
    def total(self) -> int:
        """Bytes of the allocation."""
        return self.slot_size * self.slots

    def resolve(self, bound: MemRef, slot_index: Expr | None) -> MemRef:
        """The MemRef of a tile that is bound to this declaration."""
        return replace(
            bound,
            base=self.base,
            byte_offset=self._offset(bound, slot_index),
            size=self.slot_size,
            is_pinned=False,
            slot_index=slot_index,
        )

    def _offset(self, bound: MemRef, index: Expr | None) -> Expr:
        if index is None:
            return bound.byte_offset
        if isinstance(index, ConstInt):
            return ConstInt(index.value * self.slot_size, DataType.INT64)
        return Mul(index, const_index(self.slot_size), scalar_type(DataType.INDEX))


def pinned(var: Var) -> MemRef | None:
    """The declaration that a tile variable is bound to."""
    kind = var.type
    if isinstance(kind, TileType) and kind.memref is not None and kind.memref.is_pinned:
        return kind.memref
    return None


def collect_declarations(
    function: Function, acc_rows: AccRowAlignment, single_slot: bool
) -> dict[Var, Declaration]:
    """The declared allocations of a function, by base, in the order of their first use.

    ``single_slot``: whether an allocation may have one slot only. Raises UserError for tiles of one allocation
    that disagree on memory or slots, for run-time shapes, and for sizes beyond 64 bits.
    """
    found: dict[Var, Declaration] = {}
    for var in defined_vars(function.body):
        memref = pinned(var)
        if memref is None:
            continue
        kind = var.type
        assert isinstance(kind, TileType) and kind.memory_space is not None
        if static_shape(kind.shape) is None:
            raise _error(memref, var, "must be sized at compile time, and a tile of it has a run-time extent",
                         "give the tile a constant shape and narrow it with valid_shape")  # fmt: skip
        size = physical_bytes(kind, acc_rows)
        known = found.get(memref.base)
        if known is None:
            known = Declaration(
                base=memref.base,
                space=kind.memory_space,
                slot_size=size,
                slots=memref.slot_count,
                span=var.span,
            )
        _check_agreement(known, memref, kind.memory_space, var)
        found[memref.base] = attrs.evolve(known, slot_size=max(size, known.slot_size))
    for declaration in found.values():
        _check_size(declaration, single_slot)
    return found


def _check_agreement(known: Declaration, memref: MemRef, space: MemorySpace, var: Var) -> None:
    if known.slots != memref.slot_count:
        raise _error(memref, var, "has tiles that disagree on how many slots it has",
                     "declare it once and bind every tile to that declaration",
                     slots=f"{known.slots} and {memref.slot_count}")  # fmt: skip
    if known.space is not space:
        raise _error(memref, var, "has tiles that are not in the same memory space",
                     "declare one allocation per memory",
                     spaces=f"{known.space.name} and {space.name}")  # fmt: skip


def _check_size(declaration: Declaration, single_slot: bool) -> None:
    name = base_name(declaration.base.name_hint)
    if declaration.total > _MOST:
        raise UserError(
            f"the declared allocation '{name}' overflows a 64-bit size",
            code="PT621",
            span=declaration.span,
            facts={"slot": f"{declaration.slot_size} bytes", "slots": declaration.slots},
            remedy="declare fewer slots or smaller tiles",
        )
    if declaration.slots == 1 and not single_slot:
        raise UserError(
            f"A single-slot declared allocation, '{name}', says nothing to a planner that assigns no addresses",
            code="PT622",
            span=declaration.span,
            remedy=f"declare a ring with pl.MemRef('{name}', slots=N), or choose another planner, such as pypto",
        )


def _error(memref: MemRef, var: Var, what: str, remedy: str, **facts: Any) -> UserError:
    return UserError(
        f"the declared allocation '{memref.name}' {what}",
        code="PT620",
        span=var.span,
        facts={"tile": base_name(var.name_hint), **facts},
        remedy=remedy,
    )


def forbid_binding_of_shared(var: Var, operator: str, span: Span) -> None:
    """Refuse a declaration on a tile that takes over the storage of an operand."""
    memref = pinned(var)
    if memref is not None:
        raise UserError(
            f"'{base_name(var.name_hint)}' can't be bound to '{memref.name}': the result of {operator} "
            "lands in its source tile's allocation",
            code="PT623",
            span=span,
            remedy="bind the source tile, or copy into a tile of its own first",
        )


def slot_of(memref: MemRef) -> int | None:
    """The constant slot of a MemRef: its index, 0 when it has none; None when it is known at run time only."""
    if memref.slot_index is None or is_const(memref.slot_index):
        return memref.slot_index.value if isinstance(memref.slot_index, ConstInt) else 0
    return None
