"""CanonicalizeIOOrder: the order of statements, what keeps it from changing, and that the numbers stay."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pypto_core.ir import (
    AssignStmt,
    Call,
    EvalStmt,
    ForKind,
    ForStmt,
    MemorySpace,
    Mutator,
    ParamDirection,
    Stmt,
    Var,
    flatten,
    map_functions,
    replace,
    walk_stmts,
)
from pypto_core.testing import SSA_FEATURES, Feature, random_program
from pypto_core.testing import build as b
from pypto_plugin_pipeline.io_order import canonicalize_io_order
from pypto_plugin_pipeline.lower_loops import lower_pipeline_loops
from pypto_plugin_pipeline.membership import format_membership, parse_membership

A, OUT = "a: pl.Tensor[[64, 16], pl.FP32]", "out: pl.Out[pl.Tensor[[64, 16], pl.FP32]]"
T = "pl.Tensor[[64, 16], pl.FP32]"


def sort(program: Any) -> Any:
    return canonicalize_io_order(program, None)


def resolve(program: Any) -> Any:
    return sort(map_functions(program, lambda f: lower_pipeline_loops(f, None)))


def proved(kit: Any, program: Any, transform: Any = sort, **options: Any) -> Any:
    after = kit.prove(transform, program, ["PipelineResolved"], **options)
    assert sort(after) is after
    return after


def names(stmt: Stmt) -> list[str]:
    """What the statements of a region are, in short: variable or operator."""
    out: list[str] = []
    for one in flatten(stmt):
        if isinstance(one, AssignStmt):
            out.append(one.var.name_hint)
        elif isinstance(one, EvalStmt) and isinstance(one.expr, Call):
            out.append(one.expr.name.rpartition(".")[2])
        else:
            out.append(type(one).__name__)
    return out


def loop_of(program: Any, name: str = "i") -> ForStmt:
    return next(
        s for s in walk_stmts(program["main"].body) if isinstance(s, ForStmt) and s.loop_var.name_hint == name
    )


PLAIN = """
for i in pl.pipeline(0, 2, 1, stage=1):
    s1 = pl.load(a, [i, 0], [1, 16])
    c1 = pl.exp(s1)
    pl.store(c1, [i, 0], out)
    j = i + 2
    s2 = pl.load(a, [j, 0], [1, 16])
    c2 = pl.exp(s2)
    pl.store(c2, [j, 0], out)
"""


def test_scalars_loads_work_stores(kit: Any) -> None:
    after = proved(kit, kit.kernel(f"{A}, {OUT}", PLAIN))
    assert names(loop_of(after).body) == ["j", "s1", "s2", "c1", "c2", "store", "store"]
    loop = loop_of(after)
    assert loop.kind is ForKind.Sequential and dict(loop.attrs) == {}


def test_tagged_stages_store_as_soon_as_they_have_worked(kit: Any) -> None:
    body = "for i in pl.pipeline(0, 6, 1, stage=3):\n    t = pl.load(a, [i, 0], [1, 16])\n    e = pl.exp(t)\n"
    after = proved(kit, kit.kernel(f"{A}, {OUT}", body + "    pl.store(e, [i, 0], out)"), resolve)
    assert names(loop_of(after).body) == ["t", "t", "t", "e", "store", "e", "store", "e", "store"]


def test_ten_stages_are_counted_and_not_spelt(kit: Any) -> None:
    body = (
        "for i in pl.pipeline(0, 12, 1, stage=12):\n    t = pl.load(a, [i, 0], [1, 16])\n    e = pl.exp(t)\n"
    )
    after = proved(kit, kit.kernel(f"{A}, {OUT}", body + "    pl.store(e, [i, 0], out)"), resolve)
    stages = [
        parse_membership(s.value.attrs["pipeline_membership"])[0][1]
        for s in loop_of(after).body.stmts
        if isinstance(s, AssignStmt) and s.var.name_hint == "e"
    ]
    assert stages == list(range(12))
    assert names(loop_of(after).body)[12:] == ["e", "store"] * 12


def noted(program: Any, **notes: Any) -> Any:
    class Noting(Mutator):
        def visit_for_stmt(self, stmt: ForStmt) -> Any:
            return replace(self.mutate_children(stmt), attrs={**stmt.attrs, **notes})

    return Noting().visit(program)


def test_stores_that_are_not_to_overlap_stay_work(kit: Any) -> None:
    program = noted(kit.kernel(f"{A}, {OUT}", PLAIN), pipeline_overlap_stores=False)
    after = proved(kit, program)
    assert names(loop_of(after).body) == ["j", "s1", "s2", "c1", "store", "c2", "store"]
    assert dict(loop_of(after).attrs) == {}


PRODUCTS = """
la = pl.load(a, [0, 0], [16, 64], target_memory=pl.Mem.Mat)
lb = pl.load(b, [0, 0], [64, 64], target_memory=pl.Mem.Mat)
left = pl.move(la, target_memory=pl.Mem.Left)
for n in pl.pipeline(0, {stop}, 16, stage={stages}):
    right = pl.tile.extract(lb, 0, n, [64, 16], target_memory=pl.Mem.Right)
    m = pl.matmul(left, right)
    pl.store(m, [0, n], out)
