"""SkewCrossCorePipeline: a peer that answers in order sees the same pushes, and the loop gets the same answers."""

from __future__ import annotations

from collections import deque
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pypto_core.contract import ArrayValue, OpExecutor
from pypto_core.host import Host
from pypto_core.ir import (
    AssignStmt,
    Call,
    ConstInt,
    DataType,
    EvalStmt,
    ForKind,
    ForStmt,
    MemorySpace,
    Mutator,
    ParamDirection,
    Program,
    Stmt,
    add,
    flatten,
    floormod,
    mul,
    replace,
    walk_stmts,
)
from pypto_core.testing import assert_same_behaviour
from pypto_core.testing import build as b
from pypto_core.verify import STRUCTURAL, verify_or_raise
from pypto_plugin_pipeline.skew import FIRST_GROUP, skew_cross_core_pipeline
from pypto_plugin_pipeline.verify import verify_cross_core_sequential


class Peer:
    """The other core: what it is pushed comes back doubled, in order. ``most``: tiles in flight at once."""

    def __init__(self) -> None:
        self.queue: deque[Any] = deque()
        self.most = 0

    def push(self, ctx: Any, tile: ArrayValue, **_: Any) -> None:
        self.queue.append(tile.data.copy())
        self.most = max(self.most, len(self.queue))

    def pop(self, ctx: Any, shape: tuple[int, ...], **_: Any) -> ArrayValue:
        if not self.queue:
            raise ctx.error("a pop of what nobody has pushed")
        return ctx.value(self.queue.popleft() * 2)


def with_peer(host: Host) -> tuple[Host, Peer]:
    peer = Peer()
    rows = {
        name: row
        for name, row in host.executors.rows.items()
        if not name.startswith(("tile.tp", "system.tf"))
    }
    some = next(iter(rows.values()))
    made = {
        "tile.tpush_to_aic": peer.push, "tile.tpop_from_aic": peer.pop,
        "system.tfree_to_aic": lambda ctx, *_, **__: None,
    }  # fmt: skip
    for name, run in made.items():
        rows[name] = attrs.evolve(some, value=OpExecutor(name, run))
    return attrs.evolve(host, executors=type(host.executors).of("executor", rows)), peer


A, OUT = b.tensor("a", [64, 16]), b.tensor("out", [64, 16])
KIND = DataType.FP32


def load(i: Any, source: Any = None) -> AssignStmt:
    return b.let(
        "t", b.op("tile.load", source or A, b.dims(i, 0), b.dims(1, 16), target_memory=MemorySpace.Vec)
    )


def push(tile: Any) -> EvalStmt:
    return b.do(b.op("tile.tpush_to_aic", tile))


def pop() -> AssignStmt:
    return b.let("g", b.op("tile.tpop_from_aic", b.dims(1, 16), dtype=KIND))


def store(tile: Any, i: Any, target: Any = None) -> EvalStmt:
    return b.do(b.op("tile.store", tile, b.dims(i, 0), target or OUT))


def simple(i: Any) -> list[Stmt]:
    """Load, push; pop, compute, give back, store."""
    t, g = load(i), pop()
    u = b.let("u", b.op("tile.exp", g.var))
    free = b.do(b.op("system.tfree_to_aic", g.var))
    return [t, push(t.var), g, u, free, store(u.var, i)]


def program(body: Any, stop: Any, stages: int, **options: Any) -> Program:
    loop = b.loop(stop, body, kind=ForKind.Pipeline, attrs={"pipeline_stages": stages}, **options)
    params = [A, (OUT, ParamDirection.InOut)]
    return b.program(b.kernel("main", params, [loop, b.ret()]))


def skew(before: Program) -> Program:
    return replace(before, functions=[skew_cross_core_pipeline(f, None) for f in before])


def loops(of: Program) -> list[ForStmt]:
    return [s for s in walk_stmts(of["main"].body) if isinstance(s, ForStmt)]


def proved(kit: Any, before: Program) -> tuple[Program, int]:
    """The result, which computes the same; and how many tiles were in flight."""
    after = skew(before)
    verify_or_raise(after, (*STRUCTURAL, "SSAForm", "NormalizedStmtStructure"), after="the pass")
    assert list(verify_cross_core_sequential(after)) == []
    assert skew_cross_core_pipeline(after["main"], None) is after["main"]
    host, peer = with_peer(kit.host)
    assert_same_behaviour(before, after, host=host)
    assert not peer.queue, "as many pops as pushes"
    return after, peer.most


