"""From groups to MemRefs: where each variable lies once the groups are settled."""

from __future__ import annotations

import attrs

from pypto_core.diagnostics import Span
from pypto_core.ir import (
    PTR,
    AccRowAlignment,
    AssignStmt,
    ConstInt,
    DataType,
    ElementMap,
    Expr,
    Function,
    MemorySpace,
    MemRef,
    TileType,
    Var,
    conservative_acc_rows,
    defined_vars,
    tile_map,
)
from pypto_plugin_memory.coalesce import Group, Grouping, place_of
from pypto_plugin_memory.init_memref import alloc_stmt
from pypto_plugin_memory.values import Origin, Value
from pypto_plugin_memory.window import view_layout, view_place

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
    """The final MemRef of every tile variable; one object for one window.

    ``rows``: of accumulators. Windows of a value that gets another place are cut anew: where the rows of a value were
    a part of a wider tile's, they are adjacent in storage of its own.
    """

    def __init__(
        self, grouping: Grouping, bases: Bases, rows: AccRowAlignment = conservative_acc_rows
    ) -> None:
        self.grouping, self.bases, self.rows = grouping, bases, rows
        self.values = grouping.values
        self.own: dict[int, MemRef] = {}
        self.windows: dict[Var, MemRef] = {}
        self.layouts: dict[Var, ElementMap | None] = {}
        self.floating: dict[int, MemRef] = {}

    def of(self, var: Var) -> MemRef:
        """Where a variable lies: where its value does, or a window of that."""
        if var not in self.values.via:
            return self.value(self.values.of[var])
        known = self.windows.get(var)
        if known is None:
            source, view = self.values.via[var]
            home = self.of(source)
            if home is place_of(source):
                known = place_of(var)
            else:
                known = home if view is None else view_place(view, self.layout(source), home)
            self.windows[var] = known
        return known

    def layout(self, var: Var) -> ElementMap | None:
        """Where the elements of a variable lie in its storage."""
        if var not in self.layouts:
            self.layouts[var] = self._layout(var)
        return self.layouts[var]

    def _layout(self, var: Var) -> ElementMap | None:
        kind = var.type
        assert isinstance(kind, TileType)
        if var in self.values.via:
            source, view = self.values.via[var]
            layout = self.layout(source)
            return layout if view is None else view_layout(view, layout, kind, self.rows)
        value = self.values.of[var]
        link = self.grouping.links.get(value.index)
        alone = link is None or value is self.grouping.of(value).owner
        return tile_map(kind, acc_rows=self.rows) if link is None or alone else self.layout(link)

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


def space_of(var: Var) -> MemorySpace:
    """The memory that a tile variable lies in."""
    kind = var.type
    assert isinstance(kind, TileType) and kind.memory_space is not None
    return kind.memory_space