"""
CUBE = "a: pl.Tensor[[16, 64], pl.FP16], b: pl.Tensor[[64, 64], pl.FP16], out: pl.Out[pl.Tensor[[16, 64], pl.FP32]]"


@pytest.mark.parametrize(("stages", "order"), [(2, "MMSS"), (3, "MMSSMS"), (4, "MMSSMMSS")])
def test_double_buffered_products_go_in_pairs(kit: Any, stages: int, order: str) -> None:
    program = kit.kernel(CUBE, PRODUCTS.format(stop=16 * stages, stages=stages))
    after = proved(kit, noted(program, pipeline_double_buffer_c=True), resolve)
    body = loop_of(after, "n").body
    assert names(body) == ["right"] * stages + [{"M": "m", "S": "store"}[x] for x in order]
    products = [s.value for s in flatten(body) if isinstance(s, AssignStmt) and s.var.name_hint == "m"]
    assert [c.attrs["pipeline_membership"] for c in products] == [f"0:{k % 2}" for k in range(stages)]
    loads = [s.value for s in flatten(body) if isinstance(s, AssignStmt) and s.var.name_hint == "right"]
    assert [c.attrs["pipeline_membership"] for c in loads] == [f"0:{k}" for k in range(stages)]


def test_without_it_each_product_is_stored_at_once(kit: Any) -> None:
    after = proved(kit, kit.kernel(CUBE, PRODUCTS.format(stop=48, stages=3)), resolve)
    assert names(loop_of(after, "n").body) == ["right"] * 3 + ["m", "store"] * 3


def test_bodies_nested_in_a_pipelined_loop_are_sorted_and_others_are_not(kit: Any) -> None:
    inner = """    for k in pl.range(0, 2, 1):
        p = pl.load(a, [i + k, 0], [1, 16])
        q = pl.exp(p)
        r = pl.load(a, [i + k + 8, 0], [1, 16])
        w = pl.add(q, r)
        pl.store(w, [i + k, 0], out)"""
    for head, wanted in (("pipeline(0, 2, 1, stage=1)", "prqw"), ("range(0, 2, 1)", "pqrw")):
        program = kit.kernel(f"{A}, {OUT}", f"for i in pl.{head}:\n{inner}")
        after = proved(kit, program)
        assert names(loop_of(after, "k").body) == [*wanted, "store"]
        assert (after is program) == (head.startswith("range"))


# -- operands in L0

SPLIT = """
for i in pl.pipeline(0, 2, 1, stage=1):
    la = pl.load(a, [i * 16, 0], [16, 256], target_memory=pl.Mem.Mat)
    lb = pl.load(b, [0, i * {cols}], [256, {cols}], target_memory=pl.Mem.Mat)
    c0 = pl.tile.create([16, {cols}], dtype=pl.FP32, target_memory=pl.Mem.Acc)
    for k, (c,) in pl.range(0, 192, 96, init_values=(c0,)):
        left = pl.tile.extract(la, 0, k, [16, 96], target_memory=pl.Mem.Left)
        right = pl.tile.extract(lb, k, 0, [96, {cols}], target_memory=pl.Mem.Right)
        m = pl.tile.matmul_acc(c, left, right, k == 0)
        main = pl.yield_(m)
    rest_left = pl.tile.extract(la, 0, 192, [16, 64], target_memory=pl.Mem.Left)
    rest_right = pl.tile.extract(lb, 192, 0, [64, {cols}], target_memory=pl.Mem.Right)
    whole = pl.matmul_acc(main, rest_left, rest_right)
    pl.store(whole, [i * 16, 0], out)
