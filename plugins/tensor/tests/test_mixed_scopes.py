"""SplitMixedScopes: scopes with work for both cores become scopes for one core each, and mean the same."""

from __future__ import annotations

import random
import textwrap
from typing import Any

import numpy as np
import pytest

from pypto_core.diagnostics import UserError
from pypto_core.ir import (
    Call,
    ForKind,
    ForStmt,
    InCoreScopeStmt,
    Program,
    ScopeStmt,
    SpmdScopeStmt,
    Submit,
    walk,
    walk_stmts,
)
from pypto_core.run import compile
from pypto_core.testing import assert_same_behaviour, random_inputs

PASS = "SplitMixedScopes"
SQUARE = "pl.Tensor[[16, 16], pl.FP32]"
PARAMS = (
    f"x: {SQUARE}, w: pl.Tensor[[16, 16], pl.BF16], rows: pl.Tensor[[64, 16], pl.BF16], k: pl.Tensor[[4], pl.INT32], "
    f"out: pl.Out[{SQUARE}], more: pl.InOut[pl.Tensor[[64, 16], pl.FP32]]"
)
RESULT = f"tuple[{SQUARE}, pl.Tensor[[64, 16], pl.FP32]]"
AT = 'with pl.at(level=pl.Level.CORE_GROUP, name_hint="k"):'
PRODUCT = "pl.matmul(pl.cast({}, pl.BF16), w, out_dtype=pl.FP32)"


def program(kit: Any, body: str) -> Program:
    return kit.front(kit.main(PARAMS, f"{textwrap.dedent(body).strip()}\nreturn out, more", RESULT))


def scopes(function: Any) -> list[tuple[str, str]]:
    """Scopes with what they compute, views and writes apart."""
    found: list[tuple[str, str]] = []
    for stmt in walk_stmts(function.body):
        if isinstance(stmt, InCoreScopeStmt | SpmdScopeStmt):
            names = [n.name.removeprefix("tensor.") for n in walk(stmt.body) if isinstance(n, Call)]
            found.append(
                (stmt.name_hint, " ".join(n for n in names if n not in ("slice", "assemble", "read")))
            )
    return found


def split(kit: Any, body: str) -> list[tuple[str, str]]:
    return scopes(kit.prove(program(kit, body), PASS)["main"])


DEALT = {
    "a product and its epilogue": (
        f"{AT}\n    out[:, :] = pl.exp(pl.matmul(w, w, out_dtype=pl.FP32))",
        [("k_cube", "matmul"), ("k_vector", "exp")],
    ),
    "work that does not wait joins what is there": (
        f"""
        {AT}
            a = pl.matmul(w, w, out_dtype=pl.FP32)
            b = pl.neg(a)
            c = pl.matmul(rows[0:16, :], w, out_dtype=pl.FP32)
            out[:, :] = pl.add(b, c)
        """,
        [("k_cube", "matmul matmul"), ("k_vector", "neg add")],
    ),
    "there and back": (
        f"{AT}\n    out[:, :] = pl.relu(pl.matmul(pl.cast(pl.neg(x), pl.BF16), w, out_dtype=pl.FP32))",
        [("k_vector", "neg cast"), ("k_cube", "matmul"), ("k_vector", "relu")],
    ),
    "rounded on the way out": (
        f"""
        {AT}
            a = pl.cast(pl.matmul(w, w, out_dtype=pl.FP32), pl.BF16, mode="rint")
            out[:, :] = pl.neg(pl.matmul(a, w, out_dtype=pl.FP32))
        """,
        [("k_cube", "matmul cast matmul"), ("k_vector", "neg")],
    ),
    "a sum keeps its zeros": (
        f"""
        {AT}
            s = pl.full([16, 16], dtype=pl.FP32, value=0.0)
            for i in pl.range(4):
                s = pl.matmul_acc(s, rows[i * 16 : i * 16 + 16, :], w)
            out[:, :] = pl.add(s, 1.0)
        """,
        [("k_cube", "full matmul_acc"), ("k_vector", "adds")],
    ),
    "zeros in a loop are no work for the vector core": (
        f"""
        {AT}
            for j in pl.range(4):
                s = pl.full([16, 16], dtype=pl.FP32, value=0.0)
                for i in pl.range(4):
                    s = pl.matmul_acc(s, rows[i * 16 : i * 16 + 16, :], w)
                more[j * 16 : j * 16 + 16, :] = s
        """,
        [("k", "full matmul_acc")],
    ),
    "one core only": (f"{AT}\n    out[:, :] = pl.exp(x)", [("k", "exp")]),
    "a launch": (
        """
        for b in pl.spmd(4, name_hint="k"):
            c = pl.matmul(rows[b * 16 : b * 16 + 16, :], w, out_dtype=pl.FP32)
            more[b * 16 : b * 16 + 16, :] = pl.exp(pl.mul(c, 0.1))
        """,
        [("k_cube", "matmul"), ("k_vector", "muls exp")],
    ),
    "a launch without a variable, and valid extents": (
        """
        with pl.spmd(4, name_hint="k"):
            b = pl.get_block_idx()
            n = pl.min(16, b + 5)
            a = pl.slice(rows, [16, 16], [b * 16, 0], valid_shape=[n, 16])
            c = pl.matmul(a, w, out_dtype=pl.FP32)
            more = pl.assemble(more, pl.neg(c), [b * 16, 0])
        """,
        [("k_cube", "get_block_idx get_block_idx matmul"), ("k_vector", "get_block_idx get_block_idx neg")],
    ),
}