def names(stmt: Stmt) -> list[str]:
    short = {"tile.tpush_to_aic": "push", "system.tfree_to_aic": "free", "tile.store": "store"}
    out = []
    for s in flatten(stmt):
        if isinstance(s, AssignStmt):
            out.append(s.var.name_hint)
        elif isinstance(s, EvalStmt):
            out.append(short[s.expr.name])
        else:
            out.append(type(s).__name__)
    return out


PRODUCE, CONSUME = ["t", "push"], ["g", "u", "free", "store"]


def test_the_shape_of_a_skewed_loop(kit: Any) -> None:
    after, most = proved(kit, program(simple, 8, 3))
    [loop] = loops(after)
    top = names(after["main"].body)
    assert top == [*PRODUCE * 2, "ForStmt", *CONSUME * 2, "ReturnStmt"]
    assert names(loop.body) == [*PRODUCE * 2, *CONSUME * 2]
    assert [x.value for x in (loop.start, loop.stop, loop.step)] == [2, 8, 2]
    assert loop.kind is ForKind.Sequential and dict(loop.attrs) == {}
    # Two ahead, and two more in the trip.
    assert most == 4


def test_indices(kit: Any) -> None:
    after, _ = proved(kit, program(simple, 11, 3, start=3, step=2))
    rows: list[Any] = []
    for s in flatten(after["main"].body):
        value = s.value if isinstance(s, AssignStmt) else s.expr if isinstance(s, EvalStmt) else None
        if isinstance(value, Call) and value.name in ("tile.load", "tile.store"):
            rows.append(value.args[1].elements[0].value)
    # Four trips at 3, 5, 7, 9: two loads ahead of the loop, two stores behind it.
    assert rows == [3, 5, 7, 9]
    [loop] = loops(after)
    assert [x.value for x in (loop.start, loop.stop, loop.step)] == [7, 11, 4]
    store_at = [s.expr.args[1].elements[0] for s in flatten(loop.body) if names(s) == ["store"]]
    assert [(e.left is loop.loop_var, e.right.value) for e in store_at] == [(True, 4), (True, 2)]


@pytest.mark.parametrize(
    ("trips", "stages", "depth"),
    [(2, 2, 1), (3, 2, 1), (4, 2, 2), (8, 2, 2), (8, 5, 4), (6, 4, 3), (7, 4, 1), (9, 6, 3), (12, 16, 6)],
)
def test_how_far_ahead(kit: Any, trips: int, stages: int, depth: int) -> None:
    """The most that divides the trips, at most stages less one (but two), and half of the trips."""
    after, _ = proved(kit, program(simple, trips, stages))
    assert names(after["main"].body)[: 2 * depth] == PRODUCE * depth
    assert loops(after)[0].step.value == depth


def test_tags_are_shared_by_prologue_loop_and_epilogue(kit: Any) -> None:
    after, _ = proved(kit, program(simple, 8, 3))
    tags: dict[str, list[Any]] = {"t": [], "u": [], "g": []}
    for s in walk_stmts(after["main"].body):
        if isinstance(s, AssignStmt):
            tags[s.var.name_hint].append(s.value.attrs.get("pipeline_membership"))
    both = [f"{FIRST_GROUP}:0", f"{FIRST_GROUP}:1"]
    assert tags == {"t": both * 2, "u": both * 2, "g": [None] * 4}


def test_carries_go_through_the_consuming_half(kit: Any) -> None:
    zero = b.let("zero", b.op("tile.load", A, b.dims(60, 0), b.dims(1, 16), target_memory=MemorySpace.Vec))

    def body(i: Any, total: Any) -> list[Stmt]:
        t, g = load(i), pop()
        new = b.let("sum", b.op("tile.add", total, g.var))
        return [t, push(t.var), g, new, store(new.var, i), b.give(new.var)]

    loop = b.loop(6, body, kind=ForKind.Pipeline, attrs={"pipeline_stages": 2}, carries={"total": zero.var})
    last = store(loop.return_vars[0], 63)
    before = b.program(b.kernel("main", [A, (OUT, ParamDirection.InOut)], [zero, loop, last, b.ret()]))
    after, _ = proved(kit, before)
    [steady] = loops(after)
    assert steady.return_vars[0].name_hint == "total_out_swp"
    assert steady.iter_args[0].init_value is not loop.iter_args[0]


