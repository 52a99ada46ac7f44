"""Rules about calls between functions, parameters and returned values."""

from __future__ import annotations

from typing import Any

import pytest

from pypto_core.ir import (
    ArgDirection,
    AssignStmt,
    Call,
    Function,
    FunctionType,
    GlobalVar,
    InCoreScopeStmt,
    ParamDirection,
    Program,
    Stmt,
    Submit,
    TupleGetItemExpr,
    TupleType,
    Var,
    lt,
)
from pypto_core.testing import build as b
from pypto_core.verify import verify_properties

Out, InOut = ParamDirection.Out, ParamDirection.InOut
TENSOR = b.tensor("any", (64, 64)).type


def numbers(program: Program, name: str) -> list[int]:
    return [d.number for d in verify_properties(program, [name])]


def t(name: str) -> Var:
    return Var(name, TENSOR)


def worker(direction: ParamDirection = Out, returns: bool = True, **parts: Any) -> Function:
    x, out = t("x"), t("out")
    tile = b.let("tile", b.op("tile.load", x, b.dims(0, 0), b.dims(16, 16), b.dims(16, 16)))
    stored = b.do(b.op("tile.store", tile.var, b.dims(0, 0), out))
    body: list[Stmt] = [tile, stored, *([b.ret(out)] if returns else [])]
    return b.kernel("worker", [x, (out, direction)], body, returns=[TENSOR] if returns else [], **parts)


def main(*stmts: Stmt, params: list[Var] | None = None, kind: Any = FunctionType.Orchestration) -> Function:
    return b.function("main", params or [A, B], stmts, kind=kind, returns=[TENSOR])


A, B = t("a"), t("b")
WORKER = worker()


def test_inline_functions() -> None:
    name = "InlineFunctionsEliminated"
    inline = b.function("helper", [], [], kind=FunctionType.Inline)
    caller = main(b.do(b.call("helper", kind=TENSOR)))
    assert numbers(b.program(inline), name) == [1]
    assert sorted(numbers(b.program(inline, caller), name)) == [1, 2]
    assert numbers(b.program(caller), name) == [3]
    assert numbers(b.program(main(b.do(b.call(WORKER, A, B))), WORKER), name) == []
    submitted = main(b.do(Submit(GlobalVar("helper"), (), type=TENSOR)))
    assert numbers(b.program(submitted), name) == [3]


def test_orchestration_calls_what_exists() -> None:
    name = "OrchestrationReferencesResolved"
    caller = main(b.let("r", b.call(WORKER, A, B)))
    assert numbers(b.program(caller, WORKER), name) == []
    assert numbers(b.program(caller), name) == [1]
    assert numbers(b.program(main(b.let("r", b.call(WORKER, A, B)), kind=FunctionType.Group)), name) == []


def directed(*directions: ArgDirection, args: tuple[Any, ...] = (A, B)) -> list[int]:
    made = b.call("worker", *args, kind=TENSOR, notes={"arg_directions": list(directions)})
    return numbers(b.program(main(b.let("r", made)), WORKER), "CallDirectionsResolved")


def test_directions_of_arguments() -> None:
    D = ArgDirection
    assert directed(D.Input, D.Output) == []
    assert directed(D.NoDep, D.OutputExisting) == []
    assert directed(D.Input) == [2]
    assert directed(D.Input, D.Input) == [3], "the callee writes it"
    assert directed(D.Scalar, D.Output) == [3]
    assert directed(D.Input, D.Output, args=(b.scalar("n"), B)) == [3]
    plain = main(b.let("r", b.call(WORKER, A, B)))
    assert numbers(b.program(plain, WORKER), "CallDirectionsResolved") == [1]
    wrapper = b.function("g", [A, B], [b.let("r", b.call(WORKER, A, B))], kind=FunctionType.Group)
    assert numbers(b.program(wrapper, WORKER), "CallDirectionsResolved") == []


def test_dependencies_belong_to_submitted_tasks() -> None:
    name = "ManualDepsOnSubmitOnly"
    notes = {"manual_dep_edges": (A,)}
    submit = Submit(GlobalVar("worker"), (A, B), attrs=notes, type=TENSOR)
    assert numbers(b.program(main(b.let("r", submit)), WORKER), name) == []
    assert numbers(b.program(main(b.let("r", b.call(WORKER, A, B, notes=notes))), WORKER), name) == [1]


@pytest.mark.parametrize("direction", [Out, InOut])
def test_output_parameters_are_written_not_replaced(direction: ParamDirection) -> None:
    name = "OutParamNotShadowed"
    out = t("out")

    def bound(op: str, *args: Any) -> list[int]:
        stmt = AssignStmt(out, b.raw_op(op, args, TENSOR))
        return numbers(b.program(b.function("f", [(out, direction)], [stmt])), name)

    assert bound("tensor.create") == [1]
    assert bound("tensor.full") == [1]
    assert bound("tensor.assemble", out, A) == []
    fresh = AssignStmt(t("out"), b.raw_op("tensor.create", [], TENSOR))
    assert numbers(b.program(b.function("f", [(out, direction)], [fresh])), name) == []
    assert numbers(b.program(b.function("f", [out], [AssignStmt(out, fresh.value)])), name) == []


