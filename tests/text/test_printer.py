"""The text of programs, written out by hand for each form and trap."""

from __future__ import annotations

import ast
import textwrap
from typing import Any

import pytest
from hypothesis import given, settings

from pypto_core.diagnostics import UserError
from pypto_core.ir import (
    EMPTY,
    MEMREF,
    PTR,
    UNKNOWN,
    Abs,
    Add,
    And,
    ArgDirection,
    ArrayType,
    AssignStmt,
    BitAnd,
    BitNot,
    BitOr,
    BitShiftLeft,
    BitXor,
    BreakStmt,
    Call,
    Cast,
    ClusterScopeStmt,
    CompactMode,
    ConstBool,
    ConstFloat,
    ConstInt,
    ContinueStmt,
    DataType,
    Eq,
    EvalStmt,
    Expr,
    FloatDiv,
    FloorDiv,
    FloorMod,
    ForKind,
    ForStmt,
    Function,
    FunctionIRStage,
    FunctionType,
    GlobalVar,
    HierarchyScopeStmt,
    IfStmt,
    InCoreScopeStmt,
    InlineStmt,
    IterArg,
    Level,
    Lt,
    MakeTuple,
    Max,
    MemorySpace,
    MemRef,
    Min,
    Mul,
    Ne,
    Neg,
    Not,
    Op,
    Or,
    PadValue,
    ParamDirection,
    Pow,
    Program,
    ReturnStmt,
    RuntimeScopeStmt,
    SplitAivScopeStmt,
    SplitMode,
    SpmdScopeStmt,
    Stmt,
    Sub,
    Submit,
    TensorLayout,
    TensorType,
    TensorView,
    TileLayout,
    TileType,
    TileView,
    TupleGetItemExpr,
    TupleType,
    Type,
    Var,
    WhileStmt,
    Xor,
    YieldStmt,
    make_binary,
    node_class,
    scalar_type,
    seq,
    use,
)
from pypto_core.text import callees_first, print_expr, print_program, print_type
from tests.ir.generators import functions, programs

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


