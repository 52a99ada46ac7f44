"""The binary form: everything comes back, and nothing but one error comes out of data that is not what was written."""

from __future__ import annotations

import enum
import struct
from typing import Any

import pytest
from hypothesis import given, settings

from pypto_core.diagnostics import UNKNOWN_SPAN, SourceText, Span, UserError
from pypto_core.ir import (
    MEMREF,
    PTR,
    UNKNOWN,
    VOID,
    Add,
    ArgDirection,
    AssignStmt,
    AtomicType,
    Call,
    CastMode,
    ConstFloat,
    ConstInt,
    DataType,
    EvalStmt,
    Expr,
    ForStmt,
    Function,
    FunctionIRStage,
    InCoreScopeStmt,
    MemorySpace,
    Neg,
    Op,
    Program,
    ReturnStmt,
    Stmt,
    TensorType,
    TupleType,
    Type,
    Var,
    WhileStmt,
    assert_structural_equal,
    defined_vars,
    node_class,
    scalar_type,
    seq,
    use,
    used_vars,
    walk_stmts,
)
from pypto_core.text import Codec, dumps, loads, print_program
from tests.ir.generators import programs
from tests.text.samples import every_statement

INDEX = scalar_type(DataType.INDEX)
BOOL = scalar_type(DataType.BOOL)
ONE = ConstInt(1)
HEADER = struct.Struct("<8sHIQ")


def index(name: str) -> Var:
    return Var(name, INDEX)


def same(node: Any) -> Any:
    """What is read back, which must equal what was stored, free variables aside, and print alike."""
    found = loads(dumps(node))
    assert_structural_equal(found, node, enable_auto_mapping=True, compare_memref=True)
    return found


# What comes back


@settings(max_examples=30)
@given(programs())
def test_programs_come_back_whole(program: Program) -> None:
    found = same(program)
    assert print_program(found) == print_program(program)
    assert dumps(found) == dumps(program)
    assert found.name == program.name
    pairs = zip(program, found, strict=True)
    for old, new in (
        (a, b) for f, g in pairs for a, b in zip(walk_stmts(f.body), walk_stmts(g.body), strict=True)
    ):
        assert new.leading_comments == old.leading_comments
        assert new.span == old.span


def test_what_is_shared_stays_shared_and_what_is_not_stays_apart() -> None:
    x, twin = index("x"), index("x")
    kind = TensorType([x, 4], DataType.FP32)
    a, b = Var("a", kind), Var("b", TensorType([x, 4], DataType.FP32))
    total = Add(x, twin, INDEX)
    body = seq([AssignStmt(a, total), AssignStmt(b, total), ReturnStmt((a, x))])
    first, second, last = same(body).stmts
    assert first.value is second.value
    assert first.value.left is not first.value.right
    assert first.value.left is first.var.type.shape[0] is second.var.type.shape[0] is last.values[1]
    assert first.var is last.values[0]
    assert first.var.type is not second.var.type


def test_the_singletons_stay_the_singletons() -> None:
    for kind in (PTR, MEMREF, UNKNOWN, VOID, scalar_type(DataType.FP16)):
        assert loads(dumps(kind)) is kind
    assert loads(dumps(TupleType((PTR, INDEX)))).types == (PTR, INDEX)


def test_numbers_of_any_size() -> None:
    for value in (0, -1, 2**63 - 1, -(2**63), 2**64 - 1, 2**64, -(2**63) - 1, 3**200, -(3**200)):
        assert loads(dumps(ConstInt(value))).value == value
        assert loads(dumps(Call(Op("x"), (), {"k": value}, type=INDEX))).kwargs["k"] == value


@pytest.mark.parametrize("value", [0.1, -0.0, 1e300, 5e-324, float("inf"), float("nan")])
def test_floats_keep_every_bit(value: float) -> None:
    found = loads(dumps(ConstFloat(value, DataType.FP32))).value
    assert struct.pack("<d", found) == struct.pack("<d", value)


