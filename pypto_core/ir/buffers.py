"""Descriptors of buffers: what a handle of the Buffer stage may say of the bytes that it stands for.

A descriptor has no address and no MemRef: which bytes a handle means is said by the operator that defines it.
"""

from __future__ import annotations

from math import prod

from pypto_core.diagnostics import UserError
from pypto_core.ir.dtypes import DataType
from pypto_core.ir.enums import CompactMode, MemorySpace, PadValue, TileLayout
from pypto_core.ir.node import PLAIN, node_class, use
from pypto_core.ir.types import Type

RUNTIME_EXTENT = -1
"""A valid extent that is not part of the descriptor: operands give it."""


@node_class
class BufferType(Type):
    """A block of an on-chip memory, all of its physical extents constant.

    ``valid_shape``: per axis the constant extent that holds data, or RUNTIME_EXTENT; empty stands for all and is
    stored as the shape. The layout fields are those of a :class:`TileView`.
    """

    shape: tuple[int, ...] = use(PLAIN, converter=tuple)
    dtype: DataType = use(PLAIN)
    memory_space: MemorySpace = use(PLAIN)
    valid_shape: tuple[int, ...] = use(PLAIN, default=(), converter=tuple)
    blayout: TileLayout = use(PLAIN, default=TileLayout.row_major)
    slayout: TileLayout = use(PLAIN, default=TileLayout.none_box)
    fractal: int = use(PLAIN, default=512)
    pad: PadValue = use(PLAIN, default=PadValue.null)
    compact: CompactMode = use(PLAIN, default=CompactMode.null)

    def __attrs_post_init__(self) -> None:
        for extent in self.shape:
            if isinstance(extent, bool) or extent <= 0:
                raise UserError(
                    f"a buffer has positive constant extents, not {list(self.shape)}",
                    code="PT212",
                    remedy="give every axis a positive number of elements",
                )
        if not self.valid_shape:
            object.__setattr__(self, "valid_shape", self.shape)
            return
        if len(self.valid_shape) != len(self.shape):
            raise UserError(
                f"a buffer of {len(self.shape)} axes has {len(self.valid_shape)} valid extents",
                code="PT212",
                remedy="give one valid extent per axis",
            )
        for valid, extent in zip(self.valid_shape, self.shape, strict=True):
            if isinstance(valid, bool) or not (valid == RUNTIME_EXTENT or 0 <= valid <= extent):
                raise UserError(
                    f"a valid extent of a buffer lies between 0 and {extent}, or is {RUNTIME_EXTENT}: not {valid}",
                    code="PT212",
                    facts={"shape": list(self.shape), "valid extents": list(self.valid_shape)},
                    remedy=f"{RUNTIME_EXTENT} stands for an extent that is known at run time",
                )

    @property
    def layout(self) -> tuple[TileLayout, TileLayout, int]:
        """(blayout, slayout, fractal)."""
        return (self.blayout, self.slayout, self.fractal)

    @property
    def is_dense(self) -> bool:
        """Whether rows follow each other and elements lie in none but their own order, without padding."""
        plain = (TileLayout.row_major, TileLayout.none_box, 512)
        return self.layout == plain and self.pad is PadValue.null and self.compact is CompactMode.null

    @property
    def is_static(self) -> bool:
        """Whether every valid extent is part of the descriptor."""
        return RUNTIME_EXTENT not in self.valid_shape

    @property
    def is_fully_valid(self) -> bool:
        """Whether every element holds data."""
        return self.valid_shape == self.shape

    @property
    def size(self) -> int:
        """Bytes, those without data included; four-bit elements share a byte."""
        return self.dtype.storage_bytes(prod(self.shape))

    def __repr__(self) -> str:
        valid = "" if self.is_fully_valid else f" valid {list(self.valid_shape)}"
        return f"Buffer[{list(self.shape)}{valid}, {self.dtype}, {self.memory_space.name}]"


@node_class
class MultiBufferType(Type):
    """Equal slots of one allocation."""

    element_type: BufferType = use()
    slot_count: int = use(PLAIN)

    def __attrs_post_init__(self) -> None:
        if isinstance(self.slot_count, bool) or self.slot_count <= 0:
            raise UserError(
                f"an allocation of several buffers has a positive number of slots, not {self.slot_count}",
                code="PT212",
                remedy="give it two slots or more",
            )

    def __repr__(self) -> str:
        return f"MultiBuffer[{self.element_type!r}, {self.slot_count}]"
