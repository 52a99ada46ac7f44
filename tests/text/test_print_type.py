"""The text of types, views and MemRefs."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

from pypto_core.ir import (
    MEMREF,
    PTR,
    UNKNOWN,
    ArrayType,
    AssignStmt,
    Call,
    CompactMode,
    ConstInt,
    DataType,
    Expr,
    FloorMod,
    Function,
    MemorySpace,
    MemRef,
    Min,
    Mul,
    Op,
    PadValue,
    Stmt,
    TensorLayout,
    TensorType,
    TensorView,
    TileLayout,
    TileType,
    TileView,
    TupleType,
    Type,
    Var,
    node_class,
    scalar_type,
    seq,
    use,
)
from pypto_core.text import print_program, print_type

D, M = DataType, MemorySpace
INDEX, INT32, BOOL, FP32 = (scalar_type(d) for d in (D.INDEX, D.INT32, D.BOOL, D.FP32))


def c(value: int, dtype: DataType = D.INDEX) -> ConstInt:
    return ConstInt(value, dtype)


def index(name: str) -> Var:
    return Var(name, INDEX)


def body_text(stmt: Stmt, **options: Any) -> str:
    return print_program(stmt, **options)


def lines(text: str) -> str:
    return textwrap.dedent(text).strip("\n")


N, I = index("n"), index("i")
P, Q = Var("p", BOOL), Var("q", BOOL)


def call(name: str = "x.op", *args: Expr, kwargs: dict[str, Any] | None = None, **attrs: Any) -> Call:
    return Call(Op(name), args, kwargs or {}, attrs, type=INDEX)


# Types

BASE = Var("mem_vec_0", PTR)
ZERO64 = c(0, D.INT64)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (INDEX, "pl.Scalar[pl.INDEX]"),
        (PTR, "pl.Ptr"),
        (MEMREF, "pl.MemRefType"),
        (UNKNOWN, "pl.UnknownType"),
        (ArrayType(D.INT32, 4), "pl.Array[4, pl.INT32]"),
        (TupleType((INDEX, INT32)), "pl.Tuple[pl.Scalar[pl.INDEX], pl.Scalar[pl.INT32]]"),
        (TupleType((INDEX,)), "pl.Tuple[pl.Scalar[pl.INDEX]]"),
        (TupleType(()), "pl.Tuple[()]"),
        (TensorType([4, 64], D.FP32), "pl.Tensor[[4, 64], pl.FP32]"),
        (TensorType([], D.FP32), "pl.Tensor[[], pl.FP32]"),
        (TensorType([N, 64], D.BF16), "pl.Tensor[[n, 64], pl.BF16]"),
        (TensorType([c(4, D.INT64)], D.FP32), "pl.Tensor[[pl.const(4, pl.INT64)], pl.FP32]"),
        (TensorType([Mul(N, c(2), INDEX)], D.FP32), "pl.Tensor[[n * pl.const(2, pl.INDEX)], pl.FP32]"),
        (
            TensorType([4], D.FP32, None, TensorView(layout=TensorLayout.NZ)),
            "pl.Tensor[[4], pl.FP32, pl.TensorView(stride=[], layout=pl.TensorLayout.NZ)]",
        ),
        (
            TensorType([8, 4], D.FP32, None, TensorView([4, 1], valid_shape=[N, 4], pad=PadValue.zero)),
            ("pl.Tensor[[8, 4], pl.FP32, pl.TensorView(valid_shape=[n, 4], stride=[4, 1], "
            "layout=pl.TensorLayout.ND, pad=pl.PadValue.zero)]"),
        ),
        (TileType([64, 64], D.FP32), "pl.Tile[[64, 64], pl.FP32]"),
        (TileType([64, 64], D.FP32, memory_space=M.Acc), "pl.Tile[[64, 64], pl.FP32, pl.Mem.Acc]"),
        (
            TileType([64, 64], D.FP32, None, TileView([Min(N, c(64), INDEX), 64]), M.Vec),
            ("pl.Tile[[64, 64], pl.FP32, pl.Mem.Vec, "
            "pl.TileView(valid_shape=[pl.min(n, pl.const(64, pl.INDEX)), 64])]"),
        ),
        # Each part of a view prints only where it differs from the layout that the space implies.
        (
            TileType([64, 64], D.FP32, None, TileView(), M.Mat),
            ("pl.Tile[[64, 64], pl.FP32, pl.Mem.Mat, "
            "pl.TileView(blayout=pl.TileLayout.row_major, slayout=pl.TileLayout.none_box)]"),
        ),
        (
            TileType(
                [64, 64],
                D.FP32,
                None,
                TileView(
                    (), [64, 1], c(4), TileLayout.col_major, TileLayout.row_major, 512, PadValue.min, CompactMode.normal
                ),
                M.Acc,
            ),
            ("pl.Tile[[64, 64], pl.FP32, pl.Mem.Acc, pl.TileView(stride=[64, 1], start_offset=4, fractal=512, "
            "pad=pl.PadValue.min, compact=pl.CompactMode.normal)]"),
        ),
    ],
)  # fmt: skip
def test_types(kind: Type, text: str) -> None:
    assert print_type(kind) == text


def test_layouts_written_out() -> None:
    kind = TileType([64, 1], D.FP32, memory_space=M.Vec)
    assert print_type(kind, explicit_layout=True) == (
        "pl.Tile[[64, 1], pl.FP32, pl.Mem.Vec, pl.TileView(blayout=pl.TileLayout.col_major, "
        "slayout=pl.TileLayout.none_box, fractal=512)]"
    )


def tile(ref: MemRef | None) -> TileType:
    return TileType([4, 4], D.FP32, ref, None, M.Vec)


@pytest.mark.parametrize(
    ("ref", "text"),
    [
        (MemRef(BASE, ZERO64, 64), 'pl.MemRef("mem_vec_0", pl.const(0, pl.INT64), 64)'),
        (MemRef(BASE, c(0), 64), 'pl.MemRef("mem_vec_0", pl.const(0, pl.INDEX), 64)'),
        (
            MemRef(BASE, Mul(FloorMod(I, c(2), INDEX), c(64), INDEX), 64, False, 2, FloorMod(I, c(2), INDEX)),
            'pl.MemRef("mem_vec_0", i % 2 * 64, 64, slots=2)[i % 2]',
        ),
        (MemRef(BASE, ZERO64, 0, True), 'pl.MemRef("mem_vec_0")'),
        (MemRef(BASE, ZERO64, 0, True, 2), 'pl.MemRef("mem_vec_0", slots=2)'),
        (MemRef(BASE, ZERO64, 0, True, 2, c(1)), 'pl.MemRef("mem_vec_0", slots=2)[1]'),
        (MemRef(BASE, ZERO64, 0), 'pl.MemRef("mem_vec_0", pl.const(0, pl.INT64), 0)'),
        (MemRef(BASE, ZERO64, 64, True), 'pl.MemRef("mem_vec_0", pl.const(0, pl.INT64), 64, pinned=True)'),
    ],
)
def test_memrefs(ref: MemRef, text: str) -> None:
    assert print_type(tile(ref)) == f"pl.Tile[[4, 4], pl.FP32, {text}, pl.Mem.Vec]"


def test_a_base_is_bare_where_the_text_defines_it_and_quoted_in_signatures() -> None:
    a = Var("a", tile(MemRef(BASE, ZERO64, 64)))
    t = Var("t", tile(MemRef(BASE, ZERO64, 64)))
    alloc = AssignStmt(BASE, call("x.alloc"))
    function = Function("f", (a,), (), seq([alloc, AssignStmt(t, call())]))
    assert print_program(function) == lines(
        """
        @pl.function
        def f(a: pl.Tile[[4, 4], pl.FP32, pl.MemRef("mem_vec_0", pl.const(0, pl.INT64), 64), pl.Mem.Vec]):
            mem_vec_0: pl.Ptr = pl.x.alloc()
            t: pl.Tile[[4, 4], pl.FP32, pl.MemRef(mem_vec_0, pl.const(0, pl.INT64), 64), pl.Mem.Vec] = pl.x.op()
        """
    ) + "\n"  # fmt: skip


def test_declared_allocations_have_their_own_namespace_but_no_two_share_a_name() -> None:
    declared, foreign, local = Var("buf", PTR), Var("buf", PTR), Var("buf", PTR)
    t = Var("buf", tile(MemRef(declared, ZERO64, 0, True)))
    u = Var("u", tile(MemRef(foreign, ZERO64, 64)))
    v = Var("v", tile(MemRef(local, ZERO64, 64)))
    stmts = [AssignStmt(local, call()), *[AssignStmt(x, call()) for x in (t, u, v)]]
    text = print_program(Function("f", (), (), seq(stmts)))
    names = [line.split(":")[0].strip() for line in text.splitlines()[2:]]
    assert names == ["buf_1", "buf", "u", "v"]
    assert 'pl.MemRef("buf")' in text
    assert 'pl.MemRef("buf_2", ' in text
    assert "pl.MemRef(buf_1, " in text


def test_types_of_plugins_show_their_fields() -> None:
    @node_class
    class BlockType(Type):
        rows: tuple[Expr, ...] = use("nodes")
        layout: TileLayout = use("plain")
        size: int = use("plain", default=3)

    assert print_type(BlockType((N, c(4)), TileLayout.row_major)) == (
        "pl.BlockType(rows=[n, 4], layout=pl.TileLayout.row_major, size=3)"
    )
