"""How control leaves statements other than by their end: break, continue and early return."""

from __future__ import annotations

import enum

import attrs

from pypto_core.ir import (
    BreakStmt,
    ContinueStmt,
    ForStmt,
    Function,
    IfStmt,
    ReturnStmt,
    Stmt,
    WhileStmt,
    flatten,
    regions,
    walk_stmts,
)


class Exit(enum.Enum):
    """A way out of a statement."""

    BREAK = "break"
    CONTINUE = "continue"
    RETURN = "return"


JUMPS: dict[type, Exit] = {
    BreakStmt: Exit.BREAK,
    ContinueStmt: Exit.CONTINUE,
    ReturnStmt: Exit.RETURN,
}


@attrs.frozen
class Ways:
    """``kinds``: the exits that may be taken out of a statement. ``ends``: its end is never reached."""

    kinds: frozenset[Exit] = frozenset()
    ends: bool = False


_NONE = Ways()
_JUMP = {cls: Ways(frozenset({kind}), True) for cls, kind in JUMPS.items()}


class Exits:
    """The exits of statements, worked out once each."""

    def __init__(self) -> None:
        self._ways: dict[int, tuple[Stmt, Ways]] = {}
        self._holds: dict[int, tuple[Stmt, bool]] = {}

    def of(self, stmt: Stmt) -> Ways:
        """The exits out of ``stmt``; of a loop those that leave it, so of break and continue none."""
        known = self._ways.get(id(stmt))
        if known is None:
            known = self._ways[id(stmt)] = (stmt, self._find(stmt))
        return known[1]

    def of_all(self, stmts: tuple[Stmt, ...] | list[Stmt]) -> Ways:
        """The exits out of statements that stand one after the other."""
        kinds: set[Exit] = set()
        for stmt in stmts:
            ways = self.of(stmt)
            kinds |= ways.kinds
            if ways.ends:
                return Ways(frozenset(kinds), True)
        return Ways(frozenset(kinds)) if kinds else _NONE

    def inside(self, stmt: Stmt) -> bool:
        """Whether an exit stands anywhere in ``stmt``, also one that only leaves an inner loop."""
        known = self._holds.get(id(stmt))
        if known is None:
            held = type(stmt) in JUMPS or any(self.inside(s) for r in regions(stmt) for s in flatten(r))
            known = self._holds[id(stmt)] = (stmt, held)
        return known[1]

    def _find(self, stmt: Stmt) -> Ways:
        jump = _JUMP.get(type(stmt))
        if jump is not None:
            return jump
        if isinstance(stmt, IfStmt):
            one, two = self.of_all(flatten(stmt.then_body)), self.of_all(flatten(stmt.else_body))
            kinds = one.kinds | two.kinds
            return Ways(kinds, one.ends and two.ends) if kinds else _NONE
        below = regions(stmt)
        if not below:
            return _NONE
        ways = self.of_all(flatten(below[0]))
        if isinstance(stmt, ForStmt | WhileStmt):
            return Ways(ways.kinds & {Exit.RETURN})
        return ways


def early_returns(function: Function) -> tuple[ReturnStmt, ...]:
    """All returns of a function when one of them is not its last statement; none otherwise."""
    found = tuple(s for s in walk_stmts(function.body) if isinstance(s, ReturnStmt))
    last = flatten(function.body)[-1:]
    return () if all(s in last for s in found) else found
