"""The binary form: everything comes back, and nothing but one error comes out of data that is not what was written."""

from __future__ import annotations

import enum
import struct
import time
from collections.abc import Callable
from typing import Any
from zlib import crc32

import msgpack
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pypto_core.diagnostics import UNKNOWN_SPAN, SourceText, Span, UserError
from pypto_core.ir import (
    MEMREF,
    PTR,
    UNKNOWN,
    VOID,
    Add,
    ArgDirection,
    ArrayType,
    AssignStmt,
    AtomicType,
    Call,
    CastMode,
    ClusterScopeStmt,
    ConstBool,
    ConstFloat,
    ConstInt,
    DataType,
    EvalStmt,
    Expr,
    ForKind,
    ForStmt,
    Function,
    FunctionIRStage,
    FunctionType,
    GlobalVar,
    HierarchyScopeStmt,
    InCoreScopeStmt,
    InlineStmt,
    IterArg,
    Level,
    Lt,
    MakeTuple,
    MemorySpace,
    MemRef,
    Neg,
    Op,
    ParamDirection,
    Program,
    ReturnStmt,
    RuntimeScopeStmt,
    SeqStmts,
    SplitAivScopeStmt,
    SplitMode,
    SpmdScopeStmt,
    Stmt,
    Submit,
    TensorType,
    TileType,
    TileView,
    TupleGetItemExpr,
    TupleType,
    Type,
    Var,
    WhileStmt,
    YieldStmt,
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


def every_statement() -> Function:
    """One of each statement and of each kind of expression and type that the other tests leave out."""
    n, base = index("n"), Var("mem", PTR)
    p = Var("p", BOOL)
    ref = MemRef(base, ConstInt(0, DataType.INT64), 64, True, 2, Neg(n, INDEX))
    tile = TileType([4, 4], DataType.FP32, ref, TileView(start_offset=n), MemorySpace.Vec)
    t = Var("t", tile)
    arg = IterArg("c", INDEX, n)
    task = Submit(
        GlobalVar("k"), (n,), (t,), {"a": 1}, {"b": (n,)}, n, True, True, p, type=TupleType((INDEX, PTR))
    )
    pair = MakeTuple((n, p))
    scopes: list[Stmt] = [
        InCoreScopeStmt(EvalStmt(n), split=SplitMode.UP_DOWN, name_hint="s", attrs={"k": 1}),
        HierarchyScopeStmt(EvalStmt(n), level=Level.HOST),
        ClusterScopeStmt(EvalStmt(n)),
        SpmdScopeStmt(EvalStmt(n), core_num=n, sync_start=True, loop_var=index("b")),
        SplitAivScopeStmt(EvalStmt(n), split=SplitMode.LEFT_RIGHT, count=3),
        RuntimeScopeStmt(EvalStmt(n), manual=True),
        InlineStmt("text", "cpp"),
    ]
    loop = WhileStmt(Lt(arg, n, BOOL), (arg,), YieldStmt((arg,)), (index("r"),))
    body = seq(
        [
            AssignStmt(t, Call(Op("x"), (n,), type=tile)),
            AssignStmt(index("i"), TupleGetItemExpr(pair, 0)),
            EvalStmt(task),
            EvalStmt(Call(Op("y"), (ConstBool(True), ConstFloat(0.5)), type=VOID)),
            loop,
            ForStmt(
                index("i"),
                ONE,
                n,
                ONE,
                (),
                SeqStmts(()),
                (),
                ForKind.Pipeline,
                {"pipeline_stages": 3, "f": True},
            ),
            *scopes,
            ReturnStmt((n,)),
        ]
    )
    return Function(
        "f",
        (n, p, Var("a", ArrayType(DataType.INT32, 4))),
        (INDEX, tile),
        body,
        (ParamDirection.In, ParamDirection.Out, ParamDirection.InOut),
        FunctionType.AIV,
        attrs={"split": SplitMode.UP_DOWN},
        requires_runtime_binding=True,
        ir_stage=FunctionIRStage.Buffer,
        leading_comments=("above",),
        span=Span("k.py", 1, 2),
    )


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
    assert caught.value.diagnostics[0].code == "PT507"
    with pytest.raises(UserError, match="'BlockType'") as caught:
        loads(CODEC.dumps(kind))
    assert caught.value.diagnostics[0].code == "PT503"
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
        assert caught.value.diagnostics[0].code == "PT507"


# Data that was not written by dumps


def packed(document: Any) -> bytes:
    """A file with a right header around any document."""
    payload: bytes = msgpack.packb(document, use_bin_type=True)
    return HEADER.pack(b"\x89PYPTO\r\n", 1, crc32(payload), len(payload)) + payload


def document_of(node: Any) -> Any:
    return msgpack.unpackb(dumps(node)[HEADER.size :], raw=False)


def code_of(data: bytes) -> str:
    """The code of the error that reading gives; the class must be UserError itself."""
    with pytest.raises(UserError) as caught:
        loads(data)
    assert type(caught.value) is UserError
    assert len(caught.value.message) < 300
    code = caught.value.diagnostics[0].code
    assert code.startswith("PT50")
    return code


SMALL = every_statement()
DATA = dumps(SMALL)


def test_what_is_no_stored_program() -> None:
    for data in (
        b"",
        b"{}",
        b"\x80\x04\x95",
        b"# pypto.program: P\n",
        b"\x89PYPTO\n\n" + DATA[8:],
        bytes(100),
    ):
        assert code_of(data) == "PT500"


def test_another_version() -> None:
    assert code_of(DATA[:8] + b"\x02\x00" + DATA[10:]) == "PT501"


def test_every_truncation_is_noticed() -> None:
    for end in range(1, len(DATA)):
        assert code_of(DATA[:end]) in ("PT500", "PT502")
    assert code_of(DATA + b"\x00") == "PT502"


@given(st.integers(0, len(DATA) - 1), st.integers(1, 255))
def test_every_changed_byte_is_noticed(position: int, change: int) -> None:
    data = bytearray(DATA)
    data[position] ^= change
    code_of(bytes(data))


def test_size_limit() -> None:
    small = Codec(Codec.kernel().table, max_bytes=100)
    with pytest.raises(UserError) as caught:
        small.loads(DATA)
    assert caught.value.diagnostics[0].code == "PT506"


def readable(data: bytes) -> None:
    """Either a node or the one error comes out, and soon."""
    start = time.perf_counter()
    try:
        loads(data)
    except UserError as error:
        assert type(error) is UserError
        assert error.diagnostics[0].code.startswith("PT50")
    assert time.perf_counter() - start < 5


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.tuples(st.integers(HEADER.size, len(DATA) - 1), st.integers(0, 255)), min_size=1, max_size=6)
)
def test_changed_bytes_under_a_right_checksum(changes: list[tuple[int, int]]) -> None:
    data = bytearray(DATA)
    for position, value in changes:
        data[position] = value
    payload = bytes(data[HEADER.size :])
    readable(HEADER.pack(b"\x89PYPTO\r\n", 1, crc32(payload), len(payload)) + payload)


