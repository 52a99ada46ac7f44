"""Simplify on small programs: what goes, what folds, what it must leave alone."""

from __future__ import annotations

from textwrap import dedent, indent
from typing import Any

import pytest

from pypto_core.host import load_host
from pypto_core.ir import (
    AssignStmt,
    ConstBool,
    ConstInt,
    DataType,
    InlineStmt,
    MemorySpace,
    TileType,
    add,
    floormod,
    mul,
    static_shape,
    walk_stmts,
)
from pypto_core.run import compile
from pypto_core.testing import ALL_FEATURES, random_program
from pypto_core.testing import build as b
from pypto_core.verify import verify_or_raise
from pypto_plugin_structure.simplify import simplify

NM = "n: pl.Scalar[pl.INDEX], m: pl.Scalar[pl.INDEX]"
GM = "x: pl.Tensor[[64, 64], pl.FP32], out: pl.InOut[pl.Tensor[[64, 64], pl.FP32]], n: pl.Scalar[pl.INDEX]"
INPUTS = [{"n": n, "m": m} for n in range(-1, 6, 2) for m in range(-1, 6, 2)]


def source(text: str, params: str = NM, kind: str = "") -> str:
    return f"@pl.function({kind})\ndef main({params}):\n{indent(dedent(text).strip(), '    ')}\n"


def short(text: str) -> str:
    return text.replace(": pl.Scalar[pl.INDEX]", "").replace(": pl.Scalar[pl.BOOL]", "")


