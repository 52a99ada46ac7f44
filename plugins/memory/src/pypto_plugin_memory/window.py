"""Where the elements of a tile lie in its storage, and which bytes a window of it spans."""

from __future__ import annotations

import attrs

from pypto_core.diagnostics import Span, UserError
from pypto_core.ir import (
    INDEX_ZERO,
    AccRowAlignment,
    ConstInt,
    DataType,
    Expr,
    TileLayout,
    TileType,
    add,
    box_shape,
    const_index,
    floordiv,
    floormod,
    mul,
    physical_shape,
    static_shape,
)

_NONE, _COL = TileLayout.none_box, TileLayout.col_major


@attrs.frozen(kw_only=True)
class Geometry:
    """The storage that a tile is a window of: the extents that set its pitch, box (rows, columns) and layout.

    A window keeps the geometry of what it was cut from, so that a window of a window is found at the right pitch.
    """

    shape: tuple[int, ...]
    blayout: TileLayout
    slayout: TileLayout
    box: tuple[int, int]
    dtype: DataType

    def element(self, index: tuple[Expr, ...]) -> Expr:
        """Position of an element, in elements from the first; folded where the index is constant."""
        if len(self.shape) < 2:
            return index[-1] if index else INDEX_ZERO
        *lead, rows, cols = self.shape
        *lead_index, r, c = index
        outer: Expr = INDEX_ZERO
        for extent, i in zip(lead, lead_index, strict=True):
            outer = add(mul(outer, extent), i)
        if self.slayout is _NONE:
            if self.blayout is _COL:
                return add(mul(add(mul(outer, cols), c), rows), r)
            return add(mul(add(mul(outer, rows), r), cols), c)
        return add(mul(outer, rows * cols), self._boxed(r, c, rows, cols))

    def _boxed(self, r: Expr, c: Expr, rows: int, cols: int) -> Expr:
        height, width = self.box
        down, across = floordiv(r, height), floordiv(c, width)
        if self.blayout is _COL:
            start = add(mul(across, rows * width), mul(down, height * width))
        else:
            start = add(mul(down, cols * height), mul(across, height * width))
        inner_r, inner_c = floormod(r, height), floormod(c, width)
        if self.slayout is _COL:
            return add(start, add(mul(inner_c, height), inner_r))
        return add(start, add(mul(inner_r, width), inner_c))


def geometry_of(kind: TileType, acc_rows: AccRowAlignment) -> Geometry | None:
    """The geometry of a tile that owns its storage; None when an extent is not a constant."""
    shape = physical_shape(kind, acc_rows)
    if shape is None:
        return None
    view = kind.view
    return Geometry(
        shape=shape,
        blayout=view.blayout,
        slayout=view.slayout,
        box=box_shape(view, kind.dtype),
        dtype=kind.dtype,
    )


def window_bytes(
    geometry: Geometry, offset: tuple[Expr, ...], shape: tuple[Expr, ...], span: Span
) -> tuple[Expr, int | None]:
    """(byte offset, bytes from the first to the last element) of a window.

    The span is None when the window's extents are not constant. Offsets that are not constant are taken to start
    a box, as every operator on boxed tiles demands. Raises UserError for a window of four-bit elements that does
    not start on a byte.
    """
    first = geometry.element(offset)
    extents = static_shape(shape)
    if len(offset) != len(geometry.shape) or extents is None or len(extents) != len(offset):
        return _in_bytes(first, geometry.dtype, span), None
    start = offset if isinstance(first, ConstInt) else (INDEX_ZERO,) * len(offset)
    last = tuple(add(o, n - 1) for o, n in zip(start, extents, strict=True))
    low, high = geometry.element(start), geometry.element(last)
    assert isinstance(low, ConstInt) and isinstance(high, ConstInt)
    return _in_bytes(first, geometry.dtype, span), geometry.dtype.storage_bytes(high.value - low.value + 1)


def _in_bytes(element: Expr, dtype: DataType, span: Span) -> Expr:
    if dtype.bits != 4:
        return mul(element, dtype.element_bytes)
    if not isinstance(element, ConstInt) or element.value % 2:
        raise UserError(
            f"a window of {dtype} elements must start at a constant even element",
            code="PT624",
            span=span,
            facts={
                "starts at element": element.value if isinstance(element, ConstInt) else "a run-time index"
            },
            remedy="two elements share a byte: start the slice at an even constant column",
        )
    return const_index(element.value // 2)