@given(st.binary(max_size=200))
def test_any_bytes_under_a_right_header(payload: bytes) -> None:
    readable(HEADER.pack(b"\x89PYPTO\r\n", 1, crc32(payload), len(payload)) + payload)


JUNK = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-5, 60),
        st.integers(-(2**63), 2**64 - 1),
        st.floats(),
        st.text(max_size=4),
        st.binary(max_size=4),
        st.sampled_from(["n", "e", "t", "MemorySpace", "span", "Var"]),
    ),
    lambda below: st.one_of(
        st.lists(below, max_size=4), st.dictionaries(st.text(max_size=3), below, max_size=2)
    ),
    max_leaves=6,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path]
    if isinstance(value, list):
        for i, item in enumerate(value):
            found += places(item, (*path, i))
    elif isinstance(value, dict):
        for key, item in value.items():
            found += places(item, (*path, key))
    return found


PLACES = places(document_of(SMALL))


@settings(max_examples=500)
@given(st.sampled_from(PLACES), JUNK)
def test_anything_anywhere_in_the_document(place: tuple[Any, ...], junk: Any) -> None:
    document = document_of(SMALL)
    if not place:
        document = junk
    else:
        holder = document
        for key in place[:-1]:
            holder = holder[key]
        holder[place[-1]] = junk
    readable(packed(document))


