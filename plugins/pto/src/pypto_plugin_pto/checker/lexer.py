"""Tokens of a module's text, each with its place."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NamedTuple

from pypto_core.diagnostics import SourceText, Span


class Token(NamedTuple):
    """A token; ``at`` counts characters from the beginning of the text."""

    kind: str
    text: str
    at: int


class Fault(Exception):
    """Something wrong at a token, to be reported."""

    def __init__(self, code: str, message: str, token: Token, remedy: str = "") -> None:
        super().__init__(message)
        self.code, self.message, self.token, self.remedy = code, message, token, remedy


# Blanks and comments are taken as a whole: given back piece by piece they would cost exponential time.
_TOKEN = re.compile(
    r"""
    (?>(?:\s+|//[^\n]*)*)
    (?:(?P<string>"(?:[^"\\\n]|\\.)*")
  | (?P<arrow>->)
  | (?P<value>%[\w$.-]+(?:\#\d+)?)
  | (?P<label>\^[\w$.-]+)
  | (?P<number>0x[0-9A-Fa-f]+|-?\d+(?:\.\d*(?:[eE][-+]?\d+)?)?)
  | (?P<symbol>@[\w$.-]+)
  | (?P<type>![\w.]+)
  | (?P<attribute>\#[\w.]+)
  | (?P<word>[A-Za-z_][\w$.]*)
  | (?P<mark>[()\[\]{}<>,:=?|*+])
  | (?P<nothing>\Z)
    )""",
    re.X | re.ASCII,
)
_WHOLE = re.compile(r"-?[0-9]{1,24}|0x[0-9A-Fa-f]{1,20}")
_SKIPPED = re.compile(r"(?>(?:\s+|//[^\n]*)*)")
_TAKES_BRACKETS = frozenset({"type", "attribute"})
_BRACKETED_WORDS = frozenset({"memref", "vector", "tensor", "complex", "dense"})
_FLAT = re.compile(r"<[^<>\n]*(?<!-)>")
END = "end"


def whole_number(text: str) -> int | None:
    """The integer that a text is; None for what is none, or has more digits than any type holds."""
    if _WHOLE.fullmatch(text) is None:
        return None
    return int(text, 16 if text.startswith("0x") else 10)


class Source:
    """A text with the places of its lines."""

    def __init__(self, text: str, filename: str) -> None:
        self.text = text
        self._source = SourceText.of(text, filename)
        self._starts = [0, *(m.end() for m in re.finditer("\n", text))]

    def line_of(self, token: Token) -> int:
        """The line that a token begins on, counted from 1."""
        return bisect_right(self._starts, token.at)

    def span(self, token: Token) -> Span:
        """Where a token stands."""
        line = self.line_of(token)
        column = token.at - self._starts[line - 1] + 1
        width = max(1, len(token.text.split("\n", 1)[0]))
        return Span(self._source.filename, line, column, line, column + width, self._source)


def tokens(text: str) -> list[Token]:
    """All tokens, and one of kind ``end`` behind them. Raises Fault for characters that begin none."""
    out: list[Token] = []
    at, size = 0, len(text)
    match, append = _TOKEN.match, out.append
    while at < size:
        found = match(text, at)
        if found is None:
            begin = _SKIPPED.match(text, at)
            at = begin.end() if begin is not None else at
            remedy = "save the file without a byte order mark" if text[at] == "\ufeff" else ""
            raise Fault("PTO-101", f"unexpected character {text[at]!r}", Token("mark", text[at], at), remedy)
        kind = found.lastgroup or ""
        begin, end = found.span(kind)
        if begin == end:
            break
        word = text[begin:end]
        if end < size and text[end] == "<" and (kind in _TAKES_BRACKETS or word in _BRACKETED_WORDS):
            end = _closing(text, end, Token(kind, word, begin))
            word = text[begin:end]
            kind = "type" if kind == "word" and not word.startswith("dense") else kind
        append(Token(kind, word, begin))
        at = end
    append(Token(END, "", max(0, size - 1)))
    return out


def _closing(text: str, start: int, token: Token) -> int:
    """The place behind the bracket that closes the one at ``start``; an arrow is no bracket."""
    flat = _FLAT.match(text, start)
    if flat is not None:
        return flat.end()
    depth, at = 0, start
    while at < len(text):
        character = text[at]
        if character == "<":
            depth += 1
        elif character == ">" and text[at - 1] != "-":
            depth -= 1
            if not depth:
                return at + 1
        elif character == "\n" and depth and text[at + 1 : at + 2] == "\n":
            break
        at += 1
    raise Fault("PTO-101", f"the '<' behind {token.text} is never closed", token)