# Expressions


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (Sub(Sub(N, c(1), INDEX), Sub(N, c(2), INDEX), INDEX), "n - 1 - (n - 2)"),
        (Add(N, Add(I, N, INDEX), INDEX), "n + (i + n)"),
        (Mul(Add(N, c(1), INDEX), c(2), INDEX), "(n + 1) * 2"),
        (Add(N, Mul(I, c(2), INDEX), INDEX), "n + i * 2"),
        (FloorMod(FloorDiv(N, c(2), INDEX), I, INDEX), "n // 2 % i"),
        (FloorMod(N, FloorDiv(I, c(2), INDEX), INDEX), "n % (i // 2)"),
        (FloatDiv(N, I, INDEX), "n / i"),
        (Not(Eq(N, c(5), BOOL), BOOL), "not n == 5"),
        (Eq(Not(P, BOOL), Q, BOOL), "(not p) == q"),
        (Eq(Lt(N, I, BOOL), Lt(I, N, BOOL), BOOL), "(n < i) == (i < n)"),
        (Ne(N, I, BOOL), "n != i"),
        (And(Or(P, Q, BOOL), P, BOOL), "(p or q) and p"),
        (Or(And(P, Q, BOOL), P, BOOL), "p and q or p"),
        (And(P, And(Q, P, BOOL), BOOL), "p and (q and p)"),
        (And(And(P, Q, BOOL), P, BOOL), "p and q and p"),
        (Not(And(P, Q, BOOL), BOOL), "not (p and q)"),
        (Xor(P, Q, BOOL), "pl.xor(p, q)"),
        (BitOr(N, BitXor(I, BitAnd(N, I, INDEX), INDEX), INDEX), "n | i ^ n & i"),
        (BitAnd(BitOr(N, I, INDEX), N, INDEX), "(n | i) & n"),
        (BitShiftLeft(N, Add(I, c(1), INDEX), INDEX), "n << i + 1"),
        (Eq(BitAnd(N, c(1), INDEX), c(0), BOOL), "n & 1 == 0"),
        (Neg(N, INDEX), "-n"),
        (Neg(Neg(N, INDEX), INDEX), "--n"),
        (Neg(Add(N, I, INDEX), INDEX), "-(n + i)"),
        (Mul(Neg(N, INDEX), I, INDEX), "-n * i"),
        (BitNot(N, INDEX), "~n"),
        (Abs(Sub(N, I, INDEX), INDEX), "abs(n - i)"),
        (Pow(Neg(N, INDEX), c(2), INDEX), "(-n) ** 2"),
        (Neg(Pow(N, c(2), INDEX), INDEX), "-n ** 2"),
        (Pow(Pow(N, I, INDEX), N, INDEX), "(n ** i) ** n"),
        (Pow(N, Neg(I, INDEX), INDEX), "n ** -i"),
        (Pow(c(-2), N, INDEX), "(-2) ** n"),
        (Min(N, Max(I, c(0), INDEX), INDEX), "pl.min(n, pl.max(i, 0))"),
        (Cast(Add(N, I, INDEX), INT32), "pl.cast(n + i, pl.INT32)"),
        (make_binary(Mul, N, c(2, D.INT32)), "n * pl.cast(pl.const(2, pl.INT32), pl.INDEX)"),
        (MakeTuple((N,)), "[n]"),
        (MakeTuple(()), "[]"),
        (MakeTuple((Mul(I, c(64), INDEX), c(0))), "[i * 64, 0]"),
        (TupleGetItemExpr(MakeTuple((N, I)), 1), "[n, i][1]"),
    ],
)
def test_operators_and_their_parentheses(node: Expr, text: str) -> None:
    assert print_expr(node) == text


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (c(7), "7"),
        (c(-1), "-1"),
        (c(7, D.INT64), "pl.const(7, pl.INT64)"),
        (Sub(N, c(-1), INDEX), "n - -1"),
        (ConstFloat(0.1), "0.1"),
        (ConstFloat(2.0), "2.0"),
        (ConstFloat(1e16), "1e+16"),
        (ConstFloat(1 / 3), "0.3333333333333333"),
        (ConstFloat(5e-324), "5e-324"),
        (ConstFloat(-0.0), "-0.0"),
        (ConstFloat(0.5, D.BF16), "pl.const(0.5, pl.BF16)"),
        (ConstFloat(float("inf")), 'pl.const("inf", pl.FP32)'),
        (ConstFloat(float("-inf"), D.FP16), 'pl.const("-inf", pl.FP16)'),
        (ConstBool(True), "True"),
        (Add(c(1), c(2), INDEX), "pl.const(1, pl.INDEX) + pl.const(2, pl.INDEX)"),
        (Neg(c(1), INDEX), "-pl.const(1, pl.INDEX)"),
        (FloorDiv(c(5), c(0), INDEX), "pl.const(5, pl.INDEX) // pl.const(0, pl.INDEX)"),
        (Not(ConstBool(True), BOOL), "not pl.const(True, pl.BOOL)"),
        (Min(c(2), c(3), INDEX), "pl.min(pl.const(2, pl.INDEX), pl.const(3, pl.INDEX))"),
        (Add(N, Add(c(1), c(2), INDEX), INDEX), "n + (pl.const(1, pl.INDEX) + pl.const(2, pl.INDEX))"),
        # Only the part that is made of constants alone needs types: the parser folds no further.
        (
            Add(Add(Add(c(1), c(2), INDEX), N, INDEX), c(3), INDEX),
            "pl.const(1, pl.INDEX) + pl.const(2, pl.INDEX) + n + 3",
        ),
        (Add(ConstFloat(1.0), ConstFloat(2.0), FP32), "pl.const(1.0, pl.FP32) + pl.const(2.0, pl.FP32)"),
        (Cast(c(2), INT32), "pl.cast(pl.const(2, pl.INDEX), pl.INT32)"),
    ],
)
def test_constants(node: Expr, text: str) -> None:
    assert print_expr(node) == text


def test_sums_of_any_length_print() -> None:
    node: Expr = N
    for _ in range(20_000):
        node = Add(node, I, INDEX)
    text = print_expr(node)
    assert text.count("+") == 20_000
    assert "(" not in text


