"""Physical bytes of a tile or tensor: the one place where they are computed."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from pypto_core.diagnostics import UNKNOWN_SPAN, Span, UserError
from pypto_core.ir.buffers import BufferType
from pypto_core.ir.dtypes import DataType
from pypto_core.ir.enums import MemorySpace, TileLayout
from pypto_core.ir.shaped import TensorType, TileType, TileView, static_dim, static_shape

AccRowAlignment = Callable[[DataType], int]
"""Rows that an Acc tile of an element type is rounded up to; a backend's ``acc_row_alignment``."""


def conservative_acc_rows(dtype: DataType) -> int:
    """Row alignment to assume when no backend is configured: the larger footprint, 32 rows for INT32, else 16."""
    return 32 if dtype is DataType.INT32 else 16


def round_up(value: int, multiple: int) -> int:
    """``value`` rounded up to a multiple."""
    return -(-value // multiple) * multiple


LINE_BYTES = 32
"""Lines of tiles without boxes are stored in blocks of so many bytes, which machines and assembler count in."""


def stored_extents(shape: tuple[int, ...], dtype: DataType, view: TileView | BufferType) -> tuple[int, ...]:
    """The extents that storage is laid out for: of a tile without boxes, lines rounded up to whole blocks.

    A line is a row, or a column where the tile is stored by columns. ``view`` has the blayout and the slayout. A tile
    that states its strides is laid out by these.
    """
    if view.slayout is not TileLayout.none_box or not shape or (isinstance(view, TileView) and view.stride):
        return shape
    axis = -2 if view.blayout is TileLayout.col_major and len(shape) > 1 else -1
    block = LINE_BYTES * 2 if dtype.bits == 4 else LINE_BYTES // dtype.element_bytes
    out = list(shape)
    out[axis] = round_up(out[axis], block)
    return tuple(out)


def physical_shape(
    kind: TileType | BufferType, acc_rows: AccRowAlignment = conservative_acc_rows
) -> tuple[int, ...] | None:
    """The extents that a tile occupies: Acc rows and lines without boxes are rounded up.

    None when an extent is not a constant.
    """
    shape = kind.shape if isinstance(kind, BufferType) else static_shape(kind.shape)
    if shape is None:
        return None
    if kind.memory_space is not MemorySpace.Acc or len(shape) < 2:
        return stored_extents(shape, kind.dtype, kind if isinstance(kind, BufferType) else kind.view)
    return (*shape[:-2], round_up(shape[-2], acc_rows(kind.dtype)), shape[-1])


def physical_bytes(
    kind: TileType | BufferType | TensorType,
    acc_rows: AccRowAlignment = conservative_acc_rows,
    span: Span = UNKNOWN_SPAN,
) -> int:
    """Bytes that a tile, buffer or tensor occupies.

    ``acc_rows``: row alignment of Acc tiles, from the backend. Raises UserError, at ``span``, for a tile with an extent
    that is not a positive constant; a tensor with one has size 0 (global memory is not planned).
    """
    if isinstance(kind, TensorType):
        shape = static_shape(kind.shape)
        return 0 if shape is None else kind.dtype.storage_bytes(prod(shape))
    shape = physical_shape(kind, acc_rows)
    if shape is None or any(d <= 0 for d in shape):
        assert isinstance(kind, TileType)
        bad = next(i for i, d in enumerate(kind.shape) if (static_dim(d) or 0) <= 0)
        raise UserError(
            f"extent {bad} of {kind!r} must be a positive constant to have a size",
            code="PT211",
            span=span,
            remedy="give the tile a constant shape and narrow it with valid_shape",
        )
    return kind.dtype.storage_bytes(prod(shape))
