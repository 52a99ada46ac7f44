"""What the checker knows while it reads a function: names with their types, constants, findings."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

import attrs

from pypto_core.diagnostics import Diagnostic, Severity
from pypto_plugin_pto.checker.cursor import Cursor
from pypto_plugin_pto.checker.lexer import Fault, Source, Token
from pypto_plugin_pto.checker.tiletypes import canonical

NAME, MISMATCH = "PTO-109", "PTO-110"


@attrs.frozen
class Value:
    """A defined name: where, its type (None when the definition is wrong), what defines it, its constant."""

    token: Token
    type: str | None
    maker: str
    constant: int | None = None


Use = tuple[Token, str | None]
"""A name that is used, and the type it is used as (None: any)."""


@attrs.frozen
class Reading:
    """An operation that has been read: what it uses, and the types of its results.

    ``maker``: the operation that the result really comes from, when this one only looks at it in another way.
    """

    uses: Sequence[Use] = ()
    results: Sequence[str] = ()
    constant: int | None = None
    maker: str = ""


@attrs.frozen
class Edit:
    """A piece of the text that reads otherwise in the generic form of operations, which every MLIR tool takes."""

    begin: int
    end: int
    text: str


class State:
    """Names in scope, innermost last, and everything found so far.

    ``arch``: ``a3`` or ``a5``, None when rules that differ are not checked. ``level``: 2 or 3, None to infer it.
    ``edits`` turn the text into generic form.
    """

    def __init__(self, cursor: Cursor, source: Source, arch: str | None, level: int | None) -> None:
        self.cursor, self.source = cursor, source
        self.arch, self.level = arch, level
        self.findings: list[Diagnostic] = []
        self.addressed: list[tuple[Token, bool]] = []
        self.edits: list[Edit] = []
        self._functions: set[str] = set()
        self._scopes: list[dict[str, Value]] = [{}]
        self._ended: dict[str, Token] = {}

    # -- findings

    def report(self, fault: Fault, severity: Severity = Severity.ERROR) -> None:
        """Take in a finding."""
        span = self.source.span(fault.token)
        self.findings.append(
            Diagnostic(
                code=fault.code, message=fault.message, severity=severity, span=span, remedy=fault.remedy
            )
        )

    # -- names

    def define_function(self, token: Token) -> None:
        """A new function; two of one name can't be told apart."""
        if token.text in self._functions:
            self.report(Fault(NAME, f"function '{token.text}' is defined twice", token, "rename one of them"))
        self._functions.add(token.text)

    @contextmanager
    def function(self) -> Generator[None]:
        """Names of a function are its own."""
        kept = self._scopes, self._ended
        self._scopes, self._ended = [{}], {}
        try:
            yield
        finally:
            self._scopes, self._ended = kept

    @contextmanager
    def region(self) -> Generator[None]:
        """Names of a region end with it."""
        self._scopes.append({})
        try:
            yield
        finally:
            for name, value in self._scopes.pop().items():
                self._ended[name] = value.token

    def define(self, token: Token, type: str | None, maker: str, constant: int | None = None) -> None:
        """A new name; one that is visible already can't be taken again."""
        if any(token.text in scope for scope in self._scopes):
            self.report(
                Fault(NAME, f"'{token.text}' is defined twice", token, "give the second another name")
            )
        self._scopes[-1][token.text] = Value(token, type, maker, constant)

    def find(self, name: str) -> Value | None:
        """A visible name."""
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
        return None

    def use(self, token: Token, type: str | None = None) -> Value | None:
        """A name where it is read; reports one that is not visible or of another type."""
        value = self.find(token.text)
        if value is None:
            if token.text in self._ended:
                raise Fault(
                    NAME, f"'{token.text}' is defined in a region that has ended before this use", token
                )
            raise Fault(NAME, f"'{token.text}' is used before anything defines it", token)
        if type is not None and value.type is not None and canonical(type) != canonical(value.type):
            raise Fault(
                MISMATCH, f"'{token.text}' is used as {_short(type)} and is {_short(value.type)}", token
            )
        return value

    def constant(self, token: Token) -> int | None:
        """The integer a name stands for, where it is a constant."""
        value = self.find(token.text)
        return value.constant if value is not None else None


def _short(type: str) -> str:
    return type if len(type) <= 70 else type[:67] + "..."
