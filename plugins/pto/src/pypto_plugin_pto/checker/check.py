"""The whole check of one text."""

from __future__ import annotations

import re

import attrs

from pypto_core.diagnostics import Diagnostic, Severity
from pypto_plugin_pto.checker.cursor import Cursor
from pypto_plugin_pto.checker.lexer import Fault, Source, Token, tokens
from pypto_plugin_pto.checker.state import State
from pypto_plugin_pto.checker.structure import Structure

LEVEL = "PTO-107"


@attrs.frozen
class Report:
    """What a check found. ``level`` is the level that the text is written for, None when it declares no buffer."""

    filename: str
    findings: tuple[Diagnostic, ...]
    level: int | None
    arch: str | None

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """The findings that make the text unacceptable."""
        return tuple(d for d in self.findings if d.severity is Severity.ERROR)

    @property
    def ok(self) -> bool:
        """Whether there are no errors."""
        return not self.errors


def check_text(
    text: str,
    filename: str = "<string>",
    *,
    arch: str | None = None,
    level: int | None = None,
    types: bool = False,
) -> Report:
    """Check a module.

    ``arch``: ``a3`` or ``a5``; by default what the module says, where names other than ``a5`` count as ``a3``.
    ``level``: 2 or 3; by default 3 when a buffer has an address. ``types``: have xDSL verify the module as well, which
    needs the extra ``types`` of this distribution (UserError PTO-021 without it).
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    source = Source(text, filename)
    chosen = arch or _arch_of(text)
    try:
        state = State(Cursor(tokens(text)), source, chosen, level)
    except Fault as fault:
        state = State(Cursor([fault.token]), source, chosen, level)
        state.report(fault)
        return Report(filename, tuple(state.findings), level, chosen)
    Structure(state).text()
    found_level = _check_level(state)
    findings = state.findings
    if types and not any(d.severity is Severity.ERROR for d in findings):
        from pypto_plugin_pto.checker.second_opinion import verify

        findings = [*findings, *verify(text, source, state.edits)]
    return Report(filename, tuple(sorted(findings, key=_place)), found_level, chosen)


def _place(diagnostic: Diagnostic) -> tuple[int, int]:
    return diagnostic.span.begin_line, diagnostic.span.begin_column


def _arch_of(text: str) -> str | None:
    found = re.search(r'pto\.target_arch\s*=\s*"([^"]*)"', text)
    return None if found is None else "a5" if found[1] == "a5" else "a3"


def _check_level(state: State) -> int | None:
    """All buffers have an address, or none has; at level 3 the former, at level 2 the latter."""
    if not state.addressed:
        return state.level
    wanted = state.level or (3 if any(has for _, has in state.addressed) else 2)
    for token, has in state.addressed:
        if has != (wanted == 3):
            state.report(_wrong_level(token, wanted))
    return wanted


def _wrong_level(token: Token, level: int) -> Fault:
    if level == 3:
        return Fault(
            LEVEL, "at level 3 every buffer has an address, and this one has none", token, "add addr = %x"
        )
    return Fault(
        LEVEL, "at level 2 the assembler places buffers, and this one has an address", token, "remove it"
    )
