"""Instructions with a form of their own: buffers, views, single elements, transfers between cores, barriers."""

from __future__ import annotations

from collections.abc import Callable

from pypto_plugin_pto.checker import alloc, crosscore, remote, views
from pypto_plugin_pto.checker.instructions import check_attribute_values, operands
from pypto_plugin_pto.checker.lexer import Fault, Token
from pypto_plugin_pto.checker.state import Reading, State
from pypto_plugin_pto.checker.tiletypes import is_tile, tile_fields

OPERAND = "PTO-103"
Reader = Callable[[State, Token], Reading]


def _tokens(names: list[Token], types: list[Token]) -> list[tuple[Token, str | None]]:
    return [(name, kind.text) for name, kind in zip(names, types, strict=True)]


# -- single elements


def _get_element(state: State, token: Token) -> Reading:
    cursor = state.cursor
    cursor.expect("ins")
    names, types, _ = operands(cursor)
    cursor.words("outs", ":")
    kind = cursor.type()
    if len(types) != 2 or not is_tile(types[0].text) or types[1].text != "index":
        raise Fault(OPERAND, "'pto.tgetval' takes a tile and an index", names[0])
    return Reading(_tokens(names, types), [kind.text])


def _set_element(state: State, token: Token) -> Reading:
    cursor = state.cursor
    cursor.expect("ins")
    names, types, _ = operands(cursor)
    cursor.expect("outs")
    target, target_type, _ = operands(cursor)
    right = [t.text for t in types][:1] == ["index"] and len(types) == 2
    if not right or len(target) != 1 or not is_tile(target_type[0].text):
        raise Fault(OPERAND, "'pto.tsetval' takes an index and a number, and writes a tile", names[0])
    return Reading([*_tokens(names, types), *_tokens(target, target_type)])


def _load_scalar(state: State, token: Token) -> Reading:
    cursor = state.cursor
    pointer = cursor.value()
    [at] = cursor.bracketed(cursor.value)
    cursor.expect(":")
    kind = cursor.type()
    cursor.expect("->")
    result = cursor.type()
    _check_pointer(kind, result)
    return Reading([(pointer, kind.text), (at, "index")], [result.text])


def _store_scalar(state: State, token: Token) -> Reading:
    cursor = state.cursor
    value = cursor.value()
    cursor.expect(",")
    pointer = cursor.value()
    [at] = cursor.bracketed(cursor.value)
    cursor.expect(":")
    kind = cursor.type()
    cursor.expect(",")
    element = cursor.type()
    _check_pointer(kind, element)
    return Reading([(value, element.text), (pointer, kind.text), (at, "index")])


def _check_pointer(kind: Token, element: Token) -> None:
    if kind.text.replace(" ", "") != f"!pto.ptr<{element.text}>":
        raise Fault(OPERAND, f"{kind.text} points to no {element.text}", kind)


def _add_pointer(state: State, token: Token) -> Reading:
    cursor = state.cursor
    pointer = cursor.value()
    cursor.expect(",")
    offset = cursor.value()
    cursor.expect(":")
    kind = cursor.type()
    cursor.expect("->")
    result = cursor.type()
    return Reading([(pointer, kind.text), (offset, "index")], [result.text])


# -- gather, scatter and merge


def _masked(state: State, token: Token) -> Reading:
    """By index, by mask (``"row"`` among the types) or by comparison."""
    cursor = state.cursor
    cursor.words("ins", "(")
    names = [cursor.value()]
    given: dict[str, Token] = {}
    while cursor.accept(","):
        if cursor.sees("{"):
            given |= cursor.attributes()
        else:
            names.append(cursor.value())
    given |= cursor.attributes()
    cursor.expect(":")
    types: list[Token] = []
    axis = False
    while not types or cursor.accept(","):
        if cursor.peek().kind == "string":
            axis = cursor.next().text == '"row"'
        else:
            types.append(cursor.type())
    cursor.words(")", "outs")
    outputs, output_types, _ = operands(cursor)
    given |= cursor.attributes()
    check_attribute_values(given)
    if "maskPattern" in given and not axis:
        raise Fault(OPERAND, f"the masked form of '{token.text}' says along which axis: \"row\"", token)
    if len(names) != len(types):
        raise Fault(OPERAND, f"{len(names)} operands and {len(types)} types", names[0])
    return Reading([*_tokens(names, types), *_tokens(outputs, output_types)])


