"""L0 pipelines written by hand, in which a second accumulator lets one result drain while the next is computed.

Only where the planner leaves the accumulator count to the program. The loop has to consist of one product of an
operand that moves in each trip with one that stays, and of one drain of its result; and all accumulators of the
function together have to fit L0C with one more for each such loop, counted as carefully as a later lowering might
copy them.
"""

from __future__ import annotations

import attrs

from pypto_core.ir import (
    PIPELINE_DOUBLE_BUFFER_C,
    PIPELINE_OVERLAP_STORES,
    PIPELINE_STAGES,
    AssignStmt,
    Call,
    ConstInt,
    Expr,
    ForKind,
    ForStmt,
    Function,
    IfStmt,
    MemorySpace,
    Stmt,
    TileType,
    Var,
    WhileStmt,
    YieldStmt,
    flatten,
    physical_shape,
    regions,
    walk,
    walk_stmts,
)
from pypto_plugin_autotile.machine import Machine
from pypto_plugin_autotile.match import is_call, static_2d
from pypto_plugin_autotile.uses import Uses, count_uses

ACC, MAT = MemorySpace.Acc, MemorySpace.Mat
_STORE_LIKE = ("tile.store", "tile.assemble", "tile.write")

LEAST_STORED_TRIPS = 4
"""Trips from which a second accumulator pays when results go to global memory."""
LEAST_ASSEMBLED_TRIPS = 8
"""The same for results that go to Mat, a cheaper way out."""
LEAST_ASSEMBLED_SHARE = 4
"""And then the accumulator has to take at least one part in this many of L0C. Measured on the 910B: 32 and 40 KiB
gain, 16 KiB breaks even, 8 KiB loses."""


def pipelines_to_mark(function: Function, machine: Machine) -> frozenset[ForStmt]:
    """The loops that get a second accumulator: all that qualify, or none when they don't fit together."""
    room = machine.capacity(ACC)
    if not machine.options.mark_pipelines or not machine.stacks_buffers or room <= 0:
        return frozenset()
    loops = [s for s in walk_stmts(function.body) if isinstance(s, ForStmt) and _whole_trips(s) is not None]
    if not loops:
        return frozenset()
    uses = count_uses(function)
    found = {loop: size for loop in loops if (size := _gain(loop, uses, machine)) is not None}
    if not found:
        return frozenset()
    total = _accumulators(function, machine)
    if total is None:
        return frozenset()
    worst = 2 * total if machine.opted_in else total + sum(found.values())
    return frozenset(found) if worst <= room else frozenset()


