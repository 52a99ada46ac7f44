"""Which names of a Python function are read again after each of its blocks: found in the syntax, before it is read.

A block is what stands below one ``with``, ``for``, ``while``, ``if`` or ``else``, or the function's own body.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

import attrs

FUNCTION, SCOPE, BRANCH, LOOP = "function", "scope", "branch", "loop"
Names = frozenset[str]
_NONE: Names = frozenset()


@attrs.frozen(eq=False)
class Block:
    """One block. ``read_later``: names whose value at its end is read afterwards, in a next trip of a loop too."""

    kind: str
    read_later: Names


@attrs.define(eq=False)
class Lifetimes:
    """What the syntax of a function says of its names.

    ``block_of`` finds the block of a statement by the statement's identity.
    """

    block_of: dict[int, Block] = attrs.field(factory=lambda: dict[int, Block]())

    @classmethod
    def of(cls, function: ast.FunctionDef) -> Lifetimes:
        """Look through a function."""
        found = cls()
        found._mark(_Effects(function.body), function.body, FUNCTION, _NONE, _NONE)
        return found

    def _mark(
        self, effects: _Effects, stmts: Sequence[ast.stmt], kind: str, after: Names, at_exit: Names
    ) -> None:
        """Note the block of each statement; ``at_exit``: names read where a break or continue leads."""
        jumps = any(isinstance(stmt, ast.Break | ast.Continue) for stmt in stmts)
        block = Block(kind, after | at_exit if jumps else after)
        live = block.read_later
        for stmt in reversed(stmts):
            self.block_of[id(stmt)] = block
            if isinstance(stmt, ast.If):
                self._mark(effects, stmt.body, BRANCH, live, at_exit)
                self._mark(effects, stmt.orelse, BRANCH, live, at_exit)
            elif isinstance(stmt, ast.With):
                self._mark(effects, stmt.body, SCOPE, live, at_exit)
            elif isinstance(stmt, ast.For | ast.While):
                after_trip = live | effects.next_trip[id(stmt)]
                self._mark(effects, stmt.body, LOOP, after_trip, after_trip)
            reads, sets = effects.of[id(stmt)]
            live = live - sets | reads


class _Effects:
    """For each statement the names that it reads before it sets them, and those that it sets on every path.

    ``next_trip``: what a trip of a loop reads of what was there before it.
    """

    def __init__(self, body: Sequence[ast.stmt]) -> None:
        self.of: dict[int, tuple[Names, Names]] = {}
        self.next_trip: dict[int, Names] = {}
        self._everything = frozenset(
            part.id for stmt in body for part in ast.walk(stmt) if isinstance(part, ast.Name)
        )
        self._block(body)

    def _block(self, stmts: Sequence[ast.stmt]) -> tuple[Names, Names]:
        reads, sets = _NONE, _NONE
        for stmt in reversed(stmts):
            found = self.of[id(stmt)] = self._statement(stmt)
            reads, sets = reads - found[1] | found[0], sets | found[1]
        return reads, sets

    def _statement(self, stmt: ast.stmt) -> tuple[Names, Names]:
        own = assigned(stmt)
        if isinstance(stmt, ast.If):
            (a, b), (c, d) = self._block(stmt.body), self._block(stmt.orelse)
            return a | c | _read(stmt.test), b & d
        if isinstance(stmt, ast.With):
            reads, sets = self._block(stmt.body)
            return (reads - own).union(*(_read(item.context_expr) for item in stmt.items)), sets | own
        if isinstance(stmt, ast.For | ast.While):
            head = _read(stmt.iter if isinstance(stmt, ast.For) else stmt.test)
            reads = self._block(stmt.body)[0] - own
            self.next_trip[id(stmt)] = reads if isinstance(stmt, ast.For) else reads | head
            return reads | head, _NONE  # it may make no trip at all, so that it sets nothing for sure
        # What follows a return is not reached.
        return _read(stmt), self._everything if isinstance(stmt, ast.Return) else own


def _read(node: ast.AST) -> Names:
    """Names that an expression or a simple statement reads; an assigned window or element reads its owner."""
    return frozenset(
        part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)
    )


def assigned(stmt: ast.stmt) -> Names:
    """Names that a statement itself assigns, not those in its blocks."""
    targets: list[ast.AST] = []
    if isinstance(stmt, ast.Assign):
        targets = list(stmt.targets)
    elif isinstance(stmt, ast.AnnAssign | ast.For):
        targets = [stmt.target]
    elif isinstance(stmt, ast.With):
        targets = [item.optional_vars for item in stmt.items if item.optional_vars is not None]
    return frozenset(
        part.id
        for target in targets
        for part in ast.walk(target)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
    )
