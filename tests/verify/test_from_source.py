"""Verifiers on programs as an author writes them: findings point at the author's lines."""

from __future__ import annotations

from pypto_core.ir import Program
from pypto_core.language import parse_program
from pypto_core.verify import DEFAULT_CHECKS, STRUCTURAL, holds, verify_properties

HEAD = """
import pypto_core.language as pl

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def kern(self, x: pl.Tensor[[64, 64], pl.FP32], n: pl.Scalar[pl.INDEX],
             out: pl.Out[pl.Tensor[[64, 64], pl.FP32]]) -> pl.Tensor[[64, 64], pl.FP32]:
"""


def kernel(*lines: str) -> Program:
    return parse_program(HEAD + "".join(f"        {line}\n" for line in lines))


LOAD = "t = pl.load(x, [0, 0], [16, 16])"
STORE = "out = pl.store(t, [0, 0], out)"


def numbers(program: Program, name: str) -> list[int]:
    return [d.number for d in verify_properties(program, [name])]


def test_a_plain_kernel() -> None:
    program = kernel(LOAD, "u = pl.exp(t)", "stored = pl.store(u, [0, 0], out)", "return stored")
    assert verify_properties(program, (*DEFAULT_CHECKS, *STRUCTURAL)) == []
    assert holds(program, "TileMemoryInferred"), "loads reach Vec unless told otherwise"
    assert numbers(program, "ReturnParamsExplicit") == [2]
    assert not holds(program, "HasMemRefs")
    assert not holds(program, "AllocatedMemoryAddr")


def test_reassignment_points_at_its_line() -> None:
    program = kernel(LOAD, "t = pl.exp(t)", STORE, "return out")
    first, second = verify_properties(program, ["SSAForm"])
    assert (first.number, first.span.line_text()) == (1, "        t = pl.exp(t)")
    assert (second.number, second.span.line_text()) == (1, f"        {STORE}")
    assert verify_properties(program, STRUCTURAL) == []


def test_a_value_that_leaks_out_of_a_branch() -> None:
    program = kernel("if n > 4:", f"    {LOAD}", "else:", f"    {LOAD}", STORE, "return out")
    assert 6 in numbers(program, "SSAForm")
    assert numbers(program, "UseAfterDef") == []


def test_an_early_exit() -> None:
    program = kernel(LOAD, "for i in pl.range(4):", "    if i == n:", "        break", STORE, "return out")
    assert numbers(program, "StructuredCtrlFlow") == [1]
    assert numbers(program, "BreakContinueValid") == []


def test_nested_calls() -> None:
    program = kernel("t = pl.exp(pl.load(x, [0, 0], [16, 16]))", STORE, "return out")
    (found,) = verify_properties(program, ["NoNestedCalls"])
    assert found.number == 201
    assert found.message == "the call of 'tile.load' is used as an argument of another call"


def test_a_product_before_and_after_its_operands_have_their_places() -> None:
    loads = [
        "a = pl.load(x, [0, 0], [16, 16], target_memory=pl.Mem.Mat)",
        "b = pl.load(x, [0, 16], [16, 16], target_memory=pl.Mem.Mat)",
    ]
    moves = [
        "l = pl.move(a, target_memory=pl.Mem.Left)",
        "r = pl.move(b, target_memory=pl.Mem.Right)",
    ]
    end = ["out = pl.store(c, [0, 0], out)", "return out"]
    assert numbers(kernel(*loads, "c = pl.matmul(a, b)", *end), "TileMemoryInferred") == [2, 2]
    placed = kernel(*loads, *moves, "c = pl.matmul(l, r)", *end)
    assert numbers(placed, "TileMemoryInferred") == []
    assert numbers(placed, "AccToGmStoreValid") == []


ORCHESTRATION = """
import pypto_core.language as pl

@pl.program
class P:
    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, x: pl.Tensor[[64, 64], pl.FP32], y: pl.Out[pl.Tensor[[64, 64], pl.FP32]]):
        bare = pl.exp(x)
        with pl.at(level=pl.Level.CORE_GROUP):
            for i in pl.range(0, 64, 16):
                y = pl.assemble(y, pl.neg(pl.slice(bare, [16, 64], [i, 0])), [i, 0])
        return y
"""


def test_what_stands_in_a_scope_will_be_a_kernel_and_is_not_warned_of() -> None:
    found = verify_properties(parse_program(ORCHESTRATION), ["SplitIncoreOrch"])
    assert [(d.number, d.span.begin_line) for d in found] == [(1, 9), (2, 8)]
    assert "'tensor.exp'" in found[1].message