@pytest.mark.parametrize("name", DEALT)
def test_statements_are_dealt_out(kit: Any, name: str) -> None:
    body, wanted = DEALT[name]
    assert split(kit, body) == wanted


def test_a_loop_over_both_cores_is_the_hosts(kit: Any) -> None:
    before = program(
        kit,
        f"""
        {AT}
            s = pl.full([16, 16], dtype=pl.FP32, value=0.5)
            n = pl.cast(k[0], pl.INDEX)
            for i in pl.pipeline(0, 4, stage=2):
                m = pl.min(16, i * 4 + 4)
                p = pl.matmul(pl.slice(rows, [16, 16], [i * 16, 0], valid_shape=[m, 16]), w, out_dtype=pl.FP32)
                s = pl.add(pl.mul(s, 0.5), pl.fillpad(p, pad_value=pl.PadValue.zero))
                if n > i:
                    s = pl.neg(s)
            out[:, :] = s
        """,
    )
    after = kit.prove(before, PASS)
    [loop] = [s for s in walk_stmts(after["main"].body) if isinstance(s, ForStmt)]
    assert loop.kind is ForKind.Sequential and not loop.attrs
    inner = {s for s in walk_stmts(loop.body) if isinstance(s, ScopeStmt)}
    assert len(inner) >= 2 and not any(isinstance(s, ForStmt) for i in inner for s in walk_stmts(i.body))


def test_a_tensor_that_the_cube_fills_is_made_in_memory(kit: Any) -> None:
    body = """
    for b in pl.spmd(2, name_hint="k"):
        room = pl.create_tensor([16, 32], dtype=pl.FP32)
        for j in pl.range(2):
            part = rows[j * 16 + b * 32 : j * 16 + b * 32 + 16, :]
            room[:, j * 16 : j * 16 + 16] = pl.matmul(part, w, out_dtype=pl.FP32)
        more[b * 16 : b * 16 + 16, :] = pl.add(room[:, 0:16], room[:, 16:32])
    """
    before = program(kit, body)
    after = kit.prove(before, PASS, "OutlineIncoreScopes")
    assert [f.name for f in after if f.is_incore] == ["k_cube", "k_vector"]
    assert "create" not in [n.name.split(".")[1] for n in walk(after["k_cube"].body) if isinstance(n, Call)]
    kit.everywhere(kit.main(PARAMS, f"{textwrap.dedent(body).strip()}\nreturn out, more", RESULT), atol=1e-4)