@settings(max_examples=200)
@given(st.sampled_from([p for p in PLACES if p]), st.randoms(use_true_random=False))
def test_things_missing_doubled_or_moved(place: tuple[Any, ...], random: Any) -> None:
    document = document_of(SMALL)
    holder = document
    for key in place[:-1]:
        holder = holder[key]
    if isinstance(holder, list):
        change: Callable[[], Any] = random.choice(
            [
                lambda: holder.pop(place[-1]),
                lambda: holder.append(holder[place[-1]]),
                lambda: random.shuffle(holder),
                lambda: holder.clear(),
            ]
        )
        change()
    else:
        del holder[place[-1]]
    readable(packed(document))


def rows(*classes: list[Any], order: list[int], root: int = -1) -> bytes:
    """A document of hand-made classes, each ``[name, fields, columns]``."""
    last = len(order) - 1 if root == -1 else root
    return packed({"classes": list(classes), "files": [], "spans": [[]] * 5, "rows": order, "root": last})


INDEX_ROW = ["ScalarType", ["dtype"], [[0x15]]]


def test_a_hand_made_document_reads() -> None:
    found = loads(rows(INDEX_ROW, ["Var", ["name_hint", "type"], [["x"], [0]]], order=[0, 1]))
    assert (found.name_hint, found.type) == ("x", INDEX)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        # A row that refers to itself, to a later one, before the first, to nothing.
        (rows(["Var", ["name_hint", "type"], [["x"], [0]]], order=[0]), "PT505"),
        (rows(["Neg", ["operand", "type"], [[0], [1]]], INDEX_ROW, order=[0, 1]), "PT504"),
        (rows(INDEX_ROW, ["Var", ["name_hint", "type"], [["x"], [-1]]], order=[0, 1]), "PT504"),
        (rows(INDEX_ROW, ["Var", ["name_hint", "type"], [["x"], [7]]], order=[0, 1]), "PT504"),
        (rows(INDEX_ROW, order=[0], root=3), "PT504"),
        (rows(INDEX_ROW, order=[0], root=-2), "PT504"),
        (rows(INDEX_ROW, order=[1]), "PT504"),
        (rows(INDEX_ROW, order=[-1]), "PT504"),
        # True is no row number, and a float is none either.
        (rows(INDEX_ROW, ["Var", ["name_hint", "type"], [["x"], [False]]], order=[0, 1]), "PT505"),
        (rows(INDEX_ROW, ["Var", ["name_hint", "type"], [["x"], [0.0]]], order=[0, 1]), "PT505"),
        # Classes and fields.
        (rows(["Exception", ["args"], [[1]]], order=[0]), "PT503"),
        (rows(["ConstInt", ["value", "evil"], [[1], [1]]], order=[0]), "PT503"),
        (rows(["ConstInt", [], []], order=[0]), "PT503"),
        (rows(["Var", ["name_hint", "type", "unique_id"], [["x"], [0], [1]]], order=[0]), "PT503"),
        # Values.
        (rows(["ConstInt", ["value"], [["1"]]], order=[0]), "PT505"),
        (rows(["ConstInt", ["value"], [[True]]], order=[0]), "PT505"),
        (rows(["ConstInt", ["value"], [[1, 2]]], order=[0]), "PT505"),
        (rows(["ConstInt", ["value", "dtype"], [[1], [0xFF]]], order=[0]), "PT505"),
        (rows(["ConstInt", ["value", "span"], [[1], [1]]], order=[0]), "PT504"),
        (rows(["ConstInt", ["value"], [[msgpack.ExtType(1, b"\x7f" * 1000)]]], order=[0]), "PT506"),
        (rows(["ConstInt", ["value"], [[msgpack.ExtType(2, b"\x7f")]]], order=[0]), "PT505"),
        (rows(["ArrayType", ["dtype", "extent"], [[0x12], [0]]], order=[0]), "PT505"),
        (rows(INDEX_ROW, ["AssignStmt", ["value", "var"], [[0], [0]]], order=[0, 1]), "PT505"),
        (rows(["SeqStmts", ["stmts"], [[0]]], order=[0]), "PT505"),
    ],
)
def test_hostile_documents(data: bytes, code: str) -> None:
    assert code_of(data) == code