def test_what_is_nested_too_deeply_is_an_error_and_not_a_crash() -> None:
    node: Expr = N
    for _ in range(3_000):
        node = Neg(node, INDEX)
    with pytest.raises(UserError) as caught:
        print_expr(node)
    assert caught.value.diagnostics[0].code == "PT521"


def test_statements_nest_as_deep_as_they_like() -> None:
    stmt: Stmt = BreakStmt()
    for _ in range(3_000):
        stmt = IfStmt(P, stmt)
    text = body_text(stmt)
    assert text.count("\n") == 3_000
    assert text.endswith("    break")


# Calls


def call(name: str = "x.op", *args: Expr, kwargs: dict[str, Any] | None = None, **attrs: Any) -> Call:
    return Call(Op(name), args, kwargs or {}, attrs, type=INDEX)


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (call("x.op", N, MakeTuple((I, c(0)))), "pl.x.op(n, [i, 0])"),
        (call("tile.and", N, I), "pl.tile.and_(n, i)"),
        (call("tile.not", N), "pl.tile.not_(n)"),
        (call(kwargs={"lambda": 1}), "pl.x.op(lambda_=1)"),
        (call(kwargs={"b": 1, "a": True}), "pl.x.op(b=1, a=True)"),
        (call(kwargs={"d": D.BF16, "m": M.Vec}), "pl.x.op(d=pl.BF16, m=pl.Mem.Vec)"),
        (
            call(kwargs={"p": PadValue.max, "l": TileLayout.none_box}),
            "pl.x.op(p=pl.PadValue.max, l=pl.TileLayout.none_box)",
        ),
        (call(kwargs={"s": "it's", "t": 'a"b'}), """pl.x.op(s="it's", t='a"b')"""),
        (call(kwargs={"f": 0.1, "g": float("-inf")}), 'pl.x.op(f=0.1, g=float("-inf"))'),
        (call(pipeline_membership="0:1"), 'pl.x.op(attrs={"pipeline_membership": "0:1"})'),
        (call("x.op", N, quote='a"b\\\''), 'pl.x.op(n, attrs={"quote": "a\\"b\\\\\'"})'),
        (
            call(arg_directions=(ArgDirection.Input, ArgDirection.OutputExisting)),
            'pl.x.op(attrs={"arg_directions": [pl.adir.input, pl.adir.output_existing]})',
        ),
        (
            call(deps=(N, (I,)), one=c(1), none=None),
            'pl.x.op(attrs={"deps": [n, [i]], "one": pl.const(1, pl.INDEX), "none": None})',
        ),
        (call(kind=INDEX), 'pl.x.op(attrs={"kind": pl.Scalar[pl.INDEX]})'),
        (Call(GlobalVar("kern"), (N,), {"k": 1}, type=INDEX), "self.kern(n, k=1)"),
        (
            Submit(GlobalVar("kern"), (N,), (I,), {}, {"a": 1}, c(4), True, True, P, type=INDEX),
            ('pl.submit(self.kern, n, deps=[i], core_num=4, sync_start=True, allow_early_resolve=True, '
            'predicate=p, attrs={"a": 1})'),
        ),
    ],
)  # fmt: skip
def test_calls(node: Expr, text: str) -> None:
    assert print_expr(node) == text


T32 = Var("t", TileType([32, 32], D.FP32, memory_space=M.Vec))
T16 = Var("h", TileType([32, 32], D.BF16, memory_space=M.Vec))


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (
            Call(Op("tile.alloc"), (), {"memory_space": M.Vec, "size": 16384}, type=PTR),
            "pl.tile.alloc(pl.Mem.Vec, 16384)",
        ),
        (
            Call(Op("tile.alloc"), (), {"pinned": True, "memory_space": M.Vec, "size": 64}, type=PTR),
            "pl.tile.alloc(pl.Mem.Vec, 64, pinned=True)",
        ),
        (
            Call(
                Op("tile.full"),
                (MakeTuple((c(32), c(32))), ConstFloat(1.0)),
                {"dtype": D.FP32},
                type=T32.type,
            ),
            "pl.tile.full([32, 32], dtype=pl.FP32, value=1.0)",
        ),
        # A literal takes the element type of the tile beside it, so one of another type says so.
        (Call(Op("tile.adds"), (T32, ConstFloat(1.0)), type=T32.type), "pl.tile.adds(t, 1.0)"),
        (
            Call(Op("tile.adds"), (T16, ConstFloat(1.0)), type=T16.type),
            "pl.tile.adds(h, pl.const(1.0, pl.FP32))",
        ),
        (
            Call(Op("tile.adds"), (T16, ConstFloat(1.0, D.BF16)), type=T16.type),
            "pl.tile.adds(h, pl.const(1.0, pl.BF16))",
        ),
    ],
)
def test_calls_follow_the_operator_s_parameters(node: Expr, text: str) -> None:
    assert print_expr(node) == text


