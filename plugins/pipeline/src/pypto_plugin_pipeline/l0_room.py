"""What lies in L0 while statements are put in order: operands are brought there early only as far as they fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from pypto_core.ir import (
    AssignStmt,
    Call,
    IfStmt,
    MemorySpace,
    Stmt,
    TileType,
    flatten,
    physical_bytes,
    regions,
    static_shape,
)

SPACES = (MemorySpace.Left, MemorySpace.Right)

Room = Mapping[MemorySpace, int]
"""Bytes of each L0 space; nothing for one that has no bound to check."""


def fills_l0(stmt: Stmt) -> bool:
    """Whether a statement brings an operand from L1 to L0."""
    call = stmt.value if isinstance(stmt, AssignStmt) else None
    if not isinstance(call, Call) or call.name != "tile.extract":
        return False
    source = call.args[0].type
    from_l1 = isinstance(source, TileType) and source.memory_space is MemorySpace.Mat
    return from_l1 and call.kwargs.get("target_memory") in SPACES


def demand(stmt: Stmt) -> Counter[MemorySpace]:
    """Bytes of operands that a statement brings to L0, with all that it contains: at most so many at once."""
    if isinstance(stmt, AssignStmt) and fills_l0(stmt):
        kind = stmt.var.type
        if isinstance(kind, TileType) and kind.memory_space is not None and static_shape(kind.shape):
            return Counter({kind.memory_space: physical_bytes(kind)})
    parts = [_sum(flatten(body)) for body in regions(stmt)]
    if isinstance(stmt, IfStmt) and len(parts) > 1:
        return parts[0] | parts[1]
    return parts[0] if parts else Counter()


def _sum(stmts: Sequence[Stmt]) -> Counter[MemorySpace]:
    total = Counter[MemorySpace]()
    for stmt in stmts:
        total += demand(stmt)
    return total


class Held:
    """The operands in L0 at one point of an order that is being made.

    ``users``: for each statement of the region those that use what it makes.
    """

    def __init__(self, body: Sequence[Stmt], users: Sequence[Sequence[int]], room: Room) -> None:
        self._room = {space: room[space] for space in SPACES if room.get(space)}
        self._fills = [fills_l0(stmt) for stmt in body]
        self._needs = [demand(stmt) for stmt in body] if self._room and any(self._fills) else []
        self._regions = [i for i, needs in enumerate(self._needs) if needs and not self._fills[i]]
        self._left = [len(u) for u in users]
        self._makers: list[list[int]] = [[] for _ in body]
        for maker, using in enumerate(users):
            for user in using:
                self._makers[user].append(maker)
        self._held = Counter[MemorySpace]()
        self._done = [False] * len(body)

    def fits(self, index: int) -> bool:
        """Whether a statement may come now: an operand beside what the region still does before it, or a loop."""
        if not self._needs or not self._needs[index]:
            return True
        before = self._regions if self._fills[index] else []
        ahead = [self._needs[i] for i in before if i < index and not self._done[i]]
        for space, room in self._room.items():
            own = self._needs[index][space]
            if own and self._held[space] + own + max((n[space] for n in ahead), default=0) > room:
                return False
        return True

    def take(self, index: int) -> None:
        """A statement is put next."""
        if not self._needs:
            return
        self._done[index] = True
        if self._fills[index]:
            self._held += self._needs[index]
        for maker in self._makers[index]:
            self._left[maker] -= 1
            if not self._left[maker] and self._fills[maker]:
                self._held -= self._needs[maker]


__all__ = ["SPACES", "Held", "Room", "demand", "fills_l0"]
