"""Why a kernel stays in tiles."""

from __future__ import annotations

from typing import NoReturn

import attrs

from pypto_core.diagnostics import UNKNOWN_SPAN, Span

SHAPE, OPERATOR, TILE, WINDOW, EXTENTS = "PT360", "PT361", "PT362", "PT363", "PT364"
"""Codes: of the function's shape and control flow, its operators, its tiles, its windows, its runtime extents."""


@attrs.frozen
class Reason:
    """The first thing that has no form on buffers. ``text`` completes "stays in tiles: …"."""

    code: str
    text: str
    span: Span = UNKNOWN_SPAN

    def __str__(self) -> str:
        where = f" (line {self.span.begin_line})" if self.span.is_valid else ""
        return f"{self.code}: {self.text}{where}"


class Refused(Exception):
    """Ends the walk over a function at the first reason."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(str(reason))
        self.reason = reason


def refuse(code: str, text: str, span: Span = UNKNOWN_SPAN) -> NoReturn:
    """The function stays in tiles."""
    raise Refused(Reason(code, text, span))