def test_scalars_that_both_halves_need_are_computed_twice(kit: Any) -> None:
    def body(i: Any) -> list[Stmt]:
        row = b.let("row", floormod(add(mul(i, 3), 1), 64))
        half = b.let("half", floormod(row.var, 32))
        t, g = load(half.var), pop()
        return [row, half, t, push(t.var), g, store(g.var, row.var)]

    after, _ = proved(kit, program(body, 6, 2))
    [loop] = loops(after)
    assert names(loop.body) == ["row", "half", "t", "push"] * 2 + ["row", "g", "store"] * 2


def demoted_because(kit: Any, before: Program) -> None:
    [loop] = loops(before)
    after = skew(before)
    [same] = loops(after)
    assert same.kind is ForKind.Sequential and same.body is loop.body and dict(same.attrs) == {}
    proved(kit, before)


def test_loops_that_are_only_made_sequential(kit: Any) -> None:
    n = b.scalar("n")
    dynamic = b.loop(n, simple, kind=ForKind.Pipeline, attrs={"pipeline_stages": 2})
    after = skew_cross_core_pipeline(b.kernel("main", [n, A, OUT], [dynamic, b.ret()]), None)
    assert flatten(after.body)[0].kind is ForKind.Sequential

    def two_pushes(i: Any) -> list[Stmt]:
        t, g, h = load(i), pop(), pop()
        return [t, push(t.var), push(t.var), g, h, store(g.var, i)]

    def tile_in_both(i: Any) -> list[Stmt]:
        t, g = load(i), pop()
        w = b.let("w", b.op("tile.add", t.var, g.var))
        return [t, push(t.var), g, w, store(w.var, i)]

    def reads_what_it_stores(i: Any) -> list[Stmt]:
        t, g = load(i, OUT), pop()
        return [t, push(t.var), g, store(g.var, i)]

    def waits(i: Any) -> list[Stmt]:
        return [*simple(i), b.do(b.op("system.bar_all"))]

    demoted_because(kit, program(simple, 8, 1))
    demoted_because(kit, program(simple, 1, 3))
    for body in (two_pushes, tile_in_both, reads_what_it_stores, waits):
        demoted_because(kit, program(body, 8, 3))


def test_a_carry_that_the_push_needs(kit: Any) -> None:
    start = load(ConstInt(0))

    def body(i: Any, held: Any) -> list[Stmt]:
        g = pop()
        return [push(held), g, store(g.var, i), b.give(g.var)]

    loop = b.loop(8, body, kind=ForKind.Pipeline, attrs={"pipeline_stages": 3}, carries={"held": start.var})
    before = b.program(b.kernel("main", [A, (OUT, ParamDirection.InOut)], [start, loop, b.ret()]))
    demoted_because(kit, before)


def test_a_pop_ahead_of_its_push(kit: Any) -> None:
    first = load(ConstInt(0))

    def body(i: Any) -> list[Stmt]:
        g = pop()
        u = b.let("u", b.op("tile.neg", g.var))
        return [g, u, push(u.var), store(g.var, i)]

    loop = b.loop(8, body, kind=ForKind.Pipeline, attrs={"pipeline_stages": 3})
    end = pop()
    stmts = [first, push(first.var), loop, end, store(end.var, 9), b.ret()]
    demoted_because(kit, b.program(b.kernel("main", [A, (OUT, ParamDirection.InOut)], stmts)))


def test_loops_of_one_way_are_left_alone() -> None:
    def pushing(i: Any) -> list[Stmt]:
        t = load(i)
        return [t, push(t.var)]

    for body in (pushing, lambda i: [load(i)]):
        function = program(body, 8, 3)["main"]
        assert skew_cross_core_pipeline(function, None) is function


def test_comments_stay() -> None:
    class Commenting(Mutator):
        def visit_for_stmt(self, stmt: ForStmt) -> Any:
            return replace(stmt, leading_comments=("# around",))

    for stages in (1, 3):
        after = skew(Commenting().visit(program(simple, 8, stages)))
        assert [c for s in walk_stmts(after["main"].body) for c in s.leading_comments] == ["# around"]


@settings(max_examples=25)
@given(st.integers(-3, 3), st.integers(1, 14), st.sampled_from([-2, -1, 1, 2, 3]), st.integers(2, 6))
def test_any_constant_bounds(kit: Any, first: int, trips: int, step: int, stages: int) -> None:
    start = first + (0 if step > 0 else trips * -step) + 3
    proved(kit, program(simple, start + trips * step, stages, start=start, step=step))
