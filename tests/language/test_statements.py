# ruff: noqa: E501 - texts of kernels
"""What statements and expressions become: checked node by node against what the language promises."""

from __future__ import annotations

from typing import Any

import pytest

import pypto_core.language as pl
from pypto_core.ir import (
    Add,
    And,
    AssignStmt,
    BreakStmt,
    Call,
    Cast,
    ClusterScopeStmt,
    ConstBool,
    ConstFloat,
    ConstInt,
    DataType,
    EvalStmt,
    FloatDiv,
    FloorDiv,
    ForKind,
    ForStmt,
    Function,
    HierarchyScopeStmt,
    IfStmt,
    InCoreScopeStmt,
    IterArg,
    Level,
    MakeTuple,
    MemorySpace,
    Min,
    Mul,
    Neg,
    Not,
    PadValue,
    ReturnStmt,
    Role,
    RuntimeScopeStmt,
    ScalarType,
    SplitAivScopeStmt,
    SplitMode,
    SpmdScopeStmt,
    Stmt,
    Sub,
    Submit,
    TensorLayout,
    TileLayout,
    TupleGetItemExpr,
    TupleType,
    Var,
    WhileStmt,
    YieldStmt,
    assert_structural_equal,
    flatten,
    static_shape,
)  # fmt: skip

HEAD = """
LIST = [8, [16, 32]]
FLAG = True
EPS = 0.5
@pl.function(type=pl.FunctionType.{kind})
def kern(a: pl.Tensor[[64, 64], pl.FP32], out: pl.Out[pl.Tensor[[64, 64], pl.FP32]], n: pl.Scalar[pl.INDEX],
         k: pl.Scalar[pl.INT32], f: pl.Scalar[pl.FP32], flag: pl.Scalar[pl.BOOL]):
"""


def read(body: str, kind: str = "InCore") -> Function:
    text = HEAD.format(kind=kind) + "".join(f"    {line}\n" for line in body.splitlines())
    found = pl.parse(text)
    assert isinstance(found, Function)
    return found


def stmts(body: str, kind: str = "InCore") -> tuple[Stmt, ...]:
    return flatten(read(body, kind).body)


def value(expression: str) -> Any:
    (stmt,) = stmts(f"x = {expression}")
    assert isinstance(stmt, AssignStmt)
    return stmt.value


def dtype(node: Any) -> DataType:
    assert isinstance(node.type, ScalarType)
    return node.type.dtype


@pytest.mark.parametrize(
    ("expression", "number", "kind"),
    [
        ("2 * 3 + 4", 10, DataType.INDEX),
        ("10 / 4", 2.5, DataType.FP32),
        ("-7 // 2", -4, DataType.INDEX),
        ("-7 % 3", 2, DataType.INDEX),
        ("1 << 3", 8, DataType.INDEX),
        ("2 ** 10", 1024, DataType.INDEX),
        ("2 ** -1", 0.5, DataType.FP32),
        ("5 >> 70", 0, DataType.INDEX),
        ("6 & 3 | 8", 10, DataType.INDEX),
        ("~5", -6, DataType.INDEX),
        ("LIST[0] * LIST[1][1]", 256, DataType.INDEX),
        ("-EPS", -0.5, DataType.FP32),
        ("3 < 4", True, DataType.BOOL),
        ("not FLAG or 2 == 2.0", True, DataType.BOOL),
        ("a.shape[0] // 2", 32, DataType.INDEX),
        ("a.dtype == pl.FP32", True, DataType.BOOL),
        ('float("-inf")', float("-inf"), DataType.FP32),
    ],
)
def test_constants_are_evaluated(expression: str, number: Any, kind: DataType) -> None:
    found = value(expression)
    assert isinstance(found, ConstInt | ConstFloat | ConstBool)
    assert found.value == number and type(found.value) is type(number)
    assert dtype(found) is kind


