"""Buffers: single ones, rings and their slots."""

from __future__ import annotations

from collections.abc import Callable

from pypto_plugin_pto.checker.lexer import Fault, Token
from pypto_plugin_pto.checker.state import Reading, State
from pypto_plugin_pto.checker.tiletypes import RING, canonical, ring_of, tile_fields

RULE = "PTO-106"
_STRICT = ("left", "right", "acc")


def _buffer(state: State, token: Token, slot_of: Callable[[Token], Token]) -> Reading:
    cursor = state.cursor
    given: dict[str, Token] = {}
    for word, kind in (("addr", "i64"), ("valid_row", "index"), ("valid_col", "index")):
        if cursor.accept(word):
            cursor.expect("=")
            given[word] = cursor.value()
            state.use(given[word], kind)
    cursor.attributes()
    cursor.expect(":")
    kind = cursor.type()
    fields = tile_fields(slot_of(kind))
    _check_address(state, given.get("addr"), fields.location)
    for word, stated in zip(("valid_row", "valid_col"), fields.valid, strict=True):
        if (word in given) != (stated is None):
            message = (
                f"'{word}' is needed, as the type says ?"
                if stated is None
                else f"'{word}' is {stated} by the type"
            )
            raise Fault(RULE, message, given.get(word, token), "" if stated is None else "leave it out")
    state.addressed.append((token, "addr" in given))
    return Reading([], [kind.text])


def _check_address(state: State, address: Token | None, location: str) -> None:
    value = state.constant(address) if address is not None else None
    multiple = 512 if location in _STRICT else 32
    if address is not None and value is not None and (value < 0 or value % multiple):
        raise Fault(
            RULE, f"an address in {location} is a multiple of {multiple} from 0 on, not {value}", address
        )


def _single(state: State, token: Token) -> Reading:
    return _buffer(state, token, lambda kind: kind)


def _ring(state: State, token: Token) -> Reading:
    return _buffer(state, token, lambda kind: ring_of(kind)[0])


def _slot(state: State, token: Token) -> Reading:
    cursor = state.cursor
    ring = cursor.value()
    [index] = cursor.bracketed(cursor.value)
    cursor.expect(":")
    kind = cursor.type()
    cursor.expect("->")
    result = cursor.type()
    slot, count = ring_of(kind)
    if canonical(slot.text) != canonical(result.text):
        raise Fault(RING, "a slot has the type that the ring states", result)
    state.use(index, "index")
    number = state.constant(index)
    if number is not None and not 0 <= number < count:
        raise Fault(RING, f"there is no slot {number} among {count}", index)
    return Reading([(ring, kind.text)], [result.text])


READERS = {"alloc_tile": _single, "alloc_multi_tile": _ring, "multi_tile_get": _slot}
"""Instruction → reader."""
