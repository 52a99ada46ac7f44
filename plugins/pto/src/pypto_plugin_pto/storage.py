"""Where tiles live in the text: one buffer per tile variable when addresses are given, else one per allocation.

With addresses (level 3) a tile is declared at the address of its MemRef, and tiles that share bytes have the same
one. Without (level 2) the assembler places buffers and takes two declarations for two buffers: variables that share
bytes have to share one name, and those that look at it differently are views of it.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import attrs

from pypto_core.contract import Operand
from pypto_core.diagnostics import UserError
from pypto_core.ir import (
    ConstInt,
    DataType,
    Expr,
    MemorySpace,
    MemRef,
    TileType,
    Var,
    add,
    base_name,
    dims_equal,
    replace,
    shapes_equal,
    static_dim,
)
from pypto_plugin_pto.regions import Region
from pypto_plugin_pto.scalars import Scalars
from pypto_plugin_pto.text import FunctionText
from pypto_plugin_pto.type_text import TypeWriter, extents_of

INDEX = DataType.INDEX
Place = tuple[object, ...]


@attrs.frozen
class Window:
    """Where a tile is a part of another; ``strided``: its rows are not adjacent."""

    parent: TileHandle
    row: Expr
    col: Expr
    strided: bool


@attrs.frozen(eq=False)
class TileHandle(Operand):
    """A tile buffer in the text, with the type it has in the program."""

    kind: TileType
    window: Window | None = None


def place_of(memref: MemRef) -> Place:
    """What two MemRefs that are the same bytes have in common."""
    return (memref.base, _term(memref.byte_offset), memref.size, _term(memref.slot_index))


def _term(expr: Expr | None) -> object:
    return expr.value if isinstance(expr, ConstInt) else expr


def same_place(a: MemRef | None, b: MemRef | None) -> bool:
    """Whether two MemRefs begin at the same byte; of what has none it is not known."""
    if a is None or b is None:
        return False
    slots = a.slot_index is b.slot_index or (
        a.slot_index is not None and b.slot_index is not None and dims_equal(a.slot_index, b.slot_index)
    )
    return a.base is b.base and slots and dims_equal(a.byte_offset, b.byte_offset)


class Storage:
    """Declares the buffers of one function.

    ``addresses``: write them. ``regions``: rings of buffers by base.
    """

    def __init__(
        self,
        text: FunctionText,
        scalars: Scalars,
        types: TypeWriter,
        addresses: bool,
        regions: dict[Var, Region],
    ) -> None:
        self.text, self.scalars, self.types = text, scalars, types
        self.addresses, self.regions = addresses, regions
        self.handles: dict[Var, TileHandle] = {}
        self._places: dict[Place, list[TileHandle]] = {}
        self._opened: list[list[Place]] = [[]]

    # -- lookups

    def handle(self, expr: Expr) -> TileHandle:
        """The buffer that a tile expression lies in."""
        known = self.handles.get(expr) if isinstance(expr, Var) else None
        if known is None:
            name = base_name(expr.name_hint) if isinstance(expr, Var) else type(expr).__name__
            raise UserError(
                f"tile '{name}' has no buffer in PTO text",
                code="PTO-009",
                span=expr.span,
                remedy="tiles are made inside of the kernel that uses them; they can't be parameters",
            )
        return known

    @contextmanager
    def scope(self) -> Generator[None]:
        """Buffers that are declared inside are not known afterwards."""
        self._opened.append([])
        try:
            yield
        finally:
            for place in reversed(self._opened.pop()):
                self._places[place].pop()

    # -- declarations

    def output(self, var: Var) -> TileHandle:
        """The buffer of a variable, declared when it has none yet."""
        known = self.handles.get(var)
        if known is None:
            known = self.handles[var] = self._declared(var)
        return known

    def onto(self, var: Var, operand: Expr) -> TileHandle:
        """The buffer of a variable that starts with the content of ``operand``."""
        source, kind = self.handle(operand), var.type
        assert isinstance(kind, TileType)
        if not same_place(kind.memref, source.kind.memref):
            out = self.output(var)
            self.copy(source, out, var)
            return out
        if var not in self.handles and self._fits(source, kind):
            self.handles[var] = source
        return self.output(var)

    def view(self, var: Var, source: TileHandle) -> TileHandle:
        """The buffer of a variable that looks at the bytes of ``source`` in another way."""
        kind = var.type
        assert isinstance(kind, TileType)
        if self._fits(source, kind):
            made = source
        elif source.window is not None and self._differs_in_valid_only(source.kind, kind):
            # Extents can't be set on a window, but another window of the same place may state them.
            whole = source.window
            made = self.window(var, whole.parent, (whole.row, whole.col), kind)
        elif source.window is not None and source.window.strided:
            raise UserError(
                f"'{base_name(var.name_hint)}' looks at a window whose rows are not adjacent",
                code="PTO-012",
                span=var.span,
                facts={"window": repr(source.kind)},
                remedy="copy the window into a tile of its own first, with pl.tile.extract",
            )
        elif self.addresses:
            made = self._allocated(var, kind)
        else:
            made = self._reshaped(var, kind, source)
        self.handles[var] = made
        return made

    def copy(self, source: TileHandle, target: TileHandle, var: Var) -> None:
        """Write the content of one buffer into another."""
        spaces = (source.kind.memory_space, target.kind.memory_space)
        if spaces != (MemorySpace.Vec, MemorySpace.Vec):
            raise UserError(
                f"'{base_name(var.name_hint)}' has to be copied within {spaces[1].name if spaces[1] else '?'}, "
                "and no instruction does that",
                code="PTO-010",
                span=var.span,
                facts={"from": source.name, "to": target.name},
                remedy="let both values share their storage: run the pass MaterializeSemanticAliases",
            )
        self.copy_out(source, target)

    def copy_out(self, source: TileHandle, target: TileHandle) -> None:
        """Copy within Vec; rows that are not adjacent are picked out of the tile that they lie in."""
        window = source.window
        if window is not None and window.strided:
            row, col = (self.scalars.coerced(e, INDEX) for e in (window.row, window.col))
            self.text.line(
                f"pto.textract ins({window.parent.name}, {row.name}, {col.name} : {window.parent.type}, index, "
                f"index) outs({target.name} : {target.type})"
            )
        else:
            self.text.line(f"pto.tmov ins({source.name} : {source.type}) outs({target.name} : {target.type})")

    def reshaped(
        self, what: str, kind: TileType, source: TileHandle, *, open_extents: bool = False
    ) -> TileHandle:
        """``source`` under another type, by name: a view for one instruction, bound to no variable.

        ``open_extents``: valid extents are set on it even when they are constants.
        """
        return self._reshaped(Var(what, kind), kind, source, open_extents)

    def narrowed(self, name: str, handle: TileHandle, valid: tuple[Expr, ...]) -> TileHandle:
        """``handle`` for an instruction that works on ``valid`` only.

        Windows state their extents in their type, where they have to agree: another window of the same place does.
        """
        whole = handle.window
        if whole is None or shapes_equal(handle.kind.valid_shape, valid):
            return handle
        kind = replace(handle.kind, tile_view=replace(handle.kind.view, valid_shape=valid))
        return self.window(Var(name, kind), whole.parent, (whole.row, whole.col), kind)

    def window(self, var: Var, source: TileHandle, offset: tuple[Expr, Expr], kind: TileType) -> TileHandle:
        """A part of ``source`` with the shape and valid extents of ``kind``, without a copy."""
        extents, whole = extents_of(kind), extents_of(source.kind)
        self._check_window(var, kind, source)
        type_ = self._window_type(source.kind, kind)
        row, col = (self.scalars.coerced(o, INDEX) for o in offset)
        valid = [self.scalars.coerced(v, INDEX).name for v in extents.valid]
        value = self.text.value(
            f"pto.subview {source.name}[{row.name}, {col.name}] sizes [{extents.rows}, {extents.cols}] "
            f"valid [{', '.join(valid)}] : {source.type} -> {type_}",
            type_,
            var.name_hint,
        )
        outer, (at_row, at_col) = source, offset
        strided = extents.cols != whole.cols and extents.rows != 1
        if source.window is not None:
            outer = source.window.parent
            at_row, at_col = add(source.window.row, at_row), add(source.window.col, at_col)
            strided = strided or (source.window.strided and extents.rows != 1)
        return TileHandle(value.name, type_, kind, Window(outer, at_row, at_col, strided))

    # -- parts

    def _window_type(self, parent: TileType, kind: TileType) -> str:
        """The parent's type with the extents of the window; a constant valid extent is part of it."""
        rows, cols = (static_dim(v) for v in extents_of(kind).valid)
        view = replace(parent.view, valid_shape=())
        plain = replace(parent, shape=kind.shape, tile_view=view, memref=None)
        return self.types.tile(plain, (rows, cols))

    def _check_window(self, var: Var, kind: TileType, source: TileHandle) -> None:
        mine, theirs = kind.view, source.kind.view
        if mine.pad is not theirs.pad:
            raise UserError(
                f"window '{base_name(var.name_hint)}' is padded otherwise than the tile it lies in",
                code="PTO-012",
                span=var.span,
                facts={"window": mine.pad.name, "tile": theirs.pad.name},
                remedy="fill the window's own copy: pl.fillpad of an extract",
            )
        if mine.layout != theirs.layout:
            raise UserError(
                f"window '{base_name(var.name_hint)}' would lie otherwise than the tile it is a part of",
                code="PTO-012",
                span=var.span,
                facts={
                    "window": f"{mine.blayout.name}, {mine.slayout.name}",
                    "tile": f"{theirs.blayout.name}, {theirs.slayout.name}",
                },
                remedy="a column of a row-major tile has no addresses of its own: copy it with pl.tile.extract",
            )

    def _differs_in_valid_only(self, one: TileType, other: TileType) -> bool:
        return self.types.tile(one) == self.types.tile(other) and shapes_equal(one.shape, other.shape)

    def _fits(self, handle: TileHandle, kind: TileType) -> bool:
        """Whether a handle may stand for a tile of that type."""
        same = self.types.tile(handle.kind) == self.types.tile(kind)
        return same and shapes_equal(handle.kind.valid_shape, kind.valid_shape)

    def _declared(self, var: Var) -> TileHandle:
        kind = var.type
        assert isinstance(kind, TileType)
        memref = kind.memref
        if memref is None:
            raise UserError(
                f"tile '{base_name(var.name_hint)}' has no place in memory",
                code="PTO-009",
                span=var.span,
                remedy="run InitMemRef before the program is written",
            )
        region = self.regions.get(memref.base)
        if self.addresses or not self._places.get(place_of(memref)):
            return self._allocated(var, kind) if region is None else self._slot(var, kind, memref, region)
        known = self._places[place_of(memref)]
        fitting = next((h for h in known if self._fits(h, kind)), None)
        return fitting if fitting is not None else self._reshaped(var, kind, known[0])

    def _remember(self, memref: MemRef, handle: TileHandle) -> None:
        place = place_of(memref)
        self._places.setdefault(place, []).append(handle)
        self._opened[-1].append(place)

    def _allocated(self, var: Var, kind: TileType) -> TileHandle:
        memref = kind.memref
        assert memref is not None
        address = f"addr = {self._address(memref).name} " if self.addresses else ""
        rows, cols = (self.scalars.coerced(v, INDEX) for v in extents_of(kind).valid)
        type_ = self.types.tile(kind)
        value = self.text.value(
            f"pto.alloc_tile {address}valid_row = {rows.name} valid_col = {cols.name} : {type_}",
            type_,
            var.name_hint,
        )
        handle = TileHandle(value.name, type_, kind)
        self._remember(memref, handle)
        return handle

    def _address(self, memref: MemRef) -> Operand:
        offset = memref.byte_offset
        if isinstance(offset, ConstInt):
            return self.text.constant(offset.value, DataType.INT64)
        return self.scalars.converted(self.scalars.coerced(offset, INDEX), INDEX, DataType.INT64)

    def _slot(self, var: Var, kind: TileType, memref: MemRef, region: Region) -> TileHandle:
        slot = memref.slot_index
        assert slot is not None and region.name is not None
        index = self.scalars.coerced(slot, INDEX)
        type_ = self.types.tile(kind)
        value = self.text.value(
            f"pto.multi_tile_get {region.name.name}[{index.name}] : {region.name.type} -> {type_}",
            type_,
            var.name_hint,
        )
        handle = TileHandle(value.name, type_, kind)
        self._remember(memref, handle)
        return handle

    def _reshaped(
        self, var: Var, kind: TileType, source: TileHandle, open_extents: bool = False
    ) -> TileHandle:
        """A view by name; runtime extents are set on it, as a view takes none from its source."""
        extents = extents_of(kind)
        numbers = tuple(static_dim(v) for v in extents.valid)
        known = None not in numbers and not open_extents
        type_ = self.types.tile(kind, (numbers[0], numbers[1]) if known else (None, None))
        value = self.text.value(
            f"pto.treshape {source.name} : {source.type} -> {type_}", type_, var.name_hint
        )
        if not known:
            rows, cols = (self.scalars.coerced(v, INDEX) for v in extents.valid)
            self.text.line(f"pto.set_validshape {value.name}, {rows.name}, {cols.name} : {type_}")
        return TileHandle(value.name, type_, kind)