def test_what_is_not_evaluated() -> None:
    assert isinstance(value("5 // 0"), FloorDiv)
    assert isinstance(value("pl.min(2, 3)"), Min)
    assert isinstance(value("pl.const(2, pl.INDEX) + 3"), Add)
    found = value("pl.cast(3, pl.INT32)")
    assert (
        isinstance(found, Cast) and dtype(found) is DataType.INT32 and dtype(found.operand) is DataType.INDEX
    )


def test_promotion_is_written_out() -> None:
    found = value("n * pl.const(2, pl.INT32)")
    assert isinstance(found, Mul) and dtype(found) is DataType.INDEX
    assert isinstance(found.right, Cast) and dtype(found.right.operand) is DataType.INT32
    mixed = value("k + n")
    assert isinstance(mixed.left, Cast) and mixed.right.name_hint == "n"
    quotient = value("n / 2")
    assert isinstance(quotient, FloatDiv) and dtype(quotient) is DataType.INDEX
    both = value("flag and n == 0 and n")
    assert isinstance(both, And) and isinstance(both.left, And)


def test_unary_operators() -> None:
    assert isinstance(value("-n"), Neg)
    found = value("not flag")
    assert isinstance(found, Not) and dtype(found) is DataType.BOOL
    assert value("+n").name_hint == "n"


@pytest.mark.parametrize(
    ("annotation", "literal", "number", "kind"),
    [
        ("pl.Scalar[pl.INT32]", "3", 3, DataType.INT32),
        ("pl.Scalar[pl.FP16]", "0.5", 0.5, DataType.FP16),
        ("pl.Scalar[pl.INDEX]", "3", 3, DataType.INDEX),
    ],
)
def test_annotated_literals_take_the_annotated_type(
    annotation: str, literal: str, number: Any, kind: DataType
) -> None:
    (stmt,) = stmts(f"x: {annotation} = {literal}")
    assert stmt.value.value == number and stmt.value.dtype is kind and stmt.var.type.dtype is kind


def test_an_annotated_variable_of_another_width_keeps_its_value() -> None:
    (stmt,) = stmts("x: pl.Scalar[pl.INDEX] = k")
    assert stmt.var.type.dtype is DataType.INDEX
    assert stmt.value.type.dtype is DataType.INT32


def test_reassignment_keeps_the_variable() -> None:
    first, second, loop, branch = stmts(
        "t = pl.load(a, [0, 0], [64, 64])\nt = pl.exp(t)\nfor i in pl.range(2):\n    t = pl.exp(t)\n"
        "if flag:\n    t = pl.exp(t)\nelse:\n    t = pl.neg(t)"
    )
    inner = [loop.body, branch.then_body, branch.else_body]
    assert all(s.var is first.var for s in (second, *inner))
    assert second.value.args[0] is first.var


def test_a_name_first_assigned_in_a_branch_is_seen_after_it() -> None:
    branch, use = stmts("if flag:\n    x = n\nelse:\n    x = n + 1\ny = x")
    assert branch.then_body.var is branch.else_body.var is use.value
    assert branch.return_vars == ()


def test_tuples() -> None:
    whole, first, second, third = stmts("p, q = [n, f]\nr = (n,)")
    assert whole.var.name_hint == "_tuple_tmp" and isinstance(whole.value, MakeTuple)
    assert (first.var.name_hint, second.var.name_hint) == ("p", "q")
    assert (
        isinstance(second.value, TupleGetItemExpr)
        and second.value.index == 1
        and second.value.tuple is whole.var
    )
    assert dtype(second.var) is DataType.FP32
    assert isinstance(third.var.type, TupleType) and len(third.var.type.types) == 1


def test_swapping_reads_both_before_it_writes() -> None:
    whole, first, second = stmts("x = n + 1\ny = n + 2\nx, y = y, x")[2:]
    assert [e.name_hint for e in whole.value.elements] == ["y", "x"]
    assert first.var is whole.value.elements[1] and second.var is whole.value.elements[0]


