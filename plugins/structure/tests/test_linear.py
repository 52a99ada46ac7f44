"""Time grows with the number of statements, not with its square."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any

import pytest

from pypto_core.ir import (
    AssignStmt,
    ContinueStmt,
    Expr,
    Function,
    Stmt,
    Var,
    add,
    and_,
    eq,
    floormod,
    lt,
    map_functions,
    ne,
)
from pypto_core.testing import build as b
from pypto_plugin_structure.convert_to_ssa import convert_to_ssa
from pypto_plugin_structure.ctrl_flow import ctrl_flow_transform
from pypto_plugin_structure.flatten_calls import flatten_call_expr
from pypto_plugin_structure.normalize import normalize_stmt_structure
from pypto_plugin_structure.simplify import simplify
from pypto_plugin_structure.unroll_loops import unroll_loops

N = b.scalar("n")
PASSES = (
    unroll_loops,
    ctrl_flow_transform,
    convert_to_ssa,
    simplify,
    normalize_stmt_structure,
    flatten_call_expr,
)


def _returning(total: Var, stmts: list[Stmt]) -> Function:
    return b.function("f", [N], [AssignStmt(total, N), *stmts, b.ret(total)], returns=[b.INDEX])


def many_live(size: int) -> Function:
    """Every branch assigns a variable that is read at the very end."""
    total, vs = b.scalar("t"), [b.scalar(f"v{i}") for i in range(size)]
    stmts: list[Stmt] = [AssignStmt(v, add(N, i)) for i, v in enumerate(vs)]
    stmts += [b.branch(lt(N, i), [AssignStmt(v, add(v, 1))]) for i, v in enumerate(vs)]
    return _returning(total, [*stmts, *(AssignStmt(total, add(total, v)) for v in vs)])


def one_loop(size: int) -> Function:
    """A loop that carries everything."""
    total, vs = b.scalar("t"), [b.scalar(f"v{i}") for i in range(size)]
    stmts: list[Stmt] = [AssignStmt(v, add(N, i)) for i, v in enumerate(vs)]
    stmts.append(b.loop(3, lambda i: [AssignStmt(v, add(v, i)) for v in vs]))
    return _returning(total, [*stmts, *(AssignStmt(total, add(total, v)) for v in vs)])


def doubtful_reads(size: int) -> Function:
    """Many reads of a variable that one condition assigns, each under a condition of its own."""
    total, v = b.scalar("t"), b.scalar("v")
    stmts: list[Stmt] = [b.branch(lt(N, 3), [AssignStmt(v, add(N, 1))])]
    read: Callable[[int], Expr] = lambda i: and_(lt(N, 3), ne(N, i))  # noqa: E731
    stmts += [b.branch(read(i), [AssignStmt(total, add(total, v))]) for i in range(size)]
    return _returning(total, stmts)


def many_exits(size: int) -> Function:
    """A loop with as many ways to its next trip as statements."""
    total = b.scalar("t")

    def body(i: Any) -> list[Stmt]:
        return [
            stmt
            for k in range(size)
            for stmt in (
                b.branch(eq(floormod(add(total, k), 7), 1), [ContinueStmt()]),
                AssignStmt(total, add(total, i)),
            )
        ]

    return _returning(total, [b.loop(N, body)])


def _seconds(make: Callable[[int], Function], size: int) -> float:
    program = b.program(make(size))
    gc.collect()
    gc.disable()
    start = time.process_time()
    for change in PASSES:
        program = map_functions(program, change)
    spent = time.process_time() - start
    gc.enable()
    return spent


@pytest.mark.parametrize(
    ("make", "size"), [(many_live, 400), (one_loop, 400), (doubtful_reads, 100), (many_exits, 60)]
)
def test_four_times_the_statements_take_about_four_times_as_long(make: Any, size: int) -> None:
    """Squared growth would take sixteen times as long; the best of a few tries is taken, as machines are busy."""
    _seconds(make, 50)
    ratios = []
    for _ in range(4):
        ratios.append(_seconds(make, 4 * size) / _seconds(make, size))
        if ratios[-1] < 7:
            break
    assert min(ratios) < 7, ratios
