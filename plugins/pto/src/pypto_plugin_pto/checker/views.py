"""Views of global memory and of tiles."""

from __future__ import annotations

from collections.abc import Callable

from pypto_plugin_pto.alignment import box
from pypto_plugin_pto.checker.cursor import Cursor
from pypto_plugin_pto.checker.instructions import check_attribute_values
from pypto_plugin_pto.checker.lexer import Fault, Token, whole_number
from pypto_plugin_pto.checker.state import Reading, State
from pypto_plugin_pto.checker.tiletypes import (
    TileFields,
    element_bytes,
    tile_fields,
    window_shape,
)

RULE, OPERAND, TYPE = "PTO-106", "PTO-103", "PTO-104"
_SETTABLE = frozenset({"pto.alloc_tile", "pto.treshape", "pto.bitcast", "pto.tbitcast", "unknown"})


def _list(cursor: Cursor, word: str) -> list[Token]:
    cursor.words(",", word, "=")
    return cursor.bracketed(cursor.value)


def _make_view(state: State, token: Token) -> Reading:
    cursor = state.cursor
    pointer = cursor.value()
    shape, strides = _list(cursor, "shape"), _list(cursor, "strides")
    check_attribute_values(cursor.attributes())
    cursor.expect(":")
    kind = cursor.type()
    extents, dtype = window_shape(kind.text)
    if not kind.text.startswith("!pto.tensor_view<") or not extents:
        raise Fault(TYPE, "the result looks like !pto.tensor_view<?x?xf32>", kind)
    if not len(shape) == len(strides) == len(extents):
        raise Fault(
            OPERAND,
            f"{len(shape)} extents and {len(strides)} strides for a view of {len(extents)} axes",
            token,
        )
    return Reading(
        [(pointer, f"!pto.ptr<{dtype}>"), *((i, "index") for i in (*shape, *strides))], [kind.text]
    )


def _partition(state: State, token: Token) -> Reading:
    cursor = state.cursor
    view = cursor.value()
    offsets, sizes = _list(cursor, "offsets"), _list(cursor, "sizes")
    cursor.expect(":")
    source = cursor.type()
    cursor.expect("->")
    result = cursor.type()
    whole, dtype = window_shape(source.text)
    extents, element = window_shape(result.text)
    if not source.text.startswith("!pto.tensor_view<") or not result.text.startswith("!pto.partition"):
        raise Fault(TYPE, "a partition makes a partition_tensor_view of a tensor_view", result)
    if dtype != element:
        raise Fault(RULE, f"a window of {dtype} holds no {element}", result)
    if not len(offsets) == len(sizes) == len(extents) == len(whole):
        raise Fault(
            OPERAND,
            f"{len(offsets)} offsets, {len(sizes)} sizes and {len(extents)} extents for a view of {len(whole)} axes",
            token,
        )
    for size, extent in zip(sizes, extents, strict=True):
        number = state.constant(size)
        if number is not None and extent is not None and number != extent:
            raise Fault(RULE, f"the type says {extent} where the size is {number}", size)
    return Reading([(view, source.text), *((i, "index") for i in (*offsets, *sizes))], [result.text])


def _window(state: State, token: Token) -> Reading:
    cursor = state.cursor
    tile = cursor.value()
    offsets = cursor.bracketed(cursor.value)
    cursor.expect("sizes")
    sizes = [whole_number(t.text) for t in cursor.bracketed(lambda: cursor.kind("number", "a number"))]
    valid = cursor.bracketed(cursor.value) if cursor.accept("valid") else []
    cursor.attributes()
    cursor.expect(":")
    source = cursor.type()
    cursor.expect("->")
    result = cursor.type()
    outer, inner = tile_fields(source), tile_fields(result)
    if list(inner.shape) != sizes or len(offsets) != 2 or len(valid) not in (0, 2):
        raise Fault(RULE, "the window's type has the rows and columns that 'sizes' says", result)
    _same_tile(outer, inner, result)
    _check_place(state, offsets, outer, inner)
    _check_valid(state, valid, inner, result)
    for operand in (*offsets, *valid):
        state.use(operand, "index")
    return Reading([(tile, source.text)], [result.text])


