"""Types with a shape, and the views that say how their elements lie in memory.

The encoding is canonical, so that equal things are equally written: a valid shape equal to the shape is stored
empty, a tile view that says no more than the implicit one of (shape, memory space) is stored as None, and so is
a tensor view that says nothing. Readers go through the *effective* view and valid shape.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from pypto_core.diagnostics import UserError
from pypto_core.ir.depth import too_deep
from pypto_core.ir.dtypes import DataType
from pypto_core.ir.enums import CompactMode, MemorySpace, PadValue, TensorLayout, TileLayout
from pypto_core.ir.expr import BinaryExpr, Call, ConstBool, ConstFloat, ConstInt, Expr, MemRef, UnaryExpr, Var
from pypto_core.ir.naming import base_name
from pypto_core.ir.node import MAYBE, NODES, PLAIN, node_class, replace, use
from pypto_core.ir.types import ScalarType, TupleType, Type

MAX_RANK = 32
"""Axes that a tensor or tile may have; no machine comes near."""

_NONE, _ROW, _COL = TileLayout.none_box, TileLayout.row_major, TileLayout.col_major


def too_many_axes(rank: int) -> UserError:
    """The error for a type of more than :data:`MAX_RANK` axes."""
    return UserError(
        "a tensor or tile can't have so many axes",
        code="PT214",
        facts={"axes": rank, "limit": MAX_RANK},
        remedy="merge axes that are used together",
    )


def as_dims(value: Iterable[int | Expr]) -> tuple[Expr, ...]:
    """A shape: plain ints become INDEX constants."""
    return tuple(d if isinstance(d, Expr) else ConstInt(d) for d in value)


def dims_equal(a: Expr, b: Expr) -> bool:
    """Whether two extents are the same by construction.

    That is: one object, equal constants, or equal operators on equal operands. Raises UserError (PT213) for extents
    nested too deeply to compare.
    """
    if a is b:
        return True
    try:
        return _built_alike(a, b)
    except RecursionError:
        raise too_deep(a, "compare") from None


def _built_alike(a: Expr, b: Expr) -> bool:
    cls = type(a)
    if cls is not type(b):
        return False
    if isinstance(a, ConstInt | ConstFloat | ConstBool):
        return a.value == b.value  # type: ignore[union-attr]
    if isinstance(a, BinaryExpr):
        return dims_equal(a.left, b.left) and dims_equal(a.right, b.right)  # type: ignore[union-attr]
    if isinstance(a, UnaryExpr):
        return a.type is b.type and dims_equal(a.operand, b.operand)  # type: ignore[union-attr]
    if isinstance(a, Call):
        return a.op.name == b.op.name and shapes_equal(a.args, b.args)  # type: ignore[union-attr]
    return False


def shapes_equal(a: tuple[Expr, ...], b: tuple[Expr, ...]) -> bool:
    """Whether two shapes have equal rank and equal extents (see :func:`dims_equal`)."""
    return a is b or (len(a) == len(b) and all(dims_equal(x, y) for x, y in zip(a, b, strict=True)))


def static_dim(dim: Expr) -> int | None:
    """The extent as a number, or None when it is not a constant."""
    return dim.value if isinstance(dim, ConstInt) else None


def static_shape(shape: tuple[Expr, ...]) -> tuple[int, ...] | None:
    """All extents as numbers, or None when one of them is not a constant."""
    out = tuple(d.value for d in shape if isinstance(d, ConstInt))
    return out if len(out) == len(shape) else None


@node_class
class TensorView(Type):
    """How a tensor lies in global memory: strides in elements, layout, valid extents, padding."""

    stride: tuple[Expr, ...] = use(NODES, default=(), converter=as_dims)
    layout: TensorLayout = use(PLAIN, default=TensorLayout.ND)
    valid_shape: tuple[Expr, ...] = use(NODES, default=(), converter=as_dims)
    pad: PadValue = use(PLAIN, default=PadValue.null)

    visit_order: ClassVar[tuple[str, ...]] = ()

    def is_trivial(self) -> bool:
        """Whether the view says nothing."""
        return (
            self.layout is TensorLayout.ND
            and not self.stride
            and not self.valid_shape
            and self.pad is PadValue.null
        )


@node_class
class TileView(Type):
    """How a tile lies in on-chip memory.

    ``valid_shape``: extents that hold data, empty for all. ``blayout`` orders boxes, ``slayout`` the elements
    within a box, ``fractal`` is the box size in bytes. ``compact``: rows at the pitch of the valid rows (Acc).
    """

    valid_shape: tuple[Expr, ...] = use(NODES, default=(), converter=as_dims)
    stride: tuple[Expr, ...] = use(NODES, default=(), converter=as_dims)
    start_offset: Expr | None = use(MAYBE, default=None)
    blayout: TileLayout = use(PLAIN, default=_ROW)
    slayout: TileLayout = use(PLAIN, default=_NONE)
    fractal: int = use(PLAIN, default=512)
    pad: PadValue = use(PLAIN, default=PadValue.null)
    compact: CompactMode = use(PLAIN, default=CompactMode.null)

    @property
    def layout(self) -> tuple[TileLayout, TileLayout, int]:
        """(blayout, slayout, fractal)."""
        return (self.blayout, self.slayout, self.fractal)


# (blayout, slayout, fractal bytes) of spaces that have a layout of their own; None: row- or column-major by shape.
_SPACE_LAYOUT: dict[MemorySpace | None, tuple[TileLayout | None, TileLayout, int]] = {
    MemorySpace.Mat: (_COL, _ROW, 512),
    MemorySpace.Left: (_COL, _ROW, 512),
    MemorySpace.Right: (None, _COL, 512),
    MemorySpace.Acc: (_COL, _ROW, 1024),
    MemorySpace.LeftScale: (_ROW, _ROW, 32),
    MemorySpace.RightScale: (_COL, _COL, 32),
}
_PLAIN_LAYOUT = (None, _NONE, 512)
_IMPLICIT: dict[tuple[TileLayout, TileLayout, int], TileView] = {}


def has_own_layout(space: MemorySpace | None) -> bool:
    """Whether tiles of this space take the space's layout whatever they had before."""
    return space in _SPACE_LAYOUT