EXACT = {
    "constants and copies": ("k = 4\nj = k\na = j * n + 0\nreturn a", "a = 4 * n\nreturn a"),
    "dead scalars, and their comments stay": (
        "# one\na = n\n# two\nc = a * 7\n# three\nd = m + 1\nreturn d",
        "# one\n# two\n# three\nd = m + 1\nreturn d",
    ),
    "one branch is taken": (
        "if 2 > 1:\n    # here\n    a = n\nelse:\n    a = m\nb = a + 1\nreturn b",
        "# here\nb = n + 1\nreturn b",
    ),
    "no branch is taken": ("a = n\nif 1 > 2:\n    a = m\nreturn a", "return n"),
    "a range decides": (
        (
            "a = n\nfor i in pl.range(2, 8, 2):\n    if i < 7:\n        a = a + i % 8\n"
            "    if i == 7:\n        a = 0\nreturn a"
        ),
        ("for i, (a__iter_v0,) in pl.range(2, 8, 2, init_values=(n,)):\n"
        "    a__ssa_v1 = a__iter_v0 + i\n    a__rv_v0 = pl.yield_(a__ssa_v1)\nreturn a__rv_v0"),
    ),
    "the last trip of a stepped loop": (
        "a = n\nfor i in pl.range(0, 10, 4):\n    if i < 9:\n        a = a + i\nreturn a",
        ("for i, (a__iter_v0,) in pl.range(0, 10, 4, init_values=(n,)):\n"
        "    a__ssa_v1 = a__iter_v0 + i\n    a__rv_v0 = pl.yield_(a__ssa_v1)\nreturn a__rv_v0"),
    ),
    "both branches give the same": (
        "if n > 2:\n    a = 1\nelse:\n    a = 1\nb = n - n + a + m\nreturn b",
        "b = 1 + m\nreturn b",
    ),
    "one trip, no trip, and trips for nothing": (
        ("a = n\nfor i in pl.range(3, 4):\n    a = a + i\nfor j in pl.range(5, 5):\n    a = a * 2\n"
        "for k in pl.range(2):\n    c = a + k\nreturn a"),
        "a__ssa_v1 = n + 3\nreturn a__ssa_v1",
    ),
    "bounds of an inner loop": (
        "a = n\nfor i in pl.range(4):\n    for j in pl.range(i, i + 1):\n        a = a + j\nreturn a",
        ("for i, (a__iter_v0,) in pl.range(4, init_values=(n,)):\n"
        "    a__ssa_v1 = a__iter_v0 + i\n    a__rv_v1 = pl.yield_(a__ssa_v1)\nreturn a__rv_v1"),
    ),
    "a carry that no trip changes": (
        "for i, (c, d) in pl.range(n, init_values=(m, n)):\n    e = c + 1\n    p, q = pl.yield_(c, e)\nreturn p, q",
        "for i, (d,) in pl.range(n, init_values=(n,)):\n    e = m + 1\n    q = pl.yield_(e)\nreturn m, q",
    ),
    "a carry for nobody": (
        (
            "for i, (c, d) in pl.range(n, init_values=(m, n)):\n    e = c * 2\n    f = d + 1\n"
            "    p, q = pl.yield_(e, f)\nreturn q"
        ),
        "for i, (d,) in pl.range(n, init_values=(n,)):\n    f = d + 1\n    q = pl.yield_(f)\nreturn q",
    ),
    "a while loop that never runs": ("a = n\nwhile 1 > 2:\n    a = a + 1\nreturn a", "return n"),
    "a while loop whose start ends it": (
        "k = 9\na = n\nwhile k < 9:\n    k = k + 1\n    a = a + k\nreturn a", "return n",
    ),
    "truth is not compared": (
        "a = not (n < m)\nc = n\nif not (not a):\n    c = 1\nreturn c",
        "a = n >= m\nif a:\n    c__phi_v0 = pl.yield_(1)\nelse:\n    c__phi_v0 = pl.yield_(n)\nreturn c__phi_v0",
    ),
    "a chain of dead results": (
        "a = n\nc = n\nif n > m:\n    a = c + 1\nd = a\nif n > m:\n    d = a + 1\nreturn c", "return n",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EXACT)
def test_exact_form(prove: Any, kernel: Any, run_pass: Any, body: Any, name: str) -> None:
    text, want = EXACT[name]
    before = run_pass("ConvertToSSA")(kernel(source(text)))
    after = prove("Simplify", before, ["SSAForm", "AssignTypeSymmetry"], INPUTS)
    assert short(body(after)) == want


def test_extents_and_offsets(prove: Any, kernel: Any, run_pass: Any, body: Any) -> None:
    text = """
        rows = 16
        for i in pl.range(4):
            t = pl.load(x, [i % 4 * 16, 0], [16, 64], valid_shape=[pl.min(rows, i + 32), 64])
            pl.store(t, [(i * 16 + 3) % 16 + i * 16 - 3, 0], out)
        """
    before = kernel(source(text, GM, "type=pl.FunctionType.InCore"))
    after = prove("Simplify", run_pass("ConvertToSSA")(before), ["SSAForm", "AssignTypeSymmetry"])
    assert body(after) == (
        "for i in pl.range(4):\n"
        "    t: pl.Tile[[16, 64], pl.FP32, pl.Mem.Vec] = pl.tile.load(x, [i * 16, 0], [16, 64], [16, 64], "
        "target_memory=pl.Mem.Vec)\n"
        "    pl.tile.store(t, [i * 16, 0], out)"
    )


def test_constants_reach_shapes() -> None:
    """A shape that was an expression becomes the number that later passes need."""
    n, k = b.scalar("n"), b.let("k", ConstInt(2))
    made = b.let("t", b.raw_op("tile.create", [b.dims(mul(k.var, 8), 64)], b.tile_type([mul(k.var, 8), 64])))
    after = simplify(b.kernel("f", [n], [k, made]))
    (stmt,) = walk_stmts(after.body)
    assert isinstance(stmt, AssignStmt) and isinstance(stmt.var.type, TileType)
    assert static_shape(stmt.var.type.shape) == (16, 64) and stmt.value.type is stmt.var.type


@pytest.mark.parametrize("dtype", [DataType.INT8, DataType.INT32, DataType.UINT16])
def test_integers_that_wrap_keep_their_products(dtype: DataType) -> None:
    from pypto_core.ir import BinaryExpr, FloorDiv, Mul, make_binary

    a, four = b.scalar("a", dtype), ConstInt(4, dtype)
    value = make_binary(FloorDiv, make_binary(Mul, a, four), four)
    function = b.function("f", [a], [b.ret(value)], returns=[a.type])
    assert simplify(function) is function
    assert isinstance(value.left, BinaryExpr)


def test_floats_are_not_reasoned_about(kernel: Any, body: Any) -> None:
    text = "c = a + 0.0\nd = c - c\nif not (c < a):\n    d = a\nreturn d"
    function = kernel(source(text, "a: pl.Scalar[pl.FP32]"))["main"]
    from pypto_plugin_structure.convert_to_ssa import convert_to_ssa

    printed = body(simplify(convert_to_ssa(function)))
    assert "a + 0.0" in printed and "c - c" in printed and "if not c < a:" in printed


def test_a_pipelined_loop_of_one_trip_stays(kernel: Any, body: Any) -> None:
    """One stage is a scope for what orders loads and stores."""
    text = (
        "for i in pl.pipeline(1, stage=1):\n"
        "    pl.store(pl.load(x, [i * 16, 0], [16, 64]), [i * 16, 0], out)"
    )  # fmt: skip
    function = kernel(source(text, GM, "type=pl.FunctionType.InCore"))["main"]
    assert simplify(function) is function


def test_effects_stay(kernel: Any) -> None:
    text = (
        "t = pl.load(x, [0, 0], [16, 64])\n"
        "for i in pl.range(n):\n    pl.store(t, [i % 4 * 16, 0], out)\n"
        "u = pl.store(t, [0, 0], out)"
    )
    function = kernel(source(text, GM, "type=pl.FunctionType.InCore"))["main"]
    assert simplify(function) is function


def test_a_read_for_nobody_goes(kernel: Any, body: Any) -> None:
    text = "d = pl.read(x, [0, 0])\ne = d * 2.0\npl.store(pl.load(x, [0, 0], [16, 64]), [0, 0], out)"
    after = simplify(kernel(source(text, GM, "type=pl.FunctionType.InCore"))["main"])
    assert "read" not in body(after) and "store" in body(after)


def test_text_for_the_host_may_name_anything() -> None:
    n = b.scalar("n")
    dead = b.let("k", add(n, 3))
    function = b.function("f", [n], [dead, InlineStmt("use(k)")])
    assert simplify(function) is function


def test_variables_assigned_twice_take_no_part() -> None:
    """As after memory planning, where nothing says that the function is in SSA form."""
    n, k = b.scalar("n"), b.scalar("k")

    def trip(i: Any) -> list[Any]:
        created = b.op("tile.create", b.dims(16, 16), dtype=DataType.FP32, target_memory=MemorySpace.Vec)
        return [b.do(created), AssignStmt(k, add(k, 1))]

    stmts = [AssignStmt(k, ConstInt(1)), b.loop(n, trip)]
    function = b.function("f", [n], [*stmts, b.ret(k)], returns=[b.INDEX])
    assert simplify(function) is function


def test_a_taken_branch_that_assigns_again_keeps_the_order(prove: Any) -> None:
    n, k = b.scalar("n"), b.scalar("k")
    branch = b.branch(ConstBool(True), [AssignStmt(k, add(k, 1))])
    before = b.program(
        b.function("main", [n], [AssignStmt(k, n), branch, b.ret(mul(k, 2))], returns=[b.INDEX])
    )
    prove("Simplify", before, (), [{"n": 4}])


def test_late_in_the_pipeline(prove: Any) -> None:
    """The second run meets places in memory, and keeps every tile where it is."""
    host = load_host()
    for seed in range(12):
        program = random_program(seed, size=22, features=ALL_FEATURES)
        done = compile(program, backend="910b", goal="AllocatedMemoryAddr", host=host)
        names = [step.instance for step in done.plan.steps]
        assert names.index("Simplify#2") > names.index("AllocateMemoryAddr")
        verify_or_raise(done.program, ("HasMemRefs", "AllocatedMemoryAddr", "SSAForm"), after="the pipeline")
        assert simplify(done.program["main"]) is done.program["main"]


def test_many_rounds_end() -> None:
    """Each round frees what the one before left: a chain of branches that hang on each other."""
    n = b.scalar("n")
    stmts: list[Any] = []
    last: Any = floormod(n, 1)
    for k in range(30):
        made = b.let(f"v{k}", add(last, 1))
        stmts.append(made)
        last = made.var
    function = b.function("f", [n], [*stmts, b.ret(last)], returns=[b.INDEX])
    once = simplify(function)
    assert simplify(once) is once
