"""Text read back is the program it was printed from, memory included, and prints the same."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given, settings

import pypto_core.language as pl
from pypto_core.ir import (
    EMPTY,
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
    BitShiftRight,
    BitXor,
    BreakStmt,
    Call,
    Cast,
    ClusterScopeStmt,
    CommDomainScopeStmt,
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
    MemorySpace,
    MemRef,
    Min,
    Mul,
    Neg,
    Not,
    Op,
    Or,
    PadValue,
    ParamDirection,
    Pow,
    Program,
    ReturnStmt,
    Role,
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
    Var,
    WhileStmt,
    Xor,
    YieldStmt,
    assert_structural_equal,
    replace,
    scalar_type,
    seq,
    walk_stmts,
)
from pypto_core.ops import OMIT, Kind, OpDef, Param, builtin_registry, using_registry
from pypto_core.text import print_expr, print_program, print_type
from tests.ir.generators import programs

INDEX, BOOL, FP32 = (scalar_type(d) for d in (DataType.INDEX, DataType.BOOL, DataType.FP32))

# What the random programs call: an operator that takes anything and leaves its type to the annotation, and one whose
# name is a word of Python.
PROBES = builtin_registry().extended(
    [
        OpDef(
            name="system.probe",
            params=(Param("a", Kind.ANY), Param("b", Kind.ANY, OMIT), Param("mode", Kind.INT, OMIT)),
            deduce=lambda args, options: UNKNOWN,
        ),
        OpDef(
            name="system.and",
            params=(Param("a", Kind.ANY),),
            deduce=lambda args, options: scalar_type(DataType.INDEX),
        ),
    ]
)


def read_back(program: Any) -> Any:
    """What the text of a program reads as, which must be equal and print the same."""
    with using_registry(PROBES):
        text = print_program(program)
        found = pl.parse(text)
        assert_structural_equal(found, program, enable_auto_mapping=True, compare_memref=True)
        assert print_program(found) == text
    return found


@settings(max_examples=60)
@given(programs())
def test_random_programs_read_back(program: Program) -> None:
    loops = [s for f in program for s in walk_stmts(f.body) if isinstance(s, ForStmt)]
    assume(not any(s.kind is ForKind.Unroll and s.iter_args for s in loops))
    found = read_back(program)
    for f, g in zip(program, found, strict=True):
        old, new = ([s.leading_comments for s in walk_stmts(x.body)] for x in (f, g))
        assert old == new


# One function for each form that the random programs leave out.

N, I = Var("n", INDEX), Var("i", INDEX)
P, Q = Var("p", BOOL), Var("q", BOOL)


def c(value: int, dtype: DataType = DataType.INDEX) -> ConstInt:
    return ConstInt(value, dtype)


def around(stmt: Stmt, **options: Any) -> Function:
    """A function of an integer, another one and two conditions."""
    return Function("kern", (N, I, P, Q), (), stmt, **options)


EFFECT = EvalStmt(Call(Op("system.and"), (N,), type=INDEX))


def assigned(value: Expr) -> Function:
    return around(AssignStmt(Var("x", value.type), value))


EXPRESSIONS: list[Expr] = [
    Pow(N, c(2), INDEX), Neg(Pow(N, I, INDEX), INDEX), Pow(Neg(N, INDEX), I, INDEX), Pow(c(-2), N, INDEX),
    BitOr(N, BitXor(I, BitAnd(N, c(1), INDEX), INDEX), INDEX), BitShiftLeft(N, c(2), INDEX),
    BitShiftRight(N, Add(I, c(1), INDEX), INDEX), BitNot(N, INDEX), Abs(Sub(N, I, INDEX), INDEX),
    Xor(P, Q, BOOL), And(P, And(Q, P, BOOL), BOOL), Or(And(P, Q, BOOL), Not(P, BOOL), BOOL),
    Not(Eq(N, c(5), BOOL), BOOL), And(N, Eq(N, c(0), BOOL), BOOL),
    FloatDiv(N, I, INDEX), FloorDiv(c(5), c(0), INDEX), Add(c(1), c(2), INDEX), Neg(c(1), INDEX), c(-1),
    Neg(c(-1), INDEX), Sub(N, c(-1), INDEX), Sub(c(3), N, INDEX), Not(ConstBool(True), BOOL),
    And(ConstBool(True), ConstBool(False), BOOL), Lt(c(1), c(2), BOOL), Min(c(1), c(2), INDEX),
    Cast(c(2), scalar_type(DataType.INT32)), Cast(c(2, DataType.INT32), INDEX), Cast(N, scalar_type(DataType.FP32)),
    Mul(N, Cast(c(2, DataType.INT32), INDEX), INDEX), Add(N, c(2, DataType.INT64), INDEX),
    c(300, DataType.INT8), c(2**70, DataType.INT64), c(1, DataType.INT64), c(1, DataType.UINT8),
    ConstFloat(0.1), ConstFloat(-0.0), ConstFloat(1e16), ConstFloat(1e-7), ConstFloat(5e-324), ConstFloat(1 / 3),
    ConstFloat(0.5, DataType.BF16), ConstFloat(float("inf")), ConstFloat(float("-inf"), DataType.FP16),
    ConstFloat(float("nan")), Neg(ConstFloat(1.0), FP32), Add(ConstFloat(1.0), ConstFloat(2.0), FP32),
    ConstBool(False), MakeTuple(()), MakeTuple((N,)), MakeTuple((N, P)),
]  # fmt: skip


@pytest.mark.parametrize("value", EXPRESSIONS, ids=print_expr)
def test_expressions_read_back(value: Expr) -> None:
    read_back(assigned(value))


def test_literals_of_another_type_than_their_variable_read_back() -> None:
    for kind, value in (
        (scalar_type(DataType.INT32), c(3)),
        (scalar_type(DataType.INT32), c(3, DataType.INT32)),
    ):
        read_back(around(AssignStmt(Var("x", kind), value)))


def tile(ref: MemRef | None, view: TileView | None = None) -> TileType:
    return TileType([16, 16], DataType.FP32, ref, view, MemorySpace.Vec)


def probe(kind: Any, *args: Expr, **attrs: Any) -> Call:
    bare = replace(kind, memref=None) if isinstance(kind, TileType | TensorType) else kind
    return Call(Op("system.probe"), args or (N,), {}, attrs, type=bare)


BASE, OTHER = Var("mem_vec_0", PTR), Var("mem_vec_1", PTR)


def at(offset: int, base: Var = BASE) -> TileType:
    return tile(MemRef(base, c(offset, DataType.INT64), 1024))


def allocated(*stmts: Stmt) -> Stmt:
    alloc = Call(Op("tile.alloc"), (), {"memory_space": MemorySpace.Vec, "size": 4096}, type=PTR)
    return seq([AssignStmt(BASE, alloc), *stmts])


def loop_of_tiles(count: int, kind: ForKind = ForKind.Sequential) -> Stmt:
    """Carried tiles that lie elsewhere than what they start from, are given, and end in."""
    first = Var("a", at(0))
    args = [IterArg(f"c{k}", at(1024 * (k + 1)), first) for k in range(count)]
    step = [Var(f"s{k}", at(64 * k, OTHER)) for k in range(count)]
    ends = [Var(f"r{k}", at(128 * k)) for k in range(count)]
    body = [AssignStmt(s, probe(s.type, a)) for s, a in zip(step, args, strict=True)]
    attrs = {"pipeline_stages": 2} if kind is ForKind.Pipeline else {}
    loop = ForStmt(Var("k", INDEX), c(0), N, c(1), args, seq([*body, YieldStmt(step)]), ends, kind, attrs)
    use = [EvalStmt(probe(UNKNOWN, e)) for e in ends]
    return allocated(AssignStmt(first, probe(first.type)), loop, *use)


@pytest.mark.parametrize("kind", [ForKind.Sequential, ForKind.Parallel, ForKind.Pipeline])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_places_of_carried_tiles_read_back(count: int, kind: ForKind) -> None:
    read_back(around(loop_of_tiles(count, kind)))


@pytest.mark.parametrize("count", [1, 2])
def test_places_of_phis_read_back(count: int) -> None:
    def branch(offset: int) -> Stmt:
        made = [Var(f"t{offset}_{k}", at(offset + k)) for k in range(count)]
        return seq([*[AssignStmt(t, probe(t.type)) for t in made], YieldStmt(made)])

    ends = [Var(f"r{k}", at(512 + k, OTHER)) for k in range(count)]
    read_back(around(allocated(IfStmt(P, branch(0), branch(64), ends))))


@pytest.mark.parametrize("count", [1, 2])
def test_places_in_while_loops_read_back(count: int) -> None:
    first = Var("a", at(0))
    index = IterArg("j", INDEX, c(0))
    args = [IterArg(f"c{k}", at(1024 * (k + 1)), first) for k in range(count)]
    ends = [Var("e", INDEX), *[Var(f"r{k}", at(128 * k, OTHER)) for k in range(count)]]
    ending = YieldStmt((Add(index, c(1), INDEX), *args))
    loop = WhileStmt(Lt(index, N, BOOL), (index, *args), ending, ends)
    read_back(around(allocated(AssignStmt(first, probe(first.type)), loop)))


def test_valid_extents_of_several_results_read_back() -> None:
    def narrowed(rows: Expr) -> TileType:
        return tile(None, TileView(valid_shape=[rows, 16]))

    def branch(first: TileType, second: TileType) -> Stmt:
        a, b = Var("a", first), Var("b", second)
        return seq([AssignStmt(a, probe(first)), AssignStmt(b, probe(second)), YieldStmt((a, b))])

    ends = Var("r", narrowed(N)), Var("s", tile(None))
    both = [branch(narrowed(N), narrowed(I)), branch(narrowed(N), tile(None))]
    text = print_program(read_back(around(IfStmt(P, *both, ends))))
    # Only the second result has another type than what a branch yields.
    assert [line.split(":")[0].strip() for line in text.splitlines() if line.endswith("pl.Mem.Vec]")] == [
        "s",
        "s",
    ]


def test_items_of_tuples_read_back() -> None:
    pair = Var("pair", TupleType((INDEX, BOOL)))
    items = [AssignStmt(Var("x", t), TupleGetItemExpr(pair, i)) for i, t in enumerate(pair.type.types)]
    read_back(around(seq([AssignStmt(pair, MakeTuple((N, P))), *items])))


@pytest.mark.parametrize("start", [c(0), c(0, DataType.INT64), c(1), N])
@pytest.mark.parametrize("step", [c(1), c(2), c(-1), c(1, DataType.INT64)])
@pytest.mark.parametrize("kind", [INDEX, scalar_type(DataType.INT64)])
def test_bounds_of_loops_read_back(start: Expr, step: Expr, kind: Any) -> None:
    read_back(around(ForStmt(Var("k", kind), start, c(8), step, (), EMPTY, ())))


REFS = [
    MemRef(OTHER, c(0, DataType.INT64), 64), MemRef(OTHER, c(64), 64), MemRef(OTHER, Mul(N, c(64), INDEX), 64),
    MemRef(OTHER, Mul(FloorMod(N, c(2), INDEX), c(64), INDEX), 64, False, 2, FloorMod(N, c(2), INDEX)),
    MemRef(OTHER, c(0, DataType.INT64), 0, True), MemRef(OTHER, c(0, DataType.INT64), 0, True, 3),
    MemRef(OTHER, c(0, DataType.INT64), 0, True, 3, c(2)), MemRef(OTHER, c(0, DataType.INT64), 0, True, 2, N),
    MemRef(OTHER, c(64, DataType.INT64), 64, True), MemRef(OTHER, c(0, DataType.INT64), 0),
]  # fmt: skip


@pytest.mark.parametrize("ref", REFS, ids=lambda r: print_type(tile(r)))
def test_memrefs_read_back(ref: MemRef) -> None:
    t = Var("t", tile(ref))
    found = read_back(around(AssignStmt(t, probe(t.type))))
    memref = found.body.var.type.memref
    assert (memref.is_pinned, memref.slot_count, memref.size) == (ref.is_pinned, ref.slot_count, ref.size)


def test_places_of_parameters_read_back() -> None:
    a = Var("a", TensorType([16], DataType.FP32, MemRef(Var("ddr", PTR), c(0, DataType.INT64), 64)))
    t = Var("t", at(0))
    read_back(Function("kern", (a, N), (a.type,), allocated(AssignStmt(t, probe(t.type)), ReturnStmt((a,)))))


@pytest.mark.parametrize(
    "view",
    [
        TileView(), TileView(valid_shape=[N, 16]), TileView(blayout=TileLayout.col_major), TileView(fractal=1024),
        TileView(stride=[64, 1], start_offset=c(4)), TileView(pad=PadValue.min, compact=CompactMode.normal),
        TileView(valid_shape=[Min(N, c(16), INDEX), 16], slayout=TileLayout.row_major),
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "space", [None, MemorySpace.Vec, MemorySpace.Mat, MemorySpace.Acc, MemorySpace.Right]
)
def test_views_read_back(view: TileView, space: MemorySpace | None) -> None:
    t = Var("t", TileType([16, 16], DataType.FP32, None, view, space))
    read_back(around(AssignStmt(t, probe(t.type))))


@pytest.mark.parametrize(
    "view",
    [
        TensorView(layout=TensorLayout.NZ), TensorView([64, 1]), TensorView(valid_shape=[N, 16], pad=PadValue.zero),
        TensorView([Mul(N, c(2), INDEX), 1], TensorLayout.DN),
    ],
)  # fmt: skip
def test_tensor_views_read_back(view: TensorView) -> None:
    a = Var("a", TensorType([32, 16], DataType.FP32, None, view))
    read_back(Function("kern", (N, a), (), EMPTY))


@pytest.mark.parametrize(
    "kind",
    [
        ArrayType(DataType.INT32, 4), TupleType((INDEX, BOOL)), TupleType((INDEX,)), TupleType(()), PTR, UNKNOWN,
        TensorType([], DataType.FP32), scalar_type(DataType.TASK_ID),
    ],
    ids=print_type,
)  # fmt: skip
def test_types_of_locals_read_back(kind: Any) -> None:
    read_back(around(AssignStmt(Var("x", kind), probe(kind))))


@pytest.mark.parametrize(
    "scope",
    [
        InCoreScopeStmt(EFFECT),
        InCoreScopeStmt(EFFECT, split=SplitMode.UP_DOWN, name_hint="s", attrs={"slot_num": 2}),
        HierarchyScopeStmt(EFFECT, level=Level.HOST),
        HierarchyScopeStmt(EFFECT, level=Level.HOST, role=Role.SubWorker, name_hint="h"),
        ClusterScopeStmt(EFFECT),
        ClusterScopeStmt(EFFECT, name_hint="c", attrs={"k": 1}),
        InCoreScopeStmt(EFFECT, split=SplitMode.UP_DOWN, attrs={"slot_num": 2, "auto_chunk": True}),
        SpmdScopeStmt(EFFECT, core_num=c(8)),
        SpmdScopeStmt(EFFECT, core_num=c(8), attrs={"split": SplitMode.LEFT_RIGHT, "slot_num": 4}),
        SpmdScopeStmt(EFFECT, core_num=N, sync_start=True, loop_var=Var("b", INDEX)),
        SplitAivScopeStmt(EFFECT, split=SplitMode.UP_DOWN, loop_var=Var("lane", INDEX)),
        RuntimeScopeStmt(EFFECT),
        RuntimeScopeStmt(EFFECT, manual=True),
        CommDomainScopeStmt(EFFECT, devices=(N, I), slots=(I,)),
        InlineStmt('x = "1"\n', "cpp"),
    ],
)
def test_scopes_read_back(scope: Stmt) -> None:
    found = read_back(around(scope, func_type=FunctionType.Orchestration))
    assert getattr(found.body, "name_hint", "") == getattr(scope, "name_hint", "")


@pytest.mark.parametrize(
    "stmt",
    [
        WhileStmt(Lt(N, c(4), BOOL), (), BreakStmt(), ()),
        ForStmt(
            Var("k", INDEX), c(0), c(4), c(1), (), seq([IfStmt(P, ContinueStmt(), BreakStmt()), EFFECT]), ()
        ),
        *(
            ForStmt(Var("k", INDEX), c(0), c(4), c(1), (), EFFECT, (), kind, {"chunk": count})
            for kind in (ForKind.Parallel, ForKind.Sequential)
            for count in (2, 0, True, "all")
        ),
        IfStmt(P, EMPTY, EMPTY),
        IfStmt(P, EMPTY),
        IfStmt(P, ReturnStmt(), IfStmt(Q, ReturnStmt(), EFFECT)),
        EvalStmt(
            probe(UNKNOWN, N, deps=(N, (I,)), text="a\"b'", number=-1.5, dtype=DataType.BF16, none=None)
        ),
        EvalStmt(
            probe(UNKNOWN, N, one=c(1), half=ConstFloat(0.5), yes=ConstBool(True), sum=Add(N, c(1), INDEX))
        ),
        EvalStmt(probe(UNKNOWN, N, arg_directions=(ArgDirection.Input, ArgDirection.OutputExisting))),
    ],
)
def test_statements_read_back(stmt: Stmt) -> None:
    read_back(around(stmt))


@pytest.mark.parametrize(
    "options",
    [
        {"func_type": kind} for kind in FunctionType
    ]
    + [
        {"attrs": {"auto_scope": False}},
        {"attrs": {"external_source": "k.cpp"}},
        {"attrs": {"split": SplitMode.LEFT_RIGHT, "note": "x", "count": 3, "flag": True}},
        {"level": Level.HOST, "role": Role.Orchestrator},
        {"requires_runtime_binding": True},
        {"leading_comments": ("above", "and more")},
    ],
    ids=str,
)  # fmt: skip
def test_functions_read_back(options: dict[str, Any]) -> None:
    function = around(EMPTY, **options)
    found = read_back(Program("Prog", [function]))["kern"]
    assert found.leading_comments == function.leading_comments
    assert read_back(function).attrs == function.attrs


def test_programs_read_back() -> None:
    m, k = Var("M", INDEX), Var("K", INDEX)
    kind = TensorType([m, Mul(k, c(2), INDEX)], DataType.FP32)
    a, out = Var("a", kind), Var("out", kind)
    directions = (ParamDirection.In, ParamDirection.InOut)
    kern = Function("kern", (a, out), (kind,), ReturnStmt((out,)), directions, FunctionType.InCore)
    x, y, r = Var("x", kind), Var("y", kind), Var("r", kind)
    run = AssignStmt(r, Call(GlobalVar("kern"), (x, y), type=kind))
    # Called before and after it in the order of names.
    main = Function(
        "main", (x, y), (kind,), seq([run, ReturnStmt((r,))]), func_type=FunctionType.Orchestration
    )
    first = Function("first", (), (), EvalStmt(Call(GlobalVar("zeta"), (), type=INDEX)))
    zeta = Function("zeta", (), (INDEX,), ReturnStmt((c(1),)))
    found = read_back(Program("Prog", [main, kern, first, zeta], leading_comments=("all", "of it")))
    assert found.name == "Prog"
    assert found.leading_comments == ("all", "of it")
    assert found["kern"].params[0].type.shape[0] is found["main"].params[0].type.shape[0]


def test_tasks_read_back() -> None:
    kern = Function("kern", (N,), (INDEX,), ReturnStmt((N,)), func_type=FunctionType.InCore)
    kind = TupleType((INDEX, scalar_type(DataType.TASK_ID)))
    first, task = Var("first", kind), Var("task", kind.types[1])
    second = Var("second", kind)
    body = seq(
        [
            AssignStmt(first, Submit(GlobalVar("kern"), (c(1),), type=kind)),
            AssignStmt(task, TupleGetItemExpr(first, 1)),
            AssignStmt(
                second, Submit(GlobalVar("kern"), (c(2),), (task,), allow_early_resolve=True, type=kind)
            ),
        ]
    )
    main = Function("main", (), (), body, func_type=FunctionType.Orchestration)
    read_back(Program("Prog", [kern, main]))


def test_real_operators_read_back() -> None:
    source = """
