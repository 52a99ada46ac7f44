"""FlattenCallExpr and NormalizeStmtStructure on small programs."""

from __future__ import annotations

from textwrap import dedent, indent
from typing import Any

import pytest

from pypto_core.diagnostics import UserError
from pypto_core.ir import (
    EMPTY,
    AssignStmt,
    Call,
    ConstFloat,
    ForStmt,
    IfStmt,
    MakeTuple,
    MemorySpace,
    ReturnStmt,
    SeqStmts,
    YieldStmt,
    add,
    flatten,
    lt,
    replace,
    walk_stmts,
)
from pypto_core.testing import build as b
from pypto_core.verify import verify_or_raise
from pypto_plugin_structure.flatten_calls import flatten_call_expr
from pypto_plugin_structure.normalize import normalize_stmt_structure

GM = "x: pl.Tensor[[64, 64], pl.FP32], out: pl.InOut[pl.Tensor[[64, 64], pl.FP32]], n: pl.Scalar[pl.INDEX]"
TILE = "pl.Tile[[16, 64], pl.FP32, pl.Mem.Vec]"
HOLDS = ["NoNestedCalls", "SSAForm", "NormalizedStmtStructure", "AssignTypeSymmetry"]


def source(text: str, params: str = GM, kind: str = "type=pl.FunctionType.InCore") -> str:
    return f"@pl.function({kind})\ndef main({params}):\n{indent(dedent(text).strip(), '    ')}\n"


def short(text: str) -> str:
    return (
        text.replace(f": {TILE}", "").replace(": pl.Scalar[pl.INDEX]", "").replace(": pl.Scalar[pl.FP32]", "")
    )


def test_arguments_in_their_order(prove: Any, kernel: Any, body: Any) -> None:
    text = """
        t = pl.load(x, [0, 0], [16, 64])
        # out
        pl.store(pl.add(pl.neg(t), pl.exp(pl.minimum(t, pl.abs(t)))), [n % 4 * 16, 0], out)
        """
    after = prove("FlattenCallExpr", kernel(source(text)), HOLDS)
    assert short(body(after)).splitlines()[1:] == [
        "# out",
        "neg__tmp_v0 = pl.tile.neg(t)",
        "abs__tmp_v0 = pl.tile.abs(t)",
        "minimum__tmp_v0 = pl.tile.minimum(t, abs__tmp_v0)",
        "exp__tmp_v0 = pl.tile.exp(minimum__tmp_v0)",
        "add__tmp_v0 = pl.tile.add(neg__tmp_v0, exp__tmp_v0)",
        "pl.tile.store(add__tmp_v0, [n % 4 * 16, 0], out)",
    ]


def test_offsets_conditions_and_bounds(prove: Any, kernel: Any, body: Any) -> None:
    text = """
        t = pl.load(x, [pl.tile.get_block_idx() * 16, 0], [16, 64])
        if pl.read(x, [0, 0]) < 1.0:
            pl.store(t, [pl.min(n, 3), 0], out)
        for i in pl.range(pl.tile.get_block_idx(), pl.tile.get_block_num() + 1):
            pl.store(t, [i, 0], out)
        """
    after = prove("FlattenCallExpr", kernel(source(text)), HOLDS)
    assert (
        short(body(after))
        == dedent("""
        get_block_idx__tmp_v0 = pl.tile.get_block_idx()
        t = pl.tile.load(x, [get_block_idx__tmp_v0 * 16, 0], [16, 64], [16, 64], target_memory=pl.Mem.Vec)
        read__tmp_v0 = pl.tensor.read(x, [0, 0])
        if read__tmp_v0 < 1.0:
            pl.tile.store(t, [pl.min(n, 3), 0], out)
        get_block_idx__tmp_v1 = pl.tile.get_block_idx()
        get_block_num__tmp_v0 = pl.tile.get_block_num()
        for i in pl.range(get_block_idx__tmp_v1, get_block_num__tmp_v0 + 1):
            pl.tile.store(t, [i, 0], out)
        """).strip()
    )


def test_a_while_condition_becomes_a_carry(prove: Any, kernel: Any, run_pass: Any, body: Any) -> None:
    text = """
        k = n
        # asks
        while pl.read(x, [k % 64, 0]) < 1.0 and k < 64:
            k = k + 1
        t = pl.load(x, [0, 0], [16, 64])
        pl.store(t, [k % 4 * 16, 0], out)
        """
    before = run_pass("ConvertToSSA")(kernel(source(text)))
    after = prove("FlattenCallExpr", before, HOLDS)
    assert short(body(after)).splitlines()[1:8] == [
        "# asks",
        "read__tmp_v0 = pl.tensor.read(x, [k__ssa_v0 % 64, 0])",
        (
            "for (k__iter_v0, cond__iter_v0) in pl.while_(init_values=(k__ssa_v0, "
            "read__tmp_v0 < 1.0 and k__ssa_v0 < 64)):"
        ),
        "    pl.cond(cond__iter_v0)",
        "    k__ssa_v1 = k__iter_v0 + 1",
        "    read__tmp_v1 = pl.tensor.read(x, [k__ssa_v1 % 64, 0])",
        "    k__rv_v0, cond__rv_v0 = pl.yield_(k__ssa_v1, read__tmp_v1 < 1.0 and k__ssa_v1 < 64)",
    ]


