"""Transfers between cores, barriers and flags."""

from __future__ import annotations

import re
from collections.abc import Callable

from pypto_plugin_pto.checker.cursor import SYNTAX, shown
from pypto_plugin_pto.checker.lexer import Fault, Token
from pypto_plugin_pto.checker.state import Reading, State
from pypto_plugin_pto.checker.tiletypes import tile_fields

OPERAND, LEVEL = "PTO-103", "PTO-107"
_PIPES = frozenset(
    f"PIPE_{p}" for p in ["S", "V", "M", "MTE1", "MTE2", "MTE3", "MTE4", "MTE5", "FIX", "ALL", "V2"]
)
_EVENT = re.compile(r"EVENT_ID\d\Z")


def _push(state: State, token: Token) -> Reading:
    cursor = state.cursor
    cursor.expect("(")
    tile = cursor.value()
    cursor.expect(":")
    kind = cursor.type()
    cursor.expect(")")
    cursor.attributes()
    tile_fields(kind)
    return Reading([(tile, kind.text)])


def _pop(state: State, token: Token) -> Reading:
    cursor = state.cursor
    valid: list[Token] = []
    if cursor.accept("("):
        valid = cursor.several(cursor.value, ")")
        cursor.expect(")")
    cursor.attributes()
    cursor.expect("->")
    kind = cursor.type()
    open_extents = None in tile_fields(kind).valid
    if open_extents != bool(valid):
        raise Fault(OPERAND, "valid extents are given exactly when the type says ?", kind)
    return Reading([(v, "index") for v in valid], [kind.text])


def _free(state: State, token: Token) -> Reading:
    cursor = state.cursor
    uses: list[tuple[Token, str | None]] = []
    if cursor.accept("("):
        tile = cursor.value()
        cursor.expect(":")
        uses.append((tile, cursor.type().text))
        cursor.expect(")")
    cursor.attributes()
    return Reading(uses)


def _reserve(state: State, token: Token) -> Reading:
    cursor = state.cursor
    given = cursor.attributes()
    cursor.expect("->")
    kind = cursor.type()
    placed = given["auto"].text == "false" if "auto" in given else None
    if placed is not None and placed != ("base" in given):
        raise Fault(LEVEL, "a reserved buffer has a base exactly when auto is false", given["auto"])
    if state.level is not None and placed is not None and placed != (state.level == 3):
        raise Fault(
            LEVEL, f"at level {state.level} auto is {'false' if state.level == 3 else 'true'}", given["auto"]
        )
    return Reading([], [kind.text])


def _import(state: State, token: Token) -> Reading:
    state.cursor.attributes()
    state.cursor.expect("->")
    return Reading([], [state.cursor.type().text])


def _initialize(state: State, token: Token) -> Reading:
    cursor = state.cursor
    cursor.attributes()
    uses: list[tuple[Token, str | None]] = []
    if cursor.accept("("):
        while not cursor.accept(")"):
            cursor.kind("word", "the name of a buffer")
            cursor.expect("=")
            value = cursor.value()
            cursor.expect(":")
            uses.append((value, cursor.type().text))
            cursor.accept(",")
    return Reading(uses)


def _barrier(state: State, token: Token) -> Reading:
    cursor = state.cursor
    if cursor.peek().kind == "attribute":
        cursor.next()
        return Reading()
    cursor.expect("<")
    pipe = cursor.next()
    if pipe.text not in _PIPES:
        raise Fault(OPERAND, f"there is no pipe {shown(pipe)}", pipe)
    cursor.expect(">")
    return Reading()


def _flag(state: State, token: Token) -> Reading:
    """``[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]``, or an index in place of the event."""
    cursor = state.cursor
    cursor.expect("[")
    uses: list[tuple[Token, str | None]] = []
    members: list[str] = []
    while not cursor.accept("]"):
        part = cursor.next()
        if part.kind == "value":
            uses.append((part, "index"))
            members.append("EVENT_ID0")
        elif part.kind in ("word", "string"):
            members.append(part.text.strip('"'))
        elif part.kind == "attribute":
            members.append(part.text.partition("<")[2].rstrip(">"))
        elif part.text not in ("<", ">", ","):
            raise Fault(SYNTAX, f"a pipe or an event is expected here, not {shown(part)}", part)
    good = len(members) == 3 and members[0] in _PIPES and members[1] in _PIPES and _EVENT.match(members[2])
    if not good:
        raise Fault(OPERAND, f"'{token.text}' takes two pipes and an event", token)
    return Reading(uses)


def _attribute(state: State, token: Token) -> Reading:
    state.cursor.kind("attribute", "an attribute")
    return Reading()


def _invalidate(state: State, token: Token) -> Reading:
    cursor = state.cursor
    if cursor.accept("all"):
        cursor.next()
        return Reading()
    value = cursor.value()
    cursor.words("single_cache_line", ":")
    return Reading([(value, cursor.type().text)])


READERS: dict[str, Callable[[State, Token], Reading]] = {
    **dict.fromkeys(("tpush_to_aiv", "tpush_to_aic"), _push),
    **dict.fromkeys(("tpop_from_aiv", "tpop_from_aic"), _pop),
    **dict.fromkeys(("tfree_from_aiv", "tfree_from_aic"), _free),
    **dict.fromkeys(("aic_initialize_pipe", "aiv_initialize_pipe"), _initialize),
    **dict.fromkeys(("set_flag", "wait_flag", "set_flag_dyn", "wait_flag_dyn"), _flag),
    "reserve_buffer": _reserve,
    "import_reserved_buffer": _import,
    "barrier": _barrier,
    "fence.barrier_all": _attribute,
    "cmo.cacheinvalid": _invalidate,
}
"""Instruction → reader."""