def _same_tile(outer: TileFields, inner: TileFields, token: Token) -> None:
    for name in ("location", "dtype", "blayout", "slayout", "fractal", "pad", "compact"):
        if getattr(outer, name) != getattr(inner, name):
            raise Fault(
                RULE, f"a window is like its tile, but {name} is {getattr(inner, name)} here", token,
                f"{name} of the tile is {getattr(outer, name)}",
            )  # fmt: skip


def _check_place(state: State, offsets: list[Token], outer: TileFields, inner: TileFields) -> None:
    boxes = box(outer.slayout, outer.fractal, element_bytes(outer.dtype))
    for axis, offset in enumerate(offsets):
        at, size, limit = state.constant(offset), inner.shape[axis], outer.shape[axis]
        if size > limit or (at is not None and (at < 0 or at + size > limit)):
            raise Fault(
                RULE,
                f"a window of {size} at {at if at is not None else '?'} leaves the {limit} there are",
                offset,
            )
        if boxes is not None and (size % boxes[axis] or (at or 0) % boxes[axis]):
            raise Fault(
                RULE, f"a window of a boxed tile begins and ends between boxes of {boxes[axis]}", offset
            )


def _check_valid(state: State, valid: list[Token], inner: TileFields, result: Token) -> None:
    if not valid:
        if None in inner.valid:
            raise Fault(RULE, "without 'valid' the window's type states its valid extents", result)
        return
    for operand, stated in zip(valid, inner.valid, strict=True):
        number = state.constant(operand)
        if number != stated:
            have, want = ("?" if n is None else n for n in (stated, number))
            raise Fault(
                RULE, f"the window's type says {have} where the valid extent {operand.text} is {want}", result
            )


def _reshape(state: State, token: Token) -> Reading:
    cursor = state.cursor
    tile = cursor.value()
    cursor.attributes()
    cursor.expect(":")
    source = cursor.type()
    cursor.expect("->")
    result = cursor.type()
    before, after = tile_fields(source), tile_fields(result)
    if before.location != after.location or before.bytes != after.bytes:
        raise Fault(
            RULE,
            f"a reshape keeps memory and bytes: {before.bytes} in {before.location}, {after.bytes} in {after.location}",
            result,
        )
    if before.boxed != after.boxed:
        raise Fault(RULE, "a reshape keeps boxes, or keeps to none", result)
    value = state.find(tile.text)
    origin = value.maker if value is not None and value.maker not in _SETTABLE else ""
    return Reading([(tile, source.text)], [result.text], maker=origin)


def _set_valid(state: State, token: Token) -> Reading:
    cursor = state.cursor
    names = cursor.several(cursor.value)
    cursor.attributes()
    cursor.expect(":")
    kind = cursor.type()
    if len(names) != 3:
        raise Fault(OPERAND, "'pto.set_validshape' takes a tile, rows and columns", token)
    if tile_fields(kind).valid != (None, None):
        raise Fault(RULE, "valid extents are set on tiles whose type says ? for both", kind)
    value = state.use(names[0], kind.text)
    if value is not None and value.maker not in _SETTABLE:
        raise Fault(
            RULE,
            f"valid extents are set on buffers and their reshapes, and {names[0].text} comes from '{value.maker}'",
            names[0],
        )
    return Reading([(n, "index") for n in names[1:]])


READERS: dict[str, Callable[[State, Token], Reading]] = {
    "make_tensor_view": _make_view,
    "partition_view": _partition,
    "subview": _window,
    "treshape": _reshape,
    "set_validshape": _set_valid,
}
"""Instruction → reader."""