def is_column(shape: tuple[Expr, ...]) -> bool:
    """Whether a shape is a static 2-D column ``[N > 1, 1]``."""
    return (
        len(shape) == 2
        and isinstance(shape[0], ConstInt)
        and shape[0].value > 1
        and isinstance(shape[1], ConstInt)
        and shape[1].value == 1
    )


def implicit_layout(shape: tuple[Expr, ...], space: MemorySpace | None) -> tuple[TileLayout, TileLayout, int]:
    """(blayout, slayout, fractal) of a tile of this shape and space when nothing else is said."""
    blayout, slayout, fractal = _SPACE_LAYOUT.get(space, _PLAIN_LAYOUT)
    if blayout is None:
        blayout = _COL if is_column(shape) else _ROW
    return blayout, slayout, fractal


def implicit_tile_view(shape: tuple[Expr, ...], space: MemorySpace | None) -> TileView:
    """The view of a tile that stores none; the same object for the same layout."""
    key = implicit_layout(shape, space)
    view = _IMPLICIT.get(key)
    if view is None:
        view = _IMPLICIT[key] = TileView(blayout=key[0], slayout=key[1], fractal=key[2])
    return view


def box_shape(view: TileView, dtype: DataType) -> tuple[int, int]:
    """(rows, columns) of one box in elements; (1, 1) when the tile is not boxed."""
    if view.slayout is _NONE:
        return 1, 1
    if view.fractal == 1024:
        return 16, 16
    if view.fractal == 32:
        return (16, 2) if view.slayout is _ROW else (2, 16)
    inner = max(1, view.fractal // 16 * 8 // max(dtype.bits, 4))
    return (16, inner) if view.slayout is _ROW else (inner, 16)


def _check_fp4(dtype: DataType, shape: tuple[Expr, ...], what: str) -> None:
    last = static_dim(shape[-1]) if shape else None
    if last is not None and (last <= 0 or last % 2):
        raise UserError(
            f"the innermost {what} of an {dtype} value must be even and positive, not {last}",
            remedy="two four-bit elements share a byte: round the extent up to an even number",
        )


def _canonical_tile_view(
    view: TileView, shape: tuple[Expr, ...], space: MemorySpace | None
) -> TileView | None:
    if view.valid_shape and len(view.valid_shape) != len(shape):
        raise UserError(
            f"valid_shape has {len(view.valid_shape)} extents, the tile has {len(shape)}",
            remedy="give one valid extent per axis",
        )
    if view.valid_shape and shapes_equal(view.valid_shape, shape):
        view = replace(view, valid_shape=())
    plain = (
        not view.valid_shape
        and not view.stride
        and view.start_offset is None
        and view.pad is PadValue.null
        and view.compact is CompactMode.null
    )
    return None if plain and view.layout == implicit_layout(shape, space) else view


@node_class
class TensorType(Type):
    """A tensor in global memory."""

    shape: tuple[Expr, ...] = use(NODES, converter=as_dims)
    dtype: DataType = use(PLAIN)
    memref: MemRef | None = use(MAYBE, default=None)
    tensor_view: TensorView | None = use(MAYBE, default=None)

    def __attrs_post_init__(self) -> None:
        if len(self.shape) > MAX_RANK:
            raise too_many_axes(len(self.shape))
        if self.dtype is DataType.FP4:
            _check_fp4(self.dtype, self.shape, "extent")
        view = self.tensor_view
        if view is None:
            return
        if view.valid_shape:
            if len(view.valid_shape) != len(self.shape):
                raise UserError(
                    f"valid_shape has {len(view.valid_shape)} extents, the tensor has {len(self.shape)}",
                    remedy="give one valid extent per axis",
                )
            if shapes_equal(view.valid_shape, self.shape):
                view = replace(view, valid_shape=())
                object.__setattr__(self, "tensor_view", view)
        if view.is_trivial():
            object.__setattr__(self, "tensor_view", None)

    @property
    def valid_shape(self) -> tuple[Expr, ...]:
        """Effective valid extents."""
        view = self.tensor_view
        return view.valid_shape if view is not None and view.valid_shape else self.shape

    @property
    def memory_space(self) -> MemorySpace:
        """Tensors live in DDR."""
        return MemorySpace.DDR

    def __repr__(self) -> str:
        return f"Tensor[{_text(self.shape)}, {self.dtype}]"


@node_class
class DistributedTensorType(TensorType):
    """A tensor in a window: this device's part of memory that every device of the run has a part of."""

    def __repr__(self) -> str:
        return f"DistributedTensor[{_text(self.shape)}, {self.dtype}]"


@node_class
class TileType(Type):
    """A block of a matrix in an on-chip memory.

    ``memory_space`` is None until it is inferred; a ``memref`` needs one.
    """

    shape: tuple[Expr, ...] = use(NODES, converter=as_dims)
    dtype: DataType = use(PLAIN)
    memref: MemRef | None = use(MAYBE, default=None)
    tile_view: TileView | None = use(MAYBE, default=None)
    memory_space: MemorySpace | None = use(PLAIN, default=None)

    def __attrs_post_init__(self) -> None:
        if len(self.shape) > MAX_RANK:
            raise too_many_axes(len(self.shape))
        if self.memref is not None and self.memory_space is None:
            raise UserError(
                "a tile with a MemRef needs a memory space",
                remedy="name the space in the annotation, e.g. pl.Mem.Vec",
            )
        if self.dtype is DataType.FP4:
            _check_fp4(self.dtype, self.shape, "extent")
        view = self.tile_view
        if view is None:
            return
        if self.dtype is DataType.FP4 and view.valid_shape:
            _check_fp4(self.dtype, view.valid_shape, "valid extent")
        canonical = _canonical_tile_view(view, self.shape, self.memory_space)
        if canonical is not view:
            object.__setattr__(self, "tile_view", canonical)

    @property
    def view(self) -> TileView:
        """Effective view: the stored one or the implicit one. Its ``valid_shape`` may be empty."""
        if self.tile_view is not None:
            return self.tile_view
        return implicit_tile_view(self.shape, self.memory_space)

    @property
    def valid_shape(self) -> tuple[Expr, ...]:
        """Effective valid extents."""
        view = self.tile_view
        return view.valid_shape if view is not None and view.valid_shape else self.shape

    @property
    def is_fully_valid(self) -> bool:
        """Whether the whole shape is valid."""
        return self.tile_view is None or not self.tile_view.valid_shape

    def __repr__(self) -> str:
        space = f", {self.memory_space.name}" if self.memory_space else ""
        return f"Tile[{_text(self.shape)}, {self.dtype}{space}]"


def lies_anywhere(kind: Type) -> bool:
    """Whether a type is that of a tile whose memory nobody has said."""
    return isinstance(kind, TileType) and kind.memory_space is None


def placed_like(kind: Type, other: Type) -> Type:
    """A tile without a memory in the memory of another one, and laid out as that is unless it says how; else itself.

    Its valid extents stay.
    """
    if not (isinstance(kind, TileType) and isinstance(other, TileType)) or kind.memory_space is not None:
        return kind
    if other.memory_space is None or len(kind.shape) != len(other.shape):
        return kind
    view = kind.tile_view or replace(other.view, valid_shape=())
    return TileType(kind.shape, kind.dtype, kind.memref, view, other.memory_space)


@node_class
class ArrayType(Type):
    """A small local array of integers, booleans or task ids."""

    dtype: DataType = use(PLAIN)
    extent: int = use(PLAIN)

    def __attrs_post_init__(self) -> None:
        if not (self.dtype.is_int or self.dtype in (DataType.BOOL, DataType.TASK_ID)):
            raise UserError(
                f"an array holds integers, BOOL or TASK_ID, not {self.dtype}",
                remedy="use one of these element types, or a tile or tensor",
            )
        if self.extent <= 0:
            raise UserError(
                f"an array needs a positive extent, not {self.extent}",
                remedy="give the number of its elements",
            )

    def __repr__(self) -> str:
        return f"Array[{self.extent}, {self.dtype}]"


def is_dependency(kind: Type) -> bool:
    """Whether a task may wait for a value of this type: a task id, or an array or tuple of them for each."""
    if isinstance(kind, TupleType):
        return all(is_dependency(t) for t in kind.types)
    return isinstance(kind, ScalarType | ArrayType) and kind.dtype is DataType.TASK_ID


ShapedType = TensorType | TileType


def _text(shape: tuple[Expr, ...]) -> str:
    return "[" + ", ".join(map(_extent_text, shape)) + "]"


def _extent_text(dim: Expr) -> str:
    if isinstance(dim, ConstInt):
        return str(dim.value)
    return base_name(dim.name_hint) if isinstance(dim, Var) else "…"
