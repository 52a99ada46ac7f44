"""Findings of verifiers as a report."""

from __future__ import annotations

from collections.abc import Sequence

from pypto_core.diagnostics import Diagnostic, Severity

_TITLE = "IR Verification Report"


def report(diagnostics: Sequence[Diagnostic]) -> str:
    """A numbered list of findings with rule, place and number, between a header and the status."""
    errors = sum(d.severity is Severity.ERROR for d in diagnostics)
    warnings = len(diagnostics) - errors
    lines = [_TITLE, "=" * len(_TITLE), f"Total: {_count(errors, 'error')}, {_count(warnings, 'warning')}"]
    for i, found in enumerate(diagnostics, start=1):
        lines += ["", f"[{i}] {found.severity.name} - {found.rule or found.code}", f"  {found.message}"]
        if found.span.is_valid:
            lines.append(f"  Location: {found.span}")
        lines.append(f"  Error Code: {found.number}")
    status = f"FAILED ({errors} error(s) found)" if errors else "PASSED"
    return "\n".join([*lines, "", f"Status: {status}"])


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
