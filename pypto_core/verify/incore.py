"""Code that runs on a core: where it lies before and after outlining, and what of it is not lowered to tiles yet.

Properties about tiles must not hold of a program merely because its tiles have not been made: a plan starts from what
verifiers find true. So the body of an InCore scope counts like that of an InCore function, and a tensor operator
that still has to become a tile operator denies every property of tiles.
"""

from __future__ import annotations

from collections.abc import Iterator

from pypto_core.ir import (
    Call,
    Function,
    FunctionType,
    InCoreScopeStmt,
    Program,
    SpmdScopeStmt,
    Stmt,
    Submit,
    walk_stmts,
)
from pypto_core.verify.kernels import is_kernel_scope, is_tile_compute
from pypto_core.verify.scan import Scan, scan


def incore_calls(program: Program) -> Iterator[tuple[Function, Call | Submit, Stmt]]:
    """The calls of InCore functions and of InCore scopes."""
    for function in program:
        reading = scan(function)
        inside = incore_stmts(function, reading)
        for call, stmt in reading.calls:
            if inside is None or stmt in inside:
                yield function, call, stmt


def incore_stmts(function: Function, reading: Scan) -> frozenset[Stmt] | None:
    """The statements of a function that run on a core as an InCore kernel; None when all do."""
    if function.func_type is FunctionType.InCore:
        return None
    found: list[Stmt] = []
    for scope in reading.of(InCoreScopeStmt, SpmdScopeStmt):
        if is_kernel_scope(scope):
            found.extend(walk_stmts(scope.body))
    return frozenset(found)


def first_unlowered(program: Program) -> tuple[Function, Call, Stmt] | None:
    """The first tensor operator in a kernel that is still to become a tile operator."""
    for function, call, stmt in incore_calls(program):
        if isinstance(call, Call) and is_tile_compute(call.op.name):
            return function, call, stmt
    return None
