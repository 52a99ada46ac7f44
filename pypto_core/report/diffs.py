"""What differs between two texts, line by line."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher

import attrs

CONTEXT = 3


@attrs.frozen
class DiffRow:
    """A line of both texts side by side. ``kind``: ``same``, ``changed``, ``removed``, ``added`` or ``skipped``.

    Numbers count from 1; None where a side has no line. ``skipped`` stands for lines that both have.
    """

    kind: str
    left: str = ""
    right: str = ""
    left_number: int | None = None
    right_number: int | None = None


def side_by_side(before: str, after: str, context: int | None = CONTEXT) -> tuple[DiffRow, ...]:
    """The lines of both, those that differ facing each other; all lines when ``context`` is None."""
    a, b = before.splitlines(), after.splitlines()
    matcher = SequenceMatcher(None, a, b, autojunk=False)
    rows: list[DiffRow] = []
    opcodes = matcher.get_opcodes()
    for at, (tag, i1, i2, j1, j2) in enumerate(opcodes):
        if tag == "equal":
            rows += _equal(a, i1, i2, j1, context, at == 0, at == len(opcodes) - 1)
            continue
        for k in range(max(i2 - i1, j2 - j1)):
            left, right = i1 + k < i2, j1 + k < j2
            rows.append(
                DiffRow(
                    "changed" if left and right else "removed" if left else "added",
                    a[i1 + k] if left else "",
                    b[j1 + k] if right else "",
                    i1 + k + 1 if left else None,
                    j1 + k + 1 if right else None,
                )
            )
    return tuple(rows)


def _equal(
    a: list[str], i1: int, i2: int, j1: int, context: int | None, first: bool, last: bool
) -> Iterator[DiffRow]:
    """A run of equal lines: its ends as context, what is between left out."""
    count = i2 - i1
    head = count if context is None else 0 if first else min(context, count)
    tail = 0 if context is None or last else min(context, count - head)
    hidden = count - head - tail
    for k in range(head):
        yield DiffRow("same", a[i1 + k], a[i1 + k], i1 + k + 1, j1 + k + 1)
    if hidden:
        yield DiffRow("skipped", left=f"{hidden} equal lines")
    for k in range(count - tail, count):
        yield DiffRow("same", a[i1 + k], a[i1 + k], i1 + k + 1, j1 + k + 1)


def unified(before: str, after: str) -> tuple[tuple[str, str], ...]:
    """(mark, line) of a diff in one column: `` ``, ``-``, ``+``, or ``@`` for lines left out."""
    out: list[tuple[str, str]] = []
    added: list[tuple[str, str]] = []
    for row in side_by_side(before, after):
        if row.kind in ("same", "skipped"):
            out += added
            added = []
            out.append((" " if row.kind == "same" else "@", row.left))
            continue
        if row.left_number is not None:
            out.append(("-", row.left))
        if row.right_number is not None:
            added.append(("+", row.right))
    return (*out, *added)
