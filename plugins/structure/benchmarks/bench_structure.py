"""How long each pass takes per statement, and how that grows with the function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.figures import Figure, best_of, growth
from pypto_core.ir import (
    AssignStmt,
    BreakStmt,
    ConstFloat,
    ContinueStmt,
    DataType,
    ForKind,
    Function,
    FunctionType,
    Program,
    Stmt,
    Var,
    add,
    eq,
    floormod,
    map_functions,
    mul,
    replace,
    walk_stmts,
)
from pypto_core.testing import build as b
from pypto_plugin_structure.convert_to_ssa import convert_to_ssa
from pypto_plugin_structure.ctrl_flow import ctrl_flow_transform
from pypto_plugin_structure.flatten_calls import flatten_call_expr
from pypto_plugin_structure.inline_functions import inline_functions
from pypto_plugin_structure.normalize import normalize_stmt_structure
from pypto_plugin_structure.simplify import simplify
from pypto_plugin_structure.unroll_loops import unroll_loops

SIZES = (1_000, 10_000, 50_000)
TARGETS = {
    "InlineFunctions": 60.0,
    "UnrollLoops": 30.0,
    "CtrlFlowTransform": 30.0,
    "ConvertToSSA": 150.0,
    "Simplify": 250.0,
    "NormalizeStmtStructure": 15.0,
    "FlattenCallExpr": 60.0,
}
"""Microseconds per statement of the pass's input."""
TILE = (16, 64)


def _tile_of(acc: Var, x: Var, row: Any) -> AssignStmt:
    return b.let("t", b.op("tile.load", x, b.dims(row, 0), b.dims(*TILE)))


def unit(number: int, acc: Var, s: Var, x: Var, helper: Function) -> list[Stmt]:
    """Some twenty statements that reassign, branch, loop, leave loops and nest calls."""
    loaded = _tile_of(acc, x, mul(floormod(s, 4), 16))
    t = loaded.var
    grown = b.branch(
        eq(floormod(s, 2), number % 2),
        [AssignStmt(acc, b.op("tile.add", acc, t)), AssignStmt(s, add(s, 1))],
        [AssignStmt(acc, b.op("tile.sub", acc, t))],
    )
    scaled = b.loop(
        3, lambda i: [AssignStmt(acc, b.op("tile.muls", acc, ConstFloat(0.5))), AssignStmt(s, add(s, i))]
    )
    left = b.loop(
        4,
        lambda i: [
            b.branch(eq(floormod(add(s, i), 3), 1), [ContinueStmt()]),
            AssignStmt(s, add(s, 2)),
            b.branch(eq(floormod(s, 5), 1), [BreakStmt()]),
            AssignStmt(acc, b.op("tile.abs", acc)),
        ],
    )
    written_out = b.loop(2, lambda i: [AssignStmt(s, add(s, mul(i, 3)))], kind=ForKind.Unroll)
    nested = AssignStmt(acc, b.op("tile.exp", b.op("tile.minimums", b.op("tile.neg", acc), ConstFloat(1.0))))
    called = AssignStmt(acc, b.call(helper, acc))
    return [loaded, grown, scaled, left, written_out, nested, called, AssignStmt(s, floormod(add(s, 0), 64))]


def plain(size: int) -> Program:
    """A kernel of about ``size`` statements with a function to inline."""
    p = b.tile("p", TILE)
    first = b.let("q", b.op("tile.adds", p, ConstFloat(1.0)))
    helper = b.function("helper", [p], [first, b.ret(first.var)], returns=[p.type], kind=FunctionType.Inline)
    x, out = b.tensor("x", (64, 64)), b.tensor("out", (64, 64))
    s, n = b.scalar("s"), b.scalar("n", DataType.INDEX)
    start = _tile_of(b.tile("z", TILE), x, 0)
    acc = Var("acc", start.var.type)
    stmts: list[Stmt] = [replace(start, var=acc), AssignStmt(s, n)]
    number = 0
    while len(stmts) < size // 3:
        stmts += unit(number, acc, s, x, helper)
        number += 1
    stmts.append(b.do(b.op("tile.store", acc, b.dims(0, 0), out)))
    return b.program(b.kernel("k", [x, out, n], stmts), helper)


def _count(program: Program) -> int:
    return sum(1 for function in program for _ in walk_stmts(function.body))


def _lifted(change: Callable[[Function], Function]) -> Callable[[Program], Program]:
    return lambda program: map_functions(program, change)


PASSES: dict[str, Callable[[Program], Program]] = {
    "InlineFunctions": inline_functions,
    "UnrollLoops": _lifted(unroll_loops),
    "CtrlFlowTransform": _lifted(ctrl_flow_transform),
    "ConvertToSSA": _lifted(convert_to_ssa),
    "Simplify": _lifted(simplify),
    "NormalizeStmtStructure": _lifted(normalize_stmt_structure),
    "FlattenCallExpr": _lifted(flatten_call_expr),
}
"""In the order in which they run: each is measured on what the ones before it made."""


def run() -> list[Figure]:
    """Microseconds per statement at the largest size, and the exponent of the growth."""
    seconds: dict[str, list[float]] = {name: [] for name in PASSES}
    counts: dict[str, list[int]] = {name: [] for name in PASSES}
    for size in SIZES:
        program = plain(size)
        for name, run_pass in PASSES.items():
            counts[name].append(_count(program))
            seconds[name].append(
                best_of(lambda p=program, f=run_pass: f(p), repeat=1 if size > 10_000 else 3)
            )
            program = run_pass(program)
    figures: list[Figure] = []
    for name in PASSES:
        per_statement = seconds[name][-1] / counts[name][-1] * 1e6
        note = f"{counts[name][-1]} statements"
        figures.append(
            Figure(name=name, value=per_statement, unit="us/statement", target=TARGETS[name], note=note)
        )
        exponent = growth(counts[name], seconds[name])
        figures.append(Figure(name=f"{name}, growth", value=exponent, unit="exponent", target=1.25))
    return figures
