"""Where diagnostics of a run are collected."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator

from pypto_core.diagnostics import Diagnostic, Severity, Span

_Key = tuple[str, Severity, Span, str]


class DiagnosticLog:
    """Diagnostics in the order in which they came, each of one code and sentence once per place.

    Safe to add to from several threads.
    """

    def __init__(self, diagnostics: Iterable[Diagnostic] = ()) -> None:
        self._lock = threading.Lock()
        self._entries: dict[_Key, Diagnostic] = {}
        self.extend(diagnostics)

    def add(self, diagnostic: Diagnostic) -> bool:
        """Keep a diagnostic; False when the same was said of the same place before."""
        key = (diagnostic.code, diagnostic.severity, diagnostic.span, diagnostic.message)
        with self._lock:
            if key in self._entries:
                return False
            self._entries[key] = diagnostic
            return True

    def extend(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Keep several."""
        for diagnostic in diagnostics:
            self.add(diagnostic)

    def of(self, severity: Severity) -> tuple[Diagnostic, ...]:
        """Those of one severity."""
        return tuple(d for d in self if d.severity is severity)

    def __iter__(self) -> Iterator[Diagnostic]:
        with self._lock:
            return iter(tuple(self._entries.values()))

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"<DiagnosticLog of {len(self)}>"
