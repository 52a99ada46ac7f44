"""Errors of the lowering."""

from __future__ import annotations

from pypto_core.diagnostics import UNKNOWN_SPAN, InternalError, Span, UserError

REFUSED = "PT365"


def refused(message: str, span: Span = UNKNOWN_SPAN, remedy: str = "", **facts: object) -> UserError:
    """The error for a kernel that has no form on buffers."""
    return UserError(
        message,
        code=REFUSED,
        span=span,
        facts={name.replace("_", " "): value for name, value in facts.items()},
        remedy=remedy or "keep the kernel in tiles: compile with enable_buffer_ir=False",
    )


def broken(message: str, span: Span = UNKNOWN_SPAN, **facts: object) -> InternalError:
    """The error for storage that earlier passes should have put in order."""
    return InternalError(
        message,
        code="PT960",
        span=span,
        facts={name.replace("_", " "): value for name, value in facts.items()},
        remedy="report it with the program: storage was to be legal before kernels are written as buffers",
    )
