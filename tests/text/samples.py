"""Programs that several tests of the stored form share."""

from __future__ import annotations

from pypto_core.diagnostics import Span
from pypto_core.ir import (
    PTR,
    VOID,
    ArrayType,
    AssignStmt,
    Call,
    ClusterScopeStmt,
    ConstBool,
    ConstFloat,
    ConstInt,
    DataType,
    EvalStmt,
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
    ReturnStmt,
    RuntimeScopeStmt,
    SeqStmts,
    SplitAivScopeStmt,
    SplitMode,
    SpmdScopeStmt,
    Stmt,
    Submit,
    TileType,
    TileView,
    TupleGetItemExpr,
    TupleType,
    Var,
    WhileStmt,
    YieldStmt,
    scalar_type,
    seq,
)

INDEX = scalar_type(DataType.INDEX)
BOOL = scalar_type(DataType.BOOL)
ONE = ConstInt(1)


def index(name: str) -> Var:
    """An INDEX variable."""
    return Var(name, INDEX)


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
