"""Faults planted into random programs are found, and only where they are."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from pypto_core.ir import (
    AssignStmt,
    ForStmt,
    IterArg,
    Mutator,
    Program,
    SeqStmts,
    Stmt,
    TileType,
    Var,
    YieldStmt,
    replace,
    seq,
    used_vars,
    walk_stmts,
)
from pypto_core.testing import programs
from pypto_core.verify import verify_properties

LIGHT = settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


class Exchange(Mutator):
    """One statement becomes others; an empty list drops it."""

    def __init__(self, target: Stmt, others: list[Stmt]) -> None:
        super().__init__()
        self.target, self.others = target, others

    def visit(self, node: Any) -> Any:
        return seq(self.others) if node is self.target else super().visit(node)


def numbers(program: Program, name: str) -> list[int]:
    return [d.number for d in verify_properties(program, [name])]


def assignments(program: Program) -> list[AssignStmt]:
    return [s for s in walk_stmts(program["main"].body) if isinstance(s, AssignStmt)]


def reads_elsewhere(program: Program, var: Var) -> bool:
    return any(used is var for used in used_vars(program["main"].body))


@LIGHT
@given(programs(30), st.data())
def test_a_dropped_definition(program: Program, data: st.DataObject) -> None:
    stmts = [s for s in assignments(program) if reads_elsewhere(program, s.var)]
    assume(stmts)
    gone = data.draw(st.sampled_from(stmts))
    broken = Exchange(gone, []).visit(program)
    assert numbers(program, "UseAfterDef") == []
    found = verify_properties(broken, ["UseAfterDef"])
    assert found and {d.number for d in found} == {401}
    assert all(f"'{gone.var.name_hint}'" in d.message for d in found)


@LIGHT
@given(programs(30), st.data())
def test_a_doubled_definition(program: Program, data: st.DataObject) -> None:
    stmt = data.draw(st.sampled_from(assignments(program)))
    again = replace(stmt)
    broken = Exchange(stmt, [stmt, again]).visit(program)
    assert numbers(broken, "SSAForm") == [1]
    assert numbers(broken, "UseAfterDef") == []


@LIGHT
@given(programs(30), st.data())
def test_a_definition_after_its_use(program: Program, data: st.DataObject) -> None:
    blocks = [list(b.stmts) for b in _sequences(program)]
    pairs = [
        (first, second)
        for block in blocks
        for first, second in zip(block, block[1:], strict=False)
        if isinstance(first, AssignStmt) and any(v is first.var for v in used_vars(second))
    ]
    assume(pairs)
    first, second = data.draw(st.sampled_from(pairs))
    # Drop the first and write it again behind the second.
    once = Exchange(first, []).visit(program)
    moved = next(s for s in walk_stmts(once["main"].body) if s is second or _same(s, second))
    late = Exchange(moved, [moved, first]).visit(once) if not isinstance(moved, YieldStmt) else None
    assume(late is not None)
    assert 6 in numbers(late, "SSAForm")
    assert 401 in numbers(late, "UseAfterDef")


def _same(a: Stmt, b: Stmt) -> bool:
    return isinstance(a, AssignStmt) and isinstance(b, AssignStmt) and a.var is b.var


def _sequences(program: Program) -> list[SeqStmts]:
    found: list[SeqStmts] = []
    stack: list[Any] = [program["main"].body]
    while stack:
        node = stack.pop()
        if isinstance(node, SeqStmts):
            found.append(node)
            stack.extend(node.stmts)
        stack.extend(b for name in ("body", "then_body", "else_body") if (b := getattr(node, name, None)))
    return found


@LIGHT
@given(programs(40), st.data())
def test_a_carry_of_another_type(program: Program, data: st.DataObject) -> None:
    loops = [
        s
        for s in walk_stmts(program["main"].body)
        if isinstance(s, ForStmt) and any(isinstance(a.type, TileType) for a in s.iter_args)
    ]
    assume(loops)
    loop = data.draw(st.sampled_from(loops))
    index = next(i for i, a in enumerate(loop.iter_args) if isinstance(a.type, TileType))
    arg = loop.iter_args[index]
    kind = arg.type
    assert isinstance(kind, TileType)
    other = IterArg(
        arg.name_hint, TileType((*kind.shape, 2), kind.dtype, memory_space=kind.memory_space), arg.init_value
    )
    args = (*loop.iter_args[:index], other, *loop.iter_args[index + 1 :])
    broken = Exchange(loop, [replace(loop, iter_args=args)]).visit(program)
    # Against what it starts as, what is yielded, and what it ends as.
    assert numbers(broken, "TypeChecked") == [103, 103, 103]