def test_a_carry_that_begins_with_no_product_lies_in_memory(kit: Any) -> None:
    body = f"""
    {AT}
        s = pl.neg(x)
        for i in pl.range(pl.cast(k[0], pl.INDEX) % 3):
            s = pl.matmul(rows[i * 16 : i * 16 + 16, :], w, out_dtype=pl.FP32)
        out[:, :] = pl.exp(pl.mul(s, 0.1))
    """
    after = kit.prove(program(kit, body), PASS)
    [loop] = [s for s in walk_stmts(after["main"].body) if isinstance(s, ForStmt)]
    assert [hint for hint, _ in scopes(after["main"])] == ["k_vector", "k_cube", "k_vector"]
    assert any(isinstance(s, InCoreScopeStmt) for s in walk_stmts(loop.body))
    kit.everywhere(kit.main(PARAMS, f"{textwrap.dedent(body).strip()}\nreturn out, more", RESULT), atol=1e-4)


@pytest.mark.parametrize("number", ["b", "pl.get_block_idx()"])
def test_a_launch_with_such_a_loop_is_a_loop_over_its_blocks(kit: Any, number: str) -> None:
    head = 'for b in pl.spmd(4, name_hint="k"):' if number == "b" else 'with pl.spmd(4, name_hint="k"):'
    before = program(
        kit,
        f"""
        {head}
            at = {number} * 16
            s = x
            for i in pl.range(pl.cast(k[3], pl.INDEX) % 3 + 1):
                s = pl.add(s, pl.matmul(rows[at : at + 16, :], w, out_dtype=pl.FP32))
            more[at : at + 16, :] = s
        out[:, :] = more[16:32, :]
        """,
    )
    after = kit.prove(before, PASS)
    outer, inner = [s for s in walk_stmts(after["main"].body) if isinstance(s, ForStmt)]
    assert outer.kind is ForKind.Parallel and len(outer.iter_args) == 1
    assert inner in set(walk_stmts(outer.body))
    assert not any(isinstance(s, SpmdScopeStmt) for s in walk_stmts(after["main"].body))


KEPT = {
    "asked for": f"""
        {AT[:-2]}, optimizations=[pl.split(pl.SplitMode.UP_DOWN)]):
            out[:, :] = pl.exp(pl.matmul(w, w, out_dtype=pl.FP32))
        """,
    "a sum that goes on with what it made": f"""
        {AT}
            a = pl.matmul(w, w, out_dtype=pl.FP32)
            b = pl.cast(pl.mul(a, 0.5), pl.BF16)
            out[:, :] = pl.matmul_acc(a, b, w)
        """,
    "a look from before a write": f"""
        {AT}
            before = more[0:16, :]
            more[0:16, :] = pl.matmul(w, w, out_dtype=pl.FP32)
            out[:, :] = pl.neg(before)
        """,
    "a loop in a launch of blocks that start together": """
        for b in pl.spmd(2, name_hint="k", sync_start=True):
            for i in pl.range(2):
                more[b * 32 + i * 16 : b * 32 + i * 16 + 16, :] = pl.neg(pl.matmul(w, w, out_dtype=pl.FP32))
        """,
    "what a loop stores of a product from ahead of it, beside products": f"""
        {AT}
            a = pl.matmul(w, w, out_dtype=pl.FP32)
            b = pl.cast(pl.neg(a), pl.BF16)
            for i in pl.range(2):
                more[i * 16 : i * 16 + 16, :] = a
                more[i * 16 + 32 : i * 16 + 48, :] = pl.matmul(b, w, out_dtype=pl.FP32)
        """,
    "a kernel of a cluster": f"""
        with pl.cluster():
            {AT}
                out[:, :] = pl.exp(pl.matmul(w, w, out_dtype=pl.FP32))
        """,
    "a loop without a count": f"""
        {AT}
            a = pl.matmul(w, w, out_dtype=pl.FP32)
            i = pl.cast(k[0], pl.INDEX) % 4
            while i > 0:
                a = pl.mul(a, 0.5)
                i = i - 1
            out[:, :] = a
        """,
    "a loop with an id": f"""
        {AT[:-1]} as tid:
            for i in pl.range(2):
                more[i * 16 : i * 16 + 16, :] = pl.neg(pl.matmul(w, w, out_dtype=pl.FP32))
        with pl.at(level=pl.Level.CORE_GROUP, deps=[tid]):
            out[:, :] = pl.exp(x)
        """,
}


