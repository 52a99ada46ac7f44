"""From groups to MemRefs: where each variable lies once the groups are settled."""

from __future__ import annotations

import attrs

from pypto_core.diagnostics import Span
from pypto_core.ir import (
    PTR,
    Add,
    AssignStmt,
    ConstInt,
    DataType,
    Expr,
    Function,
    MemorySpace,
    MemRef,
    TileType,
    Var,
    add,
    defined_vars,
)
from pypto_plugin_memory.coalesce import Group, Grouping, place_of
from pypto_plugin_memory.init_memref import alloc_stmt
from pypto_plugin_memory.values import Origin, Value

_ZERO = ConstInt(0, DataType.INT64)


@attrs.define(eq=False)
class Bases:
    """New allocations, under names that nothing in the function has."""

    taken: set[str]
    made: list[AssignStmt] = attrs.field(factory=list)
    counts: dict[str, int] = attrs.field(factory=dict)

    @classmethod
    def of(cls, function: Function) -> Bases:
        """None yet, beside the names of a function."""
        taken = {v.name_hint for v in (*function.params, *defined_vars(function.body))}
        for var in (*function.params, *defined_vars(function.body)):
            kind = var.type
            memref = getattr(kind, "memref", None)
            if memref is not None:
                taken.add(memref.name)
        return cls(taken)

    def name(self, stem: str) -> str:
        """``stem_<n>`` with the least number that is free."""
        while True:
            count = self.counts.get(stem, 0)
            self.counts[stem] = count + 1
            if f"{stem}_{count}" not in self.taken:
                return f"{stem}_{count}"

    def fresh(self, stem: str, space: MemorySpace, size: int, span: Span) -> MemRef:
        """A place of its own, with its alloc statement noted."""
        base = Var(self.name(stem), PTR, span=span)
        self.made.append(alloc_stmt(base, space, size, span))
        return MemRef(base, _ZERO, size, span=span)


class Places:
    """The final MemRef of every tile variable; one object for one window."""

    def __init__(self, grouping: Grouping, bases: Bases) -> None:
        self.grouping, self.bases = grouping, bases
        self.values = grouping.values
        self.own: dict[int, MemRef] = {}
        self.windows: dict[tuple[int, int], MemRef] = {}
        self.floating: dict[int, MemRef] = {}

    def of(self, var: Var) -> MemRef:
        """Where a variable lies: where its value does, or a window of that."""
        value = self.values.of[var]
        home, old, had = self.value(value), value.memref, place_of(var)
        if var is value.var or had is old:
            return home
        if home is old:
            return had
        key = (id(had), id(home))
        if key not in self.windows:
            self.windows[key] = _moved(had, old, home)
        return self.windows[key]

    def value(self, value: Value) -> MemRef:
        """Where a value lies."""
        known = self.own.get(value.index)
        if known is None:
            known = self.own[value.index] = self._settle(value)
        return known

    def _settle(self, value: Value) -> MemRef:
        group = self.grouping.of(value)
        owner = group.owner
        if value is owner or (group.rigid and value.origin in (Origin.OWNER, Origin.PARAM)):
            return value.memref
        link = self.grouping.links.get(value.index)
        if link is not None:
            return self.of(link)
        home = owner.memref if owner is not None else self._home(group)
        if home.size == value.size and self.grouping.delta[value.index] == 0:
            return home
        return MemRef(home.base, _ZERO, value.size, span=value.var.span)

    def _home(self, group: Group) -> MemRef:
        """Storage for values that nothing brought any for."""
        first = min(group.values, key=lambda v: v.index)
        known = self.floating.get(first.index)
        if known is None:
            size = max(v.size for v in group.values)
            stem = _STEMS[first.origin]
            known = self.bases.fresh(stem, group.space, size, first.var.span)
            self.floating[first.index] = known
        return known

    def all(self) -> dict[Var, MemRef]:
        """The variables whose place changes, with the new one."""
        moved: dict[Var, MemRef] = {}
        for var in self.values.of:
            have = place_of(var)
            place = self.of(var)
            if place is not have and not _same(place, have):
                moved[var] = place
        return moved


_STEMS = {
    Origin.CARRY: "mem_carry_input",
    Origin.LOOP: "mem_carry_input",
    Origin.BRANCH: "mem_branch_result",
    Origin.IN_PLACE: "mem_kept",
}


def _same(a: MemRef, b: MemRef) -> bool:
    """Whether two MemRefs say the same in the same objects."""
    return (
        a.base is b.base
        and same_offset(a.byte_offset, b.byte_offset)
        and a.size == b.size
        and a.slot_count == b.slot_count
        and a.slot_index is b.slot_index
    )


def same_offset(a: Expr, b: Expr) -> bool:
    """Whether two offsets are one expression or equal constants."""
    if a is b:
        return True
    return isinstance(a, ConstInt) and isinstance(b, ConstInt) and a.value == b.value


def same_window(a: MemRef, b: MemRef) -> bool:
    """Whether two MemRefs name the same bytes for certain."""
    return _same(a, b)


def _moved(window: MemRef, old: MemRef, home: MemRef) -> MemRef:
    """A window of what lay at ``old``, now that it lies at ``home``."""
    offset = _distance(window.byte_offset, old.byte_offset)
    if offset is None:
        return MemRef(home.base, home.byte_offset, home.size, span=window.span)
    if same_offset(window.byte_offset, old.byte_offset) and window.size == old.size:
        return home
    if isinstance(home.byte_offset, ConstInt):
        place = _shift(offset, home.byte_offset.value)
    else:
        place = home.byte_offset if _is_zero(offset) else Add(home.byte_offset, offset, offset.type)
    slots = (home.slot_count, home.slot_index) if window.slot_count > 1 else (1, None)
    return MemRef(home.base, place, window.size, slot_count=slots[0], slot_index=slots[1], span=window.span)


def _distance(inner: Expr, outer: Expr) -> Expr | None:
    """Where a window starts in what it is a window of; None when the offsets don't tell."""
    if isinstance(inner, ConstInt) and isinstance(outer, ConstInt):
        return ConstInt(inner.value - outer.value, inner.dtype)
    if isinstance(outer, ConstInt) and outer.value == 0:
        return inner
    if inner is outer:
        return _ZERO
    if isinstance(inner, Add) and inner.left is outer:
        return inner.right
    return None


def _is_zero(expr: Expr) -> bool:
    return isinstance(expr, ConstInt) and expr.value == 0


def _shift(offset: Expr, by: int) -> Expr:
    if isinstance(offset, ConstInt):
        return ConstInt(offset.value + by, offset.dtype)
    return offset if by == 0 else add(offset, by)


def space_of(var: Var) -> MemorySpace:
    """The memory that a tile variable lies in."""
    kind = var.type
    assert isinstance(kind, TileType) and kind.memory_space is not None
    return kind.memory_space