@pytest.mark.parametrize("name", ["Node", "Type", "Expr", "Stmt", "ScopeStmt", "BinaryExpr", "UnaryExpr"])
def test_bases_are_no_classes_of_nodes(name: str) -> None:
    assert code_of(rows([name, [], []], order=[0])) == "PT503"


def option(value: Any) -> bytes:
    call = ["Call", ["op", "args", "kwargs", "type"], [[1], [[]], [["k", value]], [0]]]
    return rows(INDEX_ROW, ["Op", ["name"], [["x"]]], call, order=[0, 1, 2])


def test_options_that_are_no_options() -> None:
    assert loads(option(["t", 1, ["e", "AtomicType", 1]])).kwargs["k"] == (1, AtomicType.Add)
    deep: Any = 1
    for _ in range(40):
        deep = ["t", deep]
    assert code_of(option(deep)) == "PT506"
    assert code_of(option(["e", "Severity", 0])) == "PT503"
    assert code_of(option(["e", "AtomicType", True])) == "PT505"
    assert code_of(option(["n", 2])) == "PT504"
    assert code_of(option(["?"])) == "PT505"
    assert code_of(option([])) == "PT505"
    assert code_of(option({"a": 1})) == "PT505"
    twice = ["Call", ["op", "args", "kwargs", "type"], [[1], [[]], [["k", 1, "k", 2]], [0]]]
    assert code_of(rows(INDEX_ROW, ["Op", ["name"], [["x"]]], twice, order=[0, 1, 2])) == "PT505"


def test_deep_msgpack_is_refused() -> None:
    payload = b"\x91" * 100_000 + b"\xc0"
    assert code_of(HEADER.pack(b"\x89PYPTO\r\n", 1, crc32(payload), len(payload)) + payload) == "PT502"


def test_counts_that_promise_more_than_there_is_are_refused() -> None:
    for head in (b"\xdd\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff", b"\xc6\xff\xff\xff\xff"):
        assert code_of(HEADER.pack(b"\x89PYPTO\r\n", 1, crc32(head), len(head)) + head) == "PT502"


def tower(levels: int) -> tuple[list[int], list[int], list[int]]:
    """Two towers in which each level adds the one below to itself: small to store, endless to compare."""
    order, left, right = [0, 1, 1], [1, 2], [1, 2]
    for level in range(levels - 1):
        left += [3 + 2 * level, 4 + 2 * level]
    right = list(left)
    return order + [2] * (2 * levels), left, right


def test_shared_parts_that_are_endless_when_written_out_are_refused_soon() -> None:
    order, left, right = tower(60)
    add = ["Add", ["left", "right", "type"], [left, right, [0] * 120]]
    last = len(order)
    view = ["TileView", ["valid_shape"], [[[last - 1]]]]
    tile = ["TileType", ["shape", "dtype", "tile_view"], [[[last - 2]], [0x34], [last]]]
    start = time.perf_counter()
    data = rows(
        INDEX_ROW, ["Var", ["name_hint", "type"], [["x", "y"], [0, 0]]], add, view, tile, order=[*order, 3, 4]
    )
    assert code_of(data) == "PT506"
    # The same through a tuple of tuples, whose type is made on reading it.
    make = ["MakeTuple", ["elements"], [[[1, 1], *[[2 + i, 2 + i] for i in range(59)]]]]
    item = ["TupleGetItemExpr", ["tuple", "index"], [[61], [0]]]
    var = ["Var", ["name_hint", "type"], [["x"], [0]]]
    data = rows(INDEX_ROW, var, make, item, order=[0, 1, *[2] * 60, 3])
    assert code_of(data) == "PT506"
    assert time.perf_counter() - start < 5


def test_long_expressions_in_types_are_fine() -> None:
    n = index("n")
    size: Expr = n
    for _ in range(300):
        size = Add(size, n, INDEX)
    kind = TileType([size, 4], DataType.FP32, tile_view=TileView(valid_shape=[n, 4]))
    same(kind)