"""


def split_params(cols: int) -> str:
    return (
        f"a: pl.Tensor[[32, 256], pl.FP16], b: pl.Tensor[[256, {2 * cols}], pl.FP16], "
        f"out: pl.Out[pl.Tensor[[32, {cols}], pl.FP32]]"
    )


class Machine:
    """64 KiB for each operand."""

    def capacity(self, space: MemorySpace) -> int:
        return 65536 if space in (MemorySpace.Left, MemorySpace.Right) else 0


def fitting(program: Any) -> Any:
    return canonicalize_io_order(program, SimpleNamespace(backend=Machine()))


@pytest.mark.parametrize(
    ("cols", "early"),
    [
        (192, ["rest_left", "rest_right"]),  # 96 * 192 * 2 + 64 * 192 * 2 bytes are 60 KiB
        (208, ["rest_left"]),  # 65 KiB
    ],
)
def test_operands_come_early_as_far_as_they_fit(kit: Any, cols: int, early: list[str]) -> None:
    program = kit.kernel(split_params(cols), SPLIT.format(cols=cols))
    after = proved(kit, program, fitting)
    found = [s.var.name_hint for s in flatten(loop_of(after).body) if isinstance(s, AssignStmt)]
    loop = next(i for i, s in enumerate(flatten(loop_of(after).body)) if isinstance(s, ForStmt))
    ahead = [s.var.name_hint for s in flatten(loop_of(after).body)[:loop] if isinstance(s, AssignStmt)]
    assert [name for name in ahead if name.startswith("rest")] == early
    assert found.index("rest_right") < found.index("whole")
    # Where the machine is not known, everything comes early.
    free = flatten(loop_of(sort(program)).body)
    loop = next(i for i, s in enumerate(free) if isinstance(s, ForStmt))
    assert {"rest_left", "rest_right"} <= {s.var.name_hint for s in free[:loop] if isinstance(s, AssignStmt)}


ROW = """
for i in pl.pipeline(0, 2, 1, stage=1):
    la = pl.load(a, [i * 16, 0], [16, 256], target_memory=pl.Mem.Mat)
    lb = pl.load(b, [0, 0], [256, 192], target_memory=pl.Mem.Mat)
    left = pl.tile.extract(la, 0, 0, [16, 128], target_memory=pl.Mem.Left)
    r0 = pl.tile.extract(lb, 0, 0, [128, 96], target_memory=pl.Mem.Right)
    m0 = pl.matmul(left, r0)
    pl.store(m0, [i * 16, 0], out)
    r1 = pl.tile.extract(lb, 0, 96, [128, 96], target_memory=pl.Mem.Right)
    m1 = pl.matmul(left, r1)
    pl.store(m1, [i * 16, 96], out)
    r2 = pl.tile.extract(lb, 128, 0, [128, 96], target_memory=pl.Mem.Right)
    m2 = pl.matmul(left, r2)
    pl.store(m2, [i * 16, 192], out)