@pytest.mark.parametrize(
    ("head", "kind", "bounds", "notes"),
    [
        ("pl.range(4)", ForKind.Sequential, (0, 4, 1), {}),
        ("pl.range(1, 4)", ForKind.Sequential, (1, 4, 1), {}),
        ("pl.parallel(0, 8, 2)", ForKind.Parallel, (0, 8, 2), {}),
        ("pl.parallel(8, chunk=4)", ForKind.Parallel, (0, 8, 1), {"chunk": 4}),
        ('pl.parallel(8, attrs={"chunk": 4})', ForKind.Parallel, (0, 8, 1), {"chunk": 4}),
        ("pl.unroll(2)", ForKind.Unroll, (0, 2, 1), {}),
        ("pl.range(stop=4, start=2)", ForKind.Sequential, (2, 4, 1), {}),
        ("pl.pipeline(4, stage=3)", ForKind.Pipeline, (0, 4, 1), {"pipeline_stages": 3}),
        (
            'pl.pipeline(1, 9, 2, stage=2, attrs={"pipeline_double_buffer_c": True})',
            ForKind.Pipeline,
            (1, 9, 2),
            {"pipeline_stages": 2, "pipeline_double_buffer_c": True},
        ),
    ],
)
def test_loop_heads(head: str, kind: ForKind, bounds: tuple[int, ...], notes: dict[str, Any]) -> None:
    (loop,) = stmts(f"for i in {head}:\n    x = i")
    assert isinstance(loop, ForStmt)
    assert (loop.kind, dict(loop.attrs)) == (kind, notes)
    assert tuple(b.value for b in (loop.start, loop.stop, loop.step)) == bounds
    assert loop.body.value is loop.loop_var and dtype(loop.loop_var) is DataType.INDEX


def test_carried_values() -> None:
    loop, use = stmts(
        "for i, (x, y) in pl.range(4, init_values=(n, f)):\n    z = x + i\n    p, q = pl.yield_(z, y)\nr = p"
    )
    x, y = loop.iter_args
    assert isinstance(x, IterArg) and x.init_value.name_hint == "n" and dtype(y) is DataType.FP32
    last = flatten(loop.body)[-1]
    assert isinstance(last, YieldStmt) and last.values[1] is y
    assert [v.name_hint for v in loop.return_vars] == ["p", "q"]
    assert use.value is loop.return_vars[0]


def test_the_carried_name_may_be_that_of_the_initial_value_and_of_the_result() -> None:
    first, loop, use = stmts(
        "acc = n + 1\nfor i, (acc,) in pl.range(4, init_values=(acc,)):\n    acc = acc + i\n    acc = pl.yield_(acc)\nx = acc"
    )
    (carried,), (result,) = loop.iter_args, loop.return_vars
    assert carried.init_value is first.var
    update, last = flatten(loop.body)
    assert update.value.left is carried and update.var is not carried and last.values[0] is update.var
    assert use.value is result and result is not first.var


def test_while_loops() -> None:
    plain, carrying = stmts(
        "while n < 4:\n    break\nfor (c,) in pl.while_(init_values=(n,)):\n    pl.cond(c < 9)\n    d = pl.yield_(c + 1)"
    )
    assert isinstance(plain, WhileStmt) and isinstance(plain.body, BreakStmt) and plain.iter_args == ()
    assert carrying.condition.left is carrying.iter_args[0]
    assert carrying.return_vars[0].name_hint == "d"


def test_joined_branches() -> None:
    (branch, use) = stmts(
        "if flag:\n    r = pl.yield_(n)\nelif n > 2:\n    r = pl.yield_(n + 1)\nelse:\n    r = pl.yield_(n + 2)\nx = r"
    )
    assert isinstance(branch, IfStmt) and branch.return_vars[0] is use.value
    inner, last = flatten(branch.else_body)
    assert isinstance(inner, IfStmt) and last.values[0] is inner.return_vars[0]


def test_a_scope_may_give_an_id_that_a_name_holds_already() -> None:
    begin, branch, use = stmts(
        "tid = pl.system.task_invalid()\n"
        "if n > 1:\n    with pl.at(level=pl.Level.CORE_GROUP) as tid:\n        x = n\n"
        "with pl.at(level=pl.Level.CORE_GROUP, deps=[tid]):\n    x = n",
        "Orchestration",
    )
    [inner] = flatten(branch.then_body)
    assert inner.task_id is begin.var and use.attrs["manual_dep_edges"] == (begin.var,)


