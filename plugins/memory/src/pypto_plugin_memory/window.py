"""Which bytes of a tile's storage a window of it spans, offsets that are known at run time only included."""

from __future__ import annotations

from pypto_core.diagnostics import Span, UserError
from pypto_core.ir import (
    INDEX_ZERO,
    AccRowAlignment,
    Call,
    ConstInt,
    DataType,
    Digit,
    ElementMap,
    Expr,
    MakeTuple,
    MemorySpace,
    MemRef,
    TileType,
    Type,
    add,
    const_index,
    floordiv,
    floormod,
    is_const,
    mul,
    physical_bytes,
    static_shape,
    tile_map,
)
from pypto_core.ops import written_span

_KEEPS_ROWS = frozenset({"tile.slice", "tile.set_validshape"})


def view_layout(
    call: Call, layout: ElementMap | None, kind: Type, rows: AccRowAlignment
) -> ElementMap | None:
    """Where the elements of a view lie: as those of its source (``layout``) do, or in an order of its own."""
    if call.op.name in _KEEPS_ROWS:
        return layout
    return tile_map(kind, acc_rows=rows) if isinstance(kind, TileType) else None


def view_place(call: Call, layout: ElementMap | None, parent: MemRef) -> MemRef:
    """The place of a view of what lies at ``parent`` by ``layout``; the same object when it is all of it."""
    if call.op.name != "tile.slice":
        return parent
    window, offset = call.args[1], call.args[2]
    assert isinstance(window, MakeTuple)
    if layout is None or not isinstance(offset, MakeTuple):
        return parent
    delta, size = window_bytes(layout, offset.elements, window.elements, call.span)
    nowhere = is_const(delta, 0)
    if nowhere and size in (None, parent.size):
        return parent
    return MemRef(
        parent.base,
        parent.byte_offset if nowhere else _plus(parent.byte_offset, delta),
        parent.size if size is None else size,
        span=parent.span,
    )


def _plus(offset: Expr, delta: Expr) -> Expr:
    if isinstance(offset, ConstInt) and isinstance(delta, ConstInt):
        return ConstInt(offset.value + delta.value)
    if is_const(offset, 0):
        return delta
    return add(offset, delta)


def is_packed(kind: Type, size: int) -> bool:
    """Whether ``size`` bytes are what a tile of that type takes up by itself: its rows are adjacent."""
    if not isinstance(kind, TileType) or kind.memory_space is MemorySpace.Acc:
        return True
    return size == physical_bytes(kind)


def position(layout: ElementMap, index: tuple[Expr, ...]) -> Expr:
    """Position of an element, in elements from the first; folded where the index is constant."""
    out: Expr = INDEX_ZERO
    for axis, i in zip(layout.axes, index, strict=False):
        out = add(out, _along(axis, i))
    return out


def _along(axis: tuple[Digit, ...], index: Expr) -> Expr:
    if len(axis) == 1:
        return mul(index, axis[0].stride)
    box, inner = axis
    return add(mul(floordiv(index, inner.count), box.stride), mul(floormod(index, inner.count), inner.stride))


def window_bytes(
    layout: ElementMap, offset: tuple[Expr, ...], shape: tuple[Expr, ...], span: Span
) -> tuple[Expr, int | None]:
    """(byte offset, bytes from the first to the last element) of a window.

    ``layout``: that of what the storage belongs to, so that a window of a window is found at the right pitch. The span
    is None when the window's extents are not constant. Offsets that are not constant are taken to start a box,
    as every operator on boxed tiles demands. Raises UserError for a window of four-bit elements that does not start
    on a byte.
    """
    first = position(layout, offset)
    extents = static_shape(shape)
    if len(offset) != len(layout.axes) or extents is None or len(extents) != len(offset):
        return _in_bytes(first, layout.dtype, span), None
    start = offset if isinstance(first, ConstInt) else (INDEX_ZERO,) * len(offset)
    last = tuple(add(o, n - 1) for o, n in zip(start, extents, strict=True))
    low, high = position(layout, start), position(layout, last)
    assert isinstance(low, ConstInt) and isinstance(high, ConstInt)
    return _in_bytes(first, layout.dtype, span), layout.dtype.storage_bytes(high.value - low.value + 1)


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


def apart_or_itself(call: Call, read: tuple[int, int], start: int | None, packed: bool) -> bool:
    """Whether a call that changes a part of its result leaves the bytes ``read`` alone, or writes them as they are.

    ``start``: the result's first byte; ``packed``: whether its rows are adjacent, as otherwise nothing is known. What
    spans the very bytes that are written is the part itself: rows and pitch of a part follow from its span.
    """
    span = written_span(call)
    if span is None or start is None or not packed:
        return False
    begin, end = start + span[0], start + span[1]
    return read == (begin, end) or read[1] <= begin or end <= read[0]