def after(*stmts: Stmt, callee: Function = WORKER, kind: Any = FunctionType.Orchestration) -> list[int]:
    return numbers(b.program(main(*stmts, kind=kind), callee), "InOutUseValid")


def test_reading_what_was_handed_over_to_be_written() -> None:
    handed = b.let("r", b.call(WORKER, A, B))
    assert after(handed, b.ret(handed.var)) == []
    assert after(handed, b.let("s", b.call(WORKER, A, handed.var))) == []
    assert after(handed, b.ret(A)) == [], "a plain input"
    assert after(handed, b.ret(B)) == [1]
    assert after(handed, b.let("s", b.call(WORKER, B, A))) == [1]
    assert after(handed, b.let("s", b.call(WORKER, A, B))) == [], "written again, not read"
    inout = worker(InOut)
    assert after(handed, b.let("s", b.call(inout, A, B)), callee=inout) == [1]
    assert after(handed, b.ret(B), kind=FunctionType.Group) == []
    assert (
        after(b.do(b.call(worker(returns=False), A, B, kind=TENSOR)), b.ret(B), callee=worker(returns=False))
        == []
    )


def test_a_variable_bound_anew_may_be_read() -> None:
    handed = AssignStmt(B, b.call(WORKER, A, B))
    assert after(handed, b.ret(B)) == []


def test_regions_see_what_happened_before_them_only() -> None:
    handed = b.let("r", b.call(WORKER, A, B))
    read = b.let("s", b.call(WORKER, B, A))
    n = b.scalar("n")
    assert after(handed, b.branch(lt(n, 4), [read])) == [1]
    assert after(handed, InCoreScopeStmt(read)) == [1]
    assert after(b.branch(lt(n, 4), [handed]), read) == []
    assert after(b.branch(lt(n, 4), [handed], [read])) == []


def returned(
    *stmts: Stmt, kind: FunctionType = FunctionType.InCore, others: tuple[Function, ...] = ()
) -> list[int]:
    function = b.function("f", [X, (OUT, Out)], stmts, kind=kind, returns=[TENSOR])
    return numbers(b.program(function, *others), "ReturnParamsExplicit")


X, OUT = t("x"), t("out")
TILE = b.tile("tile", (16, 16))


def stored(target: Var, name: str = "stored") -> AssignStmt:
    return b.let(name, b.op("tile.store", TILE, b.dims(0, 0), target))


def test_a_kernel_returns_its_parameters_by_name() -> None:
    first = stored(OUT)
    assert returned(first, b.ret(OUT)) == []
    assert returned(first) == [1]
    assert returned(first, b.ret(first.var)) == [2]
    second = stored(first.var, "again")
    alias = b.let("alias", second.var)
    assert returned(first, second, alias, b.ret(alias.var)) == [2]
    assert returned(first, b.ret(first.var), kind=FunctionType.Orchestration) == []


def test_parameters_are_followed_through_loops_and_branches() -> None:
    loop = b.loop(4, lambda i, c: [s := stored(c), b.give(s.var)], carries={"c": OUT})
    assert returned(loop, b.ret(loop.return_vars[0])) == [2]
    other = b.loop(4, lambda i, c: [b.give(X)], carries={"c": OUT})
    assert returned(other, b.ret(other.return_vars[0])) == [], "another tensor after the first trip"
    one, two = stored(OUT, "one"), stored(OUT, "two")
    phi = t("phi")
    cond = lt(b.scalar("n"), 4)
    assert returned(b.branch(cond, [one, b.give(one.var)], [two, b.give(two.var)], [phi]), b.ret(phi)) == [2]
    assert returned(b.branch(cond, [one, b.give(one.var)], [b.give(X)], [phi]), b.ret(phi)) == []


def test_a_wrapper_returns_what_its_kernel_returns() -> None:
    made = b.let("r", b.call(WORKER, X, OUT))
    assert returned(made, b.ret(made.var), kind=FunctionType.Group, others=(WORKER,)) == [2]
    assert returned(made, b.ret(OUT), kind=FunctionType.Group, others=(WORKER,)) == []
    p, q = t("p"), t("q")
    both = b.kernel("both", [p, (q, Out)], [b.ret(p, q)], returns=[TENSOR, TENSOR])
    pair = AssignStmt(Var("pair", TupleType((TENSOR, TENSOR))), b.call(both, X, OUT))
    part = b.let("part", TupleGetItemExpr(pair.var, 1))
    assert returned(pair, part, b.ret(part.var), kind=FunctionType.Spmd, others=(both,)) == [2]


def test_fresh_tensors_are_nobodys_parameter() -> None:
    fresh = b.let("y", b.raw_op("tensor.create", [], TENSOR))
    assert isinstance(fresh.value, Call)
    assert returned(fresh, b.ret(fresh.var)) == []
