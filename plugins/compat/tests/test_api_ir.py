"""Every name of ``pypto`` and ``pypto.ir`` that applies here, each with what it gives on a small example.

``NAMES`` is the list of the public API; ``CASES`` has an entry (what it gives, what it should give) for each.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

import pypto
from pypto import DataType, ir
from pypto.language import parse

U = ir.Span.unknown()
I64 = ir.ScalarType(DataType.INT64)
FP32 = DataType.FP32
BOOL = ir.ScalarType(DataType.BOOL)
X, Y = ir.Var("x", I64, U), ir.Var("y", I64, U)
B, D = ir.Var("b", BOOL, U), ir.Var("d", BOOL, U)
F = ir.Var("f", ir.ScalarType(FP32), U)
TENSOR = ir.Var("t", ir.TensorType([64, 64], FP32), U)
TILE = ir.Var("v", ir.TileType([16, 32], FP32, None, None, ir.Vec), U)
ONE = ir.ConstInt(1, DataType.INT64, U)
RETURN = ir.ReturnStmt([X], U)
ASSIGN = ir.AssignStmt(Y, X + 1, U)

TOP = """
DataType Error InternalError LogLevel set_log_level get_log_level log_debug log_info log_warn log_error
log_fatal log_event check internal_check ir language passes backend codegen runtime compile DT_FP32
"""
NODES = """
IRNode Span Expr Var IterArg MemRef Op GlobalVar Call Submit MakeTuple TupleGetItemExpr ConstInt ConstFloat
ConstBool BinaryExpr Add Sub Mul FloorDiv FloorMod FloatDiv Min Max Pow Eq Ne Lt Le Gt Ge And Or Xor BitAnd
BitOr BitXor BitShiftLeft BitShiftRight UnaryExpr Neg Abs Not BitNot Cast Stmt AssignStmt EvalStmt SeqStmts
ForStmt WhileStmt IfStmt YieldStmt ReturnStmt BreakStmt ContinueStmt InlineStmt ScopeStmt InCoreScopeStmt
HierarchyScopeStmt SpmdScopeStmt SplitAivScopeStmt RuntimeScopeStmt ClusterScopeStmt CommDomainScopeStmt
Function Program
"""
TYPES = """
Type ShapedType TensorType TileType ScalarType TupleType ArrayType PtrType UnknownType MemRefType TensorView
TileView DataType
"""
ENUMS = """
MemorySpace Mem TensorLayout TileLayout PadValue CompactMode ForKind FunctionType Level Role ParamDirection
ArgDirection ArgEffect WriteChannel ScopeKind SplitMode CoreType PipeType AtomicType DYNAMIC_DIM Vec InCore
Pipeline Out
"""

NAMES = [*(f"pypto.{n}" for n in TOP.split()), *(f"ir.{n}" for n in " ".join([NODES, TYPES, ENUMS]).split())]
Case = Callable[[], tuple[Any, Any]]
CASES: dict[str, Case] = {}


def node(name: str, make: Callable[[], Any], /, **fields: Any) -> None:
    """A constructor: the node is of its class and has these fields."""

    def case() -> tuple[Any, Any]:
        made = make()
        cls = getattr(ir, name)
        assert isinstance(made, cls) and type(made) == cls and type(made).__name__ == name  # noqa: E721
        got = {key: getattr(made, key) for key in fields}
        return {k: _plain(v) for k, v in got.items()}, {k: _plain(v) for k, v in fields.items()}

    CASES[f"ir.{name}"] = case


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return dict(value) if hasattr(value, "items") else value


def raised(error: type[Exception], call: Callable[[], Any]) -> str:
    """The first line of what a call raises."""
    with pytest.raises(error) as caught:
        call()
    return getattr(caught.value, "message", str(caught.value))


def logged(name: str) -> Case:
    """A log helper: the level and text that reach logging."""

    def case() -> tuple[Any, Any]:
        records: list[logging.LogRecord] = []
        handler = logging.Handler()
        handler.emit = records.append  # type: ignore[method-assign]
        logger = logging.getLogger("pypto")
        logger.addHandler(handler)
        before = logger.level
        try:
            pypto.set_log_level(pypto.LogLevel.DEBUG)
            getattr(pypto, f"log_{name}")("hello")
        finally:
            logger.removeHandler(handler)
            logger.setLevel(before)
        level = {"debug": 10, "info": 20, "warn": 30, "error": 40, "fatal": 50, "event": 60}[name]
        return [(r.levelno, r.getMessage()) for r in records], [(level, "hello")]

    return case


def levels() -> tuple[Any, Any]:
    logger = logging.getLogger("pypto")
    before = logger.level
    try:
        pypto.set_log_level(pypto.LogLevel.ERROR)
        return pypto.get_log_level(), pypto.LogLevel.ERROR
    finally:
        logger.setLevel(before)


CASES |= {f"pypto.log_{n}": logged(n) for n in ("debug", "info", "warn", "error", "fatal", "event")}
CASES |= {
    "pypto.set_log_level": levels,
    "pypto.get_log_level": levels,
    "pypto.LogLevel": lambda: (
        [m.name for m in pypto.LogLevel][:5],
        ["DEBUG", "INFO", "WARN", "ERROR", "FATAL"],
    ),
    "pypto.DataType": lambda: (pypto.DataType.FP16, DataType.FP16),
    "pypto.DT_FP32": lambda: (
        {name: getattr(pypto, f"DT_{name}") for name in DataType.__members__ if name != "FP64"},
        {name: member for name, member in DataType.__members__.items() if name != "FP64"},
    ),
    "pypto.Error": lambda: (
        (pypto.Error.__bases__, raised(pypto.Error, lambda: parse("x = 1\n"))),
        ((Exception,), "<string> holds no program and no function"),
    ),
    "pypto.InternalError": lambda: (issubclass(pypto.InternalError, RuntimeError), True),
    "pypto.check": lambda: (raised(ValueError, lambda: pypto.check(False, "no")), "no"),
    "pypto.internal_check": lambda: (
        raised(pypto.InternalError, lambda: pypto.internal_check(0, "no")),
        "no",
    ),
    "pypto.ir": lambda: (pypto.ir.Var, ir.Var),
    "pypto.language": lambda: (pypto.language.FP32, FP32),
    "pypto.passes": lambda: (pypto.passes.__name__, "pypto.pypto_core.passes"),
    "pypto.backend": lambda: (pypto.backend.BackendType.Ascend950.value, 1),
    "pypto.codegen": lambda: (pypto.codegen.__name__, "pypto.pypto_core.codegen"),
    "pypto.runtime": lambda: (pypto.runtime.RunConfig(platform="a5").backend_type.name, "Ascend950"),
    "pypto.compile": lambda: (pypto.compile, ir.compile),
}

for binary in [
    "Add",
    "Sub",
    "Mul",
    "FloorDiv",
    "FloorMod",
    "FloatDiv",
    "Min",
    "Max",
    "Pow",
    "Eq",
    "Ne",
    "Lt",
    "Le",
    "Gt",
    "Ge",
    "And",
    "Or",
    "Xor",
    "BitAnd",
    "BitOr",
    "BitXor",
    "BitShiftLeft",
    "BitShiftRight",
]:
    node(
        binary,
        lambda cls=binary: getattr(ir, cls)(X, Y, DataType.INT32, ir.Span("f.py", 2, 3)),
        left=X,
        right=Y,
        type=ir.ScalarType(DataType.INT32),
        span=ir.Span("f.py", 2, 3),
    )
for unary in ["Neg", "Abs", "Not", "BitNot", "Cast"]:
    node(
        unary,
        lambda cls=unary: getattr(ir, cls)(X, DataType.INT32, U),
        operand=X,
        type=ir.ScalarType(DataType.INT32),
    )

node("Var", lambda: ir.Var("q", I64, U), name_hint="q", type=I64)
node("IterArg", lambda: ir.IterArg("q", I64, ONE, U), name_hint="q", initValue=ONE)
node("MakeTuple", lambda: ir.MakeTuple([X, Y], U), elements=[X, Y], type=ir.TupleType([I64, I64]))
node("TupleGetItemExpr", lambda: ir.TupleGetItemExpr(ir.MakeTuple([X, F], U), 1, U), index=1, type=F.type)
node("ConstInt", lambda: ir.ConstInt(7, DataType.INT8, U), value=7, dtype=DataType.INT8)
node("ConstFloat", lambda: ir.ConstFloat(2, DataType.FP16, U), value=2.0, dtype=DataType.FP16)
node("ConstBool", lambda: ir.ConstBool(True, U), value=True, type=BOOL)
node(
    "Call",
    lambda: ir.Call(ir.Op("tile.exp"), [TILE], {"k": 1}, {"a": 2}, TILE.type, U),
    args=[TILE], kwargs={"k": 1}, attrs={"a": 2}, type=TILE.type, arg_directions=[],
)  # fmt: skip
node(
    "Submit",
    lambda: ir.Submit(ir.GlobalVar("f"), [X], [Y], I64, U, core_num=4, sync_start=True),
    args=[X], deps=[Y], type=I64, sync_start=True, allow_early_resolve=False, predicate=None,
)  # fmt: skip
node("AssignStmt", lambda: ASSIGN, var=Y, leading_comments=[])
node("EvalStmt", lambda: ir.EvalStmt(X, U), expr=X)
node("SeqStmts", lambda: ir.SeqStmts([ASSIGN, RETURN], U), stmts=[ASSIGN, RETURN])
node("YieldStmt", lambda: ir.YieldStmt([X], U), value=[X])
node("ReturnStmt", lambda: ir.ReturnStmt(U), value=[], span=U)
node("BreakStmt", lambda: ir.BreakStmt(ir.Span("f.py", 1, 1)), span=ir.Span("f.py", 1, 1))
node("ContinueStmt", lambda: ir.ContinueStmt(U))
node("InlineStmt", lambda: ir.InlineStmt("go()", "python", U), body="go()", language="python")
node(
    "ForStmt",
    lambda: ir.ForStmt(X, 0, 8, 2, [], ASSIGN, [], U, ir.ForKind.Pipeline, {"pipeline_stages": 2}),
    loop_var=X, iter_args=[], body=ASSIGN, return_vars=[], kind=ir.ForKind.Pipeline, attrs={"pipeline_stages": 2},
)  # fmt: skip
node(
    "WhileStmt",
    lambda: ir.WhileStmt(B, [], ASSIGN, [], U),
    condition=B,
    body=ASSIGN,
    iter_args=[],
    return_vars=[],
)
node("IfStmt", lambda: ir.IfStmt(B, ASSIGN, None, [], U), condition=B, then_body=ASSIGN, else_body=None)
node(
    "InCoreScopeStmt",
    lambda: ir.InCoreScopeStmt(name_hint="s", body=ASSIGN, span=U),
    scope_kind=ir.ScopeKind.InCore,
)
node(
    "HierarchyScopeStmt",
    lambda: ir.HierarchyScopeStmt(level=ir.Level.HOST, role=None, body=ASSIGN, span=U),
    level=ir.Level.HOST, scope_kind=ir.ScopeKind.Hierarchy,
)  # fmt: skip
node(
    "SpmdScopeStmt",
    lambda: ir.SpmdScopeStmt(core_num=X, body=ASSIGN),
    core_num=X,
    scope_kind=ir.ScopeKind.Spmd,
)
node(
    "SplitAivScopeStmt",
    lambda: ir.SplitAivScopeStmt(split=ir.SplitMode.UP_DOWN, count=2, body=ASSIGN),
    split=ir.SplitMode.UP_DOWN, count=2, scope_kind=ir.ScopeKind.SplitAiv,
)  # fmt: skip
node("RuntimeScopeStmt", lambda: ir.RuntimeScopeStmt(manual=True, body=ASSIGN), manual=True)
node("ClusterScopeStmt", lambda: ir.ClusterScopeStmt(body=ASSIGN, name_hint="c"), name_hint="c")
node("CommDomainScopeStmt", lambda: ir.CommDomainScopeStmt(body=ASSIGN), devices=[], slots=[])
node(
    "Function",
    lambda: ir.Function("f", [(X, ir.ParamDirection.Out), Y], [I64], RETURN, U, type=ir.FunctionType.InCore),
    name="f", params=[X, Y], param_directions=[ir.ParamDirection.Out, ir.ParamDirection.In], return_types=[I64],
    func_type=ir.FunctionType.InCore, level=ir.Level.CHIP_DIE, role=ir.Role.SubWorker, split=None,
    requires_runtime_binding=False,
)  # fmt: skip


def function(name: str = "f", type: Any = ir.FunctionType.Opaque) -> Any:
    x = ir.Var("x", I64, U)
    return ir.Function(name, [x], [I64], ir.ReturnStmt([x + 1], U), U, type=type)


def program_case() -> tuple[Any, Any]:
    f = function()
    made = ir.Program([f], "p", U)
    got = (
        made["f"] is f,
        made.get_function("g"),
        made.get_global_var("f").name,
        made.get_global_var("g"),
        made.name,
    )
    return got, (True, None, "f", None, "p")


def memref_case() -> tuple[Any, Any]:
    base = ir.Var("m", ir.PtrType.get(), U)
    whole, part = ir.MemRef(base, 0, 64), ir.MemRef(base, ir.ConstInt(64, DataType.INT64, U), 32, U)
    ring = ir.MemRef("ring", slots=4)[X]
    got = (
        (
            whole.base_ is base,
            part.byte_offset_.value,
            part.size_,
            part.is_pinned_,
            part.slot_count_,
            part.slot_index_,
        ),
        (whole.may_alias(part), whole.same_allocation(part), ring.base_.name_hint, ring.slot_count_),
        (ring.slot_index_ is X, ring.is_pinned_, isinstance(ir.MemRef(), ir.MemRef)),
    )
    return got, ((True, 64, 32, False, 1, None), (False, True, "ring", 4), (True, True, True))


def abstract(name: str, instance: Any) -> Case:
    """A base class: what it recognises, and that it has no instances of its own."""

    def case() -> tuple[Any, Any]:
        cls = getattr(ir, name)
        with pytest.raises(TypeError, match=f"{name} has no instances of its own"):
            cls()
        return (isinstance(instance, cls), issubclass(type(instance), cls), isinstance(3, cls)), (
            True,
            True,
            False,
        )

    return case


def ir_node_case() -> tuple[Any, Any]:
    text = ASSIGN.as_python(prefix="p")
    got = (ASSIGN.same_as(ASSIGN), ASSIGN.same_as(RETURN), text, str(ASSIGN), hash(X) == hash(Y), len({X, Y}))
    want = "y: p.Scalar[p.INT64] = x + p.const(1, p.INT64)"
    return got, (True, False, want, "y = x + pl.const(1, pl.INT64)", False, 2)


def span_case() -> tuple[Any, Any]:
    span = ir.Span("a.py", 4, 7)
    got = (
        str(span),
        span.to_string(),
        span.is_valid(),
        ir.Span.unknown().is_valid(),
        span.end_line,
        span.filename,
    )
    return got, ("a.py:4:7", "a.py:4:7", True, False, -1, "a.py")


CASES |= {
    "ir.IRNode": ir_node_case,
    "ir.Span": span_case,
    "ir.MemRef": memref_case,
    "ir.Program": program_case,
    "ir.Expr": abstract("Expr", X),
    "ir.Stmt": abstract("Stmt", ASSIGN),
    "ir.BinaryExpr": abstract("BinaryExpr", X + Y),
    "ir.UnaryExpr": abstract("UnaryExpr", -X),
    "ir.ScopeStmt": abstract("ScopeStmt", ir.ClusterScopeStmt(body=ASSIGN)),
    "ir.Op": lambda: (
        (
            ir.Op("tile.cast").has_attr("mode"),
            ir.Op("tile.cast").get_attr_keys(),
            ir.Op("no.such").get_attr_keys(),
        ),
        (True, ["target_type", "mode"], []),
    ),
    "ir.GlobalVar": lambda: ((ir.GlobalVar("f").name, isinstance(ir.GlobalVar("f"), ir.Op)), ("f", True)),
}

TILE_T = ir.TileType([16, 32], FP32, None, ir.TileView(valid_shape=[8, 32]), ir.Vec)


def shares() -> tuple[Any, Any]:
    base = ir.Var("m", ir.PtrType.get(), U)
    here, there = ir.MemRef(base, 0, 64), ir.MemRef(base, 64, 64)
    a, b, c = (ir.TileType([4, 4], FP32, ref, None, ir.Vec) for ref in (here, here, there))
    return (a.shares_memref_with(b), a.shares_memref_with(c), TILE_T.shares_memref_with(a)), (
        True,
        False,
        False,
    )


def dtype_case() -> tuple[Any, Any]:
    rows = {
        name: (
            d.code(),
            d.get_bit(),
            d.get_byte(),
            d.is_float(),
            d.is_int(),
            d.is_signed_int(),
            d.is_unsigned_int(),
        )
        for name, d in DataType.__members__.items()
        if name in ("INT4", "INDEX", "UINT8", "BF16")
    }
    texts = (str(FP32), str(DataType.BF16), DataType.INDEX.to_string(), DataType.UINT8.to_c_type_string())
    defaults = (DataType.DEFAULT_CONST_INT, DataType.DEFAULT_CONST_FLOAT)
    return (rows, texts, defaults), (
        {
            "INT4": (0x10, 4, 1, False, True, True, False),
            "INDEX": (0x15, 64, 8, False, True, True, False),
            "UINT8": (0x21, 8, 1, False, True, False, True),
            "BF16": (0x40, 16, 2, True, False, False, False),
        },
        ("fp32", "bfloat16", "index", "uint8_t"),
        (DataType.INT64, FP32),
    )


def effective() -> tuple[Any, Any]:
    view = TILE_T.get_effective_tile_view()
    full = ir.TileType([16, 32], FP32, None, None, ir.Acc).get_effective_tile_view()
    return (
        ([d.value for d in view.valid_shape], view.blayout, view.slayout),
        ([d.value for d in full.valid_shape], full.blayout, full.slayout, full.fractal),
    ), (
        ([8, 32], ir.TileLayout.row_major, ir.TileLayout.none_box),  # what a view that says nothing else says
        ([16, 32], ir.TileLayout.col_major, ir.TileLayout.row_major, 1024),  # what the space says
    )


CASES |= {
    "ir.Type": lambda: (
        (str(TILE_T), ir.ScalarType(DataType.INT64) == I64, hash(I64) == hash(ir.ScalarType(DataType.INT64))),
        ("pl.Tile[[16, 32], pl.FP32, pl.Mem.Vec, pl.TileView(valid_shape=[8, 32])]", True, True),
    ),
    "ir.ShapedType": lambda: ((isinstance(TILE_T, ir.ShapedType), isinstance(I64, ir.ShapedType)), (True, False)),
    "ir.TensorType": lambda: (
        ([d.value for d in TENSOR.type.shape], TENSOR.type.dtype, TENSOR.type.memref, TENSOR.type.tensor_view),
        ([64, 64], FP32, None, None),
    ),
    "ir.TileType": effective,
    "ir.ScalarType": lambda: (I64.dtype, DataType.INT64),
    "ir.TupleType": lambda: (list(ir.TupleType([I64, BOOL]).types), [I64, BOOL]),
    "ir.ArrayType": lambda: (
        (ir.ArrayType(DataType.INT32, 5).extent, [d.value for d in ir.ArrayType(DataType.INT32, 5).shape]),
        (5, [5]),
    ),
    "ir.PtrType": lambda: (ir.PtrType.get() is ir.PtrType.get(), True),
    "ir.UnknownType": lambda: (str(ir.UnknownType.get()), "pl.UnknownType"),
    "ir.MemRefType": shares,
    "ir.TensorView": lambda: (
        (ir.TensorView([64, 1], ir.NZ).layout, ir.TensorView([64, 1], ir.ND) == ir.TensorView([64, 1])),
        (ir.TensorLayout.NZ, True),
    ),
    "ir.TileView": lambda: (
        (
            ir.TileView().fractal,
            ir.TileView().blayout,
            ir.TileView(pad=ir.PadValue.zero).pad,
            ir.TileView() == ir.TileView(),
        ),
        (512, ir.TileLayout.row_major, ir.PadValue.zero, True),
    ),
    "ir.DataType": dtype_case,
}  # fmt: skip


def members(name: str, **values: int) -> None:
    """An enumeration: numbers of its members."""
    CASES[f"ir.{name}"] = lambda: ({m: getattr(ir, name)[m].value for m in values}, values)


members(
    "MemorySpace",
    DDR=0,
    Vec=1,
    Mat=2,
    Left=3,
    Right=4,
    Acc=5,
    Bias=6,
    ScalarLocal=7,
    LeftScale=8,
    RightScale=9,
)
members("TileLayout", none_box=0, row_major=1, col_major=2)
members("PadValue", null=0, zero=1, max=2, min=3)
members("CompactMode", null=0, normal=1)
members("ForKind", Sequential=0, Parallel=1, Unroll=2, Pipeline=3)
members("FunctionType", Opaque=0, Orchestration=1, InCore=2, AIC=3, AIV=4, Group=5, Spmd=6, Inline=7, Graph=8)
members("Level", AIV=0, AIC=1, CORE_GROUP=2, CHIP_DIE=3, CHIP=4, HOST=5, GLOBAL=9, POD=6)
members("ParamDirection", In=0, Out=1, InOut=2)
members("ArgDirection", Input=0, Output=1, InOut=2, OutputExisting=3, NoDep=4, Scalar=5)
members("ArgEffect", Read=0, Write=1, ReadWrite=2)
members("WriteChannel", Dma=0, Scalar=1)
members("ScopeKind", InCore=0, Cluster=2, Hierarchy=3, Spmd=4, Runtime=5, CommDomain=6, SplitAiv=7)
members("SplitMode", NONE=0, UP_DOWN=1, LEFT_RIGHT=2)
members("CoreType", CUBE=0, VECTOR=1)
members("AtomicType", None_=0, Add=1)
CASES |= {
    "ir.TensorLayout": lambda: (list(ir.TensorLayout.__members__), ["ND", "DN", "NZ", "MX_A_ZZ", "MX_B_NN"]),
    "ir.Role": lambda: (list(ir.Role.__members__), ["Orchestrator", "SubWorker"]),
    "ir.PipeType": lambda: (
        {int(m): m.name for m in ir.PipeType},
        dict(enumerate(["MTE1", "MTE2", "MTE3", "M", "V", "S", "FIX", "ALL"])),
    ),
    "ir.Mem": lambda: (ir.Mem.Acc, ir.MemorySpace.Acc),
    "ir.DYNAMIC_DIM": lambda: (ir.DYNAMIC_DIM, -1),
    "ir.Vec": lambda: (ir.Vec, ir.MemorySpace.Vec),
    "ir.InCore": lambda: (ir.InCore, ir.FunctionType.InCore),
    "ir.Pipeline": lambda: (ir.Pipeline, ir.ForKind.Pipeline),
    "ir.Out": lambda: (ir.Out, ir.ParamDirection.Out),
}


def test_every_name_has_a_case() -> None:
    assert len(set(NAMES)) == len(NAMES) > 110
    assert set(CASES) == set(NAMES)


@pytest.mark.parametrize("name", sorted(CASES))
def test_name(name: str) -> None:
    module, _, attribute = name.partition(".")
    assert hasattr(pypto if module == "pypto" else ir, attribute)
    got, want = CASES[name]()
    assert got == want


def test_the_exported_names_exist() -> None:
    for module in (pypto, ir, pypto.language):
        assert [name for name in module.__all__ if not hasattr(module, name)] == []
    with pytest.raises(AttributeError, match="module 'pypto.ir' has no attribute 'nothing'"):
        _ = ir.nothing


def test_constructors_stand_for_the_classes_everywhere() -> None:
    table = {ir.Add: "sum", ir.Var: "name"}
    assert (table[type(X + Y)], table[type(X)]) == ("sum", "name")
    assert isinstance(X, ir.Var | ir.ConstInt) and not isinstance(X, (ir.Add, ir.ConstInt))
    assert issubclass(ir.Add, ir.BinaryExpr) and not issubclass(ir.Add, ir.Var)
    match X + 1:
        case ir.Add(left, ir.ConstInt(value=number)):
            assert left is X and number == 1
        case _:
            pytest.fail("the pattern does not match")
    assert repr(ir.Add) == "<pypto.ir.Add>"
    with pytest.raises(TypeError, match="kwargs, attrs, a type and a span"):
        ir.Call(ir.Op("tile.exp"), [TILE], 3)
