"""The error classes: a user's mistake, a failed verification and a fault of the compiler are told apart by type.

Parser errors derive from :class:`DiagnosticError` and not from ValueError, op and pass errors that a user can
cause are also ValueError or TypeError, so that ordinary Python code catches them as it would expect to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from pypto_core.diagnostics.diagnostic import Diagnostic, Note, Severity
from pypto_core.diagnostics.render import render_all
from pypto_core.diagnostics.span import UNKNOWN_SPAN, Span


class DiagnosticError(Exception):
    """An exception that carries diagnostics; its text is their rendering.

    Build one from a message and the parts of a :class:`Diagnostic`, or from ready diagnostics.
    """

    default_code = "PT000"

    def __init__(
        self,
        message: str = "",
        *,
        code: str | None = None,
        span: Span = UNKNOWN_SPAN,
        facts: Mapping[str, object] | Iterable[tuple[str, object]] = (),
        remedy: str = "",
        notes: Sequence[Note] = (),
        diagnostics: Iterable[Diagnostic] | None = None,
    ) -> None:
        if diagnostics is None:
            diagnostics = (
                Diagnostic(
                    code=code or self.default_code,
                    message=message,
                    span=span,
                    facts=facts,  # type: ignore[arg-type]
                    remedy=remedy,
                    notes=tuple(notes),
                ),
            )
        self.diagnostics: tuple[Diagnostic, ...] = tuple(diagnostics)
        super().__init__(self.diagnostics[0].message if self.diagnostics else message)

    def __str__(self) -> str:
        return self.render()

    @property
    def message(self) -> str:
        """The first diagnostic's sentence, without place and facts."""
        return self.diagnostics[0].message

    @property
    def span(self) -> Span:
        """Where the first diagnostic points."""
        return self.diagnostics[0].span

    def render(self) -> str:
        """All diagnostics as text."""
        return render_all(self.diagnostics)

    def to_json(self) -> list[dict[str, Any]]:
        """All diagnostics as plain data."""
        return [d.to_json() for d in self.diagnostics]

    def located(self, span: Span) -> DiagnosticError:
        """Give diagnostics that have no place the given one, keeping class and text; returns self."""
        self.diagnostics = tuple(
            d if d.span.is_valid or not span.is_valid else attrs.evolve(d, span=span)
            for d in self.diagnostics
        )
        return self


class UserError(DiagnosticError, ValueError):
    """Something the user asked for can't be done or is written wrong."""

    default_code = "PT001"


class OpError(UserError):
    """An operator was called with arguments it does not accept."""

    default_code = "PT200"


class OpTypeError(DiagnosticError, TypeError):
    """An operator was called with arguments of the wrong kind."""

    default_code = "PT201"


class VerificationError(DiagnosticError):
    """A property that should hold of the program does not."""

    default_code = "PT400"


class InternalError(DiagnosticError, RuntimeError):
    """The compiler broke its own rules: a fault to report, never the user's."""

    default_code = "PT900"


class ParserError(DiagnosticError):
    """A program text can't be read; base of the parser's errors."""

    default_code = "PT100"


class ParserSyntaxError(ParserError):
    """The text is not in the language."""

    default_code = "PT101"


class ParserTypeError(ParserError):
    """An annotation or operand has the wrong type."""

    default_code = "PT102"


class SSAViolationError(ParserError):
    """A name is assigned twice where that was forbidden."""

    default_code = "PT103"


class UndefinedVariableError(ParserError):
    """A name is used that nothing defines."""

    default_code = "PT104"


class UnsupportedFeatureError(ParserError):
    """Python that is not part of the kernel language."""

    default_code = "PT105"


class InvalidOperationError(ParserError):
    """An operation that does not exist or does not apply here."""

    default_code = "PT106"


class ScopeIsolationError(ParserError):
    """A value is used outside the scope that owns it."""

    default_code = "PT107"


class KernelError(UserError, InvalidOperationError, ParserSyntaxError):
    """What was refused while a kernel was read, without being a matter of its text."""

    default_code = UserError.default_code


class KernelOpError(OpError, KernelError):
    """An operator refused what a kernel calls it with: an OpError, for who catches those, and one of the parser's."""

    default_code = OpError.default_code


class KernelOpTypeError(OpTypeError, InvalidOperationError, ParserSyntaxError):
    """An operator of a kernel got arguments of the wrong kind: an OpTypeError, and one of the parser's."""

    default_code = OpTypeError.default_code


def in_kernel(error: DiagnosticError) -> DiagnosticError:
    """An error that a kernel caused while it was read as one of the parser's, which also is what it was."""
    if isinstance(error, ParserError):
        return error
    for plain, parsers in (
        (OpError, KernelOpError),
        (OpTypeError, KernelOpTypeError),
        (UserError, KernelError),
    ):
        if type(error) is plain:
            return parsers(diagnostics=error.diagnostics)
    return error


def warning(code: str, message: str, span: Span = UNKNOWN_SPAN, **parts: Any) -> Diagnostic:
    """A diagnostic of severity WARNING."""
    return Diagnostic(code=code, message=message, severity=Severity.WARNING, span=span, **parts)


def perf_hint(code: str, message: str, span: Span = UNKNOWN_SPAN, **parts: Any) -> Diagnostic:
    """A diagnostic of severity PERF_HINT."""
    return Diagnostic(code=code, message=message, severity=Severity.PERF_HINT, span=span, **parts)
