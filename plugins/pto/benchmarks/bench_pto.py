"""How long it takes to write a program as PTO text, and to check the text."""

from __future__ import annotations

from typing import Any

from benchmarks.figures import Figure, best_of, clock
from pypto_core.ir import (
    PTR,
    AssignStmt,
    Function,
    FunctionType,
    MemorySpace,
    MemRef,
    ParamDirection,
    Program,
    Stmt,
    TileType,
    Var,
    add,
    const_index,
    mul,
    replace,
)
from pypto_core.run import PassContext
from pypto_core.testing import build as b
from pypto_plugin_pto.checker import check_text
from pypto_plugin_pto.write import emit

STATEMENTS = 2_000
_SLOTS = 11


def long_kernel(statements: int = STATEMENTS) -> Function:
    """Loads, arithmetic and stores in loops of 40 statements; every statement has a place in a source file."""
    from pypto_core.diagnostics import Span

    source, out, n = b.tensor("a", (4096, 64)), b.tensor("out", (4096, 64)), b.scalar("n")
    places = [MemRef(Var(f"mem_{k}", PTR), const_index(k * 16384), 16384) for k in range(_SLOTS)]
    made: list[Stmt] = []
    number = 0

    def placed(name: str, call: Any) -> AssignStmt:
        nonlocal number
        number += 1
        kind = call.type
        assert isinstance(kind, TileType)
        span = Span("kernel.py", number, 9)
        stored = replace(kind, memref=places[number % _SLOTS])
        return AssignStmt(Var(f"{name}_{number}", stored), replace(call, span=span), span=span)

    def body(i: Any) -> list[Stmt]:
        stmts: list[Stmt] = []
        for k in range(8):
            at = b.dims(add(mul(i, 64), k), 0)
            window = b.op("tile.load", source, at, b.dims(64, 64), target_memory=MemorySpace.Vec)
            load = placed("x", window)
            scaled = placed("s", b.op("tile.muls", load.var, b.as_expr(2.0)))
            total = placed("t", b.op("tile.add", load.var, scaled.var))
            root = placed("r", b.op("tile.exp", total.var))
            store = b.do(b.op("tile.store", root.var, at, out))
            stmts += [load, scaled, total, root, store]
        return stmts

    while len(made) * 40 < statements:
        made.append(b.loop(n, body))
    return b.function(
        "long", [source, (out, ParamDirection.Out), (n, ParamDirection.In)], made, kind=FunctionType.AIV
    )


def run() -> list[Figure]:
    """Seconds for 2,000 statements, and microseconds a line of the checker."""
    program = Program("bench", [long_kernel()])
    figures: list[Figure] = []
    for planner, level in (("pypto", 3), ("ptoas", 2)):
        context = PassContext(planner=planner)
        seconds = best_of(lambda c=context: list(emit(program, c)), repeat=5)
        figures.append(
            Figure(
                name=f"pto: write {STATEMENTS} statements, level {level}", value=seconds, unit="s", target=0.3
            )
        )
    [artifact] = emit(program, PassContext())
    text = str(artifact.data)
    lines = text.count("\n")
    started = clock()
    report = check_text(text)
    seconds = clock() - started
    assert report.ok, report.errors[:3]
    figures.append(
        Figure(
            name="pto: check a line of text", value=seconds / lines * 1e6, unit="us", note=f"{lines} lines"
        )
    )
    return figures
