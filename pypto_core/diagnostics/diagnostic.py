"""What every error, warning and hint is: one value that renders to the terminal and to JSON."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from typing import Any, cast

import attrs

from pypto_core.diagnostics.span import UNKNOWN_SPAN, Span


class Severity(enum.Enum):
    """How much a diagnostic weighs; the values are those of the public API."""

    ERROR = 0
    WARNING = 1
    PERF_HINT = 2


def _facts(value: Mapping[str, object] | Iterable[tuple[str, object]]) -> tuple[tuple[str, str], ...]:
    pairs = cast("Iterable[tuple[str, object]]", value.items() if isinstance(value, Mapping) else value)
    return tuple((name, str(fact)) for name, fact in pairs)


@attrs.frozen(kw_only=True)
class Note:
    """A second place or a further sentence that belongs to a diagnostic."""

    message: str
    span: Span = UNKNOWN_SPAN


@attrs.frozen(kw_only=True)
class Diagnostic:
    """One finding.

    ``code``: stable code such as ``PT101`` or ``PH-AT-003``; has a page.
    ``message``: one sentence saying what is wrong.
    ``span``: where; the renderer shows the line and a caret.
    ``facts``: what was needed, what was available, who said so: ordered name/value pairs.
    ``remedy``: how to fix it.
    ``rule`` and ``number``: name of the check and its number, for verifiers.
    """

    code: str
    message: str
    severity: Severity = Severity.ERROR
    span: Span = UNKNOWN_SPAN
    facts: tuple[tuple[str, str], ...] = attrs.field(default=(), converter=_facts)
    remedy: str = ""
    notes: tuple[Note, ...] = ()
    rule: str = ""
    number: int = 0

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary for ``--json`` outputs."""
        return {
            "code": self.code,
            "severity": self.severity.name.lower(),
            "message": self.message,
            "file": self.span.filename or None,
            "line": self.span.begin_line if self.span.is_valid else None,
            "column": self.span.begin_column if self.span.is_valid else None,
            "source": self.span.line_text(),
            "facts": dict(self.facts),
            "remedy": self.remedy or None,
            "notes": [{"message": n.message, "at": str(n.span)} for n in self.notes],
            "rule": self.rule or None,
            "number": self.number or None,
        }
