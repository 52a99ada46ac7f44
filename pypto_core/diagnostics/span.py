"""Source positions: where a node, a diagnostic or a token comes from."""

from __future__ import annotations

import linecache

import attrs


@attrs.frozen
class SourceText:
    """The text that spans point into, shared by every span of one parse.

    Keeping it beside the span means that an error shows its line without reading the file again, also for
    text that never was a file.
    """

    filename: str
    lines: tuple[str, ...] = attrs.field(repr=False)

    @classmethod
    def of(cls, text: str, filename: str = "<string>") -> SourceText:
        """Split ``text`` into lines and name it ``filename``."""
        return cls(filename, tuple(text.splitlines()))


@attrs.frozen(eq=False, repr=False)
class Span:
    """A region of source: 1-based lines and columns, ``-1`` where the end is not known.

    ``source`` is carried for rendering and takes no part in equality.
    """

    filename: str
    begin_line: int
    begin_column: int
    end_line: int = -1
    end_column: int = -1
    source: SourceText | None = None

    @staticmethod
    def unknown() -> Span:
        """The span of things that no source wrote; not valid."""
        return UNKNOWN_SPAN

    @property
    def is_valid(self) -> bool:
        """Whether the span names a file and a line."""
        return bool(self.filename) and self.begin_line > 0

    def line_text(self) -> str | None:
        """The source line the span begins on, without its newline; None when it can't be had."""
        if not self.is_valid:
            return None
        if self.source is not None:
            lines = self.source.lines
            return lines[self.begin_line - 1] if self.begin_line <= len(lines) else None
        return linecache.getline(self.filename, self.begin_line).rstrip("\n") or None

    def _key(self) -> tuple[str, int, int, int, int]:
        return (self.filename, self.begin_line, self.begin_column, self.end_line, self.end_column)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Span) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __str__(self) -> str:
        if not self.is_valid:
            return "<unknown>"
        return f"{self.filename}:{self.begin_line}:{self.begin_column}"

    __repr__ = __str__


UNKNOWN_SPAN = Span("", -1, -1)
