"""From the type of a tile to the descriptor of its buffer."""

from __future__ import annotations

from collections.abc import Iterable

from pypto_core.diagnostics import Span
from pypto_core.ir import (
    RUNTIME_EXTENT,
    BufferType,
    CompactMode,
    Expr,
    MemorySpace,
    PadValue,
    TileLayout,
    TileType,
    TileView,
    const_index,
    is_const,
    static_dim,
    static_shape,
)
from pypto_plugin_buffer_ir.refusal import refused
from pypto_plugin_buffer_ir.rules import CUBE_DTYPES, MATRIX_SPACES, RELABEL_DTYPES, STORED_ACC

Dims = tuple[Expr, ...]
Key = tuple[object, ...]


def key_of(kind: BufferType) -> Key:
    """What two equal descriptors have in common, in an order that sorts."""
    return (
        kind.dtype.name, kind.shape, kind.valid_shape, kind.blayout.name, kind.slayout.name, kind.fractal,
        kind.pad.name, kind.compact.name,
    )  # fmt: skip


def valid_of(kind: TileType) -> Dims:
    """The valid extents of a tile as operands: constants as indices, everything else as it is."""
    return tuple(d if (value := static_dim(d)) is None else const_index(value) for d in kind.valid_shape)


def is_empty(dims: Iterable[Expr]) -> bool:
    """Whether there is certainly nothing in a rectangle."""
    return any(is_const(d, 0) for d in dims)


def storage_descriptor(kind: TileType, span: Span) -> BufferType:
    """The descriptor of a tile that has storage of its own.

    A valid extent that is not a positive constant opens both: the instruction that sets them sets both at once.
    """
    if kind.memory_space in MATRIX_SPACES:
        return _matrix(kind, span)
    shape = _dense_shape(kind, span)
    _check_place(kind, span)
    numbers = static_shape(kind.valid_shape)
    valid = numbers if numbers is not None and all(numbers) else (RUNTIME_EXTENT,) * 2
    return BufferType(shape, kind.dtype, MemorySpace.Vec, valid)


def window_descriptor(kind: TileType, span: Span) -> BufferType:
    """The descriptor of a window: each valid extent stands for itself, as a window's are never set."""
    shape = _dense_shape(kind, span)
    numbers = tuple(static_dim(d) for d in kind.valid_shape)
    if 0 in numbers:
        raise refused(
            "a window without elements has no form on buffers",
            span,
            "leave the window out, or give it a valid extent that is known at run time",
            valid_extents=[n if n is not None else "runtime" for n in numbers],
        )
    valid = tuple(RUNTIME_EXTENT if n is None else n for n in numbers)
    return BufferType(shape, kind.dtype, MemorySpace.Vec, valid)


def product_descriptor(acc: TileType, rows: Expr, cols: Expr, span: Span) -> BufferType:
    """An accumulator as far as one product fills it."""
    kind = _matrix(acc, span)
    valid = static_shape((rows, cols))
    if valid is None:
        raise refused("the valid extents of a product's factors must be constants", span)
    return BufferType(
        kind.shape, kind.dtype, kind.memory_space, valid, kind.blayout, kind.slayout, kind.fractal, kind.pad,
        kind.compact,
    )  # fmt: skip


def _rank2(kind: TileType, span: Span) -> tuple[int, ...]:
    shape = static_shape(kind.shape)
    if shape is None or len(shape) != 2:
        raise refused("a tile on buffers has two constant extents", span, tile=repr(kind))
    return shape


def _dense_shape(kind: TileType, span: Span) -> tuple[int, ...]:
    """The shape of a tile in Vec whose rows follow each other."""
    shape, view = _rank2(kind, span), kind.view
    plain = (
        kind.memory_space is MemorySpace.Vec
        and kind.dtype in RELABEL_DTYPES
        and view.layout == (TileLayout.row_major, TileLayout.none_box, 512)
        and view.pad is PadValue.null
        and view.compact is CompactMode.null
    )
    if not plain:
        raise refused(
            "buffers of Vec are dense rank-2 Vec FP16/BF16/FP32/INT32 tiles, row by row and without padding",
            span,
            tile=repr(kind),
            layout=f"{view.blayout.name}, {view.slayout.name}, {view.fractal}, pad {view.pad.name}",
        )
    return shape


def _check_place(kind: TileType, span: Span) -> None:
    view = kind.view
    if view.start_offset is not None and not is_const(view.start_offset, 0):
        raise refused("nonzero tile view offsets have no form on buffers", span, tile=repr(kind))
    if view.stride and not _is_packed(view, kind.shape):
        raise refused("strided tiles require an explicit Buffer view recipe", span, tile=repr(kind))


def _is_packed(view: TileView, shape: Dims) -> bool:
    return (
        len(view.stride) == 2
        and static_dim(view.stride[0]) == static_dim(shape[1])
        and is_const(view.stride[1], 1)
    )


def _matrix(kind: TileType, span: Span) -> BufferType:
    shape, view, space = _rank2(kind, span), kind.view, kind.memory_space
    assert space is not None
    accepted = frozenset(STORED_ACC) if space is MemorySpace.Acc else CUBE_DTYPES
    if kind.dtype not in accepted or view.pad is not PadValue.null:
        raise refused(
            f"buffers of {space.name} are unpadded and hold {'/'.join(sorted(d.name for d in accepted))} elements",
            span,
            tile=repr(kind),
        )
    _check_place(kind, span)
    valid = static_shape(kind.valid_shape)
    if valid is None:
        raise refused(f"valid extents of a buffer of {space.name} are constants", span, tile=repr(kind))
    return BufferType(
        shape, kind.dtype, space, valid, view.blayout, view.slayout, view.fractal, view.pad, view.compact
    )
