"""NoNestedCalls, the block rules, loops and scopes."""

from __future__ import annotations

import pytest

from pypto_core.diagnostics import Severity
from pypto_core.ir import (
    BreakStmt,
    ClusterScopeStmt,
    ContinueStmt,
    Expr,
    ForKind,
    ForStmt,
    FunctionType,
    HierarchyScopeStmt,
    InCoreScopeStmt,
    Level,
    MakeTuple,
    Not,
    Program,
    Role,
    SeqStmts,
    SpmdScopeStmt,
    Stmt,
    TupleGetItemExpr,
    WhileStmt,
    add,
    const_index,
    eq,
    lt,
    make_unary,
    seq,
)
from pypto_core.testing import build as b
from pypto_core.verify import holds, verify_properties

N = b.scalar("n")
X = b.tensor("x", (64, 64))


def numbers(program: Program, name: str) -> list[int]:
    return [d.number for d in verify_properties(program, [name])]


def found(name: str, *stmts: Stmt, **parts: object) -> list[int]:
    return numbers(b.program(b.function("f", [N, X], stmts, **parts)), name)  # type: ignore[arg-type]


def block_index() -> Expr:
    return b.op("tile.get_block_idx")


def load(row: Expr) -> Expr:
    return b.op("tile.load", X, b.dims(row, 0), b.dims(16, 16), b.dims(16, 16))


def test_flat_calls_pass() -> None:
    row = b.let("row", block_index())
    tile = b.let("t", load(row.var))
    assert found("NoNestedCalls", row, tile, b.do(block_index()), b.ret(block_index())) == []


def test_a_call_in_each_place_of_an_expression() -> None:
    tile = b.tile("t", (16, 16))
    inner = b.raw_op("tile.exp", [tile], tile.type)
    assert found("NoNestedCalls", b.let("y", b.raw_op("tile.exp", [inner], tile.type))) == [201]
    assert found("NoNestedCalls", b.let("t", load(block_index()))) == [201], "in a tuple"
    flag = b.raw_op("test.flag", [], b.BOOL)
    assert found("NoNestedCalls", b.branch(flag, [])) == [202]
    assert found("NoNestedCalls", WhileStmt(flag, (), b.give(), ())) == [202]
    assert found("NoNestedCalls", b.loop(block_index(), lambda i: [], start=block_index())) == [203, 203]
    assert found("NoNestedCalls", b.let("y", add(block_index(), N))) == [204]
    assert found("NoNestedCalls", b.branch(eq(N, block_index()), [])) == [204]
    assert found("NoNestedCalls", b.let("y", make_unary(Not, flag))) == [205]
    assert found("NoNestedCalls", b.let("t", load(add(block_index(), 1)))) == [204]


def test_a_tuple_of_calls_is_a_value() -> None:
    pair = MakeTuple((block_index(), block_index()))
    assert found("NoNestedCalls", b.let("p", pair)) == []
    assert found("NoNestedCalls", b.let("p", add(TupleGetItemExpr(pair, 0), 1))) == [204, 204]


def test_deep_expressions_are_read() -> None:
    total: Expr = N
    for _ in range(5000):
        total = add(total, N)
    assert found("NoNestedCalls", b.let("y", total)) == []
    assert found("NoNestedCalls", b.let("y", add(total, block_index()))) == [204]


@pytest.mark.parametrize("name", ["NormalizedStmtStructure", "NoRedundantBlocks"])
def test_sequences(name: str) -> None:
    one, two = b.let("x", const_index(1)), b.let("y", const_index(2))
    assert found(name, one, two) == []
    assert found(name, b.loop(N, lambda i: [])) == [], "an empty body is an empty sequence"

    def body(stmt: Stmt) -> list[int]:
        return found(name, ForStmt(b.scalar("i"), N, N, N, (), stmt, ()))

    assert body(SeqStmts((one,))) == [1]
    assert body(SeqStmts((one, SeqStmts((one, two))))) == [2]
    assert body(SeqStmts((b.give(), one))) == [3]
    assert [d.rule for d in verify_properties(b.program(b.function("f", [], [one])), [name])] == []


@pytest.mark.parametrize("exit_", [BreakStmt(), ContinueStmt()])
def test_break_and_continue(exit_: Stmt) -> None:
    name = "BreakContinueValid"
    inside = [b.branch(lt(N, 4), [exit_])]
    assert found(name, b.loop(N, lambda i: inside)) == []
    assert found(name, WhileStmt(lt(N, 4), (), seq(inside), ())) == []
    assert found(name, *inside) == [1]
    for kind in (ForKind.Parallel, ForKind.Unroll):
        assert found(name, b.loop(N, lambda i: inside, kind=kind)) == [2]
    pipelined = b.loop(N, lambda i: inside, kind=ForKind.Pipeline, attrs={"pipeline_stages": 2})
    assert found(name, pipelined) == []
    outer = b.loop(N, lambda i: [b.loop(4, lambda j: inside)], kind=ForKind.Parallel)
    assert found(name, outer) == [], "it leaves the inner loop"