"""


def test_operands_wait_until_those_before_them_are_used(kit: Any) -> None:
    params = split_params(192).replace("[32, 192]", "[32, 288]").replace("[256, 384]", "[256, 192]")
    after = proved(kit, kit.kernel(params, ROW), fitting)  # 24 KiB each
    assert [n for n in names(loop_of(after).body) if n[0] in "rm"] == ["r0", "r1", "m0", "r2", "m1", "m2"]


TWICE = """
for i in pl.pipeline(0, 2, 1, stage=1):
    la = pl.load(a, [i * 16, 0], [16, 256], target_memory=pl.Mem.Mat)
    lb = pl.load(b, [0, 0], [256, 192], target_memory=pl.Mem.Mat)
    c0 = pl.tile.create([16, 96], dtype=pl.FP32, target_memory=pl.Mem.Acc)
    left = pl.tile.extract(la, 0, 0, [16, 128], target_memory=pl.Mem.Left)
    r0 = pl.tile.extract(lb, 0, 0, [128, 96], target_memory=pl.Mem.Right)
    m0 = pl.matmul(left, r0, attrs={"pipeline_membership": "7:0"})
    pl.store(m0, [i * 16, 0], out)
    for k, (c,) in pl.range(0, 2, 1, init_values=(c0,)):
        l1 = pl.tile.extract(la, 0, k * 128, [16, 128], target_memory=pl.Mem.Left)
        r1 = pl.tile.extract(lb, k * 128, 0, [128, 96], target_memory=pl.Mem.Right)
        r2 = pl.tile.extract(lb, k * 128, 96, [128, 96], target_memory=pl.Mem.Right)
        m1 = pl.tile.matmul_acc(c, l1, r1, k == 0)
        m2 = pl.tile.matmul_acc(m1, l1, r2, False)
        main = pl.yield_(m2)
    pl.store(main, [i * 16, 96], out)