class Strange:
    def __repr__(self) -> str:
        return "<strange>"


@pytest.mark.parametrize("value", [Strange(), b"bytes", {"a": 1}, {1}, 1j, (1, Strange())])
def test_a_value_without_a_text_form_is_refused(value: object) -> None:
    for stmt in (
        EvalStmt(call(odd=value)),
        EvalStmt(call(kwargs={"odd": value})),
        ForStmt(index("i"), c(0), c(4), c(1), (), EMPTY, (), attrs={"odd": value}),
        ClusterScopeStmt(EMPTY, attrs={"odd": value}),
    ):
        with pytest.raises(UserError) as caught:
            print_program(stmt)
        assert caught.value.diagnostics[0].code == "PT520"
        assert "text form" in caught.value.message
    with pytest.raises(UserError):
        print_program(Function("f", (), (), EMPTY, attrs={"odd": value}))


def test_a_statement_nobody_knows_is_refused() -> None:
    @node_class
    class OddStmt(Stmt):
        pass

    with pytest.raises(UserError, match="OddStmt"):
        print_program(OddStmt())


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


# Statements


def test_assignments_and_evaluations() -> None:
    x = Var("x", INT32)
    stmts = seq([AssignStmt(x, c(3, D.INT32)), EvalStmt(call("x.op", x)), ReturnStmt((x, N)), ReturnStmt()])
    assert body_text(stmts) == lines(
        """
        x: pl.Scalar[pl.INT32] = pl.const(3, pl.INT32)
        pl.x.op(x)
        return x, n
        return
        """
    )
    assert body_text(stmts, concise=True).splitlines()[0] == "x = pl.const(3, pl.INT32)"


def test_a_literal_of_another_type_than_its_variable_keeps_it() -> None:
    assert body_text(AssignStmt(Var("x", INT32), c(3))) == "x: pl.Scalar[pl.INT32] = pl.const(3, pl.INDEX)"
    assert body_text(AssignStmt(index("x"), c(3))) == "x: pl.Scalar[pl.INDEX] = 3"
    half = Var("h", scalar_type(D.FP16))
    assert body_text(AssignStmt(half, ConstFloat(0.5))) == "h: pl.Scalar[pl.FP16] = pl.const(0.5, pl.FP32)"


@pytest.mark.parametrize(
    ("bounds", "text"),
    [
        ((c(0), N, c(1)), "n"),
        ((c(1), N, c(1)), "1, n"),
        ((c(0), N, c(2)), "0, n, 2"),
        ((I, N, c(-1)), "i, n, -1"),
        ((c(0), c(8), c(1, D.INT64)), "0, 8, pl.const(1, pl.INT64)"),
    ],
)
def test_bounds_of_loops(bounds: tuple[Expr, Expr, Expr], text: str) -> None:
    stmt = ForStmt(index("k"), *bounds, (), EMPTY, ())
    assert body_text(stmt) == f"for k in pl.range({text}):\n    pass"


def test_bounds_of_another_integer_type_state_it() -> None:
    i64 = scalar_type(D.INT64)
    stmt = ForStmt(Var("k", i64), c(0, D.INT64), c(8, D.INT64), c(1), (), EMPTY, ())
    assert body_text(stmt) == "for k in pl.range(pl.const(0, pl.INT64), pl.const(8, pl.INT64)):\n    pass"
    stmt = ForStmt(Var("k", i64), c(0), c(8), c(1), (), EMPTY, ())
    assert body_text(stmt) == "for k in pl.range(8):\n    k: pl.Scalar[pl.INT64]\n    pass"


