"""What a compilation leaves behind, and its stored form: msgpack with the program in the binary form of programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from pypto_core.contract import Artifact
from pypto_core.diagnostics import UNKNOWN_SPAN, Diagnostic, Note, Severity, SourceText, Span
from pypto_core.ir import Program
from pypto_core.text import dumps, loads
from pypto_core.text.wire import listed, pack, unpack


@attrs.frozen(kw_only=True)
class Result:
    """The program after the last pass, what the target made of it, and what was reported on the way."""

    program: Program
    artifacts: tuple[Artifact, ...] = attrs.field(default=(), converter=tuple)
    diagnostics: tuple[Diagnostic, ...] = attrs.field(default=(), converter=tuple)


def to_bytes(result: Result) -> bytes:
    """The stored form. Raises UserError (PT557) for a program that has none."""
    return pack(
        [
            dumps(result.program, sources=False),
            [[artifact.name, artifact.data, artifact.media] for artifact in result.artifacts],
            [_diagnostic_row(item) for item in result.diagnostics],
        ]
    )


def from_bytes(data: bytes, text: SourceText | None = None) -> Result:
    """The result that :func:`to_bytes` stored; ``text``: the source that positions in its file point into.

    Raises UserError (PT55x), ValueError, TypeError, KeyError or OverflowError for anything else.
    """
    program, artifacts, diagnostics = listed(unpack(data), "a result", 3)
    found = loads(program)
    if not isinstance(found, Program):
        raise TypeError(f"a {type(found).__name__} where a program belongs")
    rows = [listed(row, "an artifact", 3) for row in listed(artifacts, "the artifacts")]
    return Result(
        program=found,
        artifacts=[_artifact(*row) for row in rows],
        diagnostics=[_diagnostic(row, text) for row in listed(diagnostics, "the diagnostics")],
    )


def _artifact(name: Any, data: Any, media: Any) -> Artifact:
    if not isinstance(data, str | bytes):
        raise TypeError("an artifact holds text or bytes")
    return Artifact(_text(name), data, _text(media))


def _diagnostic_row(value: Diagnostic) -> list[Any]:
    return [
        value.code,
        value.message,
        value.severity.name,
        _span_row(value.span),
        [list(fact) for fact in value.facts],
        value.remedy,
        [[note.message, _span_row(note.span)] for note in value.notes],
        value.rule,
        value.number,
    ]


def _diagnostic(row: Any, text: SourceText | None) -> Diagnostic:
    code, message, severity, span, facts, remedy, notes, rule, number = listed(row, "a diagnostic", 9)
    return Diagnostic(
        code=_text(code),
        message=_text(message),
        severity=Severity[severity],
        span=_span(span, text),
        facts=[(_text(name), _text(fact)) for name, fact in facts],
        remedy=_text(remedy),
        notes=tuple(Note(message=_text(said), span=_span(place, text)) for said, place in notes),
        rule=_text(rule),
        number=int(number),
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a {type(value).__name__} where text belongs")
    return value


def _span_row(span: Span) -> list[Any]:
    return [span.filename, span.begin_line, span.begin_column, span.end_line, span.end_column]


def _span(row: Sequence[Any], text: SourceText | None) -> Span:
    filename, *numbers = listed(row, "a position", 5)
    if not filename:
        return UNKNOWN_SPAN
    source = text if text is not None and text.filename == filename else None
    return Span(_text(filename), *map(int, numbers), source=source)
