"""InlineFunctions: parameters, results, extents, early returns, and what can't be inlined."""

from __future__ import annotations

from textwrap import dedent, indent
from typing import Any

import numpy as np
import pytest

from pypto_core.diagnostics import UserError
from pypto_core.ir import (
    AssignStmt,
    ConstFloat,
    DataType,
    FunctionType,
    MemorySpace,
    TileType,
    defined_vars,
    eq,
    floormod,
    map_functions,
    walk_stmts,
)
from pypto_core.language import parse_program
from pypto_core.testing import build as b
from pypto_core.verify import verify_properties
from pypto_plugin_structure.convert_to_ssa import convert_to_ssa
from pypto_plugin_structure.inline_functions import inline_functions

INDEX = "pl.Scalar[pl.INDEX]"
TILE = "pl.Tile[[16, 64], pl.FP32, pl.Mem.Vec]"
GM = "self, x: pl.Tensor[[64, 64], pl.FP32], out: pl.InOut[pl.Tensor[[64, 64], pl.FP32]], n: pl.Scalar[pl.INDEX]"


def program(functions: str, before: str = "") -> Any:
    text = indent(dedent(functions).strip(), "    ")
    return parse_program(f"import pypto_core.language as pl\n{before}\n@pl.program\nclass P:\n{text}\n")


def short(text: str) -> str:
    return text.replace(": pl.Scalar[pl.INDEX]", "")


def test_arguments_and_results(prove: Any, body: Any) -> None:
    before = program(f"""
        @pl.function(type=pl.FunctionType.Inline)
        def f(self, a: {INDEX}, c: {INDEX}) -> {INDEX}:
            # grows
            a = a + c
            d = a * c
            return d

        @pl.function
        def main(self, n: {INDEX}, m: {INDEX}) -> {INDEX}:
            # first
            k = self.f(n, m + 1)
            k = self.f(k, 3)
            return k
        """)
    after = prove("InlineFunctions", before, ["InlineFunctionsEliminated"], [{"n": 4, "m": 6}])
    assert list(after.functions) == ["main"]
    assert short(body(after)) == (
        "# first\na = n\nc = m + 1\n# grows\na = a + c\nd = a * c\nk = d\n"
        "a_1 = k\n# grows\na_1 = a_1 + 3\nd_1 = a_1 * 3\nk = d_1\nreturn k"
    )
    assert prove.outputs(after, {"n": 4, "m": 6}) == {"returned 0": (77 + 3) * 3}


def test_several_results_swap_at_once(prove: Any, body: Any) -> None:
    before = program(f"""
        @pl.function(type=pl.FunctionType.Inline)
        def swap(self, a: {INDEX}, c: {INDEX}) -> tuple[{INDEX}, {INDEX}]:
            return c, a

        @pl.function
        def main(self, n: {INDEX}, m: {INDEX}) -> tuple[{INDEX}, {INDEX}]:
            n, m = self.swap(n, m)
            return n, m
        """)
    after = prove.chain(before, inputs=[{"n": 4, "m": 6}])
    assert body(after) == "return m, n"


def test_nested_calls_loops_and_early_returns(prove: Any) -> None:
    before = program(f"""
        @pl.function(type=pl.FunctionType.Inline)
        def scale(self, t: {TILE}, k: {INDEX}) -> {TILE}:
            if k > 3:
                return t
            for i in pl.range(k):
                t = pl.add(t, t)
            return t

        @pl.function(type=pl.FunctionType.Inline)
        def both(self, t: {TILE}, k: {INDEX}) -> tuple[{TILE}, {INDEX}]:
            v = self.scale(t, k)
            return v, k

        @pl.function(type=pl.FunctionType.InCore)
        def main({GM}):
            t = pl.load(x, [0, 0], [16, 64])
            for i in pl.range(3):
                t, r = self.both(t, n + i)
                if r > 2:
                    pl.store(pl.neg(self.scale(pl.abs(t), 1)), [r % 4 * 16, 0], out)
        """)
    x, out = np.ones((64, 64), np.float32), np.zeros((64, 64), np.float32)
    given = [{"x": x, "out": out, "n": n} for n in (0, 2, 7)]
    after = prove.chain(before, inputs=given)
    # n = 2: scaled by 4, then by 8, then (k = 4) not at all; stored from r = 3 on, each time doubled and negated.
    got = prove.outputs(after, given[1])["out"]
    assert (got[48:] == -64).all() and (got[:16] == -64).all() and not got[16:48].any()


