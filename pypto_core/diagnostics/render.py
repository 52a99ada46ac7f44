"""Turn diagnostics into text: code, sentence, place with a caret, facts and the way out."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from pypto_core.diagnostics.diagnostic import Diagnostic, Severity
from pypto_core.diagnostics.span import Span

_LABEL = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.PERF_HINT: "hint"}
_MAX_LINE = 160
_MAX_TEXT = 4000
_UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")


def render(diagnostic: Diagnostic) -> str:
    """The terminal form of one diagnostic, without colour and without a final newline."""
    head = f"{_LABEL[diagnostic.severity]}[{diagnostic.code}]: {_shortened(diagnostic.message)}"
    lines = [head, *_place(diagnostic.span)]
    width = max((len(name) for name, _ in diagnostic.facts), default=0)
    lines += [f"  {name.ljust(width)} = {_shortened(value)}" for name, value in diagnostic.facts]
    for note in diagnostic.notes:
        lines += [f"  note: {note.message}", *_place(note.span)]
    if diagnostic.remedy:
        first, *rest = diagnostic.remedy.splitlines()
        lines += [f"  fix: {first}", *(f"       {line}" for line in rest)]
    return "\n".join(lines)


def render_all(diagnostics: Iterable[Diagnostic]) -> str:
    """Several diagnostics, one after the other with a blank line between."""
    return "\n\n".join(render(d) for d in diagnostics)


def _shortened(text: str) -> str:
    """A text that quotes a name or literal of a megabyte, cut to what a person reads."""
    if len(text) <= _MAX_TEXT:
        return text
    half = _MAX_TEXT // 2
    return f"{text[:half]}… ({len(text) - 2 * half} characters) …{text[-half:]}"


def _place(span: Span) -> list[str]:
    if not span.is_valid:
        return []
    out = [f"  --> {span}"]
    text = span.line_text()
    if text is None:
        return out
    number = str(span.begin_line)
    gutter = " " * len(number)
    start = max(span.begin_column - 1, 0)
    same_line = span.end_line in (-1, span.begin_line)
    end = span.end_column - 1 if same_line and span.end_column > span.begin_column else start + 1
    if not same_line:
        end = len(text)
    if len(text) > _MAX_LINE:
        cut = max(0, start - _MAX_LINE // 2)
        text, start, end = text[cut : cut + _MAX_LINE], start - cut, end - cut
    ahead = _columns(text[:start]) + max(0, start - len(text))
    carets = "^" * max(1, _columns(text[start:end]))
    return [*out, f"  {number} | {_visible(text)}", f"  {gutter} | {' ' * ahead}{carets}"]


def _visible(text: str) -> str:
    """A line as it may be shown: what would steer the terminal, or turn the text around, stands as a sign."""
    return text if text.isprintable() else "".join(map(_sign, text))


def _sign(char: str) -> str:
    if char == "\t":
        return " "
    if char < " ":
        return chr(0x2400 + ord(char))  # the pictures of the control characters
    return "\ufffd" if unicodedata.category(char) in _UNSEEN else char


def _columns(text: str) -> int:
    """The columns that a text takes in a terminal: characters of East Asian scripts take two, accents none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text
    )
