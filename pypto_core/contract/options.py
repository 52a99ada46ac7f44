"""Pass options as text: ``AutoTileMatmulL0{enable_dbc=true}`` and back.

Options stand in braces, separated by blanks or commas. A value is ``true``, ``false``, ``none``, a number, a
bare word, a double-quoted string, or several of them in brackets. Only fields whose value is a bool, int,
float, str, enum member, None, or a tuple of those can be written; the registered value tells the type.

What a text leaves out has the default of the options class, both when written and when read, so that the
text of a pass means the same wherever it is read. A field without a default is always written.
"""

from __future__ import annotations

import enum
import json
import re
from collections.abc import Iterator
from typing import Any, cast

import attrs

from pypto_core.contract.passes import Pass
from pypto_core.diagnostics import UserError

_BARE = re.compile(r"[A-Za-z_@.][\w.:@/+#-]*\Z")
_TOKEN = re.compile(r'\s*(?:(?P<string>"(?:[^"\\]|\\.)*")|(?P<mark>[{}\[\]=,])|(?P<word>[^\s{}\[\]=,"]+))')
_KINDS = {
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "str": "a text",
    "tuple": "a list",
}
_WORDS = {"true": True, "false": False, "none": None}


@attrs.frozen
class PassSpec:
    """A pass name with the options that its text gave, not yet matched to a pass."""

    name: str
    options: tuple[tuple[str, Any], ...] = ()

    def apply(self, registered: Pass) -> Pass:
        """``registered`` with these options; raises UserError on an unknown one or a value of the wrong type."""
        if registered.options is None:
            if self.options:
                raise _error(f"pass {self.name} takes no options", f"write {self.name} without braces")
            return registered
        known = {field.name: field for field in _fields(registered.options)}
        changes = {name: _default(f) for name, f in known.items() if f.default is not attrs.NOTHING}
        for name, value in self.options:
            if name not in known:
                listed = ", ".join(sorted(known)) or "none"
                raise _error(f"pass {self.name} has no option {name!r}", f"its options are: {listed}")
            changes[name] = _coerce(self.name, name, getattr(registered.options, name), value)
        return attrs.evolve(registered, options=attrs.evolve(registered.options, **changes))


def pass_spec(value: Pass) -> str:
    """The text of a pass: options that differ from their class defaults, in field order."""
    if value.options is None:
        return value.name
    shown: list[str] = []
    for field in _fields(value.options):
        current = getattr(value.options, field.name)
        if not _same(current, _default(field)):
            shown.append(f"{field.name}={format_value(current)}")
    return f"{value.name}{{{' '.join(shown)}}}" if shown else value.name


def format_value(value: object) -> str:
    """One option value as text; raises TypeError for a type that has no text form."""
    if isinstance(value, enum.Enum):
        return value.name
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        plain = _BARE.match(value) and isinstance(_guess(value), str)
        return value if plain else json.dumps(value)
    if isinstance(value, tuple):
        items = cast("tuple[object, ...]", value)
        return f"[{','.join(format_value(item) for item in items)}]"
    raise TypeError(f"an option of type {type(value).__name__} has no text form")


def parse_pass_spec(text: str) -> PassSpec:
    """Read one ``Name`` or ``Name{option=value …}``; raises UserError that names the place in ``text``."""
    reader = _Reader(text)
    name = reader.take_word("a pass name")
    options: list[tuple[str, Any]] = []
    if reader.accept("{"):
        while not reader.accept("}"):
            option = reader.take_word("an option name")
            if any(option == given for given, _ in options):
                raise reader.error(f"option {option!r} is given twice")
            reader.expect("=")
            options.append((option, reader.value()))
            reader.accept(",")
    reader.expect_end()
    return PassSpec(name, tuple(options))


@attrs.frozen
class _Str:
    """A quoted string, kept apart from a bare word so that ``"true"`` stays text."""

    text: str


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = list(self._split())
        self.at = 0

    def _split(self) -> Iterator[tuple[int, str, str]]:
        place = 0
        while self.text[place:].strip():
            found = _TOKEN.match(self.text, place)
            if found is None:
                raise self._error_at(place, "a string is not closed")
            kind = found.lastgroup or ""
            yield found.start(kind), kind, found.group(kind)
            place = found.end()
        yield len(self.text), "end", ""

    def _error_at(self, place: int, message: str) -> UserError:
        return _error(
            f"{message} at column {place + 1} of the pass text {self.text!r}", "write Name{option=value}"
        )

    def error(self, message: str) -> UserError:
        return self._error_at(self.tokens[self.at][0], message)

    def accept(self, mark: str) -> bool:
        found = self.tokens[self.at][1:] == ("mark", mark)
        self.at += found
        return found

    def expect(self, mark: str) -> None:
        if not self.accept(mark):
            raise self.error(f"{mark!r} is missing")

    def expect_end(self) -> None:
        if self.tokens[self.at][1] != "end":
            raise self.error(f"{self.tokens[self.at][2]!r} is too much")

    def take_word(self, what: str) -> str:
        _, kind, text = self.tokens[self.at]
        if kind != "word":
            raise self.error(f"{what} is missing")
        self.at += 1
        return text

    def value(self) -> Any:
        if self.accept("["):
            items: list[Any] = []
            while not self.accept("]"):
                items.append(self.value())
                self.accept(",")
            return tuple(items)
        _, kind, text = self.tokens[self.at]
        if kind not in ("word", "string"):
            raise self.error("a value is missing")
        self.at += 1
        if kind == "word":
            return text
        try:
            return _Str(json.loads(text))
        except ValueError:
            self.at -= 1
            raise self.error(f"{text} is not a string") from None


def _coerce(owner: str, name: str, default: Any, value: Any) -> Any:
    """``value`` (a word, a quoted string or a tuple) as the type of ``default``."""
    if _is_list(value) and (default is None or _is_list(default)):
        sample: Any = default[0] if default else None
        return tuple(_coerce(owner, name, sample, item) for item in value)
    fits, result = _as_type(default, value)
    if not fits:
        raise _error(
            f"option {name} of pass {owner} takes {_kind(default)}, not {_shown(value)}",
            f"write for example {name}={format_value(default)}",
        )
    return result


def _is_list(value: object) -> bool:
    return isinstance(value, tuple)


def _as_type(default: Any, value: Any) -> tuple[bool, Any]:
    if isinstance(value, _Str):
        return default is None or isinstance(default, str), value.text
    if _is_list(value) or _is_list(default):
        return False, None
    if isinstance(default, enum.Enum):
        return value in type(default).__members__, type(default).__members__.get(value)
    if isinstance(default, str):
        return value not in _WORDS, value
    guessed = _guess(value)
    if isinstance(default, float) and type(guessed) is int:
        return True, float(guessed)
    return default is None or type(guessed) is type(default), guessed


def _guess(word: str) -> Any:
    if word in _WORDS:
        return _WORDS[word]
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return word


def _kind(default: object) -> str:
    if isinstance(default, enum.Enum):
        return "one of " + ", ".join(type(default).__members__)
    return _KINDS.get(type(default).__name__, "a value")


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return "a list"
    return json.dumps(value.text) if isinstance(value, _Str) else str(value)


def _fields(options: Any) -> tuple[Any, ...]:
    return attrs.fields(cast("type[Any]", options.__class__))


def _default(field: Any) -> Any:
    made = field.default
    return made.factory() if isinstance(made, attrs.Factory) else made  # type: ignore[arg-type]


def _same(a: object, b: object) -> bool:
    return type(a) is type(b) and a == b


def _error(message: str, remedy: str) -> UserError:
    return UserError(message, code="PT310", remedy=remedy)
