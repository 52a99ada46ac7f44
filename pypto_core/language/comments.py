"""Comments of a source region, so that statements can take theirs along."""

from __future__ import annotations

import ast
from collections.abc import Sequence

HEADER = "pypto.program:"
"""What the printer writes above a program; the class says the same."""


_BEYOND = 1 << 62


class Comments:
    """The comments between two lines, handed out in order to the statements that they stand before or behind."""

    __slots__ = ("_next", "_rows", "next_line")

    def __init__(self, rows: list[tuple[int, str]]) -> None:
        self._rows = rows
        self._next = 0
        self.next_line = rows[0][0] if rows else _BEYOND
        """The line of the next comment; beyond every line when there is none."""

    def take(self, line: int) -> tuple[str, ...]:
        """The comments up to and including ``line`` that nobody took yet."""
        start = self._next
        rows = self._rows
        end = start
        while end < len(rows) and rows[end][0] <= line:
            end += 1
        self._next = end
        self.next_line = rows[end][0] if end < len(rows) else _BEYOND
        return tuple(text for _, text in rows[start:end])


NO_COMMENTS = Comments([])


def comments_of(lines: Sequence[str], node: ast.FunctionDef) -> Comments:
    """The comments of a function, those behind its last statement included."""
    first, last = node.lineno, node.end_lineno or node.lineno
    for number in range(last + 1, len(lines) + 1):
        text = lines[number - 1].lstrip()
        if text and (text[0] != "#" or len(lines[number - 1]) - len(text) <= node.col_offset):
            break
        last = number if text else last
    marked = [n for n, line in enumerate(lines[first - 1 : last], first) if "#" in line]
    if not marked:
        return NO_COMMENTS
    inside = _string_lines(node, lines, first, last)
    rows: list[tuple[int, str]] = []
    for number in marked:
        if number not in inside:
            at = _hash_position(lines[number - 1])
            if at is not None:
                rows.append((number, comment_text(lines[number - 1][at:])))
    return Comments(rows)


def comments_above(lines: Sequence[str], line: int) -> tuple[str, ...]:
    """The whole-line comments directly above ``line``; empty lines end them."""
    found: list[str] = []
    number = line - 1
    while number >= 1 and lines[number - 1].lstrip().startswith("#"):
        found.append(comment_text(lines[number - 1].lstrip()))
        number -= 1
    return tuple(text for text in reversed(found) if not text.startswith(HEADER))


def comment_text(raw: str) -> str:
    """``# text`` → ``text``; comments of another form are kept as they are."""
    raw = raw.rstrip()
    text = raw[2:] if raw.startswith("# ") else ""
    return text if text and not text.startswith("#") else ("" if raw == "#" else raw)


def _string_lines(node: ast.AST, lines: Sequence[str], first: int, last: int) -> set[int]:
    """The lines within strings that run over several lines."""
    if not any('"""' in lines[n - 1] or "'''" in lines[n - 1] for n in range(first, last + 1)):
        return set()
    inside: set[int] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str) and part.end_lineno != part.lineno:
            inside.update(range(part.lineno, (part.end_lineno or part.lineno) + 1))
    return inside


def _hash_position(line: str) -> int | None:
    quote = ""
    at = 0
    while at < len(line):
        char = line[at]
        if quote:
            if char == "\\":
                at += 1
            elif char == quote:
                quote = ""
        elif char in "'\"":
            quote = char
        elif char == "#":
            return at
        at += 1
    return None
