"""SkewCrossCorePipeline: where a loop pushes to the other core and pops its answer, pushes run a few trips ahead.

The body is cut in two: what the first transfer needs (the producing half) and the rest (the consuming half). A
prologue produces for D trips, a steady loop produces for D trips and consumes those of D trips before, an epilogue
consumes the last D. Only loops of constant bounds, one push and one later pop are cut, when the halves share neither
tiles nor storage that one of them writes; all other loops that go both ways become sequential as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from pypto_core.ir import (
    AssignStmt,
    Call,
    ConstInt,
    EvalStmt,
    Expr,
    ForStmt,
    Function,
    IterArg,
    ScalarType,
    Stmt,
    Sub,
    Var,
    YieldStmt,
    deep_clone,
    defined_vars,
    make_binary,
    replace,
    seq,
    updated,
    used_vars,
    walk,
    walk_stmts,
)
from pypto_plugin_pipeline.bounds import constant_step, counter_dtype, number, shifted, trip_count
from pypto_plugin_pipeline.membership import tagged
from pypto_plugin_pipeline.regions import (
    demoted,
    is_pipelined,
    map_regions,
    split_yield,
    stages_of,
    with_comments,
)
from pypto_plugin_pipeline.storage import PIPE, Storage, accesses, is_barrier, read

_PUSH, _POP = "tile.tpush_to_", "tile.tpop_from_"
FIRST_GROUP = 1 << 20
"""Groups of skewed loops are numbered from here on, apart from those of replicated loops."""


def skew_cross_core_pipeline(function: Function, ctx: Any) -> Function:
    """The function without pipelined loops that go both ways; the same object when it has none."""
    if not any(is_pipelined(s) and crosses_cores(s) for s in walk_stmts(function.body)):
        return function
    return updated(function, body=_Skewer(Storage(function)).stmt(function.body))


def crosses_cores(loop: Stmt) -> bool:
    """Whether the body of a loop, not counting what is nested in it, has a push and a pop."""
    assert isinstance(loop, ForStmt)
    body, _ = split_yield(loop.body)
    return any(_is(s, _PUSH) for s in body) and any(_is(s, _POP) for s in body)


def _is(stmt: Stmt, name: str) -> bool:
    value = stmt.value if isinstance(stmt, AssignStmt) else stmt.expr if isinstance(stmt, EvalStmt) else None
    return isinstance(value, Call) and value.name.startswith(name)


@attrs.frozen(eq=False)
class Halves:
    """The two halves of a body in their order; ``consuming`` repeats the scalars that it needs of the other."""

    producing: tuple[Stmt, ...]
    consuming: tuple[Stmt, ...]
    values: tuple[Expr, ...]


@attrs.define
class _Skewer:
    storage: Storage
    groups: int = FIRST_GROUP

    def stmt(self, stmt: Stmt) -> Stmt:
        new = map_regions(stmt, self.stmt)
        if not (is_pipelined(new) and crosses_cores(new)):
            return new
        assert isinstance(new, ForStmt)
        trips, depth = _depth(new)
        halves = cut(new, self.storage) if depth else None
        if halves is None:
            return demoted(new)
        self.groups += 1
        return _Skew(new, halves, trips, depth, self.groups - 1).emit()


def _depth(loop: ForStmt) -> tuple[int, int]:
    """The number of trips and how far to run ahead, which divides it; 0 when the loop is not to be skewed."""
    start, stop = number(loop.start), number(loop.stop)
    if stages_of(loop) == 1 or start is None or stop is None:
        return 0, 0
    trips = trip_count(start, stop, constant_step(loop))
    if trips < 2:
        return trips, 0
    most = max(2, stages_of(loop) - 1)
    return trips, max(d for d in range(1, most + 1) if trips % d == 0 and trips >= 2 * d)


def cut(loop: ForStmt, storage: Storage) -> Halves | None:
    """The halves of a loop's body, or None when they hang together by more than scalars."""
    body, tail = split_yield(loop.body)
    values = tail.values if tail is not None else ()
    if sum(_is(s, _PUSH) for s in body) != 1 or sum(_is(s, _POP) for s in body) != 1:
        return None
    lead = next(i for i, s in enumerate(body) if _is(s, _PUSH) or _is(s, _POP))
    sources = {v: i for i, s in enumerate(body) for v in _all_defined(s)}
    first = _slice([lead], body, sources)
    rest = [i for i in range(len(body)) if i not in first]
    if not rest or set(loop.iter_args) & {v for i in first for v in used_vars(body[i])}:
        return None
    if _entangled([body[i] for i in sorted(first)], [body[i] for i in rest], storage):
        return None
    wanted = [v for i in rest for v in used_vars(body[i])] + [v for e in values for v in used_vars(e)]
    handed = [sources[v] for v in wanted if sources.get(v) in first]
    shared = _slice(handed, body, sources)
    if not all(_repeatable(body[i]) for i in shared):
        return None
    again = sorted({*shared, *rest})
    return Halves(tuple(body[i] for i in sorted(first)), tuple(body[i] for i in again), values)


