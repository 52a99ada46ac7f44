"""Operations outside of the PTO dialect: arithmetic, math, casts."""

from __future__ import annotations

from collections.abc import Callable

from pypto_core.diagnostics import Severity
from pypto_plugin_pto.checker.cursor import SYNTAX, shown
from pypto_plugin_pto.checker.lexer import Fault, Token, whole_number
from pypto_plugin_pto.checker.state import Reading, State

OPERAND = "PTO-103"


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_INTEGER = _set(
    "addi subi muli divsi divui remsi remui floordivsi ceildivsi ceildivui "
    "minsi maxsi minui maxui andi ori xori shli shrsi shrui"
)
_FLOAT = _set("addf subf mulf divf remf minimumf maximumf minnumf maxnumf")
_INTEGER_ORDER = _set("eq ne slt sle sgt sge ult ule ugt uge")
_FLOAT_ORDER = _set("false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno true")
# name → (what the source is, what the result is)
_CASTS = {
    "index_cast": ("integer", "integer"), "index_castui": ("integer", "integer"), "extsi": ("integer", "integer"),
    "extui": ("integer", "integer"), "trunci": ("integer", "integer"), "sitofp": ("integer", "float"),
    "uitofp": ("integer", "float"), "fptosi": ("float", "integer"), "fptoui": ("float", "integer"),
    "extf": ("float", "float"), "truncf": ("float", "float"), "bitcast": ("", ""),
}  # fmt: skip
_MATH = _set("absf absi ceil cos exp exp2 floor log log2 rsqrt sin sqrt tanh")


def is_integer(type: str) -> bool:
    """Whether arithmetic takes a type as an integer: index or one without a sign."""
    return type == "index" or (type.startswith("i") and whole_number(type[1:]) is not None)


def is_float(type: str) -> bool:
    """Whether a type is a float."""
    return type == "bf16" or (type.startswith("f") and type[1:2].isdigit())


def read(name: str, state: State, token: Token) -> Reading:
    """An operation of ``arith`` or ``math``, or the cast between types of one width; its name is taken already."""
    dialect, _, bare = name.partition(".")
    if name == "builtin.unrealized_conversion_cast":
        return _cast(state, "", "")
    if dialect == "math" and bare in _MATH:
        return _same(state, 1, is_integer if bare == "absi" else is_float)
    if dialect == "arith":
        reader = _READERS.get(bare)
        if reader is not None:
            return reader(state)
        if bare in _INTEGER:
            return _same(state, 2, is_integer)
        if bare in _FLOAT:
            if bare == "addf":
                _warn_of_addf(state, token)
            return _same(state, 2, is_float)
        if bare in _CASTS:
            return _cast(state, *_CASTS[bare])
    raise Fault("PTO-102", f"there is no operation '{name}'", token)


def _warn_of_addf(state: State, token: Token) -> None:
    state.report(
        Fault(
            "PTO-113",
            "the assembler writes no C++ for arith.addf",
            token,
            "write a + b as arith.subf a, (arith.negf b)",
        ),
        Severity.WARNING,
    )


def _same(state: State, count: int, accepts: Callable[[str], bool]) -> Reading:
    cursor = state.cursor
    operands = [cursor.value()]
    for _ in range(count - 1):
        cursor.expect(",")
        operands.append(cursor.value())
    cursor.expect(":")
    kind = cursor.type()
    if not accepts(kind.text):
        raise Fault(OPERAND, f"this operation takes no {kind.text}", kind)
    return Reading([(o, kind.text) for o in operands], [kind.text])


def _negation(state: State) -> Reading:
    return _same(state, 1, is_float)


def _comparison(state: State, order: frozenset[str], accepts: Callable[[str], bool]) -> Reading:
    cursor = state.cursor
    predicate = cursor.next()
    if predicate.text not in order:
        raise Fault(OPERAND, f"there is no comparison {shown(predicate)}", predicate, " ".join(sorted(order)))
    cursor.expect(",")
    reading = _same(state, 2, accepts)
    return Reading(reading.uses, ["i1"])


def _cast(state: State, source: str, target: str) -> Reading:
    cursor = state.cursor
    operand = cursor.value()
    cursor.expect(":")
    have = cursor.type()
    cursor.expect("to")
    want = cursor.type()
    checks = {"integer": is_integer, "float": is_float}
    for kind, rule in ((have, source), (want, target)):
        if rule and not checks[rule](kind.text):
            raise Fault(OPERAND, f"this conversion is of {rule} types, not of {kind.text}", kind)
    return Reading([(operand, have.text)], [want.text])


def _constant(state: State) -> Reading:
    cursor = state.cursor
    cursor.attributes()
    token = cursor.next()
    if token.text in ("true", "false"):
        if cursor.accept(":"):
            cursor.type()
        return Reading([], ["i1"], int(token.text == "true"))
    if token.kind != "number" and not token.text.startswith("dense"):
        raise Fault(SYNTAX, f"a number is expected here, not {shown(token)}", token)
    cursor.expect(":")
    kind = cursor.type()
    value = whole_number(token.text) if is_integer(kind.text) else None
    if is_integer(kind.text) and value is None:
        raise Fault(OPERAND, f"{token.text} is no number of type {kind.text}", token)
    if kind.text[:2] in ("ui", "si") and kind.text[2:].isdigit():
        raise Fault(
            OPERAND,
            f"a constant has a type without a sign, not {kind.text}",
            kind,
            "make the constant of type i32 and convert it with builtin.unrealized_conversion_cast",
        )
    bits = (64 if kind.text == "index" else whole_number(kind.text[1:])) or 0
    if value is not None and not -(1 << (bits - 1)) <= value < 1 << bits:
        raise Fault(OPERAND, f"{token.text} is no number of type {kind.text}", token)
    return Reading([], [kind.text], value)


def _select(state: State) -> Reading:
    cursor = state.cursor
    condition = cursor.value()
    cursor.expect(",")
    first = cursor.value()
    cursor.expect(",")
    second = cursor.value()
    cursor.expect(":")
    kind = cursor.type().text
    return Reading([(condition, "i1"), (first, kind), (second, kind)], [kind])


_READERS: dict[str, Callable[[State], Reading]] = {
    "constant": _constant,
    "select": _select,
    "negf": _negation,
    "cmpi": lambda state: _comparison(state, _INTEGER_ORDER, is_integer),
    "cmpf": lambda state: _comparison(state, _FLOAT_ORDER, is_float),
}