@pytest.mark.parametrize("name", KEPT)
def test_a_scope_stays_whole_where_it_has_to(kit: Any, name: str) -> None:
    before = program(kit, KEPT[name])
    assert kit.apply(before, PASS) is before


REASONS = {
    "a sum that goes on with what it made": "the sum of products 'a' goes on where the vector core has used it",
    "a look from before a write": "'before' is what a tensor held before it was written to",
    "a loop in a launch of blocks that start together": (
        "its blocks start together, and kernels for one core each start one after the other"
    ),
    "what a loop stores of a product from ahead of it, beside products": (
        "a loop or branch multiplies, and stores a product from ahead of it"
    ),
    "a loop with an id": "a task waits for it, and the tasks of a loop or branch have no single id",
    "a loop without a count": "it has a 'while'",
}
"""For what was not asked for, why."""


@pytest.mark.parametrize("name", KEPT)
def test_why_a_scope_stays_whole_is_a_hint(kit: Any, name: str) -> None:
    """It runs all the same, and PTO text of it is refused with what each core would do."""
    source = kit.main(PARAMS, f"{textwrap.dedent(KEPT[name]).strip()}\nreturn out, more", RESULT)
    compiled = compile(source, backend="910b", goal="AllocatedMemoryAddr", emit=False, host=kit.host)
    found = [dict(h.facts)["because"] for h in compiled.hints if h.code == "PH-OT-003"]
    assert found == ([REASONS[name]] if name in REASONS else [])
    assert_same_behaviour(source, compiled.program, atol=1e-4, host=kit.host)
    with pytest.raises(UserError) as caught:
        compile(source, backend="910b", host=kit.host)
    [diagnostic] = caught.value.diagnostics
    facts = dict(diagnostic.facts)
    assert diagnostic.code == "PTO-017" and "tile.matmul" in facts["cube"] and "tile." in facts["vector"]


READ = {
    "an element of what the vector core made": """
        {at}
            a = pl.neg(x)
            first = pl.read(a, [3, 5])
            out[:, :] = pl.mul(pl.matmul(w, w, out_dtype=pl.FP32), first)
            more[0:16, :] = pl.mul(a, first)
        """,
    "an element of a product, for the same core": """
        {at}
            a = pl.matmul(w, w, out_dtype=pl.FP32)
            at = pl.cast(pl.cast(pl.read(a, [0, 0]), pl.INT32), pl.INDEX) % 2 * 16
            out[:, :] = pl.neg(pl.matmul(rows[at : at + 16, :], w, out_dtype=pl.FP32))
        """,
    "an element that was written ahead": """
        {at}
            pl.write(more, [1, 2], pl.cast(k[1], pl.FP32))
            first = pl.read(more, [1, 2])
            more[16:32, :] = pl.mul(x, first)
            out[:, :] = pl.neg(pl.matmul(w, w, out_dtype=pl.FP32))
        """,
    "an element in a block": """
        for b in pl.spmd(4, name_hint="k"):
            a = pl.matmul(rows[b * 16 : b * 16 + 16, :], w, out_dtype=pl.FP32)
            c = pl.neg(a)
            more[b * 16 : b * 16 + 16, :] = pl.mul(c, pl.read(c, [2, 3]))
        """,
}


@pytest.mark.parametrize("name", READ)
def test_elements_are_read_when_they_are_there(kit: Any, name: str) -> None:
    """By the kernel that makes them, or between kernels by the host; from memory where the cube made them."""
    body = textwrap.dedent(READ[name].format(at=AT)).strip()
    kit.prove(program(kit, body), PASS, "OutlineIncoreScopes")


