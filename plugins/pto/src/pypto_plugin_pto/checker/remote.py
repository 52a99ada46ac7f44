"""Instructions that reach other chips or wait for them: transfers, signals, prefetches, cores of the whole chip."""

from __future__ import annotations

from collections.abc import Callable

from pypto_plugin_pto.checker.cursor import SYNTAX, shown
from pypto_plugin_pto.checker.lexer import END, Fault, Token
from pypto_plugin_pto.checker.state import Reading, State

OPERAND = "PTO-103"
_TRANSFERS = ("tput", "tget", "twait", "tnotify", "ttest", "tput_async", "tget_async", "wait_async_event",
              "test_async_event", "build_async_session")  # fmt: skip


def _transfer(state: State, token: Token) -> Reading:
    """``(%a, %b, buf(%p, %q) : T, U, V, W) {attributes} -> R``, with or without a buffer and a result."""
    cursor = state.cursor
    cursor.expect("(")
    names: list[Token] = []
    while not cursor.sees(":"):
        if cursor.peek().kind == END:
            raise Fault(SYNTAX, f"the types of '{token.text}' are missing", token)
        if cursor.accept("buf"):
            cursor.expect("(")
            names += cursor.several(cursor.value)
            cursor.expect(")")
        else:
            names.append(cursor.value())
        if not cursor.accept(",") and not cursor.sees(":"):
            raise Fault(SYNTAX, f"',' or ':' is expected here, not {shown(cursor.peek())}", cursor.peek())
    cursor.expect(":")
    types = cursor.several(cursor.type)
    cursor.expect(")")
    if len(names) != len(types):
        raise Fault(OPERAND, f"{len(names)} operands and {len(types)} types", token)
    cursor.attributes()
    results = [cursor.type().text] if cursor.accept("->") else []
    return Reading([(name, kind.text) for name, kind in zip(names, types, strict=True)], results)


def _all_cores(state: State, token: Token) -> Reading:
    """``() mode = ..., core_type = ...``, or with operands."""
    cursor = state.cursor
    cursor.expect("(")
    names = cursor.several(cursor.value, ")")
    types: list[Token] = []
    if names:
        cursor.expect(":")
        types = cursor.several(cursor.type)
    cursor.expect(")")
    if len(names) != len(types):
        raise Fault(OPERAND, f"{len(names)} operands and {len(types)} types", token)
    for word in ("mode", "core_type"):
        cursor.words(word, "=")
        value = cursor.next()
        if value.kind not in ("attribute", "word", "string", "number"):
            raise Fault(SYNTAX, f"the {word} is expected here, not {shown(value)}", value)
        cursor.accept(",")
    return Reading([(name, kind.text) for name, kind in zip(names, types, strict=True)])


def _session(state: State, token: Token) -> Reading:
    """``%a {attributes} : T -> R``."""
    cursor = state.cursor
    context = cursor.value()
    cursor.attributes()
    cursor.expect(":")
    kind = cursor.type()
    cursor.expect("->")
    return Reading([(context, kind.text)], [cursor.type().text])


def _event(state: State, token: Token) -> Reading:
    """``[source, target, event]``, each an attribute."""
    cursor = state.cursor
    cursor.expect("[")
    members = 0
    while not cursor.accept("]"):
        part = cursor.next()
        if part.kind not in ("attribute", "word", "string") and part.text not in ("<", ">", ","):
            raise Fault(SYNTAX, f"an event is expected here, not {shown(part)}", part)
        members += part.kind in ("attribute", "word", "string")
    if members != 3:
        raise Fault(OPERAND, f"'{token.text}' takes two operations and an event", token)
    return Reading()


READERS: dict[str, Callable[[State, Token], Reading]] = {
    **dict.fromkeys([f"comm.{name}" for name in _TRANSFERS], _transfer),
    **dict.fromkeys(("make_prefetch_async_context", "tprefetch_async"), _transfer),
    "get_prefetch_async_session": _session,
    "syncall": _all_cores,
    **dict.fromkeys(("record_event", "wait_event"), _event),
}
"""Instruction → reader."""
