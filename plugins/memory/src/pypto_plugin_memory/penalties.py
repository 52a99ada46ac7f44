"""Which pairs of buffers cost a wait when they share bytes.

A buffer that one pipe has just finished with makes another pipe wait when it writes there. Pairs are found from
the order of accesses alone, for buffers of which everything is known: each access touches all of it, all accesses
stand in one region, and the first one only writes.

All buffers that lie in one memory and are used in one region are paired with each other, up to :data:`PAIRS` pairs.
The pairs grow with the square of the buffers, each is an object of the problem, and the planner weighs it again and
again: 2,000 buffers with all their 1.1 million pairs take 10 s to plan, and 0.6 s with those of near ones. So beyond
that number only buffers that are few definitions apart are paired: what a pipe did long ago it has done.
"""

from __future__ import annotations

from math import isqrt

import attrs

from pypto_core.contract import Backend
from pypto_core.ir import (
    AssignStmt,
    Call,
    ConstInt,
    EvalStmt,
    Expr,
    ForStmt,
    Function,
    IfStmt,
    MakeTuple,
    MemorySpace,
    PipeType,
    ScopeStmt,
    Stmt,
    TensorType,
    TileType,
    Type,
    Var,
    WhileStmt,
    flatten,
)
from pypto_core.ops import alias_source, op_of, touches_memory, written_arguments
from pypto_plugin_memory.buffers import Buffer
from pypto_plugin_memory.storage import memref_of

PAIRS = 100_000
"""How many pairs of one memory and region are looked at in any case: all of those of 447 buffers."""
REACH = 64
"""Up to how many definitions apart two buffers are paired in any case, in one trip or from one to the next."""


@attrs.define(eq=False)
class _History:
    """The accesses of one buffer. ``last``: per pipe the order of its last access."""

    usable: bool = True
    path: int = -1
    looped: bool = False
    start: tuple[int, PipeType] | None = None
    last: dict[PipeType, int] = attrs.field(factory=dict)


@attrs.define(eq=False)
class Waits:
    """The pairs that cost a wait, by definition order.

    ``near``: for each memory and region in which not all buffers are paired, their number and how many definitions
    apart the paired ones are at most.
    """

    pairs: list[tuple[Buffer, Buffer]] = attrs.field(factory=list)
    near: list[tuple[MemorySpace, int, int]] = attrs.field(factory=list)