def test_a_condition_is_asked_in_every_trip(prove: Any, body: Any) -> None:
    before = program(
        f"""
        @pl.function(type=pl.FunctionType.Inline)
        def f(self, x: pl.Tensor[[M, 64], pl.FP32], k: {INDEX}) -> {INDEX}:
            return k * M

        @pl.function
        def main(self, x: pl.Tensor[[64, 64], pl.FP32], n: {INDEX}) -> {INDEX}:
            k = n
            while self.f(x, k) < 1000:
                if self.f(x, 1) < k:
                    k = k + 3
                    continue
                k = k + 1
            return k
        """,
        'M = pl.dynamic("M")',
    )
    x = np.zeros((64, 64), np.float32)
    after = prove.chain(before, inputs=[{"x": x, "n": n} for n in (0, 15, 20)])
    assert prove.outputs(after, {"x": x, "n": 0}) == {"returned 0": 16}
    assert "M" not in body(after)


def test_types_are_those_of_what_is_passed(prove: Any) -> None:
    before = program(f"""
        @pl.function(type=pl.FunctionType.Inline)
        def twice(self, t: {TILE}) -> {TILE}:
            u = pl.add(t, t)
            return u

        @pl.function(type=pl.FunctionType.InCore)
        def main({GM}):
            t = pl.load(x, [0, 0], [16, 64])
            u = self.twice(t)
            pl.store(u, [n % 4 * 16, 0], out)
        """)
    after = prove("InlineFunctions", before, ["InlineFunctionsEliminated", "AssignTypeSymmetry"])
    kinds = [s.var.type for s in walk_stmts(after["main"].body) if hasattr(s, "var")]
    assert all(isinstance(k, TileType) and k.memory_space is not None for k in kinds)


def test_calls_without_a_result(prove: Any) -> None:
    before = program(f"""
        @pl.function(type=pl.FunctionType.Inline)
        def put(self, t: {TILE}, out: pl.InOut[pl.Tensor[[64, 64], pl.FP32]], k: {INDEX}):
            if k < 1:
                return
            pl.store(t, [k * 16, 0], out)

        @pl.function(type=pl.FunctionType.InCore)
        def main({GM}):
            t = pl.load(x, [0, 0], [16, 64])
            self.put(t, out, n % 4)
            self.put(t, out, 0)
        """)
    from pypto_core.testing import random_inputs

    prove.chain(before, inputs=[random_inputs(before["main"], dims={"n": n}) for n in (0, 3)])


def test_nothing_to_inline_gives_the_same_object() -> None:
    n = b.scalar("n")
    before = b.program(b.function("f", [n], [b.ret(n)], returns=[b.INDEX]))
    assert inline_functions(before) is before


CALLER = f"""
@pl.function
def main(self, n: {INDEX}) -> {INDEX}:
    return self.f(n)
"""


def test_endless_inlining() -> None:
    before = program(f"""
        @pl.function(type=pl.FunctionType.Inline)
        def f(self, k: {INDEX}) -> {INDEX}:
            return self.g(k)

        @pl.function(type=pl.FunctionType.Inline)
        def g(self, k: {INDEX}) -> {INDEX}:
            return self.f(k)

        @pl.function
        def main(self, n: {INDEX}) -> {INDEX}:
            return self.f(n)
        """)
    found = _refused(before)
    assert found.message == "function 'f' can't be inlined: it calls itself"
    assert dict(found.facts) == {"calls": "f → g → f"}
    assert found.span.is_valid and found.remedy


def test_a_program_of_nothing_else() -> None:
    n = b.scalar("n")
    found = _refused(b.program(b.function("f", [n], [b.ret(n)], returns=[b.INDEX], kind=FunctionType.Inline)))
    assert "none is left to inline them into" in found.message and dict(found.facts) == {"functions": "f"}


def test_a_task_is_no_call() -> None:
    before = program(f"""
        @pl.function(type=pl.FunctionType.Inline)
        def f(self, k: {INDEX}) -> {INDEX}:
            return k

        @pl.function(type=pl.FunctionType.Orchestration)
        def main(self, n: {INDEX}) -> {INDEX}:
            r, tid = pl.submit(self.f, n)
            return r
        """)
    found = _refused(before)
    assert found.message == "function 'f' is inlined and can't be submitted as a task"
    assert found.span.line_text() is not None and "pl.submit" in str(found.span.line_text())
    assert [n.message for n in found.notes] == ["the function"]


def test_a_body_from_elsewhere() -> None:
    k, n = b.scalar("k"), b.scalar("n")
    callee = b.function(
        "f", [k], [], returns=[b.INDEX], kind=FunctionType.Inline, requires_runtime_binding=True
    )
    main = b.function("main", [n], [b.let("r", b.call(callee, n))])
    assert _refused(b.program(callee, main)).message.endswith("its body is not part of the program")