ROOMS = {
    "filled by the cube alone": """
        {head}
            room = pl.create_tensor([32, 16], dtype=pl.FP32)
            a = pl.matmul(rows[{at} : {at} + 16, :], w, out_dtype=pl.FP32)
            room[0:16, :] = a
            more[{at} : {at} + 16, :] = pl.neg(a)
        """,
    "filled in part by each": """
        {head}
            room = pl.create_tensor([48, 16], dtype=pl.FP32)
            a = pl.mul(x, 0.5)
            room[0:16, :] = a
            c = pl.matmul(pl.cast(a, pl.BF16), w, out_dtype=pl.FP32)
            room[16:32, :] = pl.neg(c)
            more[{at} : {at} + 16, :] = pl.add(room[0:16, :], room[16:32, :])
        """,
    "zeros of a carry, no sum": """
        {head}
            s = pl.full([16, 16], dtype=pl.FP32, value=0.0)
            for i in pl.range(3):
                t = pl.cast(pl.add(s, 1.0), pl.BF16)
                s = pl.matmul(t, w, out_dtype=pl.FP32)
            more[{at} : {at} + 16, :] = s
        """,
}


@pytest.mark.parametrize("head", [AT, 'for b in pl.spmd(4, name_hint="k"):'], ids=["scope", "launch"])
@pytest.mark.parametrize("name", ROOMS)
def test_tensors_are_made_where_they_can_be_filled(kit: Any, name: str, head: str) -> None:
    at = "b * 16" if "spmd" in head else "16"
    body = textwrap.dedent(ROOMS[name].replace("{head}", head).replace("{at}", at)).strip()
    kit.prove(program(kit, body), PASS)
    source = kit.main(PARAMS, f"{body}\nreturn out, more", RESULT)
    kit.everywhere(source, atol=1e-4)
    planned = compile(source, backend="910b", goal="AllocatedMemoryAddr", emit=False, host=kit.host)
    assert_same_behaviour(source, planned.program, atol=1e-4, host=kit.host)
    arrays = random_inputs(source["main"], seed=3)
    ran = kit.host.engine("bytes").load()(planned.program, arrays, "main", backend=kit.host.backend("910b"))
    wanted = kit.host.engine("values").load()(source, arrays, "main").outputs["more"]
    assert np.allclose(ran.outputs["more"], wanted, atol=1e-4)


@pytest.mark.parametrize("manual", [False, True])
def test_tasks_wait_for_each_other(kit: Any, manual: bool) -> None:
    scope = f"""
    with pl.at(level=pl.Level.CORE_GROUP, name_hint="first") as begun:
        more[0:16, :] = pl.exp(x)
    {AT[:-2]}, deps=[begun], allow_early_resolve=True) as tid:
        out[:, :] = pl.relu(pl.matmul(pl.cast(pl.neg(x), pl.BF16), w, out_dtype=pl.FP32))
    with pl.at(level=pl.Level.CORE_GROUP, name_hint="last", deps=[tid]):
        more[0:16, :] = pl.add(more[0:16, :], out)
    """
    body = f"with pl.manual_scope():\n{textwrap.indent(textwrap.dedent(scope), '    ')}" if manual else scope
    before = program(kit, body)
    after = kit.prove(before, PASS, "OutlineIncoreScopes", atol=1e-6)
    tasks = [n for n in walk(after["main"].body) if isinstance(n, Submit)]
    assert [t.op.name for t in tasks] == ["first", "k_vector", "k_cube", "k_vector_0", "last"]
    assert all(len(t.deps) == 1 for t in tasks[1:])
    assert len({id(t.deps[0]) for t in tasks[1:]}) == 4 and all(t.allow_early_resolve for t in tasks[1:4])


def test_unordered_tasks_of_a_manual_scope_are_ordered(kit: Any) -> None:
    body = (
        f"with pl.manual_scope():\n    {AT}\n        out[:, :] = pl.exp(pl.matmul(w, w, out_dtype=pl.FP32))"
    )
    after = kit.prove(program(kit, body), PASS, "OutlineIncoreScopes")
    first, second = [n for n in walk(after["main"].body) if isinstance(n, Submit)]
    assert not first.deps and len(second.deps) == 1


def test_what_became_of_a_scope_is_a_hint(kit: Any) -> None:
    source = kit.main(PARAMS, f"{textwrap.dedent(DEALT['there and back'][0])}\nreturn out, more", RESULT)
    [hint] = [h for h in compile(source, backend="910b", host=kit.host).hints if h.code == "PH-OT-002"]
    assert dict(hint.facts) == {"kernels": "3"} and hint.span.begin_line


# -- drawn scopes