@pytest.mark.parametrize(
    ("kind", "attrs", "text"),
    [
        (ForKind.Sequential, {}, "range(4)"),
        (ForKind.Parallel, {}, "parallel(4)"),
        (ForKind.Unroll, {"a": 1}, 'unroll(4, attrs={"a": 1})'),
        (ForKind.Pipeline, {"pipeline_stages": 2}, "pipeline(4, stage=2)"),
        (
            ForKind.Pipeline,
            {"b": False, "pipeline_stages": 3, "f": 0.5, "s": "x"},
            'pipeline(4, stage=3, attrs={"b": False, "f": 0.5, "s": "x"})',
        ),
    ],
)
def test_kinds_and_notes_of_loops(kind: ForKind, attrs: dict[str, Any], text: str) -> None:
    stmt = ForStmt(index("k"), c(0), c(4), c(1), (), ContinueStmt(), (), kind, attrs)
    assert body_text(stmt) == f"for k in pl.{text}:\n    continue"


def test_a_carried_value() -> None:
    a = IterArg("a", INDEX, N)
    r = index("r")
    stmt = ForStmt(index("k"), c(0), c(4), c(1), (a,), YieldStmt((Add(a, c(1), INDEX),)), (r,))
    assert body_text(stmt) == lines(
        """
        for k, (a,) in pl.range(4, init_values=(n,)):
            r: pl.Scalar[pl.INDEX] = pl.yield_(a + 1)
        """
    )
    assert body_text(stmt, concise=True).endswith("r = pl.yield_(a + 1)")


def test_several_carried_values_keep_types_that_can_t_be_read_off() -> None:
    base = Var("mem", PTR)

    def at(offset: int) -> TileType:
        return tile(MemRef(base, c(offset, D.INT64), 64))

    x, plain = Var("x", at(0)), tile(None)
    a, b = IterArg("a", at(0), x), IterArg("b", at(64), x)
    moved = Var("moved", at(0))
    r, s = Var("r", at(0)), Var("s", at(128))
    body = seq([AssignStmt(moved, Call(Op("x.move"), (a,), type=plain)), YieldStmt((moved, b))])
    stmt = ForStmt(
        index("k"), c(0), c(4), c(1), (a, b), body, (r, s), ForKind.Pipeline, {"pipeline_stages": 2}
    )
    place = 'pl.Tile[[4, 4], pl.FP32, pl.MemRef("mem", pl.const({}, pl.INT64), 64), pl.Mem.Vec]'
    # r has the type of what it is given each time; b and s do not.
    assert body_text(stmt) == lines(
        f"""
        for k, (a, b) in pl.pipeline(4, stage=2, init_values=(x, x)):
            b: {place.format(64)}
            moved: {place.format(0)} = pl.x.move(a)
            s: {place.format(128)}
            r, s = pl.yield_(moved, b)
        """
    )
    assert body_text(stmt, concise=True) == lines(
        """
        for k, (a, b) in pl.pipeline(4, stage=2, init_values=(x, x)):
            moved = pl.x.move(a)
            r, s = pl.yield_(moved, b)
        """
    )


def test_while_with_and_without_carried_values() -> None:
    plain = WhileStmt(Lt(N, c(4), BOOL), (), BreakStmt(), ())
    assert body_text(plain) == "while n < 4:\n    break"
    a, b = IterArg("a", INDEX, c(0)), IterArg("b", INDEX, N)
    stmt = WhileStmt(Lt(a, c(4), BOOL), (a, b), YieldStmt((b, a)), (index("r"), index("s")))
    assert body_text(stmt) == lines(
        """
        for (a, b) in pl.while_(init_values=(0, n)):
            pl.cond(a < 4)
            r, s = pl.yield_(b, a)
        """
    )
    one = WhileStmt(Lt(a, c(4), BOOL), (a,), YieldStmt((a,)), (index("r"),))
    assert body_text(one).splitlines()[0] == "for (a,) in pl.while_(init_values=(0,)):"