def test_another_number_of_arguments_and_no_result() -> None:
    k, n = b.scalar("k"), b.scalar("n")
    callee = b.function("f", [k], [], kind=FunctionType.Inline)
    two = b.function("main", [n], [b.let("r", b.call("f", n, n, kind=b.INDEX))])
    assert _refused(b.program(callee, two)).message == "'f' takes 1 arguments, not 2"
    used = b.function("main", [n], [b.let("r", b.call("f", n, kind=b.INDEX))])
    assert _refused(b.program(callee, used)).message == "'f' returns nothing that could be assigned"


def _refused(before: Any) -> Any:
    with pytest.raises(UserError) as caught:
        inline_functions(before)
    (found,) = caught.value.diagnostics
    assert found.code == "PT322"
    return found


def test_tiles_lie_where_what_was_passed_does(prove: Any) -> None:
    """Views take over the memory of their operand, which a function for tiles in any memory does not know."""
    anywhere = "pl.Tile[[16, 64], pl.FP32]"
    before = program(f"""
        @pl.function(type=pl.FunctionType.Inline)
        def narrow(self, t: {anywhere}, n: {INDEX}) -> {anywhere}:
            a = pl.tile.set_validshape(t, 8, 64)
            for i in pl.range(2):
                a = pl.tile.set_validshape(a, 8, 64)
            for i, (c,) in pl.range(2, init_values=(a,)):
                r = pl.yield_(pl.tile.set_validshape(c, 8, 64))
            if n > 2:
                w = pl.yield_(pl.reshape(r, [16, 64]))
            else:
                w = pl.yield_(pl.tile.slice(r, [16, 64], [0, 0]))
            return w

        @pl.function(type=pl.FunctionType.Inline)
        def twice(self, t: {anywhere}, n: {INDEX}) -> {anywhere}:
            u = self.narrow(t, n)
            return self.narrow(u, n)

        @pl.function(type=pl.FunctionType.InCore)
        def main({GM}):
            t = pl.load(x, [0, 0], [16, 64])
            u = self.twice(t, n)
            v = pl.reshape(u, [8, 128])
            pl.store(pl.reshape(v, [16, 64]), [0, 0], out)
        """)
    rng = np.random.default_rng(1)
    x, out = (rng.standard_normal((64, 64), dtype=np.float32) for _ in range(2))
    after = prove(
        "InlineFunctions",
        before,
        ["InlineFunctionsEliminated"],
        [{"x": x, "out": out, "n": n} for n in (1, 3)],
    )
    tiles = [v.type for v in defined_vars(after["main"].body) if isinstance(v.type, TileType)]
    assert len(tiles) > 10 and all(kind.memory_space is MemorySpace.Vec for kind in tiles)


def test_a_variable_of_several_assignments_stays_one() -> None:
    """The first value lies anywhere, those in branches and loops where their operands do: one variable all the same."""
    kind = b.tile("p", (16, 64)).type
    p = b.tile("p", (16, 64))
    helper = b.function("helper", [p], [b.ret(p)], returns=[kind], kind=FunctionType.Inline)
    x, out, n = b.tensor("x", (64, 64)), b.tensor("out", (64, 64)), b.scalar("n", DataType.INDEX)
    start = b.let("acc", b.op("tile.load", x, b.dims(0, 0), b.dims(16, 64)))
    acc = start.var
    assert isinstance(acc.type, TileType) and acc.type.memory_space is None
    body = [
        start,
        b.branch(
            eq(floormod(n, 2), 0),
            [AssignStmt(acc, b.op("tile.add", acc, acc))],
            [AssignStmt(acc, b.op("tile.exp", acc))],
        ),
        b.loop(3, lambda i: [AssignStmt(acc, b.op("tile.muls", acc, ConstFloat(0.5)))]),
        AssignStmt(acc, b.call(helper, acc)),
        b.do(b.op("tile.store", acc, b.dims(0, 0), out)),
    ]
    after = inline_functions(b.program(b.kernel("k", [x, out, n], body), helper))
    function = after.functions["k"]
    assert {v.name_hint for v in defined_vars(function.body)} == {"acc", "i"}
    assert len({v for v in defined_vars(function.body) if v.name_hint == "acc"}) == 1
    found = verify_properties(map_functions(after, convert_to_ssa), ("SSAForm", "TypeChecked", "UseAfterDef"))
    assert found == []