def test_structured_control_flow_is_asked_of_device_code() -> None:
    loop = b.loop(N, lambda i: [BreakStmt()])
    name = "StructuredCtrlFlow"
    for kind in (FunctionType.InCore, FunctionType.AIC, FunctionType.AIV, FunctionType.Opaque):
        assert found(name, loop, kind=kind) == [1]
    assert found(name, loop, kind=FunctionType.Orchestration) == []
    assert found(name, loop, level=Level.HOST, role=Role.Orchestrator) == []
    assert found(name, b.loop(N, lambda i: [])) == []


def test_loops_that_are_left() -> None:
    plain = b.loop(N, lambda i: [])
    unroll = b.loop(4, lambda i: [], kind=ForKind.Unroll)
    pipeline = b.loop(N, lambda i: [], kind=ForKind.Pipeline, attrs={"pipeline_stages": 2})
    assert found("UnrollResolved", plain, pipeline) == []
    assert found("UnrollResolved", b.branch(lt(N, 4), [unroll])) == [1]
    assert found("PipelineResolved", plain, unroll) == []
    assert found("PipelineResolved", b.branch(lt(N, 4), [pipeline])) == [1]


def test_kind_and_stages_go_together() -> None:
    pipeline = b.loop(N, lambda i: [], kind=ForKind.Pipeline, attrs={"pipeline_stages": 2})
    assert found("PipelineLoopValid", pipeline) == []
    # The constructor refuses both states; a broken rewrite can still make them.
    lacking = b.loop(N, lambda i: [])
    object.__setattr__(lacking, "kind", ForKind.Pipeline)
    assert found("PipelineLoopValid", lacking) == [0]
    object.__setattr__(pipeline, "kind", ForKind.Sequential)
    assert found("PipelineLoopValid", pipeline) == [1]


def test_incore_scopes() -> None:
    inner = InCoreScopeStmt(b.let("x", const_index(1)))
    assert found("NoNestedInCore", inner, InCoreScopeStmt(b.let("y", const_index(1)))) == []
    assert found("NoNestedInCore", InCoreScopeStmt(b.loop(N, lambda i: [inner]))) == [1]
    deep = InCoreScopeStmt(InCoreScopeStmt(InCoreScopeStmt(b.let("z", const_index(1)))))
    assert found("NoNestedInCore", deep) == [1, 1]


def test_scopes_that_are_left() -> None:
    body = b.let("x", const_index(1))
    incore = InCoreScopeStmt(body)
    cluster = ClusterScopeStmt(body)
    spmd = SpmdScopeStmt(body, core_num=const_index(8))
    outer = HierarchyScopeStmt(body, level=Level.HOST)
    rules = {"SplitIncoreOrch": [incore], "ClusterOutlined": [cluster, spmd], "HierarchyOutlined": [outer]}
    everything: list[Stmt] = [incore, cluster, spmd, outer]
    for name, own in rules.items():
        for scope in everything:
            assert found(name, scope) == ([1] if scope in own else [])


def test_compute_in_orchestration_is_a_warning() -> None:
    made = b.let("y", b.raw_op("tensor.create", [], X.type))
    summed = b.let("z", b.raw_op("tensor.add", [X, made.var], X.type))
    program = b.program(b.function("f", [X], [made, summed], kind=FunctionType.Orchestration))
    (only,) = verify_properties(program, ["SplitIncoreOrch"])
    assert (only.number, only.severity) == (2, Severity.WARNING)
    assert "tensor.add" in only.message
    assert holds(program, "SplitIncoreOrch"), "a warning breaks nothing"


def test_tensor_compute_in_kernels() -> None:
    summed = b.let("z", b.raw_op("tensor.add", [X, X], X.type))
    name = "IncoreTileOps"
    assert found(name, summed, kind=FunctionType.InCore) == [1]
    assert found(name, InCoreScopeStmt(summed)) == [1], "a kernel that is not outlined yet"
    for kind in (FunctionType.Orchestration, FunctionType.Opaque, FunctionType.AIC):
        assert found(name, summed, kind=kind) == []
    read = b.let("v", b.raw_op("tensor.read", [X, b.dims(0, 0)], b.scalar("s").type))
    assert found(name, read, b.let("t", load(N)), kind=FunctionType.InCore) == []