def test_branches() -> None:
    r, s = index("r"), index("s")
    one = IfStmt(P, YieldStmt((N,)), YieldStmt((I,)), (r,))
    assert body_text(one) == lines(
        """
        if p:
            r: pl.Scalar[pl.INDEX] = pl.yield_(n)
        else:
            r: pl.Scalar[pl.INDEX] = pl.yield_(i)
        """
    )
    two = IfStmt(P, YieldStmt((N, c(1))), YieldStmt((I, c(2))), (r, s))
    assert body_text(two).count("r, s = pl.yield_(") == 2
    assert body_text(IfStmt(P, EMPTY)) == "if p:\n    pass"
    assert body_text(IfStmt(P, EMPTY, EMPTY)) == "if p:\n    pass\nelse:\n    pass"
    nested = IfStmt(P, BreakStmt(), IfStmt(Q, BreakStmt(), ContinueStmt()))
    assert body_text(nested) == lines(
        """
        if p:
            break
        else:
            if q:
                break
            else:
                continue
        """
    )


def test_yields_bind_only_at_the_end_of_their_region() -> None:
    stmts = seq([YieldStmt((N,)), EvalStmt(N), YieldStmt((I,))])
    text = body_text(IfStmt(P, stmts, YieldStmt((N,)), (index("r"),)))
    assert text.splitlines()[1:4] == [
        "    pl.yield_(n)",
        "    n",
        "    r: pl.Scalar[pl.INDEX] = pl.yield_(i)",
    ]
    assert body_text(YieldStmt()) == "pl.yield_()"


@pytest.mark.parametrize(
    ("stmt", "text"),
    [
        (InCoreScopeStmt(BreakStmt()), "with pl.at(level=pl.Level.CORE_GROUP):"),
        (
            InCoreScopeStmt(BreakStmt(), split=SplitMode.UP_DOWN, name_hint="x", attrs={"deps": (N,)}),
            (
                "with pl.at(level=pl.Level.CORE_GROUP, optimizations=[pl.split(pl.SplitMode.UP_DOWN)], "
                'name_hint="x", attrs={"deps": [n]}):'
            ),
        ),
        (HierarchyScopeStmt(BreakStmt(), level=Level.HOST), "with pl.at(level=pl.Level.HOST):"),
        (ClusterScopeStmt(BreakStmt()), "with pl.cluster():"),
        (SpmdScopeStmt(BreakStmt(), core_num=N), "with pl.spmd(n):"),
        (
            SpmdScopeStmt(BreakStmt(), core_num=c(8), sync_start=True, loop_var=index("b")),
            "for b in pl.spmd(8, sync_start=True):",
        ),
        (
            SplitAivScopeStmt(BreakStmt(), split=SplitMode.LEFT_RIGHT, loop_var=index("lane")),
            "for lane in pl.split_aiv(2, mode=pl.SplitMode.LEFT_RIGHT):",
        ),
        (RuntimeScopeStmt(BreakStmt(), manual=True), "with pl.scope(mode=pl.ScopeMode.MANUAL):"),
        (RuntimeScopeStmt(BreakStmt()), "with pl.scope():"),
    ],
)
def test_scopes(stmt: Stmt, text: str) -> None:
    assert body_text(stmt) == f"{text}\n    break"


def test_text_for_the_host() -> None:
    assert body_text(InlineStmt('x = "1"\n')) == 'pl.inline_stmt("x = \\"1\\"\\n", language="python")'


def test_comments_stand_above_what_they_belong_to() -> None:
    stmt = IfStmt(
        P,
        EvalStmt(N, leading_comments=("inside",)),
        seq([EvalStmt(I, leading_comments=("#!odd", "")), BreakStmt()]),
        leading_comments=("one", "two"),
    )
    assert body_text(stmt) == lines(
        """
        # one
        # two
        if p:
            # inside
            n
        else:
            #!odd
            #
            i
            break
        """
    )


# Names


def test_names_are_one_to_one_and_keep_hints_where_they_can() -> None:
    hints = ["x", "x", "x_1", "lambda", "pl", "self", "a b", "1st", "", "x"]
    made = [index(h) for h in hints]
    text = print_program(Function("f", (), (), seq([AssignStmt(v, c(1)) for v in made])))
    names = [line.split(":")[0].strip() for line in text.splitlines()[2:]]
    # x_1 is somebody's own name, so the second x passes over it.
    assert names == ["x", "x_2", "x_1", "lambda_", "pl_1", "self_1", "a_b", "_1st", "_", "x_3"]