def test_scopes() -> None:
    at, host, cluster, spmd, loop, split, auto, manual, manual2 = stmts(
        "with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN), pl.cross_core_slot(slot_num=2)],"
        ' name_hint="x", dumps=[a], allow_early_resolve=True) as tid:\n    x = n\n'
        "with pl.at(pl.Level.HOST, role=pl.Role.SubWorker, deps=[tid]):\n    x = n\n"
        "with pl.cluster():\n    x = n\n"
        "with pl.spmd(4, sync_start=True):\n    x = n\n"
        "for b in pl.spmd(n):\n    x = b\n"
        "for lane in pl.split_aiv(2, mode=pl.SplitMode.LEFT_RIGHT):\n    x = lane\n"
        "with pl.scope():\n    x = n\n"
        "with pl.scope(mode=pl.ScopeMode.MANUAL):\n    x = n\n"
        "with pl.manual_scope():\n    x = n",
        "Orchestration",
    )
    assert isinstance(at, InCoreScopeStmt)
    assert (at.split, at.name_hint, at.task_id.name_hint) == (SplitMode.UP_DOWN, "x", "tid")
    assert {k: v for k, v in at.attrs.items() if k != "dump_vars"} == {
        "slot_num": 2,
        "allow_early_resolve": True,
    }
    assert at.attrs["dump_vars"][0].name_hint == "a"
    assert isinstance(host, HierarchyScopeStmt) and (host.level, host.role) == (Level.HOST, Role.SubWorker)
    assert host.attrs["manual_dep_edges"] == (at.task_id,)
    assert isinstance(cluster, ClusterScopeStmt)
    assert (
        isinstance(spmd, SpmdScopeStmt)
        and spmd.sync_start
        and spmd.core_num.value == 4
        and spmd.loop_var is None
    )
    assert loop.loop_var is loop.body.value and loop.core_num.name_hint == "n"
    assert isinstance(split, SplitAivScopeStmt) and (split.split, split.count) == (SplitMode.LEFT_RIGHT, 2)
    assert [isinstance(s, RuntimeScopeStmt) and s.manual for s in (auto, manual, manual2)] == [
        False,
        True,
        True,
    ]


def test_optimizations() -> None:
    at, spmd, loop = stmts(
        "with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(slot_num=3, mode=pl.SplitMode.UP_DOWN), "
        "pl.auto_chunk]):\n    x = n\n"
        "with pl.spmd(4, optimizations=[pl.split(pl.SplitMode.LEFT_RIGHT, 2)]):\n    x = n\n"
        "for b in pl.spmd(4, optimizations=[pl.cross_core_slot(2), pl.auto_chunk()]):\n    x = b",
        "Orchestration",
    )
    assert (at.split, dict(at.attrs)) == (SplitMode.UP_DOWN, {"slot_num": 3, "auto_chunk": True})
    assert dict(spmd.attrs) == {"split": SplitMode.LEFT_RIGHT, "slot_num": 2}
    assert dict(loop.attrs) == {"slot_num": 2, "auto_chunk": True}


def test_submit() -> None:
    text = """
@pl.program
class P:
    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, a: pl.Tensor[[64, 64], pl.FP32], n: pl.Scalar[pl.INDEX]):
        r, t1 = pl.submit(self.k, a)
        q, t2 = pl.spmd_submit(self.k, r, core_num=n, deps=[t1], sync_start=True, allow_early_resolve=True, predicate=n < 4)
    @pl.function(type=pl.FunctionType.InCore)
    def k(a: pl.Tensor[[64, 64], pl.FP32]):
        return a
"""
    found = [s.value for s in flatten(pl.parse(text)["main"].body) if isinstance(s.value, Submit)]
    first, second = found
    assert [type(t).__name__ for t in first.type.types] == ["TensorType", "ScalarType"]
    assert first.type.types[1].dtype is DataType.TASK_ID
    assert second.core_num.name_hint == "n" and second.sync_start and second.allow_early_resolve
    assert second.deps[0].name_hint == "t1" and second.predicate is not None


