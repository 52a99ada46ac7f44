"""Windows of tiles: slices, other looks at the same bytes, and writes into a part of a tile."""

from __future__ import annotations

from pypto_core.diagnostics import Span
from pypto_core.ir import Call, Expr, MemorySpace, TileType, divisor, static_dim
from pypto_plugin_buffer_ir.rules import ROW_BYTES
from pypto_plugin_buffer_ir.select.memory import check_pair
from pypto_plugin_buffer_ir.select.refusal import EXTENTS, WINDOW, refuse
from pypto_plugin_buffer_ir.select.scalars import check_scalar
from pypto_plugin_buffer_ir.select.state import Place, State, Window
from pypto_plugin_buffer_ir.select.tiles import described_as, is_dynamic, row_bytes, shape_of

VEC = MemorySpace.Vec


def slice_place(state: State, call: Call, kind: TileType) -> Place:
    """Where ``tile.slice(tile, shape, offset[, valid])`` lies."""
    span = call.span
    place, source = state.place(call.args[0], span), call.args[0].type
    assert isinstance(source, TileType)
    if source.memory_space is not VEC or kind.memory_space is not VEC:
        refuse(WINDOW, "a window outside of Vec has no form on buffers", span)
    parent = place.window
    if parent is not None and parent.relabelled:
        refuse(WINDOW, "a window is cut from a window under another shape or element type", span)
    if parent is not None and (parent.dynamic or is_dynamic(kind)):
        refuse(EXTENTS, "a window with run-time extents is cut from another one", span)
    offsets = check_pair(call.args[2], span)
    check_begin(state, source, offsets, shape_of(kind), span)
    if parent is None:
        place.storage.whole.cut_as.setdefault(described_as(source), span)
    placed = all(static_dim(offset) is not None for offset in offsets)
    window = Window(
        pitch=parent.pitch if parent is not None else shape_of(source)[1],
        placed=placed and (parent is None or parent.placed),
        dynamic=is_dynamic(kind),
    )
    return Place(place.storage, place.version, window)


def check_begin(
    state: State, source: TileType, offsets: tuple[Expr, Expr], part: tuple[int, int], span: Span
) -> None:
    """Refuse a part that does not begin at a multiple of 32 bytes for certain, or is outside for certain.

    Rows are multiples of 32 bytes themselves, so that it is the column that counts.
    """
    for offset, count, extent in zip(offsets, part, shape_of(source), strict=True):
        at = static_dim(offset)
        if count > extent or not 0 <= (at or 0) <= extent - count:
            refuse(WINDOW, f"a window of {count} from {at} exceeds the {extent} elements of its tile", span)
    step = divisor(offsets[1], state.divisors) * source.dtype.element_bytes
    if step % ROW_BYTES:
        refuse(
            WINDOW,
            f"its column offset is only known to be a multiple of {step} bytes, not of {ROW_BYTES}",
            span,
        )


def relabel_place(state: State, call: Call, kind: TileType) -> Place:
    """Where ``tile.reshape`` and ``tile.reinterpret_view`` lie: the bytes of their operand."""
    span = call.span
    place, source = state.place(call.args[0], span), call.args[0].type
    assert isinstance(source, TileType)
    if source.memory_space is not VEC or kind.memory_space is not VEC:
        refuse(WINDOW, f"{call.op.name} outside of Vec has no form on buffers", span)
    if is_dynamic(source) or is_dynamic(kind):
        refuse(EXTENTS, f"{call.op.name} of a tile with run-time extents", span)
    if row_bytes(source) * shape_of(source)[0] != row_bytes(kind) * shape_of(kind)[0]:
        refuse(WINDOW, f"{call.op.name} changes how many bytes the tile has", span)
    window = place.window
    place.storage.whole.fixed = span
    if window is None:
        return Place(place.storage, place.version)
    if not window.placed:
        refuse(WINDOW, f"{call.op.name} of a window with a run-time offset", span)
    if window.pitch != shape_of(source)[1] or window.relabelled:
        refuse(WINDOW, f"{call.op.name} of a window whose rows are not adjacent", span)
    return Place(
        place.storage, place.version, Window(shape_of(kind)[1], placed=True, dynamic=False, relabelled=True)
    )


def assemble_place(state: State, call: Call, kind: TileType) -> Place:
    """Where ``tile.assemble(target, source, offset)`` lies: in its target, of which it writes a part."""
    span = call.span
    target, source = state.place(call.args[0], span), state.place(call.args[1], span)
    whole, part = call.args[0].type, call.args[1].type
    assert isinstance(whole, TileType) and isinstance(part, TileType)
    spaces = {t.memory_space for t in (whole, part, kind)}
    if spaces != {VEC} or whole.dtype is not part.dtype:
        refuse(WINDOW, "a tile is assembled into another memory or element type", span)
    if target.window is not None:
        refuse(WINDOW, "a tile is assembled into a window", span)
    if any(is_dynamic(t) for t in (whole, part, kind)) or (
        source.window is not None and source.window.dynamic
    ):
        refuse(EXTENTS, "a tile with run-time extents is assembled", span)
    pitch = source.window.pitch if source.window is not None else shape_of(part)[1]
    if pitch != shape_of(whole)[1]:
        refuse(
            WINDOW,
            f"a tile with rows every {pitch} elements is assembled into one with rows every {shape_of(whole)[1]}",
            span,
        )
    offsets = check_pair(call.args[2], span)
    check_begin(state, whole, offsets, shape_of(part), span)
    target.storage.whole.fixed = span
    target.storage.whole.cut_as.setdefault(described_as(kind), span)
    return Place(target.storage, target.version, alias=target.alias)


def set_valid_place(state: State, call: Call, kind: TileType) -> Place:
    """Where an assigned ``tile.set_validshape`` lies: in its operand, whose extents it changes for everybody."""
    span = call.span
    place = state.place(call.args[0], span)
    if place.window is not None:
        refuse(EXTENTS, "set_validshape of a window has no form on buffers", span)
    for extent in call.args[1:]:
        check_scalar(extent, span)
    place.storage.version += 1
    return Place(place.storage, place.storage.version, alias=place.alias)
