"""The error for programs that are nested deeper than recursion can follow.

What is read from text stays far below this (:mod:`pypto_core.language` has its own limits); programs that Python code
builds may not.
"""

from __future__ import annotations

from typing import Any

from pypto_core.diagnostics import UNKNOWN_SPAN, UserError


def too_deep(node: Any, doing: str = "follow") -> UserError:
    """The error at ``node``, or near it, to be raised in place of a RecursionError."""
    return UserError(
        f"the program is nested too deeply to {doing}",
        code="PT213",
        span=getattr(node, "span", UNKNOWN_SPAN),
        remedy="assign parts of long expressions to variables, and move inner blocks into functions of their own",
    )
