"""NormalizeReturnOrder: parameters by name, in their order, and callers that follow."""

from __future__ import annotations

from typing import Any

from pypto_core.ir import ReturnStmt, TupleGetItemExpr, walk, walk_stmts
from pypto_plugin_tile.return_order import normalize_return_order

T = "pl.Tensor[[16, 64], pl.FP32]"
OUTS = f"a: {T}, p: pl.Out[{T}], q: pl.InOut[{T}]"


def normalized(kit: Any, program: Any, **options: Any) -> Any:
    transform = kit.run(normalize_return_order)
    after = kit.prove(transform, program, ["ReturnParamsExplicit"], **options)
    assert transform(after) is after
    return after


def returned(function: Any) -> list[str]:
    [stmt] = [s for s in walk_stmts(function.body) if isinstance(s, ReturnStmt)]
    return [v.name_hint for v in stmt.values]


def test_results_of_stores_loops_and_branches_are_their_parameter(kit: Any) -> None:
    body = """
    t = pl.load(a, [0, 0], [16, 64])
    s = pl.store(t, [0, 0], p)
    for i, (acc,) in pl.range(0, 2, 1, init_values=(s,)):
        if i == 0:
            u = pl.store(t, [0, 0], acc)
            r = pl.yield_(u)
        else:
            r = pl.yield_(acc)
        w = pl.yield_(r)
    v = w
    return v
    """
    after = normalized(kit, kit.kernel(f"a: {T}, p: pl.Out[{T}]", body, T))
    assert returned(after["main"]) == ["p"]


def test_a_store_that_is_returned_as_it_stands_is_still_made(kit: Any) -> None:
    body = """
    t = pl.load(a, [0, 0], [16, 64])
    return pl.store(t, [0, 0], p)
    """
    after = normalized(kit, kit.kernel(f"a: {T}, p: pl.Out[{T}]", body, T))
    assert returned(after["main"]) == ["p"]


def test_what_may_be_one_of_two_stays(kit: Any) -> None:
    body = """
    t = pl.load(a, [0, 0], [16, 64])
    s = pl.store(t, [0, 0], p)
    u = pl.store(t, [0, 0], q)
    if n == 0:
        r = pl.yield_(s)
    else:
        r = pl.yield_(u)
    return r
    """
    program = kit.kernel(f"{OUTS}, n: pl.Scalar[pl.INDEX]", body, T)
    assert normalized(kit, program) is program


CALLS = f"""
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, {OUTS}) -> tuple[{T}, {T}]:
        t = pl.load(a, [0, 0], [16, 64])
        e = pl.exp(t)
        one = pl.store(t, [0, 0], p)
        two = pl.store(e, [0, 0], q)
        return two, one

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, a: {T}, p: pl.Out[{T}], q: pl.InOut[{T}]) -> tuple[{T}, {T}]:
        r = self.k(a, p, q)
        big = r[0]
        small = r[1]
        return big, small
"""


def test_callers_pick_their_results_at_the_new_places(kit: Any) -> None:
    before = kit.program(CALLS)
    after = normalized(kit, before)
    assert returned(after["k"]) == ["p", "q"]
    picked = [n.index for n in walk(after["main"].body) if isinstance(n, TupleGetItemExpr)]
    assert picked == [1, 0]
    assert returned(after["main"]) == ["big", "small"]


def test_submitted_tasks_too(kit: Any) -> None:
    text = CALLS.replace("r = self.k(a, p, q)", "r = pl.submit(self.k, a, p, q)")
    after = normalized(kit, kit.program(text), run=False)
    assert [n.index for n in walk(after["main"].body) if isinstance(n, TupleGetItemExpr)] == [1, 0]


def test_results_that_go_on_as_a_whole_keep_the_order(kit: Any) -> None:
    text = CALLS.replace("big = r[0]\n", "v = r\n        big = v[0]\n")
    after = normalized(kit, kit.program(text))
    assert returned(after["k"]) == ["q", "p"]
    assert [n.index for n in walk(after["main"].body) if isinstance(n, TupleGetItemExpr)] == [0, 1]


def test_kernels_that_return_fewer_than_they_write_are_not_reordered(kit: Any) -> None:
    text = f"""
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, a: {T}, p: pl.Out[{T}], q: pl.Out[{T}], r: pl.Out[{T}]) -> tuple[{T}, {T}]:
        t = pl.load(a, [0, 0], [16, 64])
        one = pl.store(t, [0, 0], p)
        two = pl.store(t, [0, 0], q)
        pl.store(t, [0, 0], r)
        return two, one
"""
    after = normalized(kit, kit.program(text), run=False)
    assert returned(after["k"]) == ["q", "p"]


def test_wrappers_hand_on_what_their_kernels_return(kit: Any) -> None:
    text = f"""
@pl.program
class P:
    @pl.function(type=pl.FunctionType.AIV)
    def k(self, a: {T}, p: pl.Out[{T}]) -> {T}:
        t = pl.load(a, [0, 0], [16, 64])
        s = pl.store(t, [0, 0], p)
        return s

    @pl.function(type=pl.FunctionType.Group)
    def g(self, a: {T}, p: pl.Out[{T}]) -> {T}:
        r = self.k(a, p)
        return r

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, a: {T}, p: pl.Out[{T}]) -> {T}:
        r = self.g(a, p)
        return r
"""
    after = normalized(kit, kit.program(text))
    assert returned(after["k"]) == returned(after["g"]) == ["p"] and returned(after["main"]) == ["r"]
