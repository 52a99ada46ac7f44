"""Programs built statement by statement equal the same programs written in the kernel language."""

from __future__ import annotations

import numpy as np
import pytest

from pypto import DataType, ir
from pypto.language import parse

INDEX = ir.ScalarType(DataType.INDEX)
FP32 = DataType.FP32
U = ir.Span.unknown()


def test_a_kernel_with_a_loop_and_its_carry() -> None:
    ib = ir.IRBuilder()
    with ib.program("Sums") as p:
        with ib.function("sums", type=ir.FunctionType.InCore) as f:
            x = f.param("x", ib.tensor_type([128, 64], FP32))
            out = f.param("out", ib.tensor_type([32, 64], FP32), direction=ir.ParamDirection.Out)
            f.return_type(ib.tensor_type([32, 64], FP32))
            first = ib.let("first", ir.op.tile.load(x, [0, 0], [32, 64], target_memory=ir.Vec))
            i = ib.var("i", INDEX)
            with ib.for_loop(i, 1, 4) as loop:
                assert ib.in_loop() and ib.in_function() and not ib.in_if()
                acc = loop.iter_arg("acc", first)
                block = ib.let("block", ir.op.tile.load(x, [i * 32, 0], [32, 64], target_memory=ir.Vec))
                summed = ib.let("summed", ir.op.tile.add(acc, block))
                total = loop.return_var("total")
                ib.emit(ir.YieldStmt([summed], U))
            assert loop.output() is total and loop.outputs() == [total]
            ib.return_stmt(ir.op.tile.store(total, [0, 0], out))
        p.add_function(f.get_result())
    built = p.get_result()
    written = parse(
        """
import pypto.language as pl

@pl.program
class Sums:
    @pl.function(type=pl.FunctionType.InCore)
    def sums(self, x: pl.Tensor[[128, 64], pl.FP32], out: pl.Out[pl.Tensor[[32, 64], pl.FP32]]) -> pl.Tensor[[32, 64], pl.FP32]:
        first = pl.tile.load(x, [0, 0], [32, 64])
        for i, (acc,) in pl.range(1, 4, 1, init_values=(first,)):
            block = pl.tile.load(x, [i * 32, 0], [32, 64])
            summed = pl.tile.add(acc, block)
            total = pl.yield_(summed)
        return pl.tile.store(total, [0, 0], out)
"""  # noqa: E501
    )
    ir.assert_structural_equal(built, written)
    ir.assert_structural_equal(parse(built.as_python()), built)
    values, result = np.arange(128 * 64, dtype=np.float32).reshape(128, 64), np.zeros((32, 64), np.float32)
    ir.compile(built, goal="SSAForm", platform="a2a3")(values, result)
    np.testing.assert_array_equal(result, values.reshape(4, 32, 64).sum(axis=0))


def test_branches_and_attributes() -> None:
    ib = ir.IRBuilder()
    with ib.function("choose", attrs={"split": ir.SplitMode.UP_DOWN}) as f:
        n = f.param("n", INDEX)
        f.return_type(INDEX)
        with ib.if_stmt(n > 3) as branch:
            assert ib.in_if()
            ib.yield_stmt(ib.let("up", n + 1))
            branch.else_()
            ib.yield_stmt(n)
            branch.return_var("r")
        ib.add_function_attrs({"note": 1})
        ib.return_stmt([branch.output()])
    built = f.get_result()
    written = parse(
        """
import pypto.language as pl

@pl.function
def choose(n: pl.Scalar[pl.INDEX]) -> pl.Scalar[pl.INDEX]:
    pl.func_attr({"split": pl.SplitMode.UP_DOWN, "note": 1})
    if n > 3:
        up: pl.Scalar[pl.INDEX] = n + 1
        r = pl.yield_(up)
    else:
        r = pl.yield_(n)
    return r
"""
    )
    ir.assert_structural_equal(built, written)
    assert (built.split, isinstance(branch.get_result(), ir.IfStmt)) == (ir.SplitMode.UP_DOWN, True)


def test_while_loops_scopes_and_simple_statements() -> None:
    ib = ir.IRBuilder()
    with ib.function("f") as f:
        n = f.param("n", INDEX)
        with ib.while_loop() as loop:
            i = loop.iter_arg("i", ir.ConstInt(0, DataType.INDEX, U))
            loop.set_condition(i < n)
            with ib.scope(ir.ClusterScopeStmt, name_hint="c") as scope:
                ib.eval_stmt(ir.op.tensor.get_block_idx())
            with ib.if_stmt(i > 5):
                ib.break_stmt()
            ib.continue_stmt()
            ib.yield_stmt(i + 1)
        doubled = ib.var("doubled", INDEX)
        ib.assign(doubled, loop.output() * 2)
        ib.inline_stmt("go()")
        ib.return_stmt()
    body = f.get_result().body.stmts
    kinds = [type(stmt).__name__ for stmt in body]
    assert kinds == ["WhileStmt", "AssignStmt", "InlineStmt", "ReturnStmt"]
    inner = [type(stmt).__name__ for stmt in body[0].body.stmts]
    assert inner == ["ClusterScopeStmt", "IfStmt", "ContinueStmt", "YieldStmt"]
    assert scope.get_result() is body[0].body.stmts[0]
    assert isinstance(body[0].body.stmts[1].then_body, ir.BreakStmt)
    assert body[0].return_vars[0].name_hint == "i_out" and str(body[0].condition) == "i < n"


def test_values_and_types() -> None:
    ib = ir.IRBuilder()
    view = ib.tile_view(valid_shape=[8, 32])
    ref = ib.memref("ring", slots=2)
    kind = ib.tile_type([16, 32], FP32, ref, view, ir.Vec)
    assert (kind.memref, kind.tile_view, kind.memory_space) == (ref, view, ir.Vec)
    strided = ib.tensor_type([4, 4], FP32, tensor_view=ib.tensor_view([8, 1], ir.ND))
    assert [d.value for d in strided.tensor_view.stride] == [8, 1]
    pair = ib.make_tuple([1, 2.5])
    assert [e.type.dtype for e in pair.elements] == [DataType.INDEX, FP32]


def test_what_is_out_of_order_is_refused() -> None:
    ib = ir.IRBuilder()
    with pytest.raises(ValueError, match="no block is open"):
        ib.let("x", 1)
    with pytest.raises(ValueError, match="no function is open"):
        ib.add_function_attrs({})
    with pytest.raises(ValueError, match="functions don't nest"), ib.function("f"), ib.function("g"):
        pass
    with ib.function("f") as f, pytest.raises(ValueError, match="not finished"):
        f.get_result()
    i = ib.var("i", INDEX)
    carries = pytest.raises(ValueError, match="returns more than it carries")
    with carries, ib.function("h"), ib.for_loop(i, 0, 4) as loop:
        loop.return_var("r")
    with pytest.raises(ValueError, match="no condition"), ib.function("w"), ib.while_loop():
        pass
    with pytest.raises(ValueError, match="one else"), ib.function("e"), ib.if_stmt(i > 1) as branch:
        branch.else_()
        branch.else_()
    with pytest.raises(ValueError, match="declared and never added"), ib.program("p") as p:
        assert p.declare_function("f") is p.declare_function("f")
    assert not ib.in_function() and not ib.in_loop() and not ib.in_if()