"""


def test_a_loop_waits_until_what_is_there_is_used(kit: Any) -> None:
    """Work of a stage comes after work that is of none, but not when its operands are in the way."""
    params = split_params(192).replace("[32, 192]", "[32, 288]").replace("[256, 384]", "[256, 192]")
    program = kit.kernel(params, TWICE)  # 24 KiB, then 48 KiB in the loop
    after = proved(kit, program, fitting)
    order = [n for n in names(loop_of(after).body) if n in ("r0", "m0", "ForStmt")]
    assert order == ["r0", "m0", "ForStmt"]
    assert [n for n in names(loop_of(sort(program)).body) if n in ("r0", "m0", "ForStmt")] == [
        "r0",
        "ForStmt",
        "m0",
    ]


# -- what must not change places


def test_a_load_stays_behind_a_store_to_the_same_rows(kit: Any) -> None:
    body = """
    for i in pl.pipeline(0, 4, 1, stage=1):
        p = pl.load(a, [i, 0], [1, 16])
        pl.store(p, [i, 0], out)
        q = pl.load(out, [{row}, 0], [1, 16])
        pl.store(q, [i + 32, 0], out)
    """
    inout = f"{A}, {OUT.replace('pl.Out', 'pl.InOut')}"
    for row, order in (
        ("i", ["p", "store", "q", "store"]),
        ("i + 1", ["p", "q", "store", "store"]),
        # Which row it is can't be told.
        ("i * 3", ["p", "store", "q", "store"]),
    ):
        after = proved(kit, kit.kernel(inout, body.format(row=row)))
        assert names(loop_of(after).body) == order, row


def test_results_of_stores_stand_for_their_tensor(kit: Any) -> None:
    """A load of the tensor itself, after a store that is a value, reads what was stored."""
    body = """
    for i, (acc,) in pl.pipeline(0, 4, 1, stage=1, init_values=(out,)):
        p = pl.load(a, [i, 0], [1, 16])
        nxt = pl.store(p, [i, 0], acc)
        q = pl.load(out, [i, 0], [1, 16])
        last = pl.store(q, [i + 8, 0], nxt)
        y = pl.yield_(last)
    return y
    """
    after = proved(kit, kit.kernel(f"{A}, {OUT.replace('pl.Out', 'pl.InOut')}", body, T))
    assert names(loop_of(after).body) == ["p", "nxt", "q", "last", "YieldStmt"]


def test_a_load_stays_ahead_of_a_store_that_it_must_not_see(kit: Any) -> None:
    body = """
    for i in pl.pipeline(0, 4, 1, stage=1):
        p = pl.load(a, [i, 0], [1, 16])
        q = pl.load(out, [i, 0], [1, 16])
        w = pl.exp(q)
        pl.store(p, [i, 0], out)
        pl.store(w, [i + 8, 0], out)
    """
    after = proved(kit, kit.kernel(f"{A}, {OUT.replace('pl.Out', 'pl.InOut')}", body))
    assert names(loop_of(after).body)[:2] == ["p", "q"]


def test_declared_storage_is_not_overwritten_while_it_is_read(kit: Any) -> None:
    ring = 'pl.Tile[[1, 16], pl.FP32, pl.MemRef("ring", slots={slots}){slot}, pl.Mem.Vec]'
    body = """
    for i in pl.pipeline(0, 4, 1, stage=1):
        p: {one} = pl.load(a, [i, 0], [1, 16])
        x = pl.exp(p)
        q: {two} = pl.load(a, [i + 8, 0], [1, 16])
        y = pl.exp(q)
        pl.store(x, [i, 0], out)
        pl.store(y, [i + 8, 0], out)
    """
    cases = (
        (1, ("", ""), ["p", "x", "q", "y"]),
        (2, ("[0]", "[0]"), ["p", "x", "q", "y"]),
        (2, ("[0]", "[1]"), ["p", "q", "x", "y"]),
        (2, ("[i % 2]", "[(i + 1) % 2]"), ["p", "x", "q", "y"]),
    )
    for slots, (first, second), order in cases:
        kinds = {"one": ring.format(slots=slots, slot=first), "two": ring.format(slots=slots, slot=second)}
        after = proved(kit, kit.kernel(f"{A}, {OUT}", body.format(**kinds)), run=slots == 2)
        assert names(loop_of(after).body)[:4] == order, (first, second)


def test_elements_set_one_by_one_stay_where_they_are(kit: Any) -> None:
    body = """
    for i in pl.pipeline(0, 4, 1, stage=1):
        t = pl.load(a, [i, 0], [1, 16])
        x = pl.read(t, [0, 3])
        pl.write(t, [0, 3], 2.0)
        y = pl.read(t, [0, 3])
        u = pl.adds(t, x)
        w = pl.adds(u, y)
        pl.store(w, [i, 0], out)
    """
    after = proved(kit, kit.kernel(f"{A}, {OUT}", body))
    assert names(loop_of(after).body)[:4] == ["t", "x", "write", "y"]


def barriers(barrier: Any) -> tuple[Any, Any]:
    a, out = b.tensor("a", [64, 16]), b.tensor("out", [64, 16])

    def body(i: Any) -> Any:
        first = b.let("p", b.op("tile.load", a, b.dims(i, 0), b.dims(1, 16)))
        second = b.let("q", b.op("tile.load", a, b.dims(8, 0), b.dims(1, 16)))
        work = b.let("x", b.op("tile.exp", first.var))
        return [first, work, *barrier, second, b.do(b.op("tile.store", work.var, b.dims(i, 0), out))]

    loop = b.loop(4, body, kind=ForKind.Pipeline, attrs={"pipeline_stages": 1})
    function = b.kernel("main", [a, (out, ParamDirection.Out)], [loop, b.ret()])
    return b.program(function), loop


def test_nothing_moves_across_a_barrier() -> None:
    program, _ = barriers([b.do(b.op("system.bar_all"))])
    assert names(loop_of(sort(program)).body) == ["p", "x", "bar_all", "q", "store"]
    program, _ = barriers([])
    assert names(loop_of(sort(program)).body) == ["p", "q", "x", "store"]


def test_transfers_between_cores_keep_their_order(kit: Any) -> None:
    a, out = b.tensor("a", [64, 16]), b.tensor("out", [64, 16])

    def body(i: Any) -> Any:
        stmts: list[Stmt] = []
        for k in (2, 1, 0):
            t = b.let("t", b.op("tile.load", a, b.dims(i, 0), b.dims(1, 16)))
            push = b.do(b.op("tile.tpush_to_aic", t.var))
            pop = b.let("g", b.op("tile.tpop_from_aic", b.dims(1, 16), dtype=a.type.dtype))
            use = b.let("u", b.op("tile.exp", pop.var))
            free = b.do(b.op("system.tfree_to_aic", pop.var))
            tag = {"pipeline_membership": f"0:{k}"}
            t, use = (replace(s, value=replace(s.value, attrs=tag)) for s in (t, use))
            use = replace(use, value=replace(use.value, args=(pop.var,)))
            push = replace(push, expr=replace(push.expr, args=(t.var,)))
            stmts += [t, push, pop, use, free, b.do(b.op("tile.store", use.var, b.dims(i, 0), out))]
        return stmts

    loop = b.loop(4, body, kind=ForKind.Pipeline, attrs={"pipeline_stages": 1})
    program = b.program(b.kernel("main", [a, (out, ParamDirection.Out)], [loop, b.ret()]))
    before, after = names(loop.body), names(loop_of(sort(program)).body)
    crossing = ("tpush_to_aic", "g", "tfree_to_aic")
    assert [n for n in after if n in crossing] == [n for n in before if n in crossing]
    assert after[:3] == ["t", "t", "t"]
    body = flatten(loop_of(sort(program)).body)
    for at, stmt in enumerate(body):
        if isinstance(stmt, EvalStmt) and stmt.expr.name == "system.tfree_to_aic":
            [popped] = stmt.expr.args
            uses = [i for i, s in enumerate(body) if isinstance(s, AssignStmt) and popped in s.value.args]
            assert uses and max(uses) < at, "a popped tile is used before its slot is given back"


def test_breaks_hold_statements_with_effects(kit: Any) -> None:
    body = """
    for i in pl.pipeline(0, 8, 1, stage=1):
        p = pl.load(a, [i, 0], [1, 16])
        pl.store(p, [i, 0], out)
        if i == 3:
            break
        q = pl.load(a, [i + 8, 0], [1, 16])
        pl.store(q, [i + 8, 0], out)
    """
    program = kit.kernel(f"{A}, {OUT}", body, kind="Orchestration")
    after = sort(program)
    assert names(loop_of(after).body) == ["p", "store", "IfStmt", "q", "store"]


def test_calls_of_functions_keep_their_order(kit: Any) -> None:
    source = f"""
