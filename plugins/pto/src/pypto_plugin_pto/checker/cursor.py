"""Reads tokens one after the other: values, types, attributes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from pypto_plugin_pto.checker.lexer import END, Fault, Token

ItemT = TypeVar("ItemT")
_BUILTIN = re.compile(r"(?:index|none|[su]?i\d+|bf16|tf32|f\d+(?:E\d+M\d+\w*)?)\Z", re.ASCII)
SYNTAX = "PTO-101"


class Cursor:
    """A place among the tokens of a module."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.at = 0

    def peek(self, ahead: int = 0) -> Token:
        """A token that is still to come."""
        return self.tokens[min(self.at + ahead, len(self.tokens) - 1)]

    def next(self) -> Token:
        """The next token, taken."""
        token = self.tokens[self.at]
        if token.kind != END:
            self.at += 1
        return token

    def sees(self, text: str) -> bool:
        """Whether that is next."""
        return self.tokens[self.at].text == text

    def accept(self, text: str) -> bool:
        """Take that token if it is next."""
        if self.tokens[self.at].text == text:
            self.at += 1
            return True
        return False

    def expect(self, text: str) -> Token:
        """Take that token, or refuse what stands there."""
        token = self.tokens[self.at]
        if token.text != text:
            raise Fault(SYNTAX, f"'{text}' is expected here, not {shown(token)}", token)
        self.at += 1
        return token

    def words(self, *texts: str) -> None:
        """Take several tokens in a row."""
        for text in texts:
            self.expect(text)

    def kind(self, kind: str, what: str) -> Token:
        """Take a token of a kind."""
        token = self.tokens[self.at]
        if token.kind != kind:
            raise Fault(SYNTAX, f"{what} is expected here, not {shown(token)}", token)
        self.at += 1
        return token

    def value(self) -> Token:
        """The name of a value."""
        return self.kind("value", "a value such as %x")

    def type(self) -> Token:
        """A type; ``<f32>`` stands for the pointer of that element type."""
        token = self.tokens[self.at]
        if token.kind == "type" or (token.kind == "word" and _BUILTIN.match(token.text)):
            self.at += 1
            return token
        if token.text == "<" and self.peek(1).text != "<":
            self.at += 1
            inner = self.type()
            self.expect(">")
            return Token("type", f"!pto.ptr<{inner.text}>", token.at)
        raise Fault(SYNTAX, f"a type is expected here, not {shown(token)}", token)

    def several(self, item: Callable[[], ItemT], end: str = "") -> list[ItemT]:
        """Items with commas between; none when ``end`` is next."""
        if end and self.sees(end):
            return []
        out = [item()]
        while self.accept(","):
            out.append(item())
        return out

    def bracketed(self, item: Callable[[], ItemT]) -> list[ItemT]:
        """``[a, b]``."""
        self.expect("[")
        out = self.several(item, "]")
        self.expect("]")
        return out

    def attributes(self) -> dict[str, Token]:
        """An attribute dictionary if one is next: each name with its value's first token."""
        out: dict[str, Token] = {}
        if not self.accept("{"):
            return out
        while not self.accept("}"):
            name = self.next()
            if name.kind not in ("word", "string"):
                raise Fault(SYNTAX, f"the name of an attribute is expected here, not {shown(name)}", name)
            out[name.text.strip('"')] = self._attribute_value() if self.accept("=") else name
            if not self.sees("}"):
                self.expect(",")
        return out

    def _attribute_value(self) -> Token:
        token = self.next()
        if token.text == "[":
            while not self.accept("]"):
                self.next()
                if self.peek().kind == END:
                    raise Fault(SYNTAX, "the '[' here is never closed", token)
        elif token.kind not in ("attribute", "number", "word", "string", "symbol", "type"):
            raise Fault(SYNTAX, f"the value of an attribute is expected here, not {shown(token)}", token)
        if self.accept(":"):
            self.type()
        return token

    def location(self) -> None:
        """``loc(...)`` if it is next."""
        if not self.sees("loc"):
            return
        self.next()
        opening = self.expect("(")
        depth = 1
        while depth:
            token = self.next()
            if token.kind == END:
                raise Fault(SYNTAX, "the '(' of this location is never closed", opening)
            depth += (token.text == "(") - (token.text == ")")


def shown(token: Token) -> str:
    """A token as messages name it."""
    if token.kind == END:
        return "the end of the text"
    text = token.text if len(token.text) <= 40 else token.text[:37] + "..."
    return f"'{text}'"
