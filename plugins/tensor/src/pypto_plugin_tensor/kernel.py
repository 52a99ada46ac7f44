"""The state of a kernel's conversion: what each tensor has become, and the ways to get a tile of it.

What is made of a tensor (a load, a conversion, a layout for the matrix unit) goes right behind the tensor's definition,
once for each kind of use. Only memory that the kernel itself writes is read anew at each use.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from math import prod
from typing import Any

from pypto_core.diagnostics import Span, UserError
from pypto_core.ir import (
    EMPTY_MAP,
    INDEX_ZERO,
    AssignStmt,
    Call,
    CastMode,
    DataType,
    DistributedTensorType,
    EvalStmt,
    Expr,
    Function,
    MemorySpace,
    NameSource,
    Stmt,
    TensorType,
    TileLayout,
    TileType,
    Var,
    add,
    base_name,
    implicit_layout,
    static_shape,
    substitute,
)
from pypto_core.ops import create_call
from pypto_plugin_tensor.shapes import dims, physical, zeros
from pypto_plugin_tensor.storage import Storage
from pypto_plugin_tensor.values import Fresh, Global, Slot, Tile, Value, Window

VEC, MAT, ACC = MemorySpace.Vec, MemorySpace.Mat, MemorySpace.Acc


class Kernel:
    """One function on its way from tensors to tiles."""

    def __init__(self, function: Function, functions: Mapping[str, Function], ctx: Any) -> None:
        self.function, self.functions, self.ctx = function, functions, ctx
        self.storage = Storage(function.body, functions)
        self.names = NameSource()
        self.values: dict[Var, Value] = {}
        self.scalars: dict[Var, Expr] = {}
        self.bounds: dict[Var, tuple[int | None, int | None]] = {}
        self.first_trips: dict[Var, Expr] = {}
        self.cut: set[Expr] = set()
        self.row_unit = 1
        self.out: Slot = []
        for param in function.params:
            if isinstance(param.type, TensorType):
                self.values[param] = Global(kind=param.type, var=param, slot=self._slot())

    # -- statements

    def _slot(self) -> Slot:
        slot: Slot = []
        self.out.append(slot)
        return slot

    def put(self, stmt: Stmt, slot: Slot | None = None) -> None:
        """Append a statement here, or to a place kept before."""
        (self.out if slot is None else slot).append(stmt)

    def emit(
        self,
        name: str,
        args: Sequence[Expr],
        options: Mapping[str, Any] | None = None,
        *,
        like: str,
        span: Span,
        slot: Slot | None = None,
        var: str = "",
        role: str = "tile",
        notes: Mapping[str, Any] = EMPTY_MAP,
    ) -> Var:
        """A call of an operator, assigned to a new variable named after ``like``, or called ``var``.

        ``notes``: attributes of the operator that it stands for.
        """
        if name.startswith("tile.col_expand"):
            args = [args[0], self._own(args[1], slot), *args[2:]]
        call = create_call(name, args, options or {}, span, notes)
        made = Var(var or self.names.fresh(like, role), call.type, span=span)
        self.put(AssignStmt(made, call, span=span), slot)
        if name == "tile.slice":
            self.cut.add(made)
        return made

    def _own(self, row: Expr, slot: Slot | None) -> Expr:
        """A row that is spread over others lies by itself: of one in another tile the machine reads too much."""
        if row not in self.cut:
            return row
        assert isinstance(row, Var)
        args = [row, INDEX_ZERO, INDEX_ZERO, dims(tile_type(row).shape)]
        return self.emit(
            "tile.extract", args, {"target_memory": VEC}, like=row.name_hint, span=row.span, slot=slot
        )

    def define(self, var: Var, value: Value) -> None:
        """What a tensor variable of the author has become."""
        value.slot = self._slot()
        self.values[var] = value

    def scalar(self, expr: Expr) -> Expr:
        """An expression over scalars in the new kernel."""
        return substitute(expr, self.scalars) if self.scalars else expr

    def kind(self, kind: TensorType) -> TensorType:
        """A type of the author in the new kernel."""
        return substitute(kind, self.scalars) if self.scalars else kind

    # -- values

    def value(self, expr: Expr) -> Value:
        """What a tensor operand has become."""
        found = self.values.get(expr) if isinstance(expr, Var) else None
        if found is None:
            raise UserError(
                "this tensor comes from nowhere that a kernel can read",
                code="PT376",
                span=expr.span,
                remedy="pass it as a parameter of the kernel",
            )
        return found

    def window_of(self, value: Global | Window, kind: TensorType) -> Window:
        """All of a tensor as a window."""
        if isinstance(value, Window):
            return value
        rank = len(kind.shape)
        volatile = self.is_written(value.var)
        return Window(
            kind=kind, base=value.var, offsets=(INDEX_ZERO,) * rank, extents=kind.shape, slot=value.slot,
            made=value.made, volatile=volatile,
        )  # fmt: skip

    def is_written(self, var: Var) -> bool:
        """Whether the memory that a variable names changes in this kernel; other devices may write a window."""
        return isinstance(var.type, DistributedTensorType) or self.storage.root(var) in self.storage.writes

    def once(self, value: Value, key: Hashable, make: Callable[[Slot], Var]) -> Var:
        """What ``make(slot)`` makes of a value, behind its definition and only once where that is right."""
        if isinstance(value, Window) and value.volatile:
            return make(self.out)
        if key not in value.made:
            value.made[key] = make(value.slot)
        return value.made[key]

    # -- tiles

    def tile(self, value: Value, like: str, span: Span) -> Var:
        """A tile of exactly the tensor's shape and element type."""
        if isinstance(value, Global | Window):
            window = self.window_of(value, value.kind)
            return self.once(window, "tile", lambda slot: self.load(window, like, span, slot))
        if isinstance(value, Fresh):
            return self.once(value, "tile", lambda slot: self.filled(value, like, span, slot))
        assert isinstance(value, Tile)
        return self.once(value, "tile", lambda slot: self.exact(value, like, slot))

    def raw(self, value: Value, like: str, span: Span) -> Var:
        """The tile as it is, an accumulator with its padding and its element type; else as :meth:`tile`."""
        return value.var if isinstance(value, Tile) else self.tile(value, like, span)

    def exact(self, value: Tile, like: str, slot: Slot) -> Var:
        """A product brought to the vector unit, converted and cut to what the author sees of it."""
        tile, kind, span = value.var, value.kind, value.var.span
        have = tile_type(tile)
        if have.memory_space is ACC:
            blayout, _, _ = implicit_layout(have.shape, VEC)
            options = {"target_memory": VEC, "blayout": blayout, "slayout": TileLayout.none_box}
            tile = self.emit("tile.move", [tile], options, like=like, span=span, slot=slot)
        if have.dtype is not kind.dtype:
            options = {"target_type": kind.dtype, "mode": CastMode.rint}
            tile = self.emit("tile.cast", [tile], options, like=like, span=span, slot=slot)
        shape = static_shape(kind.shape)
        if shape is not None and static_shape(have.shape) != shape:
            args = [tile, dims(shape), zeros(len(shape))]
            tile = self.emit("tile.slice", args, like=like, span=span, slot=slot)
        return tile

    def load(
        self,
        window: Window,
        like: str,
        span: Span,
        slot: Slot,
        *,
        space: MemorySpace | None = None,
        extents: tuple[int, ...] | None = None,
    ) -> Var:
        """A window read into a tile of the shape of its type, or of ``extents`` of which the type says what holds."""
        kind = window.kind
        shape = extents or physical(kind, like, span, self.bounds)
        leading = tuple(range(len(window.dropped)))
        fits = window.dropped == leading
        full = shape if fits else _with_units(shape, window.dropped)
        valid = kind.valid_shape if fits else _with_units(kind.valid_shape, window.dropped)
        options: dict[str, Any] = {} if space is None else {"target_memory": space}
        if window.clamp:
            options["clamp"] = True
        args = [window.base, dims(window.offsets), dims(full), dims(valid)]
        tile = self.emit("tile.load", args, options, like=like, span=span, slot=slot, notes=window.notes)
        if fits:
            return tile
        return self.emit("tile.reshape", [tile, dims(shape)], like=like, span=span, slot=slot)

    def filled(self, value: Fresh, like: str, span: Span, slot: Slot) -> Var:
        """A tile of one value, or of none. A column is filled as a row, whose elements lie as its own do."""
        shape = physical(value.kind, like, span, self.bounds)
        options = {"dtype": value.kind.dtype}
        if value.fill is None:
            return self.emit("tile.create", [dims(shape)], options, like=like, span=span, slot=slot)
        column = len(shape) > 1 and shape[-1] == 1 and prod(shape) > 1
        lying = (1, prod(shape)) if column else shape
        tile = self.emit("tile.full", [dims(lying), value.fill], options, like=like, span=span, slot=slot)
        if not column:
            return tile
        return self.emit("tile.reshape", [tile, dims(shape)], like=like, span=span, slot=slot)

    def scratch(self, like: Var, span: Span, dtype: DataType | None = None) -> Var:
        """A tile of undefined content, as large as another."""
        kind = tile_type(like)
        options = {"dtype": dtype or kind.dtype, "target_memory": VEC}
        return self.emit(
            "tile.create", [dims(kind.shape)], options, like=like.name_hint, span=span, role="tmp"
        )

    # -- writing

    def store(
        self,
        source: Value,
        target: Global | Window,
        offset: Sequence[Expr],
        options: Mapping[str, Any],
        span: Span,
        like: str,
        notes: Mapping[str, Any] = EMPTY_MAP,
    ) -> Call:
        """The call that writes a tensor into a part of another."""
        into = target.kind.dtype
        tile = self.raw(source, like, span)
        have = tile_type(tile)
        if have.dtype is not into and have.memory_space is not ACC:
            cast = {"target_type": into, "mode": CastMode.rint}
            tile = self.emit("tile.cast", [self.tile(source, like, span)], cast, like=like, span=span)
        base, place = self.place(target, offset)
        args: list[Expr] = [tile, dims(place), base]
        base_type = base.type
        assert isinstance(base_type, TensorType)
        if len(have.shape) < len(base_type.shape):
            units = len(base_type.shape) - len(have.shape)
            args.append(dims((1,) * units + tile_type(tile).valid_shape))
        return create_call("tile.store", args, options, span, notes)

    def place(self, target: Global | Window, offset: Sequence[Expr]) -> tuple[Var, tuple[Expr, ...]]:
        """A position in a tensor as one in the memory that it is a part of."""
        if isinstance(target, Global):
            return target.var, tuple(offset)
        inner = list(offset)
        for axis in target.dropped:
            inner.insert(axis, INDEX_ZERO)
        return target.base, tuple(add(o, i) for o, i in zip(target.offsets, inner, strict=True))

    def effect(self, call: Call) -> None:
        """A call for its effect."""
        self.put(EvalStmt(call, span=call.span))


def tile_type(var: Var) -> TileType:
    """The type of a variable that holds a tile."""
    kind = var.type
    assert isinstance(kind, TileType)
    return kind


def _with_units(extents: Sequence[Any], dropped: Sequence[int]) -> tuple[Any, ...]:
    out = list(extents)
    for axis in sorted(dropped):
        out.insert(axis, 1)
    return tuple(out)


def name_of(expr: Expr, default: str = "t") -> str:
    """The author's name of a variable."""
    return base_name(expr.name_hint) if isinstance(expr, Var) else default