class Draw:
    """Random statements over matrices of one size; scalars and views among them."""

    def __init__(self, seed: int, launch: bool) -> None:
        self.random = random.Random(seed)
        self.launch = launch
        self.lines: list[str] = []
        self.count = 0

    def new(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def matrix(self, known: list[str], block: str, depth: int) -> str:
        """An expression of one matrix."""
        pick = self.random.choice
        a, b = pick(known), pick(known)
        i = self.random.randrange(4)
        window = (
            f"more[{block} * 16 : {block} * 16 + 16, :]"
            if self.launch
            else f"more[{i * 16} : {i * 16 + 16}, :]"
        )
        return pick(
            [
                PRODUCT.format(a), PRODUCT.format(b),
                f"pl.matmul(rows[{i * 16} : {i * 16 + 16}, :], w, out_dtype=pl.FP32)",
                f"pl.add({a}, {b})", f"pl.neg({a})", f"pl.mul({a}, 0.25)", f"pl.maximum({a}, {b})",
                f"pl.row_expand_sub({a}, pl.row_max({a}))", "pl.full([16, 16], dtype=pl.FP32, value=0.5)",
                f"pl.mul({a}, pl.cast(k[{i}], pl.FP32))", f"pl.neg({window})", f"pl.transpose({a}, 0, 1)",
            ]
        )  # fmt: skip

    def block(self, known: list[str], block: str, depth: int, indent: int) -> None:
        """Some statements, which leave ``known`` with what they made."""
        pad = " " * indent
        for _ in range(self.random.randrange(2, 6)):
            kind = self.random.randrange(8)
            if kind == 0 and not self.launch:
                i = self.random.randrange(4)
                self.lines.append(
                    f"{pad}more[{i * 16} : {i * 16 + 16}, :] = {self.random.choice(known[1:] or ['v0'])}"
                )
            elif kind == 1:
                self.lines.append(
                    f"{pad}more[{block} * 16 : {block} * 16 + 16, :] = {self.random.choice(known[1:])}"
                )
            elif kind == 2 and depth < 2:
                carried, index = self.random.choice(known[1:]), f"i{depth}{self.count}"
                self.lines.append(f"{pad}for {index} in pl.range({self.random.randrange(1, 4)}):")
                inner = list(known)
                self.block(inner, index if not self.launch else block, depth + 1, indent + 4)
                self.lines.append(f"{pad}    {carried} = {self.matrix(inner, block, depth)}")
            elif kind == 3 and depth < 2:
                name = self.random.choice(known[1:])
                self.lines.append(f"{pad}if k[{self.random.randrange(4)}] > {self.random.randrange(3)}:")
                inner = list(known)
                self.block(inner, block, depth + 1, indent + 4)
                self.lines.append(f"{pad}    {name} = {self.matrix(inner, block, depth)}")
            else:
                name = self.new()
                self.lines.append(f"{pad}{name} = {self.matrix(known, block, depth)}")
                known.append(name)

    def text(self) -> str:
        """The body of a function."""
        known = ["x", "v0"]
        head = 'for b in pl.spmd(4, name_hint="k"):' if self.launch else AT
        self.lines = [head, f"    v0 = {PRODUCT.format('x')}"]
        self.block(known, "b" if self.launch else "0", 0, 4)
        last = self.random.choice(known[1:])
        where = "more[b * 16 : b * 16 + 16, :]" if self.launch else "out[:, :]"
        self.lines.append(f"    {where} = pl.neg({last})")
        return "\n".join(self.lines)


@pytest.mark.parametrize("launch", [False, True], ids=["scope", "launch"])
@pytest.mark.parametrize("seed", range(20))
def test_drawn_scopes_mean_the_same(kit: Any, seed: int, launch: bool) -> None:
    before = program(kit, Draw(seed, launch).text())
    after = kit.prove(before, PASS)
    kit.prove(after, "OutlineIncoreScopes", holds=["SplitIncoreOrch"])


def test_most_drawn_scopes_are_dealt_out(kit: Any) -> None:
    whole = 0
    for seed in range(20):
        before = program(kit, Draw(seed, launch=False).text())
        whole += kit.apply(before, PASS) is before
    assert whole <= 5