def reach_of(count: int) -> int:
    """How many definitions apart buffers are paired when there are ``count`` of them."""
    # The largest r of which count * r - r * (r + 1) / 2 is at most PAIRS.
    beyond = (2 * count - 1) ** 2 - 8 * PAIRS
    return count if beyond <= 1 else max(REACH, (2 * count - 2 - isqrt(beyond - 1)) // 2)


def reuse_penalties(function: Function, backend: Backend, buffers: list[Buffer]) -> Waits:
    """Who waits for whom where they share bytes."""
    out = Waits()
    recorder = _Recorder(backend, {b.allocation.base: b for b in buffers})
    recorder.region(function.body, 0, looped=False)
    known = [(b, recorder.history[b.index]) for b in buffers if b.index in recorder.history]
    usable = [(b, h) for b, h in known if h.usable and h.start is not None]
    by_place: dict[tuple[int, MemorySpace], list[tuple[Buffer, _History]]] = {}
    for buffer, history in usable:
        by_place.setdefault((history.path, buffer.allocation.space), []).append((buffer, history))
    for (_, space), members in by_place.items():
        count = len(members)
        reach = reach_of(count)
        if reach < count:
            out.near.append((space, count, reach))
        for at, (b, hb) in enumerate(members):
            wrapped = min(at, max(0, at + reach + 1 - count)) if hb.looped else 0
            for a, ha in (*members[:wrapped], *members[max(wrapped, at - reach) : at]):
                if (_waits(ha, hb) or _waits(hb, ha)) and not a.meets(b):
                    out.pairs.append((a, b))
    return out


def _waits(prior: _History, current: _History) -> bool:
    """Whether ``current`` written where ``prior`` was makes its pipe wait, in this trip or the next."""
    assert prior.start is not None and current.start is not None
    begin, pipe = current.start
    if any(other is not pipe and order <= begin for other, order in prior.last.items()):
        return True
    if not (prior.looped and current.looped):
        return False
    first, writer = prior.start
    return any(other is not writer and order > first for other, order in current.last.items())


class _Recorder:
    def __init__(self, backend: Backend, buffers: dict[Var, Buffer]) -> None:
        self.backend, self.buffers = backend, buffers
        self.history: dict[int, _History] = {}
        self.order = 0
        self.paths = 0

    def region(self, body: Stmt | None, path: int, looped: bool) -> None:
        for stmt in flatten(body):
            if isinstance(stmt, ScopeStmt):
                self.region(stmt.body, path, looped)
            elif isinstance(stmt, ForStmt | WhileStmt):
                self.below(stmt.body, True)
            elif isinstance(stmt, IfStmt):
                self.below(stmt.then_body, looped)
                self.below(stmt.else_body, looped)
            else:
                value = (
                    stmt.value
                    if isinstance(stmt, AssignStmt)
                    else stmt.expr
                    if isinstance(stmt, EvalStmt)
                    else None
                )
                if isinstance(value, Call):
                    self.call(value, stmt.var if isinstance(stmt, AssignStmt) else None, path, looped)
                self.order += 1

    def below(self, body: Stmt | None, looped: bool) -> None:
        self.paths += 1
        self.region(body, self.paths, looped)

    def call(self, call: Call, var: Var | None, path: int, looped: bool) -> None:
        touched = [arg for arg in call.args if self.buffer(arg) is not None]
        if op_of(call) is None:
            for arg in (*touched, var):
                self.poison(arg)
            return
        if not touches_memory(call):
            return
        pipe = self.pipe(call, var)
        if pipe is None or not _known(call):
            for arg in (*touched, var):
                self.poison(arg)
            return
        ignored = alias_source(call) if call.op.name == "tile.assemble" else None
        for index, arg in enumerate(call.args):
            if index != ignored and self.buffer(arg) is not None:
                self.access(arg, pipe, path, looped, writes=False)
        for index in written_arguments(call):
            self.access(call.args[index], pipe, path, looped, writes=True)
        if var is not None:
            self.access(var, pipe, path, looped, writes=True)

    def pipe(self, call: Call, var: Var | None) -> PipeType | None:
        source = next((_space(a.type) for a in call.args if _space(a.type) is not None), None)
        target = _space(var.type) if var is not None else source
        return self.backend.pipe_of(call.op.name, source, target)

    def buffer(self, arg: Expr | None) -> Buffer | None:
        memref = memref_of(arg)
        return self.buffers.get(memref.base) if memref is not None else None

    def poison(self, arg: Expr | None) -> None:
        buffer = self.buffer(arg)
        if buffer is not None:
            self.history.setdefault(buffer.index, _History()).usable = False

    def access(self, arg: Expr, pipe: PipeType, path: int, looped: bool, *, writes: bool) -> None:
        buffer = self.buffer(arg)
        if buffer is None:
            return
        seen = self.history.setdefault(buffer.index, _History())
        if seen.start is None and seen.usable:
            seen.path, seen.looped = path, looped
            if writes:
                seen.start = (self.order, pipe)
            else:
                seen.usable = False
        if seen.path != path or not _all_of(arg, buffer.size):
            seen.usable = False
        seen.last[pipe] = self.order


def _space(kind: Type) -> MemorySpace | None:
    return kind.memory_space if isinstance(kind, TileType | TensorType) else None


def _known(call: Call) -> bool:
    """Whether what the call touches is all of its operands."""
    if call.op.name == "tile.store":
        source = call.args[0].type
        return len(call.args) == 3 and isinstance(source, TileType) and source.is_fully_valid
    if call.op.name == "tile.assemble":
        offset = call.args[2]
        same = memref_of(call.args[0]), memref_of(call.args[1])
        at_start = isinstance(offset, MakeTuple) and all(
            isinstance(o, ConstInt) and o.value == 0 for o in offset.elements
        )
        return at_start and same[0] is not None and same[1] is not None and same[0].base is same[1].base
    return True


def _all_of(arg: Expr, size: int) -> bool:
    kind, memref = arg.type, memref_of(arg)
    return (
        memref is not None
        and isinstance(kind, TileType)
        and kind.is_fully_valid
        and isinstance(memref.byte_offset, ConstInt)
        and memref.size == size
        and memref.slot_index is None
    )