def test_calls_follow_the_first_operand() -> None:
    found = stmts(
        "t = pl.load(a, [0, 0], [64, 64])\nx = pl.add(t, t)\ny = pl.add(a, a)\nz = pl.add(t, 1)\nw = pl.add(a, f)\n"
        'c = pl.cast(t, pl.FP16, mode="rint")\ns = pl.cast(n, pl.INT32)\ng = pl.get_block_idx()\nq = pl.tile.and_(i, i)'.replace(
            "q = pl.tile.and_(i, i)", "i = pl.cast(t, pl.INT32)\nq = pl.tile.and_(i, i)"
        )
    )
    names = [s.value.name if isinstance(s.value, Call) else type(s.value).__name__ for s in found]
    assert names == [
        "tile.load", "tile.add", "tensor.add", "tile.adds", "tensor.adds", "tile.cast", "Cast", "tensor.get_block_idx",
        "tile.cast", "tile.and",
    ]  # fmt: skip
    literal = found[3].value.args[1]
    assert (literal.value, literal.dtype) == (1.0, DataType.FP32)
    assert found[5].value.kwargs["mode"].name == "rint"


def test_calls_match_arguments_to_parameters() -> None:
    (load, again, store) = stmts(
        "t = pl.load(tensor=a, shapes=[32, 64], offsets=[n, 0], target_memory=pl.Mem.Mat)\n"
        "u = pl.load(a, [0, 0], [32, 64], [n, 64])\n"
        'pl.store(u, [0, 0], out, attrs={"note": [n, 1]})'
    )
    assert [type(e).__name__ for e in load.value.args] == ["Var", "MakeTuple", "MakeTuple", "MakeTuple"]
    assert load.value.kwargs["target_memory"] is MemorySpace.Mat
    assert again.value.kwargs["target_memory"] is MemorySpace.Vec
    assert again.var.type.valid_shape[0].name_hint == "n"
    assert isinstance(store, EvalStmt) and store.expr.attrs["note"][0].name_hint == "n"


def test_an_option_can_be_left_absent() -> None:
    (load,) = stmts("t = pl.tile.load(a, [0, 0], [64, 64], target_memory=None)")
    assert "target_memory" not in load.value.kwargs


def test_subscripts() -> None:
    found = stmts(
        "e = a[n, 3]\nw = a[n * 16:n * 16 + 16, :]\nr = a[n]\nd = a[0:n, 8:]\n"
        "t = pl.load(a, [0, 0], [64, 64])\nv = t[16:48, 0:32]\nx = t[1, 2]"
    )
    element, window, row, open_end, _, tile, scalar = (s.value for s in found)
    assert (element.name, scalar.name, dtype(scalar)) == ("tensor.read", "tile.read", DataType.FP32)
    assert (window.name, static_shape(window.type.shape)) == ("tensor.slice", (16, 64))
    assert [e.value for e in row.args[4].elements] == [0] and static_shape(row.type.shape) == (64,)
    assert [type(e) for e in open_end.args[1].elements] == [Var, ConstInt]
    assert open_end.args[1].elements[1].value == 56
    assert (tile.name, static_shape(tile.type.shape)) == ("tile.slice", (32, 32))


def test_the_extent_of_a_symbolic_range_is_a_difference() -> None:
    (stmt,) = stmts("w = a[n:n + k, :]")
    extent = stmt.value.args[1].elements[0]
    assert isinstance(extent, Sub)


def test_a_row_of_a_tile_comes_with_a_warning() -> None:
    with pytest.warns(pl.LanguageWarning, match=r"\[1, N\]"):
        found = stmts("t = pl.load(a, [0, 0], [64, 64])\nr = t[n, 0:32]")
    assert static_shape(found[1].var.type.shape) == (1, 32)


