"""The error for programs that are nested deeper than recursion can follow.

What is read from text stays far below this (:mod:`pypto_core.language` has its own limits); programs that Python code
builds may not.
"""

from __future__ import annotations

from typing import Any

from pypto_core.diagnostics import UNKNOWN_SPAN, UserError
from pypto_core.ir.node import MAP, NODES, Node, child_fields

DEEP = 150
"""Levels from which a program's own depth, and no fault in what walks it, is taken to have used the stack up."""


def too_deep(node: Any, doing: str = "follow") -> UserError:
    """The error at ``node``, or near it, to be raised in place of a RecursionError."""
    return UserError(
        f"the program is nested too deeply to {doing}",
        code="PT213",
        span=getattr(node, "span", UNKNOWN_SPAN),
        remedy="assign parts of long expressions to variables, and move inner blocks into functions of their own",
    )


def is_deep(node: Any) -> bool:
    """Whether nodes are nested at least :data:`DEEP` levels below ``node``. Asked only once something went wrong."""
    seen: dict[int, int] = {}
    stack: list[tuple[Any, int]] = [(node, 0)]
    while stack:
        current, level = stack.pop()
        if level >= DEEP:
            return True
        if seen.get(id(current), -1) >= level:
            continue
        seen[id(current)] = level
        stack += [(below, level + 1) for below in _below(current)]
    return False


def _below(node: Any) -> list[Any]:
    functions = getattr(node, "functions", None)
    if functions is not None:
        return list(functions.values())
    found: list[Any] = []
    for field in child_fields(node.__class__):
        value = field.get(node)
        found += value if field.kind == NODES else value.values() if field.kind == MAP else (value,)
    return [item for item in found if isinstance(item, Node)]
