"""Operators stand where they have a meaning: windows are made by host code, and devices talk in kernels."""

from __future__ import annotations

from pypto_core.diagnostics import Span, UserError
from pypto_core.ir import Call, ForStmt, Function, Level, Stmt, WhileStmt, regions, walk
from pypto_plugin_distributed import ops

_HOST = frozenset({ops.ALLOC, ops.WINDOW})
_ANYWHERE = frozenset({ops.WORLD_SIZE})


def check_places(function: Function) -> None:
    """Raise UserError PT393 for an operator in a function that it does not belong to.

    Inline functions are left to those that they become part of.
    """
    on_host = function.level is Level.HOST
    for node in walk(function.body):
        if not isinstance(node, Call) or not node.name.startswith("pld.") or node.name in _ANYWHERE:
            continue
        if on_host and node.name not in _HOST:
            raise _misplaced(
                f"'{node.name}' is used in host code, which is no device", node.span,
                "move it into a kernel that is launched with device=r",
            )  # fmt: skip
        if not on_host and node.name in _HOST:
            raise _misplaced(
                f"'{node.name}' is used in a kernel, which knows only of its own device", node.span,
                "call it in the host function, and pass what pld.window gives to the kernel",
            )  # fmt: skip
    if on_host:
        _check_loops(function.body, False)


def _check_loops(stmt: Stmt, inside: bool) -> None:
    """Refuse allocations in loops: each trip would have a window of its own, and devices would not meet."""
    nested = regions(stmt)
    inside = inside or isinstance(stmt, ForStmt | WhileStmt)
    if not nested and inside:
        for node in walk(stmt):
            if isinstance(node, Call) and node.name == ops.ALLOC:
                raise _misplaced(
                    "a window is allocated in a loop: each trip has another one", node.span,
                    "allocate it ahead of the loop, and make windows of it inside",
                )  # fmt: skip
    for part in nested if nested else getattr(stmt, "stmts", ()):
        _check_loops(part, inside)


def _misplaced(message: str, span: Span, remedy: str) -> UserError:
    return UserError(message, code="PT393", span=span, remedy=remedy)