def _gain(loop: ForStmt, uses: Uses, machine: Machine) -> int | None:
    """Bytes of one more accumulator for a loop that would gain by it."""
    trips = _whole_trips(loop)
    match = _match(loop, uses) if trips is not None else None
    if trips is None or match is None:
        return None
    size = machine.allocated_bytes(match.kind)
    if match.to_mat:
        share = -(-machine.capacity(ACC) // LEAST_ASSEMBLED_SHARE)
        return size if trips >= LEAST_ASSEMBLED_TRIPS and size >= share else None
    return size if trips >= LEAST_STORED_TRIPS else None


def _whole_trips(loop: ForStmt) -> int | None:
    """The trips of a pipelined loop that leaves the matter open and runs in whole groups of its stages."""
    if loop.kind is not ForKind.Pipeline:
        return None
    if PIPELINE_OVERLAP_STORES in loop.attrs or PIPELINE_DOUBLE_BUFFER_C in loop.attrs:
        return None
    stages = loop.attrs[PIPELINE_STAGES]
    bounds = [b.value for b in (loop.start, loop.stop, loop.step) if isinstance(b, ConstInt)]
    if len(bounds) != 3 or bounds[2] <= 0 or not isinstance(stages, int) or stages < 2:
        return None
    trips = len(range(*bounds))
    return trips if trips >= stages and trips % stages == 0 else None


@attrs.frozen
class _Match:
    """The accumulator of a canonical loop, and whether it goes to Mat and not to a tensor."""

    kind: TileType
    to_mat: bool


def _match(loop: ForStmt, uses: Uses) -> _Match | None:
    body = flatten(loop.body)
    if not body or any(regions(stmt) for stmt in body) or not isinstance(body[-1], YieldStmt):
        return None
    product = _only_product(body)
    if product is None or not _one_operand_moves(product, body, loop):
        return None
    kind = product.var.type
    if not isinstance(kind, TileType) or static_2d(product.var) is None or uses.reads[product.var] != 1:
        return None
    if any(read is not product.var for stmt in body for read in _acc_reads(stmt)):
        return None
    drain = _only_drain(body, product.var)
    if drain is None or not _goes_round(drain, body[-1], loop, uses):
        return None
    return _Match(kind, is_call(drain.value, "tile.assemble"))


def _in_acc(expr: Expr) -> bool:
    return isinstance(expr.type, TileType) and expr.type.memory_space is ACC


def _calls(stmt: Stmt) -> list[Call]:
    return [node for node in walk(stmt) if isinstance(node, Call)]


def _acc_reads(stmt: Stmt) -> list[Var]:
    value = stmt.value if isinstance(stmt, AssignStmt) else stmt
    return [node for node in walk(value) if isinstance(node, Var) and _in_acc(node)]


def _only_product(body: tuple[Stmt, ...]) -> AssignStmt | None:
    """The one statement that makes an accumulator, when it is a plain product."""
    makers = [stmt for stmt in body for call in _calls(stmt) if _in_acc(call)]
    bound = [stmt for stmt in body if isinstance(stmt, AssignStmt) and _in_acc(stmt.var)]
    if len(makers) != 1 or len(bound) != 1 or makers[0] is not bound[0]:
        return None
    return bound[0] if is_call(bound[0].value, "tile.matmul", 2) else None


def _one_operand_moves(product: AssignStmt, body: tuple[Stmt, ...], loop: ForStmt) -> bool:
    """Whether exactly one operand comes from Mat in each trip, and the other from outside of the loop."""
    call = product.value
    assert isinstance(call, Call)
    defined = {stmt.var: stmt.value for stmt in body if isinstance(stmt, AssignStmt)}
    extents: list[tuple[int, int]] = []
    moving: list[bool] = []
    for arg, space in zip(call.args, (MemorySpace.Left, MemorySpace.Right), strict=True):
        shape = static_2d(arg)
        if not isinstance(arg, Var) or shape is None or not isinstance(arg.type, TileType):
            return False
        if arg.type.memory_space is not space or arg in loop.iter_args:
            return False
        extents.append(shape)
        moving.append(arg in defined)
        if arg in defined and not _from_mat(defined[arg]):
            return False
    return moving.count(True) == 1 and extents[0][1] == extents[1][0]


def _from_mat(value: Expr) -> bool:
    if not isinstance(value, Call) or value.name not in ("tile.extract", "tile.move"):
        return False
    source = value.args[0].type
    return isinstance(source, TileType) and source.memory_space is MAT


def _only_drain(body: tuple[Stmt, ...], acc: Var) -> AssignStmt | None:
    """The one statement that writes anything anywhere, when what it writes is the accumulator."""
    writers = [stmt for stmt in body for call in _calls(stmt) if call.name in _STORE_LIKE]
    if len(writers) != 1 or not isinstance(writers[0], AssignStmt):
        return None
    call = writers[0].value
    source = 0 if is_call(call, "tile.store", 3) else 1 if is_call(call, "tile.assemble", 3) else None
    if source is None or not isinstance(call, Call) or call.args[source] is not acc:
        return None
    return writers[0]


def _goes_round(drain: AssignStmt, last: YieldStmt, loop: ForStmt, uses: Uses) -> bool:
    """Whether the drain writes into a carried value and is yielded in its place, and neither is used otherwise."""
    call = drain.value
    assert isinstance(call, Call)
    places = [i for i, value in enumerate(last.values) if value is drain.var]
    if len(last.values) != len(loop.iter_args) or len(places) != 1:
        return False
    carry = loop.iter_args[places[0]]
    to_mat = is_call(call, "tile.assemble")
    target = call.args[0 if to_mat else 2]
    if target is not carry or uses.reads[drain.var] != 1 or uses.reads[carry] != 1:
        return False
    kinds = (target.type, call.type)
    return not to_mat or all(isinstance(k, TileType) and k.memory_space is MAT for k in kinds)


def _accumulators(function: Function, machine: Machine) -> int | None:
    """Bytes of all accumulators of a function, each as often as lowering may copy it; None when that is unknown."""
    sizes: dict[Var, int] = {}
    copies: dict[Var, int] = {}
    try:
        for var, count in _records(function):
            kind = var.type
            assert isinstance(kind, TileType)
            if physical_shape(kind) is None:
                return None
            sizes[var] = machine.allocated_bytes(kind)
            copies[var] = max(copies.get(var, 1), count)
    except _UnknownStagesError:
        return None
    return sum(copies[var] * size for var, size in sizes.items())


class _UnknownStagesError(Exception):
    pass


def _records(function: Function) -> list[tuple[Var, int]]:
    """Every accumulator with a number of copies: as many as all stages around it, one for what is serialised."""
    found = [(param, 1) for param in function.params if _in_acc(param)]
    stack: list[tuple[Stmt, int, bool]] = [(function.body, 1, False)]
    while stack:
        region, stages, doubled = stack.pop()
        for stmt in flatten(region):
            inner, twice = stages, doubled
            if isinstance(stmt, AssignStmt) and _in_acc(stmt.var):
                serial = isinstance(stmt.value, Call) and stmt.value.name.startswith("tile.matmul")
                found.append((stmt.var, 1 if serial and not doubled else stages))
            if isinstance(stmt, ForStmt | WhileStmt):
                found += [(v, 1) for v in (*stmt.iter_args, *stmt.return_vars) if _in_acc(v)]
            elif isinstance(stmt, IfStmt):
                found += [(v, 1) for v in stmt.return_vars if _in_acc(v)]
            if isinstance(stmt, ForStmt) and stmt.kind is ForKind.Pipeline:
                own = stmt.attrs[PIPELINE_STAGES]
                if not isinstance(own, int) or own <= 0:
                    raise _UnknownStagesError
                inner, twice = stages * own, doubled or stmt.attrs.get(PIPELINE_DOUBLE_BUFFER_C) is True
            stack += [(body, inner, twice) for body in regions(stmt)]
    return found