import pypto_core.language as pl

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, a: {T}, out: pl.Out[{T}]) -> {T}:
        return pl.store(pl.load(a, [0, 0], [1, 16]), [0, 0], out)

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, a: {T}, out: pl.InOut[{T}]) -> {T}:
        for i, (acc,) in pl.pipeline(0, 2, 1, stage=1, init_values=(out,)):
            x = self.k(a, acc)
            v = pl.tensor.read(x, [0, 0])
            pl.tensor.write(x, [1, 1], v)
            w = pl.tensor.read(x, [1, 1])
            pl.tensor.write(x, [2, 2], w)
            y = pl.yield_(x)
        return y
"""
    from pypto_core.language import parse

    after = sort(parse(source))
    assert names(loop_of(after).body) == ["x", "v", "write", "w", "write", "YieldStmt"]


# -- the text of a membership


def test_memberships_are_text_both_ways() -> None:
    assert parse_membership("0:1;12:10") == ((0, 1), (12, 10))
    assert format_membership(((0, 1), (12, 10))) == "0:1;12:10"
    assert parse_membership("x:1; 3:4 ;5;:6;7:-1") == ((3, 4),)
    assert parse_membership(None) == parse_membership("") == ()


# -- random programs


@settings(max_examples=25)
@given(st.integers(0, 1 << 30), st.integers(5, 45))
def test_random_programs_compute_the_same(kit: Any, seed: int, size: int) -> None:
    proved(kit, random_program(seed, size, SSA_FEATURES | {Feature.PIPELINE}), resolve, kept=())


def shuffled_rows(rng: Random) -> Any:
    """A pipelined body that loads, combines and stores rows of two tensors that it reads as well."""
    tensors = [b.tensor(name, [8, 16]) for name in ("x", "y")]

    def body(i: Any) -> Any:
        stmts: list[Any] = []
        tiles: list[Var] = []
        for _ in range(rng.randrange(3, 16)):
            row = rng.choice([rng.randrange(8), i])
            if not tiles or rng.random() < 0.45:
                stmts.append(
                    b.let("t", b.op("tile.load", rng.choice(tensors), b.dims(row, 0), b.dims(1, 16)))
                )
                tiles.append(stmts[-1].var)
            elif rng.random() < 0.4:
                stmts.append(b.let("w", b.op("tile.add", rng.choice(tiles), rng.choice(tiles))))
                tiles.append(stmts[-1].var)
            else:
                stmts.append(b.do(b.op("tile.store", rng.choice(tiles), b.dims(row, 0), rng.choice(tensors))))
        return stmts

    loop = b.loop(
        rng.randrange(1, 6), body, kind=ForKind.Pipeline, attrs={"pipeline_stages": rng.randrange(1, 4)}
    )
    params = [(t, ParamDirection.InOut) for t in tensors]
    return b.program(b.kernel("main", params, [loop, b.ret()]))


@settings(max_examples=60)
@given(st.integers(0, 1 << 30))
def test_reads_and_writes_of_the_same_rows_keep_their_meaning(kit: Any, seed: int) -> None:
    proved(kit, shuffled_rows(Random(seed)), resolve)


def test_loads_of_disjoint_rows_do_move(kit: Any) -> None:
    """In place, row by row: every stage's load is ahead of every store."""
    body = "for i in pl.pipeline(0, 12, 1, stage=4):\n    t = pl.load(out, [i * 4, 0], [4, 16])\n    e = pl.exp(t)\n"
    program = kit.kernel(f"{OUT.replace('pl.Out', 'pl.InOut')}", body + "    pl.store(e, [i * 4, 0], out)")
    after = proved(kit, program, resolve)
    assert names(loop_of(after).body) == ["t"] * 4 + ["e", "store"] * 4


def test_time_grows_with_the_body() -> None:
    import time

    def seconds(rows: int) -> float:
        x, y = b.tensor("x", [1 << 20, 16]), b.tensor("y", [1 << 20, 16])

        def body(i: Any) -> Any:
            stmts: list[Any] = []
            for k in range(rows):
                t = b.let("t", b.op("tile.load", x, b.dims(k, 0), b.dims(1, 16)))
                stmts += [t, b.do(b.op("tile.store", t.var, b.dims(k, 0), y))]
            return stmts

        loop = b.loop(4, body, kind=ForKind.Pipeline, attrs={"pipeline_stages": 1})
        program = b.program(b.kernel("main", [x, y], [loop, b.ret()]))
        best = float("inf")
        for _ in range(3):
            begin = time.process_time()
            sort(program)
            best = min(best, time.process_time() - begin)
        return best

    times = [seconds(n) for n in (40, 320)]
    assert all(slow < 8 * 3.0 * max(fast, 1e-3) for fast, slow in pairwise(times))
