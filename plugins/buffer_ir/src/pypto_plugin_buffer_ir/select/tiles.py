"""Which tiles have a descriptor: dense rows in Vec, boxes of the matrix unit, extents that can be stated."""

from __future__ import annotations

from pypto_core.diagnostics import Span
from pypto_core.ir import (
    CompactMode,
    ConstInt,
    DataType,
    Expr,
    MemorySpace,
    PadValue,
    TileLayout,
    TileType,
    prove_le,
    static_dim,
    static_shape,
)
from pypto_plugin_buffer_ir.rules import (
    CUBE_DTYPES,
    MATRIX_SPACES,
    ROW_BYTES,
    STORED_ACC,
    TRANSFER_DTYPES,
)
from pypto_plugin_buffer_ir.select.refusal import EXTENTS, TILE, WINDOW, refuse
from pypto_plugin_buffer_ir.select.scalars import check_scalar

_DENSE = (TileLayout.row_major, TileLayout.none_box, 512)
Shape = tuple[int, int]


def check_tile(kind: TileType, span: Span, *, window: bool = False) -> None:
    """Refuse a tile without a descriptor. ``window``: it is a part of another, whose pitch it has."""
    shape = static_shape(kind.shape)
    if shape is None or len(shape) != 2 or min(shape) <= 0:
        refuse(TILE, f"{kind!r} is not a tile of two constant extents", span)
    if kind.memory_space is MemorySpace.Vec:
        _check_dense(kind, shape, span)
    elif kind.memory_space in MATRIX_SPACES:
        _check_boxed(kind, span)
    else:
        space = kind.memory_space.name if kind.memory_space is not None else "no memory"
        refuse(TILE, f"a tile in {space} has no form on buffers", span)
    if not window:
        _check_storage(kind, span)
    _check_extents(kind, span, window)


def _check_dense(kind: TileType, shape: tuple[int, ...], span: Span) -> None:
    view = kind.view
    if kind.dtype not in TRANSFER_DTYPES:
        refuse(TILE, f"elements of {kind.dtype} have no form on buffers in Vec", span)
    if view.layout != _DENSE or view.pad is not PadValue.null or view.compact is not CompactMode.null:
        refuse(TILE, f"{kind!r} is not laid out in dense unpadded rows", span)
    if row_bytes(kind) % ROW_BYTES:
        refuse(TILE, f"rows of {row_bytes(kind)} bytes are no multiple of {ROW_BYTES}", span)


def _check_boxed(kind: TileType, span: Span) -> None:
    view = kind.view
    accumulator = kind.memory_space is MemorySpace.Acc
    if kind.dtype not in (STORED_ACC if accumulator else CUBE_DTYPES):
        space = kind.memory_space.name if kind.memory_space is not None else ""
        refuse(TILE, f"elements of {kind.dtype} have no form on buffers in {space}", span)
    if view.pad is not PadValue.null:
        refuse(TILE, f"{kind!r} is padded", span)
    if is_dynamic(kind):
        refuse(EXTENTS, f"the valid extents of {kind!r} are known at run time only", span)


def _check_storage(kind: TileType, span: Span) -> None:
    view, memref = kind.view, kind.memref
    if view.start_offset is not None and static_dim(view.start_offset) != 0:
        refuse(TILE, f"{kind!r} does not start where its storage does", span)
    if view.stride and (len(view.stride) != 2 or not _packed(kind)):
        refuse(TILE, f"the rows of {kind!r} are not adjacent", span)
    if memref is None or memref.is_pinned or memref.slot_count != 1 or memref.slot_index is not None:
        refuse(TILE, f"{kind!r} has no allocation of its own, or one with slots or of the author's", span)
    offset = static_dim(memref.byte_offset)
    if offset is None or offset < 0 or offset % ROW_BYTES:
        refuse(TILE, f"{kind!r} does not start at a constant multiple of {ROW_BYTES} bytes", span)


def _packed(kind: TileType) -> bool:
    return [static_dim(s) for s in kind.view.stride] == [static_dim(kind.shape[1]), 1]


def _check_extents(kind: TileType, span: Span, window: bool) -> None:
    for extent, limit in zip(kind.valid_shape, shape_of(kind), strict=True):
        value = static_dim(extent)
        if value is None:
            check_scalar(extent, span)
        elif not 0 <= value <= limit:
            refuse(EXTENTS, f"a valid extent of {value} is not within {limit}", span)
        # Later passes may find a constant where there is an expression yet.
        if window and prove_le(extent, ConstInt(0)):
            refuse(WINDOW, "a window that is empty for certain has no form on buffers", span)


def shape_of(kind: TileType) -> Shape:
    """Rows and columns of a tile that was checked."""
    shape = static_shape(kind.shape)
    assert shape is not None and len(shape) == 2
    return shape


def row_bytes(kind: TileType) -> int:
    """Bytes of a row."""
    return kind.dtype.storage_bytes(shape_of(kind)[1])


def is_dynamic(kind: TileType) -> bool:
    """Whether its valid extents are a state of the allocation: not constant, or constant and empty."""
    return any(not static_dim(extent) for extent in kind.valid_shape)


def described_as(kind: TileType) -> tuple[Shape, DataType]:
    """What all tiles of one allocation have in common unless it is looked at in several ways."""
    return shape_of(kind), kind.dtype


def extents_text(extents: tuple[Expr, ...]) -> str:
    """Extents for a message."""
    return "x".join("?" if static_dim(e) is None else str(static_dim(e)) for e in extents)
