"""Is every byte still what its reader expects? A run of the program in which bytes hold names instead of numbers.

The run knows nothing of lifetimes, groups or planners. Writing a tile puts its name on its bytes; reading one demands
that all its bytes carry the name. Where paths join, a byte that carries different names carries none. Loops run until
nothing changes. Before addresses are assigned each allocation is a memory of its own, afterwards each space is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs

from pypto_core.diagnostics import Diagnostic, Span
from pypto_core.ir import (
    Add,
    AssignStmt,
    Call,
    ConstInt,
    EvalStmt,
    Expr,
    ForStmt,
    Function,
    IfStmt,
    MakeTuple,
    MemorySpace,
    MemRef,
    Program,
    ReturnStmt,
    ScopeStmt,
    Stmt,
    TileType,
    TupleGetItemExpr,
    Var,
    WhileStmt,
    YieldStmt,
    base_name,
    defined_vars,
    flatten,
    last_yield,
)
from pypto_core.ops import alias_forbidden, alias_source, is_view, touches_memory
from pypto_plugin_memory.segments import Memory, Tag, holds, join, write_range
from pypto_plugin_memory.window import apart_or_itself, is_packed


@attrs.frozen(kw_only=True)
class Finding:
    """One read of bytes that something else has overwritten, or one rule of an operator that the places break."""

    message: str
    span: Span


def audit(function: Function, *, addressed: bool) -> tuple[Finding, ...]:
    """What is wrong with the places of a function's tiles; empty when every read finds what it expects.

    ``addressed``: whether offsets count from the start of a memory (after AllocateMemoryAddr) or of an allocation.
    """
    auditor = _Auditor(function, addressed)
    state: Memory = {}
    for param in function.params:
        auditor.own(param)
        auditor.write(state, param)
    auditor.region(function.body, state, speaking=True)
    return tuple(auditor.findings)


def verify_storage_closed(program: Program, backend: object = None) -> Iterator[Diagnostic]:
    """Find tiles that are overwritten while they are needed, or handed on from where they are not (1), and kernels
    none of whose tiles has a place (2).

    For programs without addresses: each allocation is looked at by itself.
    """
    remedy = "run MaterializeSemanticAliases; after it, report whoever moved the tile"
    yield from _diagnostics(program, "memory.StorageClosed", "PT641", remedy, addressed=False)


def verify_plan_kept(program: Program, backend: object = None) -> Iterator[Diagnostic]:
    """Find tiles whose bytes are overwritten while they are still needed (1), and kernels none of whose tiles has a
    place (2). For programs with addresses.
    """
    remedy = (
        "choose another planner, and report this one; after AllocateMemoryAddr, report whoever moved the tile"
    )
    yield from _diagnostics(program, "memory.PlanKept", "PT642", remedy, addressed=True)


def _diagnostics(
    program: Program, rule: str, code: str, remedy: str, *, addressed: bool
) -> Iterator[Diagnostic]:
    for function in program:
        if not function.is_incore:
            continue
        if _nowhere(function):
            yield Diagnostic(
                code="PT643",
                message=f"Function '{function.name}': its tiles have no place yet",
                span=function.span,
                rule=rule,
                number=2,
                remedy="run InitMemRef",
            )
            continue
        for finding in audit(function, addressed=addressed):
            yield Diagnostic(
                code=code,
                message=f"Function '{function.name}': {finding.message}",
                span=finding.span,
                rule=rule,
                number=1,
                remedy=remedy,
            )


def _nowhere(function: Function) -> bool:
    """Whether there are tiles and none of them has a MemRef."""
    tiles = [v for v in (*function.params, *defined_vars(function.body)) if isinstance(v.type, TileType)]
    return bool(tiles) and all(_memref(v) is None for v in tiles)


@attrs.frozen(eq=False)
class _Place:
    """The bytes of a variable: memory, range, the tag it expects there."""

    key: object
    low: int
    high: int
    tag: Tag

    @property
    def range(self) -> tuple[object, int, int]:
        """The bytes alone."""
        return self.key, self.low, self.high


class _Auditor:
    def __init__(self, function: Function, addressed: bool) -> None:
        self.addressed = addressed
        self.findings: list[Finding] = []
        self.said: set[tuple[Var, str]] = set()
        self.places: dict[Var, _Place] = {}
        self.rings: dict[Var, Tag] = {}
        self.tuples: dict[Var, Call] = {}
        self.made: set[tuple[object, int, int]] = set()
        for var in defined_vars(function.body):
            memref = _memref(var)
            if memref is not None and memref.slot_count > 1 and not isinstance(memref.byte_offset, ConstInt):
                self.rings.setdefault(memref.base, object())

    # -- places

    def own(self, var: Var) -> None:
        """A variable that holds a value of its own."""
        memref = _memref(var)
        if memref is None:
            return
        kind = var.type
        assert isinstance(kind, TileType)
        key = kind.memory_space if self.addressed else memref.base
        ring = self.rings.get(memref.base)
        if ring is not None:
            low = _origin(memref)
            self.places[var] = _Place(key, low, low + memref.slot_count * memref.size, ring)
            return
        low = _origin(memref)
        self.places[var] = _Place(key, low, low + memref.size, object())

    def look(self, var: Var, source: Var) -> None:
        """A variable that is a window of another."""
        root, memref = self.places.get(source), _memref(var)
        if root is None or memref is None:
            return
        if isinstance(memref.byte_offset, ConstInt) and memref.base not in self.rings:
            low = memref.byte_offset.value
            self.places[var] = _Place(root.key, low, low + memref.size, root.tag)
        else:
            self.places[var] = root

    # -- bytes

    def write(self, state: Memory, var: Var) -> None:
        place = self.places.get(var)
        if place is not None:
            write_range(state.setdefault(place.key, []), place.low, place.high, place.tag)

    def read(self, state: Memory, expr: Expr | None, what: str, span: Span, speaking: bool) -> None:
        for var in _variables(expr):
            place = self.places.get(var)
            if place is None or not speaking:
                continue
            if not holds(state.get(place.key, []), place.low, place.high, place.tag):
                self.say(
                    var, f"{what} reads '{base_name(var.name_hint)}' after its bytes were overwritten", span
                )

    def say(self, var: Var, message: str, span: Span) -> None:
        if (var, message) not in self.said:
            self.said.add((var, message))
            self.findings.append(Finding(message=message, span=span if span.is_valid else var.span))

    # -- statements

    def region(self, body: Stmt | None, state: Memory, speaking: bool) -> None:
        for stmt in flatten(body):
            self.stmt(stmt, state, speaking)

    def stmt(self, stmt: Stmt, state: Memory, speaking: bool) -> None:
        if isinstance(stmt, AssignStmt):
            self.assign(stmt, state, speaking)
        elif isinstance(stmt, EvalStmt):
            self.read(state, stmt.expr, "a statement", stmt.span, speaking)
        elif isinstance(stmt, ReturnStmt | YieldStmt):
            for value in stmt.values:
                self.read(
                    state,
                    value,
                    "a yield" if isinstance(stmt, YieldStmt) else "a return",
                    stmt.span,
                    speaking,
                )
        elif isinstance(stmt, IfStmt):
            self.branch(stmt, state, speaking)
        elif isinstance(stmt, ForStmt | WhileStmt):
            self.loop(stmt, state, speaking)
        elif isinstance(stmt, ScopeStmt):
            self.region(stmt.body, state, speaking)

    def assign(self, stmt: AssignStmt, state: Memory, speaking: bool) -> None:
        var, value = stmt.var, stmt.value
        if isinstance(value, Var):
            self.look(var, value)
            return
        if isinstance(value, TupleGetItemExpr):
            if var not in self.places:
                self.own(var)
            self.write(state, var)
            return
        if isinstance(value, Call):
            index = alias_source(value)
            source = value.args[index] if index is not None and index < len(value.args) else None
            if is_view(value) and isinstance(source, Var) and source in self.places:
                self.look(var, source)
                return
            if var not in self.places:
                self.own(var)
            self.read(state, value, value.op.name, stmt.span, speaking)
            if index is None and var in self.places:
                self.made.add(self.places[var].range)
            if speaking:
                self.rules(value, var, index, stmt.span)
        elif var not in self.places:
            self.own(var)
        self.write(state, var)

    def rules(self, call: Call, var: Var, reused: int | None, span: Span) -> None:
        """Operands may share bytes with the result from the same start, and only where the operator allows it."""
        mine = self.places.get(var)
        if mine is None or not touches_memory(call):
            return
        # A slot may have more bytes than the tile that was made in it; other results are parts of a wider tile then.
        packed = mine.range in self.made or is_packed(call.type, mine.high - mine.low)
        forbidden = alias_forbidden(call)
        for index, arg in enumerate(call.args):
            theirs = self.places.get(arg) if isinstance(arg, Var) else None
            if theirs is None or theirs.key != mine.key:
                continue
            name = base_name(arg.name_hint) if isinstance(arg, Var) else ""
            if index == reused:
                if (theirs.low, theirs.high) != (mine.low, mine.high):
                    self.say(var, f"{call.op.name} works in place, but not where '{name}' lies", span)
            elif theirs.low < mine.high and mine.low < theirs.high:
                if apart_or_itself(call, (theirs.low, theirs.high), mine.low, packed):
                    continue
                if index in forbidden:
                    self.say(var, f"{call.op.name} can't write over its operand '{name}'", span)
                elif theirs.low != mine.low:
                    self.say(var, f"{call.op.name} writes over a shifted part of its operand '{name}'", span)

    def branch(self, stmt: IfStmt, state: Memory, speaking: bool) -> None:
        for var in stmt.return_vars:
            if var not in self.places:
                self.own(var)
        ends: list[Memory] = []
        for body in (stmt.then_body, stmt.else_body):
            end = {key: list(segments) for key, segments in state.items()}
            self.region(body, end, speaking)
            self.hand_on(body, stmt.return_vars, end, speaking)
            ends.append(end)
        state.clear()
        state.update(join(*ends))

    def loop(self, stmt: ForStmt | WhileStmt, state: Memory, speaking: bool) -> None:
        for arg in stmt.iter_args:
            if arg not in self.places:
                self.own(arg)
        self.pass_to(stmt.iter_args, [a.init_value for a in stmt.iter_args], state, stmt.span, speaking)
        entry = state
        current = {key: list(segments) for key, segments in entry.items()}
        for _ in range(64):
            end = {key: list(segments) for key, segments in current.items()}
            self.region(stmt.body, end, False)
            self.hand_on(stmt.body, stmt.iter_args, end, False)
            following = join(current, end)
            if following == current:
                break
            current = following
        final = {key: list(segments) for key, segments in current.items()}
        self.region(stmt.body, final, speaking)
        self.hand_on(stmt.body, stmt.iter_args, final, speaking)
        for var in stmt.return_vars:
            if var not in self.places:
                self.own(var)
        state.clear()
        state.update(current)
        self.pass_to(stmt.return_vars, list(stmt.iter_args), state, stmt.span, speaking)

    def hand_on(self, body: Stmt | None, targets: tuple[Var, ...], state: Memory, speaking: bool) -> None:
        tail = last_yield(body)
        if tail is not None:
            self.pass_to(targets, list(tail.values), state, tail.span, speaking)

    def pass_to(
        self, targets: tuple[Var, ...], values: list[Expr], state: Memory, span: Span, speaking: bool
    ) -> None:
        """Each target names the bytes in which its value lies already."""
        for target, value in zip(targets, values, strict=False):
            goal = self.places.get(target)
            if goal is None:
                continue
            place = self.places.get(value) if isinstance(value, Var) else None
            name = base_name(target.name_hint)
            if place is None:
                if speaking:
                    self.say(target, f"what '{name}' gets has no place", span)
                continue
            if speaking:
                self.read(state, value, f"'{name}'", span, speaking)
                if (place.key, place.low, place.high) != (goal.key, goal.low, goal.high):
                    self.say(target, f"'{name}' does not lie where its value does", span)
        for target in targets:
            self.write(state, target)


def _variables(expr: Expr | None) -> Iterator[Var]:
    if isinstance(expr, Var):
        yield expr
    elif isinstance(expr, Call):
        for arg in expr.args:
            yield from _variables(arg)
    elif isinstance(expr, MakeTuple):
        for element in expr.elements:
            yield from _variables(element)


def _memref(var: Any) -> MemRef | None:
    kind = var.type
    on_chip = isinstance(kind, TileType) and kind.memory_space not in (None, MemorySpace.DDR)
    return kind.memref if on_chip else None


def _origin(memref: MemRef) -> int:
    """The first byte; of a ring whose slot is chosen at run time, that of the ring."""
    offset = memref.byte_offset
    if isinstance(offset, ConstInt):
        slot = memref.slot_index.value if isinstance(memref.slot_index, ConstInt) else 0
        return offset.value - (slot * memref.size if memref.slot_count > 1 and _ringed(memref) else 0)
    if isinstance(offset, Add) and isinstance(offset.left, ConstInt):
        return offset.left.value
    return 0


def _ringed(memref: MemRef) -> bool:
    return not isinstance(memref.byte_offset, ConstInt)
