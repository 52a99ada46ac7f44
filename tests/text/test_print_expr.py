"""The text of expressions and calls."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

from pypto_core.diagnostics import UserError
from pypto_core.ir import (
    EMPTY,
    PTR,
    Abs,
    Add,
    And,
    ArgDirection,
    BitAnd,
    BitNot,
    BitOr,
    BitShiftLeft,
    BitXor,
    BreakStmt,
    Call,
    Cast,
    ClusterScopeStmt,
    ConstBool,
    ConstFloat,
    ConstInt,
    DataType,
    Eq,
    EvalStmt,
    Expr,
    FloatDiv,
    FloorDiv,
    FloorMod,
    ForStmt,
    Function,
    GlobalVar,
    IfStmt,
    Lt,
    MakeTuple,
    Max,
    MemorySpace,
    Min,
    Mul,
    Ne,
    Neg,
    Not,
    Op,
    Or,
    PadValue,
    Pow,
    Stmt,
    Sub,
    Submit,
    TileLayout,
    TileType,
    TupleGetItemExpr,
    Var,
    Xor,
    make_binary,
    node_class,
    scalar_type,
)
from pypto_core.text import print_expr, print_program

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
    assert caught.value.diagnostics[0].code == "PT561"


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
        assert caught.value.diagnostics[0].code == "PT560"
        assert "text form" in caught.value.message
    with pytest.raises(UserError):
        print_program(Function("f", (), (), EMPTY, attrs={"odd": value}))


def test_a_statement_nobody_knows_is_refused() -> None:
    @node_class
    class OddStmt(Stmt):
        pass

    with pytest.raises(UserError, match="OddStmt"):
        print_program(OddStmt())
