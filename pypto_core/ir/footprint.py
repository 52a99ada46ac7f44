"""Physical bytes of a tile or tensor: the one place where they are computed."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from pypto_core.diagnostics import UNKNOWN_SPAN, Span, UserError
from pypto_core.ir.buffers import BufferType
from pypto_core.ir.dtypes import DataType
from pypto_core.ir.enums import MemorySpace
from pypto_core.ir.shaped import TensorType, TileType, static_dim, static_shape

AccRowAlignment = Callable[[DataType], int]
"""Rows that an Acc tile of an element type is rounded up to; a backend's ``acc_row_alignment``."""


def conservative_acc_rows(dtype: DataType) -> int:
    """Row alignment to assume when no backend is configured: the larger footprint, 32 rows for INT32, else 16."""
    return 32 if dtype is DataType.INT32 else 16


def round_up(value: int, multiple: int) -> int:
    """``value`` rounded up to a multiple."""
    return -(-value // multiple) * multiple


def physical_shape(
    kind: TileType | BufferType, acc_rows: AccRowAlignment = conservative_acc_rows
) -> tuple[int, ...] | None:
    """The extents that a tile occupies: Acc rows are rounded up; None when an extent is not a constant."""
    shape = kind.shape if isinstance(kind, BufferType) else static_shape(kind.shape)
    if shape is None or kind.memory_space is not MemorySpace.Acc or len(shape) < 2:
        return shape
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
