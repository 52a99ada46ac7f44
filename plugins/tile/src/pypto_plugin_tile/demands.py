"""What the consumers of a tile want: the memory space of values whose producer leaves it open.

Every operator names the spaces that it takes an operand from. That wish goes back over views, aliases, loop carries
and branch results to whatever produces the value. Of several wishes the cube's side wins over the vector's. Where a
branch or a loop brings a matrix product together with a value whose space is open, that value goes to the accumulator
as well, as nothing can be moved there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import attrs

from pypto_core.ir import (
    AssignStmt,
    Call,
    EvalStmt,
    Expr,
    ForStmt,
    Function,
    IfStmt,
    MemorySpace,
    Stmt,
    TileType,
    Var,
    WhileStmt,
    last_yield,
    walk_stmts,
)
from pypto_core.ops import INHERIT, op_of

# Filled out of L1 alone.
_BEHIND_MAT = (
    MemorySpace.Left,
    MemorySpace.Right,
    MemorySpace.Bias,
    MemorySpace.LeftScale,
    MemorySpace.RightScale,
)


@attrs.frozen
class Demands:
    """What is wanted of a function's tiles.

    ``spaces``: by variable, where anything is wanted. ``vector``: variables that some consumer wants in Vec.
    """

    spaces: dict[Var, MemorySpace]
    vector: set[Var]


def collect_demands(function: Function) -> Demands:
    """What the consumers in a function want."""
    stmts = tuple(walk_stmts(function.body))
    flows = [flow for stmt in stmts for flow in _flows(stmt)]
    sources: dict[Var, list[Var]] = {}
    for var, source in flows:
        sources.setdefault(var, []).append(source)
    spaces: dict[Var, MemorySpace] = {}
    vector: set[Var] = set()
    changed: deque[tuple[Var, MemorySpace]] = deque()

    def demand(var: Var, space: MemorySpace) -> None:
        new = space is MemorySpace.Vec and var not in vector
        if new:
            vector.add(var)
        if spaces.get(var) in (None, MemorySpace.Vec) and spaces.get(var) is not space:
            spaces[var] = space
            new = True
        if new:
            changed.append((var, space))

    for var in _accumulators(stmts, flows):
        demand(var, MemorySpace.Acc)
    for stmt in reversed(stmts):
        for var, space in _wishes(stmt):
            demand(var, space)
    while changed:
        var, space = changed.popleft()
        for source in sources.get(var, ()):
            demand(source, space)
    return Demands(spaces, vector)


def _value(stmt: Stmt) -> Expr | None:
    return stmt.value if isinstance(stmt, AssignStmt) else stmt.expr if isinstance(stmt, EvalStmt) else None


def _is_tile(expr: Expr) -> bool:
    return isinstance(expr.type, TileType)


def _wishes(stmt: Stmt) -> Iterator[tuple[Var, MemorySpace]]:
    """The operands of a statement's operator with the space that it would rather have them in."""
    call = _value(stmt)
    op = op_of(call) if isinstance(call, Call) else None
    if op is None or op.memory is None:
        return
    assert isinstance(call, Call)
    if call.kwargs.get("target_memory") in _BEHIND_MAT and isinstance(call.args[0], Var):
        yield call.args[0], MemorySpace.Mat
    for arg, spaces in zip(call.args, op.memory.inputs, strict=False):
        if spaces and isinstance(arg, Var) and _is_tile(arg):
            yield arg, spaces[0]


def _flows(stmt: Stmt) -> Iterator[tuple[Var, Var]]:
    """(value, what has to lie where it does)."""
    if isinstance(stmt, AssignStmt):
        source = _inherited(stmt.value)
        if source is not None:
            yield stmt.var, source
    for result, members in _groups(stmt):
        for member in members:
            yield result, member
            if not isinstance(stmt, IfStmt) and member is not members[0]:
                yield members[0], member


def _inherited(value: Expr) -> Var | None:
    """The variable whose space a value has: the one it is another name or view of."""
    if isinstance(value, Call):
        op = op_of(value)
        if op is None or op.memory is None or op.memory.output != INHERIT:
            return None
        value = next((a for a in value.args if _is_tile(a)), value)
    return value if isinstance(value, Var) and _is_tile(value) else None


def _groups(stmt: Stmt) -> Iterator[tuple[Var, list[Var]]]:
    """Each tile that a loop or branch results in, with the variables that meet in it; a loop's carry comes first."""
    if isinstance(stmt, ForStmt | WhileStmt):
        tail = last_yield(stmt.body)
        yields = tail.values if tail is not None else ()
        for i, (arg, result) in enumerate(zip(stmt.iter_args, stmt.return_vars, strict=True)):
            if _is_tile(result):
                members = [arg, arg.init_value, *yields[i : i + 1]]
                yield result, [m for m in members if isinstance(m, Var)]
    elif isinstance(stmt, IfStmt):
        tails = [t.values for b in (stmt.then_body, stmt.else_body) if (t := last_yield(b)) is not None]
        for i, result in enumerate(stmt.return_vars):
            if _is_tile(result):
                yield result, [v for values in tails for v in values[i : i + 1] if isinstance(v, Var)]


def _accumulators(stmts: tuple[Stmt, ...], flows: list[tuple[Var, Var]]) -> list[Var]:
    """Matrix products and whatever they become part of: results of loops and branches, carries, views."""
    becomes: dict[Var, list[Var]] = {}
    for var, source in flows:
        becomes.setdefault(source, []).append(var)
    found = {s.var: None for s in stmts if isinstance(s, AssignStmt) and _is_product(s.value)}
    todo = deque(found)
    while todo:
        for var in becomes.get(todo.popleft(), ()):
            if var not in found:
                found[var] = None
                todo.append(var)
    return list(found)


def _is_product(value: Expr) -> bool:
    op = op_of(value) if isinstance(value, Call) else None
    return op is not None and op.memory is not None and op.memory.output is MemorySpace.Acc