def test_windows_are_assigned() -> None:
    found = stmts(
        "w = pl.slice(a, [16, 64], [0, 0])\nout[16:32, :] = w\nout[:] = a\nar = pl.array.create(4, pl.INT32)\nar[n] = 3"
    )
    assemble, whole, _, update = found[1:]
    assert (assemble.value.name, assemble.var.name_hint) == ("tensor.assemble", "out")
    assert assemble.var is assemble.value.args[0] is whole.var
    assert [o.value for o in assemble.value.args[2].elements] == [16, 0]
    assert update.value.name == "array.update_element" and update.value.args[2].dtype is DataType.INT32


def test_annotations_fill_in_and_replace() -> None:
    found = stmts(
        "t: pl.Tile[[64, 64], pl.FP32] = pl.load(a, [0, 0], [64, 64], valid_shape=[n, 64])\n"
        "m: pl.Tile[[64, 64], pl.FP32, pl.Mem.Mat] = pl.load(a, [0, 0], [64, 64])\n"
        "v: pl.Tile[[64, 64], pl.FP32, pl.Mem.Vec, pl.TileView(valid_shape=[8, 64], blayout=pl.TileLayout.col_major,"
        " pad=pl.PadValue.zero)] = pl.exp(t)\n"
        "w: pl.Tensor[[64, 64], pl.FP32, pl.NZ] = a"
    )
    filled, moved, view, layout = found
    assert filled.var.type is filled.value.type and filled.var.type.memory_space is MemorySpace.Vec
    assert filled.var.type.valid_shape[0].name_hint == "n"
    # The space replaces the deduced one, the option stays as written.
    assert moved.var.type.memory_space is moved.value.type.memory_space is MemorySpace.Mat
    assert moved.value.kwargs["target_memory"] is MemorySpace.Vec
    have = view.var.type.view
    assert (have.blayout, have.pad) == (TileLayout.col_major, PadValue.zero) and view.value.type.view is have
    assert static_shape(view.var.type.valid_shape) == (8, 64)
    assert layout.var.type.tensor_view.layout is TensorLayout.NZ


def test_a_memref_is_the_variable_s_alone() -> None:
    alloc, tile, copy = stmts(
        "mem: pl.Ptr = pl.tile.alloc(pl.Mem.Vec, 32768)\n"
        "t: pl.Tile[[64, 64], pl.FP32, pl.MemRef(mem, 16384, 16384, slots=2)[1], pl.Mem.Vec] = pl.load(a, [0, 0], [64, 64])\n"
        "u = t"
    )
    ref = tile.var.type.memref
    assert ref.base is alloc.var and (ref.byte_offset.value, ref.byte_offset.dtype) == (16384, DataType.INT64)
    assert (ref.size, ref.slot_count, ref.slot_index.value, ref.is_pinned) == (16384, 2, 1, False)
    assert tile.value.type.memref is None
    assert copy.var.type.memref is ref


def test_a_declaration_binds_no_copy_and_no_carry() -> None:
    tile, copy, loop = stmts(
        't: pl.Tile[[64, 64], pl.FP32, pl.MemRef("buf"), pl.Mem.Vec] = pl.load(a, [0, 0], [64, 64])\nu = t\n'
        "for i, (c,) in pl.range(2, init_values=(t,)):\n    r = pl.yield_(c)"
    )
    assert tile.var.type.memref.is_pinned
    assert copy.var.type.memref is None
    assert loop.iter_args[0].type.memref is loop.return_vars[0].type.memref is None


def test_foreign_bases_are_one_variable_per_name() -> None:
    text = """
@pl.function
def kern(a: pl.Tensor[[64, 64], pl.FP32, pl.MemRef("mem_ddr_0", 0, 16384)]):
    b: pl.Tensor[[64, 64], pl.FP32, pl.MemRef("mem_ddr_0", 0, 16384)] = a
    t: pl.Tile[[64, 64], pl.FP32, pl.MemRef(mem_vec_7, 0, 16384), pl.Mem.Vec] = pl.load(b, [0, 0], [64, 64])
    u: pl.Tile[[64, 64], pl.FP32, pl.MemRef("mem_vec_7", 0, 16384), pl.Mem.Vec] = pl.exp(t)
"""
    found = pl.parse(text)
    b, t, u = flatten(found.body)
    assert b.var.type.memref.base is found.params[0].type.memref.base
    assert t.var.type.memref.base is u.var.type.memref.base