def test_one_variable_assigned_twice_prints_as_one() -> None:
    x = index("x")
    text = body_text(seq([AssignStmt(x, c(1)), AssignStmt(x, Add(x, c(1), INDEX))]), concise=True)
    assert text == "x = 1\nx = x + 1"


def test_names_that_python_reads_as_one_are_told_apart() -> None:
    made = [index("ﬁ"), index("fi")]
    text = print_program(Function("f", tuple(made), (), EMPTY))
    names = [a.arg for a in ast.parse(text).body[0].args.args]  # type: ignore[attr-defined]
    assert len(set(names)) == 2


def test_a_variable_that_nothing_defines_says_so() -> None:
    text = print_program(Function("f", (), (), ReturnStmt((N,))))
    assert "return n__FREE_VAR" in text
    assert "FREE_VAR" not in print_program(ReturnStmt((N,)))


# Functions and programs


def kernel(name: str, *calls: str, kind: FunctionType = FunctionType.InCore) -> Function:
    stmts = [EvalStmt(Call(GlobalVar(g), (), type=INDEX)) for g in calls]
    return Function(name, (), (), seq(stmts), func_type=kind)


def test_a_program() -> None:
    m = index("M")
    kind = TensorType([m, 64], D.FP32)
    a, out = Var("a", kind), Var("out", kind)
    kern = Function(
        "kern",
        (a, out, N),
        (kind,),
        ReturnStmt((out,)),
        (ParamDirection.In, ParamDirection.Out, ParamDirection.InOut),
        FunctionType.InCore,
        attrs={"split": SplitMode.UP_DOWN, "note": "x"},
        leading_comments=("a kernel",),
    )
    x = Var("x", kind)
    run = Call(GlobalVar("kern"), (x, x, c(1)), type=kind)
    main = Function("main", (x,), (), EvalStmt(run), func_type=FunctionType.Orchestration)
    both = Function("both", (), (kind, INDEX), EMPTY, attrs={"auto_scope": False, "external_source": "k.cpp"})
    program = Program("Prog", [main, kern, both], leading_comments=("all of it",))
    shape, scalar = "pl.Tensor[[M, 64], pl.FP32]", "pl.Scalar[pl.INDEX]"
    assert print_program(program) == lines(
        f"""
        # pypto.program: Prog
        import pypto_core.language as pl

        M = pl.dynamic("M")

        # all of it
        @pl.program
        class Prog:
            @pl.function(auto_scope=False, external_source="k.cpp")
            def both(self) -> tuple[{shape}, {scalar}]:
                pass
            # a kernel
            @pl.function(type=pl.FunctionType.InCore, level=pl.Level.CHIP_DIE, role=pl.Role.SubWorker)
            def kern(a: {shape}, out: pl.Out[{shape}], n: pl.InOut[{scalar}]) -> {shape}:
                pl.func_attr({{"split": pl.SplitMode.UP_DOWN, "note": "x"}})
                return out
            @pl.function(type=pl.FunctionType.Orchestration, level=pl.Level.CHIP, role=pl.Role.Orchestrator)
            def main(self, x: {shape}):
                self.kern(x, x, 1)
        """
    ) + "\n"  # fmt: skip


def test_open_extents_are_declared_in_order_of_their_names() -> None:
    k, m, m2 = index("K"), index("M"), index("M")
    f = Function("f", (Var("a", TensorType([m, k], D.FP32)), index("K")), (), ReturnStmt((k,)))
    g = Function("g", (Var("a", TensorType([m2, m], D.FP32)),), (), EMPTY)
    text = print_program(Program("P", [f, g]))
    head = text.split("@pl.program")[0].splitlines()
    assert head[3:6] == ['K = pl.dynamic("K")', 'M = pl.dynamic("M")', 'M_1 = pl.dynamic("M_1")']
    # A parameter called like an extent makes way, so that the extent is still visible.
    assert "def f(self, a: pl.Tensor[[M, K], pl.FP32], K_1: pl.Scalar[pl.INDEX]):" in text
    assert "return K\n" in text
    assert "def g(self, a: pl.Tensor[[M_1, M], pl.FP32]):" in text