def test_initial_values_yields_and_types_that_name_a_carry() -> None:
    """The carry of a call is a new variable, and the type that mentions it follows."""
    n, x = b.scalar("n"), b.tensor("x", (64, 64))
    start = b.op("tile.get_block_idx")

    def inside(i: Any, k: Any) -> list[Any]:
        load = b.op(
            "tile.load", x, b.dims(0, 0), b.dims(16, 64), b.dims(k, 64), target_memory=MemorySpace.Vec
        )
        t = b.let("t", load)
        return [t, b.let("u", b.op("tile.adds", t.var, ConstFloat(1.0))), b.give(b.op("tile.get_block_num"))]

    loop = b.loop(n, inside, carries={"k": start})
    before = b.program(b.kernel("main", [x, n], [loop, b.ret(loop.return_vars[0])], returns=[b.INDEX]))
    after = b.program(flatten_call_expr(before["main"]))
    verify_or_raise(after, [*HOLDS, "UseAfterDef", "TypeChecked"])
    new = next(s for s in walk_stmts(after["main"].body) if isinstance(s, ForStmt))
    assert not isinstance(new.iter_args[0].init_value, Call)
    assert isinstance(flatten(new.body)[-1], YieldStmt)


def test_calls_in_notes_and_returned_calls(kernel: Any) -> None:
    n = b.scalar("n")
    made = b.op("tile.get_block_idx")
    noted = replace(b.op("tile.get_block_num"), attrs={"counts": (made, n)})
    function = b.function("main", [n], [b.do(noted), b.ret(b.op("tile.get_block_idx"))], returns=[b.INDEX])
    after = flatten_call_expr(function)
    verify_or_raise(b.program(after), HOLDS)
    first, second, third, last = flatten(after.body)
    assert isinstance(first, AssignStmt) and second.expr.attrs["counts"] == (first.var, n)  # type: ignore[attr-defined]
    assert isinstance(last, ReturnStmt) and last.values == (third.var,)  # type: ignore[attr-defined]


def test_a_tuple_of_calls(kernel: Any) -> None:
    n = b.scalar("n")
    pair = MakeTuple((b.op("tile.get_block_idx"), add(b.op("tile.get_block_num"), 1)))
    function = b.function("main", [n], [b.let("p", pair), b.ret(n)], returns=[b.INDEX])
    after = b.program(flatten_call_expr(function))
    verify_or_raise(after, HOLDS)
    assert len(flatten(after["main"].body)) == 4


def test_flat_programs_are_the_same_objects(kernel: Any) -> None:
    function = kernel(source("t = pl.load(x, [0, 0], [16, 64])\npl.store(t, [n, 0], out)"))["main"]
    assert flatten_call_expr(function) is function
    assert normalize_stmt_structure(function) is function


# -- NormalizeStmtStructure


def test_sequences_are_flattened() -> None:
    n = b.scalar("n")
    one, two, three = (b.let(name, add(n, 1)) for name in ("p", "q", "r"))
    nested = SeqStmts(
        (SeqStmts((one,)), SeqStmts((SeqStmts((two, EMPTY)), three), leading_comments=("deep",)))
    )
    branch = IfStmt(lt(n, 2), SeqStmts((SeqStmts((b.let("s", n),)),)), SeqStmts(()))
    function = replace(b.function("f", [n], [b.ret(n)]), body=SeqStmts((nested, branch, b.ret(n))))
    after = normalize_stmt_structure(function)
    verify_or_raise(b.program(after), ["NormalizedStmtStructure", "NoRedundantBlocks"])
    stmts = flatten(after.body)
    assert [type(s).__name__ for s in stmts] == ["AssignStmt"] * 3 + ["IfStmt", "ReturnStmt"]
    assert stmts[0] is one and stmts[2] is three
    assert stmts[1].leading_comments == ("deep",)
    assert normalize_stmt_structure(after) is after


def test_what_nothing_reaches_goes() -> None:
    n = b.scalar("n")
    function = replace(b.function("f", [n], [b.ret(n)]), body=SeqStmts((b.ret(n), b.let("p", n))))
    after = normalize_stmt_structure(function)
    assert isinstance(after.body, ReturnStmt)


def test_statements_behind_a_yield() -> None:
    n = b.scalar("n")
    late = b.let("p", n)
    loop = b.loop(2, lambda i, c: [b.give(c), late], carries={"c": n})
    with pytest.raises(UserError) as caught:
        normalize_stmt_structure(b.function("f", [n], [loop, b.ret(n)]))
    (found,) = caught.value.diagnostics
    assert found.code == "PT333"
    assert found.remedy == "move the yield to the end of the loop body or branch"
