"""What the consumers of a tile want: the memory space of values whose producer leaves it open.

Every operator names the spaces that it takes an operand from. That wish goes back over views, aliases, loop carries
and branch results to whatever produces the value. Of several wishes the cube's side wins over the vector's. Where a
branch or a loop brings a matrix product together with a value whose space is open, that value goes to the accumulator
as well, as nothing can be moved there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

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

Demands = dict[Var, MemorySpace]


def collect_demands(function: Function) -> Demands:
    """The space that is wanted of each variable, where anything is."""
    stmts = tuple(walk_stmts(function.body))
    sources: dict[Var, list[Var]] = {}
    for stmt in stmts:
        for var, source in _flows(stmt):
            sources.setdefault(var, []).append(source)
    demands: Demands = {}
    changed: deque[Var] = deque()

    def demand(var: Var, space: MemorySpace) -> None:
        if demands.get(var) in (None, MemorySpace.Vec) and demands.get(var) is not space:
            demands[var] = space
            changed.append(var)

    for var in _meeting_accumulators(stmts):
        demand(var, MemorySpace.Acc)
    for stmt in reversed(stmts):
        for var, space in _wishes(stmt):
            demand(var, space)
    while changed:
        var = changed.popleft()
        for source in sources.get(var, ()):
            demand(source, demands[var])
    return demands


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


def _meeting_accumulators(stmts: tuple[Stmt, ...]) -> Iterator[Var]:
    """Results of loops and branches in which a matrix product meets other values."""
    inside: set[Var] = set()
    groups: list[tuple[Var, list[Var]]] = []
    for stmt in stmts:
        if isinstance(stmt, AssignStmt):
            source = _inherited(stmt.value)
            if (source is not None and source in inside) or _is_product(stmt.value):
                inside.add(stmt.var)
        groups += _groups(stmt)
    # Regions stand behind the statement that holds them, and inner ones behind outer ones.
    for result, members in reversed(groups):
        if any(m in inside for m in members):
            inside.add(result)
            yield result


def _is_product(value: Expr) -> bool:
    op = op_of(value) if isinstance(value, Call) else None
    return op is not None and op.memory is not None and op.memory.output is MemorySpace.Acc