def _merge(state: State, token: Token) -> Reading:
    cursor = state.cursor
    cursor.expect("ins")
    names, types, _ = operands(cursor)
    cursor.expect("outs")
    outputs, output_types, _ = operands(cursor)
    cursor.attributes()
    lists = [t for t in types if is_tile(t.text)]
    runs = len(types) == 2 and len(lists) == 1
    if not (runs and len(outputs) == 1) and not (3 <= len(lists) == len(types) and len(outputs) == 2):
        raise Fault(
            OPERAND, "'pto.tmrgsort' takes a list and a length, or lists and a scratch tile", names[0]
        )
    return Reading([*_tokens(names, types), *_tokens(outputs, output_types)])


def _print(state: State, token: Token) -> Reading:
    cursor = state.cursor
    cursor.expect("ins")
    names, types, _ = operands(cursor)
    cursor.attributes()
    return Reading(_tokens(names, types))


# -- arrays


def _declare_array(state: State, token: Token) -> Reading:
    state.cursor.expect("->")
    kind = state.cursor.type()
    if not kind.text.startswith("!pto.local_array<"):
        raise Fault("PTO-104", "an array looks like !pto.local_array<4xi32>", kind)
    return Reading([], [kind.text])


def _array_get(state: State, token: Token) -> Reading:
    cursor = state.cursor
    array = cursor.value()
    at = cursor.bracketed(cursor.value)
    cursor.expect(":")
    kind = cursor.type()
    cursor.expect("->")
    result = cursor.type()
    return Reading([(array, kind.text), *((a, "index") for a in at)], [result.text])


def _array_set(state: State, token: Token) -> Reading:
    cursor = state.cursor
    array = cursor.value()
    at = cursor.bracketed(cursor.value)
    cursor.expect(",")
    value = cursor.value()
    cursor.expect(":")
    kind = cursor.type()
    cursor.expect(",")
    element = cursor.type()
    return Reading([(array, kind.text), *((a, "index") for a in at), (value, element.text)])


# -- the generic form


def read_generic(state: State, name: Token) -> Reading:
    """``"pto.name"(%a) {attributes} : (T) -> (U)``, of whatever operation."""
    cursor = state.cursor
    cursor.expect("(")
    names = cursor.several(cursor.value, ")")
    cursor.expect(")")
    if cursor.accept("<"):
        cursor.attributes()
        cursor.expect(">")
    cursor.attributes()
    cursor.words(":", "(")
    types = cursor.several(cursor.type, ")")
    cursor.words(")", "->")
    results: list[Token]
    if cursor.accept("("):
        results = cursor.several(cursor.type, ")")
        cursor.expect(")")
    else:
        results = [cursor.type()]
    if len(names) != len(types):
        raise Fault(OPERAND, f"{len(names)} operands and {len(types)} types", name)
    for kind in types:
        if is_tile(kind.text):
            tile_fields(kind)
    for token, kind in zip(names, types, strict=True):
        state.use(token, kind.text)
    return Reading(_tokens(names, types), [r.text for r in results])


def _query(state: State, token: Token) -> Reading:
    return Reading([], ["i64"])


READERS: dict[str, Reader] = {
    **alloc.READERS,
    **views.READERS,
    **crosscore.READERS,
    **remote.READERS,
    "tgetval": _get_element,
    "tsetval": _set_element,
    "load_scalar": _load_scalar,
    "store_scalar": _store_scalar,
    "addptr": _add_pointer,
    "tgather": _masked,
    "tscatter": _masked,
    "tmrgsort": _merge,
    "tprint": _print,
    "declare_local_array": _declare_array,
    "local_array_get": _array_get,
    "local_array_set": _array_set,
    **dict.fromkeys(("get_block_idx", "get_block_num", "get_subblock_idx", "get_subblock_num"), _query),
}
"""Instruction → reader; the name is taken already."""
