"""SSAForm and UseAfterDef: what they accept, and each thing they reject."""

from __future__ import annotations

import pytest

from pypto_core.diagnostics import Span
from pypto_core.ir import (
    PTR,
    AssignStmt,
    ForStmt,
    IfStmt,
    InCoreScopeStmt,
    IterArg,
    MemorySpace,
    MemRef,
    Program,
    SeqStmts,
    TensorType,
    TileType,
    Var,
    WhileStmt,
    add,
    const_index,
    lt,
    seq,
)
from pypto_core.testing import build as b
from pypto_core.verify import verify_properties


def numbers(program: Program, name: str) -> list[int]:
    return [d.number for d in verify_properties(program, [name])]


def ssa(*stmts: object, params: tuple[Var, ...] = ()) -> list[int]:
    return numbers(b.program(b.function("f", params, stmts)), "SSAForm")  # type: ignore[arg-type]


def used(*stmts: object, params: tuple[Var, ...] = ()) -> list[int]:
    return numbers(b.program(b.function("f", params, stmts)), "UseAfterDef")  # type: ignore[arg-type]


N = b.scalar("n")


def counted(total: str = "total") -> ForStmt:
    return b.loop(N, lambda i, c: [b.give(add(c, i))], carries={total: const_index(0)})


def test_carries_phis_and_scopes_are_ssa() -> None:
    loop = counted()
    x, y, phi = b.let("x", add(N, 1)), b.let("y", add(N, 2)), b.scalar("phi")
    branch = b.branch(lt(N, 4), [x, b.give(x.var)], [y, b.give(y.var)], [phi])
    inner = b.let("z", add(phi, loop.return_vars[0]))
    again = b.repeat(lambda c: lt(c, N), lambda c: [b.give(add(c, 1))], {"c": inner.var})
    stmts = (loop, branch, InCoreScopeStmt(seq([inner])), again, b.ret(inner.var, again.return_vars[0]))
    assert ssa(*stmts, params=(N,)) == []
    assert used(*stmts, params=(N,)) == []


def test_a_second_assignment() -> None:
    x = b.scalar("x__ssa_v3")
    stmts = [AssignStmt(x, const_index(1), span=Span("k.py", 3, 5)), AssignStmt(x, const_index(2))]
    program = b.program(b.function("f", [], stmts))
    (found,) = verify_properties(program, ["SSAForm"])
    assert (found.number, found.rule, found.code) == (1, "SSAVerify", "PT420")
    assert found.message == "variable 'x' is assigned more than once"
    assert found.notes[0].span.begin_line == 3
    assert found.remedy


def test_an_assignment_to_a_parameter() -> None:
    assert ssa(AssignStmt(N, const_index(1)), params=(N,)) == [1]


def test_a_loop_variable_that_is_a_parameter() -> None:
    loop = ForStmt(N, const_index(0), const_index(4), const_index(1), (), SeqStmts(()), ())
    assert ssa(loop, params=(N,)) == [2]


def test_a_carry_that_was_defined_before() -> None:
    carry = IterArg("c", N.type, const_index(0))
    first = WhileStmt(lt(carry, 4), (carry,), b.give(add(carry, 1)), (b.scalar("r"),))
    second = WhileStmt(lt(carry, 4), (carry,), b.give(add(carry, 1)), (b.scalar("s"),))
    assert ssa(first, second) == [2]


@pytest.mark.parametrize("kind", ["for", "while", "if", "no else"])
def test_results_without_a_yield(kind: str) -> None:
    carry, result = IterArg("c", N.type, const_index(0)), b.scalar("r")
    body = b.let("x", const_index(1))
    stmts = {
        "for": ForStmt(b.scalar("i"), const_index(0), N, const_index(1), (carry,), body, (result,)),
        "while": WhileStmt(lt(carry, 4), (carry,), body, (result,)),
        "if": IfStmt(lt(N, 4), b.give(N), body, (result,)),
        "no else": IfStmt(lt(N, 4), b.give(N), None, (result,)),
    }
    assert ssa(stmts[kind], params=(N,)) == [3]


def test_carries_and_results_of_different_number() -> None:
    carry = IterArg("c", N.type, const_index(0))
    results = (b.scalar("r"), b.scalar("s"))
    loop = ForStmt(b.scalar("i"), const_index(0), N, const_index(1), (carry,), b.give(carry, carry), results)
    assert ssa(loop, params=(N,)) == [4]


def test_a_yield_of_another_number_of_values() -> None:
    carry = IterArg("c", N.type, const_index(0))
    loop = ForStmt(
        b.scalar("i"), const_index(0), N, const_index(1), (carry,), b.give(carry, carry), (b.scalar("r"),)
    )
    assert ssa(loop, params=(N,)) == [5]
    assert ssa(b.branch(lt(N, 4), [b.give(N, N)], [b.give(N)], [b.scalar("r")]), params=(N,)) == [5]
    assert ssa(b.loop(N, lambda i: [b.give(i)]), params=(N,)) == [5]