import pypto_core.language as pl

buf = pl.MemRef(slots=2)

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def kern(a: pl.Tensor[[256, 64], pl.FP32], out: pl.Out[pl.Tensor[[256, 64], pl.FP32]], n: pl.Scalar[pl.INDEX]):
        for i, (acc,) in pl.pipeline(0, 4, 1, stage=2, init_values=(out,)):
            t: pl.Tile[[64, 64], pl.FP32, buf[i % 2], pl.Mem.Vec] = pl.load(a, [i * 64, 0], [64, 64])
            u = pl.load(a, [i * 64, 0], [64, 64], valid_shape=[n, 64])
            e = pl.adds(pl.exp(t), 1)
            h = pl.cast(e, pl.BF16, mode="rint")
            s = pl.slice(h, [32, 64], [0, 0])
            z = pl.tile.and_(pl.cast(u, pl.INT32, mode="trunc"), pl.cast(u, pl.INT32, mode="trunc"))
            nxt = pl.store(e, [i * 64, 0], acc)  # behind
            y = pl.yield_(nxt)
        return y
"""
    program = pl.parse(source)
    found = read_back(program)
    stores = [s for s in walk_stmts(found["kern"].body) if s.leading_comments]
    assert [s.leading_comments for s in stores] == [("behind",)]
    assert 'pl.MemRef("buf", slots=2)[i % 2]' in print_program(found)
