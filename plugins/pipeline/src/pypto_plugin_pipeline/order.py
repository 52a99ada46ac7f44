"""Sorting the statements of a region: scalars, loads, then work and stores stage by stage."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Any

import attrs

from pypto_core.diagnostics import InternalError
from pypto_core.ir import (
    AssignStmt,
    BreakStmt,
    Call,
    ContinueStmt,
    EvalStmt,
    ReturnStmt,
    ScalarType,
    SeqStmts,
    Stmt,
    Var,
    YieldStmt,
    child_fields,
    seq,
)
from pypto_plugin_pipeline.l0_room import Held, Room, fills_l0
from pypto_plugin_pipeline.membership import Pairs, is_accumulator, membership_of, with_membership
from pypto_plugin_pipeline.storage import Access, Storage, accesses, is_barrier, read

SCALAR, LOAD, WORK = 0, 1, 2
_LOADS = frozenset({"tile.load", "tile.read"})
_STORES = frozenset({"tile.store", "tile.write"})
_ENDS = (YieldStmt, ReturnStmt, BreakStmt, ContinueStmt)
# Accesses to one storage that are compared one by one; beyond, they are kept in order without a look.
_COMPARED = 64


@attrs.frozen
class Mode:
    """What the enclosing pipelined loop asks for.

    ``overlap_stores``: a stage's stores come right behind its work; otherwise they count as work of their own.
    ``double_buffer_c``: stages go in pairs, the products of both before the stores of both.
    """

    overlap_stores: bool = True
    double_buffer_c: bool = False


@attrs.frozen
class Category:
    """``tier``: scalars, loads, work. ``store``: whether work is a store, which follows the rest of its stage."""

    tier: int
    store: bool = False


def category_of(stmt: Stmt, mode: Mode) -> Category:
    """Where a statement belongs."""
    assigned = isinstance(stmt, AssignStmt)
    value = stmt.value if assigned else stmt.expr if isinstance(stmt, EvalStmt) else None
    if isinstance(value, Call):
        if value.name in _LOADS or fills_l0(stmt):
            return Category(LOAD)
        if value.name in _STORES:
            return Category(WORK, store=mode.overlap_stores or mode.double_buffer_c)
        if value.name == "tile.assemble" and assigned and mode.double_buffer_c:
            return Category(WORK, store=True)
    if assigned and isinstance(stmt.var.type, ScalarType):
        return Category(SCALAR)
    return Category(WORK)


def ordered(block: Stmt, storage: Storage, mode: Mode, room: Room) -> Stmt:
    """The statements of a region in their order; the same object when it is the one they have.

    ``room``: the bytes of L0, which bound how early operands are brought there.
    """
    if not isinstance(block, SeqStmts):
        return block
    stmts = block.stmts
    end = stmts[-1:] if stmts and isinstance(stmts[-1], _ENDS) else ()
    body = stmts[: len(stmts) - len(end)]
    if len(body) < 2:
        return block
    stages = _stages(body)
    keys = [_key(i, stmt, stages[i], mode) for i, stmt in enumerate(body)]
    order = _sorted(keys, _dependencies(body, storage), Held(body, _users(body), room))
    new = tuple(_two_residues(body[i]) if mode.double_buffer_c else body[i] for i in order)
    if all(a is b for a, b in zip(new, body, strict=True)):
        return block
    return seq([SeqStmts((*new, *end), span=block.span, leading_comments=block.leading_comments)], block.span)


def _stages(body: Sequence[Stmt]) -> list[Pairs]:
    """The membership of each statement: that of the tile it defines, else of the first tagged tile it is given."""
    own: dict[Var, Pairs] = {s.var: m for s in body if isinstance(s, AssignStmt) and (m := membership_of(s))}
    found: list[Pairs] = []
    for stmt in body:
        pairs = membership_of(stmt)
        value: Any = (
            stmt.value if isinstance(stmt, AssignStmt) else stmt.expr if isinstance(stmt, EvalStmt) else None
        )
        if not pairs and isinstance(value, Call):
            pairs = next((own[a] for a in value.args if isinstance(a, Var) and a in own), ())
        found.append(pairs)
    return found


def _key(index: int, stmt: Stmt, pairs: Pairs, mode: Mode) -> tuple[Any, ...]:
    category = category_of(stmt, mode)
    if mode.double_buffer_c:
        stage = pairs[0][1] if pairs else -1
        return (category.tier, stage // 2, category.store, stage, index)
    return (category.tier, pairs if category.tier == WORK else (), category.store, index)


def _two_residues(stmt: Stmt) -> Stmt:
    """A product in the accumulator with its stage counted by twos: that many buffers are there for it."""
    pairs = membership_of(stmt)
    if not pairs or not is_accumulator(stmt):
        return stmt
    group, stage = pairs[0]
    if stage == stage % 2:
        return stmt
    assert isinstance(stmt, AssignStmt)
    return with_membership(stmt, ((group, stage % 2), *pairs[1:]))


def _sorted(keys: Sequence[tuple[Any, ...]], before: Sequence[set[int]], held: Held) -> list[int]:
    """The positions in the least order that keeps to the dependencies and to the room in L0."""
    behind: list[list[int]] = [[] for _ in keys]
    waiting = [len(needs) for needs in before]
    for i, needs in enumerate(before):
        for j in needs:
            behind[j].append(i)
    ready = [(keys[i], i) for i, count in enumerate(waiting) if not count]
    heapq.heapify(ready)
    order: list[int] = []
    while ready:
        later: list[tuple[tuple[Any, ...], int]] = []
        while ready and not held.fits(ready[0][1]):
            later.append(heapq.heappop(ready))
        _, i = heapq.heappop(ready) if ready else later.pop(0)
        order.append(i)
        held.take(i)
        for item in later:
            heapq.heappush(ready, item)
        for j in behind[i]:
            waiting[j] -= 1
            if not waiting[j]:
                heapq.heappush(ready, (keys[j], j))
    if len(order) != len(keys):
        raise InternalError("the statements of a region depend on each other in a circle")
    return order


def _users(body: Sequence[Stmt]) -> list[list[int]]:
    """For each statement those that use what it defines, nested uses included."""
    maker = {var: i for i, stmt in enumerate(body) for var in _defines(stmt)}
    found: list[list[int]] = [[] for _ in body]
    for i, stmt in enumerate(body):
        for j in {maker[var] for var in read(stmt).used if var in maker}:
            found[j].append(i)
    return found


def _dependencies(body: Sequence[Stmt], storage: Storage) -> list[set[int]]:
    """For each statement the earlier ones that have to stay ahead of it."""
    defined: dict[Var, int] = {}
    before: list[set[int]] = []
    history: dict[object, _History] = {}
    barrier, since = -1, 0
    for i, stmt in enumerate(body):
        reading = read(stmt)
        needs = {defined[v] for v in reading.used if v in defined}
        if barrier >= 0:
            needs.add(barrier)
        for access in accesses(reading, storage):
            needs |= history.setdefault(access.storage, _History()).add(i, access)
        if is_barrier(reading):
            needs |= set(range(since, i))
            barrier, since = i, i
        needs.discard(i)
        before.append(needs)
        for var in _defines(stmt):
            defined[var] = i
    return before


def _defines(stmt: Stmt) -> list[Var]:
    """The variables that the statements behind this one may use."""
    found: list[Var] = []
    for field in child_fields(type(stmt)):
        if field.role == "def":
            value = field.get(stmt)
            found += value if isinstance(value, tuple) else () if value is None else (value,)
    return found


@attrs.define
class _History:
    """The accesses to one storage so far."""

    seen: list[tuple[int, Access]] = attrs.field(factory=list)

    def add(self, index: int, access: Access) -> set[int]:
        """Note an access; the earlier ones whose order with it matters."""
        if len(self.seen) >= _COMPARED:
            access = Access(access.storage, writes=True)
        conflicts = {i for i, other in self.seen if access.conflicts(other)}
        if access.writes and access.window is None:
            self.seen = []
        self.seen.append((index, access))
        return conflicts