def test_a_use_outside_the_region_of_the_definition() -> None:
    x = b.let("x", const_index(1))
    after = b.let("y", x.var)
    assert ssa(b.loop(N, lambda i: [x]), after, params=(N,)) == [6]
    assert ssa(b.branch(lt(N, 4), [x]), after, params=(N,)) == [6]
    assert ssa(b.branch(lt(N, 4), [x], [after]), params=(N,)) == [6]


def test_a_use_before_the_definition() -> None:
    x = b.let("x", const_index(1))
    assert ssa(b.let("y", x.var), x) == [6]


def test_a_carry_is_not_visible_after_its_loop() -> None:
    loop = counted()
    assert ssa(loop, b.let("y", loop.iter_args[0]), b.let("z", loop.loop_var), params=(N,)) == [6, 6]


def test_a_yield_that_is_not_last() -> None:
    body = SeqStmts((b.give(), b.let("x", const_index(1))))
    loop = ForStmt(b.scalar("i"), const_index(0), N, const_index(1), (), body, ())
    assert ssa(loop, params=(N,)) == [7]


def test_the_condition_of_a_while_reads_its_carries() -> None:
    again = b.repeat(lambda c: lt(c, N), lambda c: [b.give(add(c, 1))], {"c": const_index(0)})
    assert ssa(again, params=(N,)) == []
    late = b.let("late", const_index(3))
    again = b.repeat(lambda c: lt(c, late.var), lambda c: [b.give(add(c, 1))], {"c": const_index(0)})
    assert ssa(again, late) == [6]
    assert used(again, late) == [401]


def test_variables_inside_types_are_reads() -> None:
    rows = b.let("rows", add(N, 1))
    kind = b.tile_type((16, 16), valid_shape=(rows.var, 16))
    tile = AssignStmt(Var("t", kind), b.raw_op("tile.create", [], kind))
    assert ssa(rows, tile, params=(N,)) == []
    assert ssa(tile, rows, params=(N,)) == [6]
    assert used(tile, rows, params=(N,)) == [401]
    assert used(tile, params=(N,)) == [401], "nothing defines rows"


def test_use_after_def_names_the_variable() -> None:
    program = b.program(b.function("f", [], [b.ret(b.scalar("x__ssa_v0"))]))
    (found,) = verify_properties(program, ["UseAfterDef"])
    assert found.rule == "UseAfterDefCheck"
    assert found.message == "variable 'x' is used but nothing in function 'f' defines it"


def test_definitions_in_loops_and_branches_stay_known() -> None:
    x = b.let("x", const_index(1))
    read = b.let("y", x.var)
    assert used(b.loop(N, lambda i: [x]), read, params=(N,)) == []
    assert used(b.branch(lt(N, 4), [x]), read, params=(N,)) == []
    assert used(b.branch(lt(N, 4), [b.branch(lt(N, 2), [x])]), read, params=(N,)) == []


def test_branches_do_not_see_each_other_and_phis_close_them() -> None:
    x = b.let("x", const_index(1))
    assert used(b.branch(lt(N, 4), [x], [b.let("y", x.var)]), params=(N,)) == [401]
    phi = b.scalar("r")
    closed = b.branch(lt(N, 4), [x, b.give(x.var)], [b.give(N)], [phi])
    assert used(closed, b.let("y", phi), params=(N,)) == []
    assert used(closed, b.let("y", x.var), params=(N,)) == [401]


def test_loop_variables_and_carries_end_with_the_loop() -> None:
    loop = counted()
    assert used(loop, b.let("y", loop.loop_var), params=(N,)) == [401]
    assert used(loop, b.let("y", loop.iter_args[0]), params=(N,)) == [401]
    assert used(loop, b.let("y", loop.return_vars[0]), params=(N,)) == []


def test_extents_of_parameters_are_given() -> None:
    m = b.scalar("M")
    x = b.tensor("x", (m, 64))
    assert used(b.let("y", add(m, 1)), params=(x,)) == []
    assert ssa(b.let("y", add(m, 1)), params=(x,)) == []


def test_a_symbol_that_only_tensor_types_name_needs_no_definition() -> None:
    m = b.scalar("M")
    made = b.raw_op("tensor.create", [], TensorType((m, 64), b.DataType.FP32))
    assert used(b.let("y", made)) == []
    assert used(b.let("y", made), b.let("z", add(m, 1))) == [401, 401], "read as a value it does"


def test_a_declared_allocation_needs_no_definition() -> None:
    def bound(base: Var) -> AssignStmt:
        kind = TileType((16, 16), b.DataType.FP32, MemRef(base, const_index(0)), None, MemorySpace.Vec)
        return AssignStmt(Var("t", kind), b.raw_op("tile.create", [], kind))

    base = Var("buf", PTR)
    assert used(bound(base)) == []
    alloc = AssignStmt(base, b.op("tile.alloc", memory_space=MemorySpace.Vec, size=1024))
    assert used(alloc, bound(base)) == []
    assert used(bound(base), alloc) == [401]


def test_a_deep_nest_is_read() -> None:
    body: list[object] = [b.let("x", const_index(1))]
    for _ in range(150):
        body = [b.loop(2, lambda i, inner=body: inner)]  # type: ignore[misc]
    assert ssa(*body) == []
    assert used(*body) == []