def _all_defined(stmt: Stmt) -> tuple[Var, ...]:
    return defined_vars(seq([stmt]))


def _slice(ends: Sequence[int], body: Sequence[Stmt], sources: dict[Var, int]) -> set[int]:
    """The statements that these need, themselves among them."""
    found: set[int] = set()
    todo = list(ends)
    while todo:
        i = todo.pop()
        if i not in found:
            found.add(i)
            todo += [sources[v] for v in used_vars(body[i]) if sources.get(v, i) != i]
    return found


def _repeatable(stmt: Stmt) -> bool:
    """Whether a statement computes a scalar out of scalars."""
    if not (isinstance(stmt, AssignStmt) and isinstance(stmt.var.type, ScalarType)):
        return False
    return not any(isinstance(node, Call) for node in walk(stmt.value))


def _entangled(producing: Sequence[Stmt], consuming: Sequence[Stmt], storage: Storage) -> bool:
    """Whether the halves must not pass each other: one writes what the other touches, or something waits."""
    first, second = [read(s) for s in producing], [read(s) for s in consuming]
    if any(is_barrier(reading) for reading in (*first, *second)):
        return True
    ahead = [a for r in first for a in accesses(r, storage) if a.storage is not PIPE]
    behind = [a for r in second for a in accesses(r, storage) if a.storage is not PIPE]
    written = {a.storage for a in (*ahead, *behind) if a.writes}
    return bool(written & {a.storage for a in ahead} & {a.storage for a in behind})


@attrs.define(eq=False)
class _Skew:
    """The emission of one loop."""

    loop: ForStmt
    halves: Halves
    trips: int
    depth: int
    group: int

    def emit(self) -> Stmt:
        loop, step, depth = self.loop, constant_step(self.loop), self.depth
        start = number(loop.start)
        assert start is not None
        out: list[Stmt] = []
        for i in range(depth):
            out += self.produce(self.literal(start + i * step), i)
        last = start + self.trips * step
        steady = self.steady(start + depth * step, last, step)
        out.append(steady)
        values: tuple[Expr, ...] = steady.return_vars
        for i in range(depth):
            stmts, values = self.consume(self.literal(last - (depth - i) * step), i, values)
            out += stmts
        out += [AssignStmt(v, e, span=loop.span) for v, e in zip(loop.return_vars, values, strict=True)]
        return seq(with_comments(out, loop.leading_comments), loop.span)

    def steady(self, start: int, stop: int, step: int) -> ForStmt:
        loop, depth, dtype = self.loop, self.depth, counter_dtype(self.loop)
        counter = Var(loop.loop_var.name_hint, loop.loop_var.type, span=loop.loop_var.span)
        carries = tuple(IterArg(a.name_hint, a.type, a.init_value, span=a.span) for a in loop.iter_args)
        body: list[Stmt] = []
        for i in range(depth):
            body += self.produce(shifted(counter, i * step, dtype), i)
        values: tuple[Expr, ...] = carries
        for i in range(depth):
            index = make_binary(Sub, counter, ConstInt((depth - i) * step, dtype))
            stmts, values = self.consume(index, i, values)
            body += stmts
        if carries:
            body.append(YieldStmt(values, span=loop.span))
        results = tuple(Var(f"{v.name_hint}_swp", v.type, span=v.span) for v in loop.return_vars)
        return replace(
            demoted(loop),
            loop_var=counter,
            start=self.literal(start),
            stop=self.literal(stop),
            step=self.literal(depth * step),
            iter_args=carries,
            body=seq(body),
            return_vars=results,
            leading_comments=(),
        )

    def literal(self, value: int) -> ConstInt:
        return ConstInt(value, counter_dtype(self.loop))

    def produce(self, index: Expr, stage: int) -> list[Stmt]:
        clone, _ = deep_clone(seq(self.halves.producing), {self.loop.loop_var: index})
        return self.note(split_yield(clone)[0], stage)

    def consume(
        self, index: Expr, stage: int, carries: Sequence[Expr]
    ) -> tuple[list[Stmt], tuple[Expr, ...]]:
        """A consuming half for ``index``, and what it hands on."""
        mapping = {self.loop.loop_var: index, **dict(zip(self.loop.iter_args, carries, strict=True))}
        whole = seq([*self.halves.consuming, YieldStmt(self.halves.values)])
        clone, _ = deep_clone(whole, mapping)
        stmts, tail = split_yield(clone)
        assert tail is not None
        return self.note(stmts, stage), tail.values

    def note(self, stmts: Sequence[Stmt], stage: int) -> list[Stmt]:
        # What is popped lies in the pipe, not in a buffer that another stage could take.
        return [s if _is(s, _POP) else tagged(s, self.group, stage, accumulators=True) for s in stmts]