VALUES: list[Any] = [
    None, True, False, 0, 1, -5, 1.0, "", "text", "ünï", (), (1, True, 1.0, "1"), ((1, (2,)), ()), AtomicType.Add,
    CastMode.rint, DataType.BF16, MemorySpace.Acc, (ArgDirection.Input, ArgDirection.NoDep),
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_of_options_keep_their_type(value: Any) -> None:
    call = Call(Op("x"), (), {"k": value}, {"n": value}, type=INDEX)
    found = loads(dumps(call))
    for got in (found.kwargs["k"], found.attrs["n"]):
        assert got == value
        assert type(got) is type(value)
        if isinstance(value, tuple):
            assert list(map(type, got)) == list(map(type, value))
    same(call)


def test_options_keep_their_order_and_may_hold_nodes() -> None:
    x = index("x")
    call = Call(Op("x"), (x,), {"z": 1, "a": 2}, {"deps": (x, (Neg(x, INDEX),)), "kind": INDEX}, type=INDEX)
    found = same(call)
    assert list(found.kwargs) == ["z", "a"]
    assert found.attrs["deps"][0] is found.args[0]
    assert found.attrs["deps"][1][0].operand is found.args[0]
    assert found.attrs["kind"] is INDEX


def test_every_statement_comes_back() -> None:
    function = every_statement()
    found = same(function)
    assert found.ir_stage is FunctionIRStage.Buffer
    assert (found.level, found.role) == (function.level, function.role)
    assert found.requires_runtime_binding is True
    assert found.leading_comments == ("above",)
    scope = next(s for s in walk_stmts(found.body) if isinstance(s, InCoreScopeStmt))
    assert scope.name_hint == "s"


def test_loop_state_comes_before_what_uses_it() -> None:
    """The condition of a while is over its carried variables: one object each, defined once."""
    found = same(every_statement())
    loop = next(s for s in walk_stmts(found.body) if isinstance(s, WhileStmt))
    assert loop.condition.left is loop.iter_args[0]  # type: ignore[attr-defined]
    names = [v.name_hint for v in defined_vars(found.body)]
    assert names.count("c") == 1
    assert set(used_vars(loop)) >= {loop.iter_args[0]}


def test_variables_are_new_ones() -> None:
    x = index("x")
    assert loads(dumps(x)).unique_id > x.unique_id


# Spans and sources


def test_spans_and_the_text_they_point_into() -> None:
    source = SourceText.of("x = 1\ny = 2\n", "k.py")
    a, b = Span("k.py", 1, 1, 1, 6, source), Span("k.py", 2, 1, 2, 6, source)
    body = seq([EvalStmt(ONE, span=a), EvalStmt(ONE, span=b), ReturnStmt()])
    first, second, last = loads(dumps(body)).stmts
    assert (first.span, second.span) == (a, b)
    assert first.span.line_text() == "x = 1"
    assert first.span.source is second.span.source
    assert last.span is UNKNOWN_SPAN


def test_spans_and_sources_can_be_left_out() -> None:
    source = SourceText.of("secret\n" * 50, "k.py")
    stmt = EvalStmt(ONE, span=Span("k.py", 1, 1, 1, 6, source))
    assert b"secret" in dumps(stmt)
    without = dumps(stmt, sources=False)
    assert b"secret" not in without
    assert loads(without).span == stmt.span
    assert loads(without).span.source is None
    bare = dumps(stmt, spans=False)
    assert b"k.py" not in bare
    assert loads(bare).span is UNKNOWN_SPAN


def test_the_text_is_stored_once_per_file() -> None:
    source = SourceText.of("a rather long line of text\n", "k.py")
    stmts = [EvalStmt(ONE, span=Span("k.py", 1, i, 1, i + 1, source)) for i in range(1, 30)]
    assert dumps(seq(stmts)).count(b"a rather long line") == 1


# Depth


def test_depth_costs_no_recursion() -> None:
    node: Expr = index("x")
    for _ in range(30_000):
        node = Neg(node, INDEX)
    found = loads(dumps(node))
    depth = 0
    while isinstance(found, Neg):
        found, depth = found.operand, depth + 1
    assert depth == 30_000
    assert isinstance(found, Var)


def test_deep_nesting_is_stored_the_same_way_as_shallow() -> None:
    """Past the depth of recursion rows are ordered by a work list; both orders must read back."""
    stmt: Stmt = ReturnStmt((index("x"), ONE))
    for i in range(2_000):
        stmt = ForStmt(
            index(f"i{i}"),
            ConstInt(0),
            ONE,
            ONE,
            (),
            seq([EvalStmt(ONE), stmt]),
            (),
            attrs={"deps": (ONE, (ONE,))},
        )
    found = loads(dumps(stmt))
    for _ in range(2_000):
        assert isinstance(found, ForStmt)
        assert found.attrs["deps"][0] is found.attrs["deps"][1][0]
        found = found.body.stmts[1]  # type: ignore[attr-defined]
    assert isinstance(found, ReturnStmt)


# Classes of plugins


class Grid(enum.Enum):
    ROW = 0
    COL = 1


@node_class
class BlockType(Type):
    """A type of a plugin, with every kind of field."""

    shape: tuple[Expr, ...] = use("nodes")
    dtype: DataType = use("plain")
    valid: tuple[int, ...] = use("plain", default=())
    grid: Grid | None = use("plain", default=None)
    scale: float = use("plain", default=1.0)
    inner: Type | None = use("maybe", default=None)
    note: Any = use("plain", default=None)


@node_class
class HandleStmt(Stmt):
    """A statement of a plugin."""

    target: Var = use()
    label: str = use("plain", default="")


CODEC = Codec.kernel().extended([BlockType, HandleStmt, Grid])


def test_classes_of_plugins_need_only_be_named() -> None:
    kind = BlockType((index("n"), ConstInt(4)), DataType.FP16, (-1, 4), Grid.COL, 0.5, INDEX, ("x", 1))
    stmt = HandleStmt(Var("h", kind), "here", leading_comments=("c",))
    data = CODEC.dumps(EvalStmt(Call(Op("x"), (stmt.target,), {"grid": Grid.ROW}, type=kind)))
    assert CODEC.loads(data).expr.kwargs["grid"] is Grid.ROW
    found = loads(dumps(stmt, codec=CODEC), codec=CODEC)
    assert_structural_equal(found, stmt, enable_auto_mapping=True)
    assert found.leading_comments == ("c",)
    assert (found.target.type.valid, found.target.type.grid) == ((-1, 4), Grid.COL)
    bare = BlockType((), DataType.FP16)
    assert CODEC.loads(CODEC.dumps(bare)).grid is None


def test_without_them_both_directions_say_what_is_missing() -> None:
    kind = BlockType((), DataType.FP16)
    with pytest.raises(UserError, match="'BlockType' is not known") as caught:
        dumps(kind)
    assert caught.value.diagnostics[0].code == "PT557"
    with pytest.raises(UserError, match="'BlockType'") as caught:
        loads(CODEC.dumps(kind))
    assert caught.value.diagnostics[0].code == "PT553"
    with pytest.raises(UserError, match="enum 'Grid'"):
        dumps(Call(Op("x"), (), {"g": Grid.ROW}, type=INDEX))


def test_two_classes_of_one_name_are_refused() -> None:
    other = node_class(type("Call", (Expr,), {"__annotations__": {}}))
    with pytest.raises(UserError, match="two classes"):
        Codec.kernel().extended([other])
    with pytest.raises(UserError, match="no node"):
        Codec.kernel().extended([int])
    assert Codec.kernel().extended([Call]).table.nodes["Call"] is Call


# What can't be stored


@pytest.mark.parametrize("value", [object(), b"bytes", {"a": 1}, {1}, 1j, (1, {2}), "\ud800"])
def test_a_value_without_a_stored_form_is_refused(value: object) -> None:
    for node in (
        Call(Op("x"), (), {"k": value}, type=INDEX),
        Call(Op("x"), (), {}, {"n": value}, type=INDEX),
        Function("f", (), (), ReturnStmt(), attrs={"n": value}),
    ):
        with pytest.raises(UserError) as caught:
            dumps(node)
        assert caught.value.diagnostics[0].code == "PT557"