def test_printing_while_reading(capsys: pytest.CaptureFixture[str]) -> None:
    assert stmts('pl.static_print("n is", n + 1, LIST, 3)\npl.static_assert(a.shape[0] == 64)') == ()
    assert capsys.readouterr().out == "n is n + 1: pl.Scalar[pl.INDEX] a list 3\n"


def test_returns() -> None:
    found = read("return out, n")
    assert isinstance(found.body, ReturnStmt) and len(found.return_types) == 2
    typed = pl.parse(
        "@pl.function\ndef f(n: pl.Scalar[pl.INDEX]) -> tuple[pl.Scalar[pl.INT32], pl.Scalar[pl.FP16]]:\n    return 1, 2"
    )
    assert [v.dtype for v in typed.body.values] == [DataType.INT32, DataType.FP16]


def test_a_return_type_may_name_a_variable_of_the_body() -> None:
    found = pl.parse(
        "@pl.function\ndef f(a: pl.Tensor[[64, 64], pl.FP32], n: pl.Scalar[pl.INDEX])"
        " -> pl.Tile[[64, 64], pl.FP32, pl.Mem.Vec, pl.TileView(valid_shape=[m, 64])]:\n"
        "    m = pl.min(n, 64)\n    t = pl.load(a, [0, 0], [64, 64], valid_shape=[m, 64])\n    return t\n"
    )
    assert found.return_types[0].valid_shape[0] is flatten(found.body)[0].var


def test_parameters_may_be_shaped_by_later_ones() -> None:
    found = pl.parse(
        "@pl.function\ndef f(t: pl.Tile[[64, 64], pl.FP32, pl.Mem.Vec, pl.TileView(valid_shape=[n, 64])],"
        " n: pl.Scalar[pl.INDEX]):\n    return t\n"
    )
    assert found.params[0].type.valid_shape[0] is found.params[1]


def test_lists_are_written_out() -> None:
    """A comprehension is its elements; its variable is a number in each, and an outer name keeps its meaning."""
    text = """
import pypto_core.language as pl

SCALES = [1.0, 2.0, 3.0]

@pl.function(type=pl.FunctionType.InCore)
def f(x: pl.Tensor[[3, 64], pl.FP32], i: pl.Scalar[pl.INDEX], out: pl.InOut[pl.Tensor[[3, 64], pl.FP32]]):
    rows = {rows}
    out = pl.assemble(out, rows[2], [i, 0])
    sums = {sums}
    return out
"""
    row = "pl.mul(x[{0}:{0} + 1, :], SCALES[{0}])"
    written = text.format(rows="[" + ", ".join(row.format(k) for k in range(3)) + "]", sums="[i + 0, i + 2]")
    short = text.format(
        rows=f"[{row.format('k')} for k in range(3)]", sums="[i + j for j in [k for k in range(0, 4, 2)]]"
    )
    assert_structural_equal(pl.parse(short), pl.parse(written))


def test_one_word_for_two_operators() -> None:
    """``mrgsort`` merges the runs of one list when it is told their length, and several lists otherwise."""
    text = """
import pypto_core.language as pl

@pl.function(type=pl.FunctionType.InCore)
def f(x: pl.Tensor[[1, 256], pl.FP32], y: pl.Tensor[[1, 256], pl.FP32]):
    a = pl.{0}(x, block_len=64)
    b = pl.{1}(x, y)
    return a, b
"""
    short, full = (
        pl.parse(text.format(*names)) for names in (("mrgsort",) * 2, ("mrgsort_format1", "mrgsort_format2"))
    )
    assert_structural_equal(short, full)
    assert callable(pl.mrgsort) and callable(pl.tensor.mrgsort)