def test_an_open_extent_of_another_type_states_it() -> None:
    program = Program("P", [Function("f", (Var("a", TensorType([Var("m", INT32)], D.FP32)),), (), EMPTY)])
    assert 'm = pl.dynamic("m", pl.INT32)' in print_program(program)


def test_a_function_alone_has_no_header_and_no_self() -> None:
    text = print_program(Function("f", (Var("a", TensorType([index("M")], D.FP32)),), (), EMPTY))
    assert text == "@pl.function\ndef f(a: pl.Tensor[[M], pl.FP32]):\n    pass\n"


def test_functions_that_others_bring_and_buffer_functions() -> None:
    external = Function("f", (), (), EMPTY, requires_runtime_binding=True, attrs={"a": 1})
    assert print_program(external) == '@pl.function\ndef f():\n    pl.func_attr({"a": 1})\n    ...\n'
    kept = Function("f", (), (), ReturnStmt(), requires_runtime_binding=True)
    assert "@pl.function(requires_runtime_binding=True)" in print_program(kept)
    buffered = Function("f", (), (), EMPTY, ir_stage=FunctionIRStage.Buffer)
    assert "@pl.function(stage=pl.FunctionIRStage.Buffer)" in print_program(buffered)


@pytest.mark.parametrize(
    ("calls", "order"),
    [
        ({"a": [], "b": [], "c": []}, "abc"),
        ({"a": ["c"], "b": [], "c": ["b"]}, "bca"),
        ({"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": []}, "dbca"),
        ({"a": ["x"], "x": []}, "xa"),
        ({"a": ["gone"]}, "a"),
        ({"a": ["b"], "b": ["a"], "c": []}, "abc"),
        ({"a": ["a"], "b": []}, "ab"),
        ({"z": [], "a": ["z"]}, "za"),
    ],
)
def test_callees_come_first(calls: dict[str, list[str]], order: str) -> None:
    assert "".join(callees_first(calls)) == order


def test_callees_print_first() -> None:
    program = Program("P", [kernel("a", "m"), kernel("m", "z"), kernel("z")])
    text = print_program(program)
    assert [line.split("(")[0].split()[-1] for line in text.splitlines() if " def " in line] == [
        "z",
        "m",
        "a",
    ]


def test_an_empty_program() -> None:
    text = print_program(Program("Nothing", []))
    assert text.endswith("@pl.program\nclass Nothing:\n    pass\n")


def test_another_module_and_prefix() -> None:
    program = Program("P", [Function("f", (index("pl"), index("t")), (INDEX,), EMPTY)])
    text = print_program(program, module="pypto.language", prefix="t")
    assert text.splitlines()[1] == "import pypto.language as t"
    assert "def f(self, pl: t.Scalar[t.INDEX], t_1: t.Scalar[t.INDEX])" in text
    assert "import t\n" in print_program(program, module="t", prefix="t")


# Random programs


@settings(max_examples=25)
@given(programs())
def test_text_is_python_and_the_same_each_time(program: Program) -> None:
    text = print_program(program)
    ast.parse(text)
    assert print_program(program) == text
    ast.parse(print_program(program, concise=True))
    ast.parse(print_program(program, explicit_layout=True))


@settings(max_examples=25)
@given(functions())
def test_no_two_variables_share_a_name(function: Function) -> None:
    """Each name that a text binds is bound once, except where both branches of an if yield it."""
    tree = ast.parse(print_program(function))
    bound: list[str] = [a.arg for n in ast.walk(tree) if isinstance(n, ast.arguments) for a in n.args]
    yields: set[str] = set()
    for node in ast.walk(tree):
        targets: list[ast.expr] = []
        value: ast.expr | None = None
        if isinstance(node, ast.For):
            targets = [node.target]
        elif isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            targets, value = [node.target], node.value
        names = [n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)]
        if isinstance(value, ast.Call) and ast.unparse(value.func) == "pl.yield_":
            yields.update(names)
        else:
            bound += names
    assert len(bound) == len(set(bound))
    assert not yields & set(bound)
    assert "FREE_VAR" not in ast.unparse(tree)
