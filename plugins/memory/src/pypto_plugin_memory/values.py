"""Which values a function's tiles hold, where each lies, and when it is alive.

Every leaf statement has a position; at position ``p`` operands are read at time ``2p`` and the result is written at
``2p + 1``. A value is alive in half-open intervals of time, from its definition to the end of its last read. In
a loop that it enters from outside it is alive throughout; in the arms of an if it is alive only where that arm
goes on to read it.

A *value* is what an operator computes, what an operator that works in place leaves behind, or what a carry or
branch result holds. Views and aliases are windows of a value. Windows are byte ranges of the value's base.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator

import attrs

from pypto_core.ir import (
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
    ReturnStmt,
    ScopeStmt,
    Stmt,
    TileType,
    TupleGetItemExpr,
    Var,
    WhileStmt,
    YieldStmt,
    flatten,
    last_yield,
    physical_bytes,
    static_dim,
)
from pypto_core.ops import alias_forbidden, alias_source, is_view, touches_memory
from pypto_plugin_memory.spans import Interval, merged
from pypto_plugin_memory.storage import memref_of
from pypto_plugin_memory.window import apart_or_itself, is_packed

Window = tuple[int, int]
FOREVER = 1 << 60


class Origin(enum.Enum):
    """Where a value comes from."""

    PARAM = "parameter"
    OWNER = "owner"
    IN_PLACE = "in place"
    CARRY = "carry"
    LOOP = "loop result"
    BRANCH = "branch result"


@attrs.define(eq=False)
class Region:
    """A sequence of statements. ``first`` and ``last`` are positions; ``loop`` when it may run again.

    ``enter``: time at which the statement that holds it begins.
    """

    parent: Region | None
    loop: bool
    first: int
    enter: int = 0
    last: int = 0


@attrs.define(eq=False)
class Value:
    """One value. ``begin``: time of its definition. ``uses``: (end of the read, region, window) of each read.

    ``source``: the operand's variable whose storage the value takes over, for IN_PLACE. ``packed``: whether its rows
    are adjacent where its MemRef is; those of a part of a wider tile are not. ``apart``: values that it may share no
    byte with although they end where it begins; ``exact``: those it may share with only when both start at one address.
    """

    var: Var
    memref: MemRef
    origin: Origin
    region: Region
    begin: int
    index: int
    source: Var | None = None
    call: Call | None = None
    packed: bool = True
    uses: list[tuple[int, Region, Window]] = attrs.field(factory=list)
    apart: list[Value] = attrs.field(factory=list)
    exact: list[Value] = attrs.field(factory=list)

    @property
    def size(self) -> int:
        """Bytes that it needs where it gets storage of its own; a window's gaps are not part of it."""
        kind = self.var.type
        if self.origin in (Origin.OWNER, Origin.PARAM) or not isinstance(kind, TileType):
            return self.memref.size
        return self.memref.size if kind.memory_space is MemorySpace.Acc else physical_bytes(kind)

    @property
    def handed_on(self) -> bool:
        """Whether a loop or branch hands it on: wherever that will be, its rows are adjacent there."""
        return self.origin in (Origin.CARRY, Origin.LOOP, Origin.BRANCH)

    @property
    def window(self) -> Window:
        """The bytes of its base that it takes up."""
        return window_of(self.memref)

    @property
    def start(self) -> int | None:
        """Its first byte in its base; None when that is known at run time only."""
        return static_dim(self.memref.byte_offset)

    def lives(self) -> list[tuple[Window, list[Interval]]]:
        """When which of its bytes are alive."""
        by_window: dict[Window, list[Interval]] = {self.window: [(self.begin, self.begin + 1)]}
        for end, region, window in self.uses:
            spans = by_window.setdefault(window, [])
            spans.extend(_spans(self, end, region))
        return [(window, merged(spans)) for window, spans in by_window.items()]

    def live(self) -> list[Interval]:
        """When any of it is alive."""
        return merged([span for _, spans in self.lives() for span in spans])

    @property
    def end(self) -> int:
        """When it is dead for good."""
        return self.live()[-1][1]


def window_of(memref: MemRef) -> Window:
    """Byte range within the base; all of it when the offset is known at run time only."""
    offset = memref.byte_offset
    if isinstance(offset, ConstInt):
        return offset.value, offset.value + memref.size
    return 0, FOREVER


def _spans(value: Value, end: int, region: Region) -> Iterator[Interval]:
    """From the definition to a read: through the regions between, whole loops where one is entered."""
    current: Region | None = region
    while current is not None and current is not value.region:
        if current.loop:
            yield 2 * current.first, 2 * current.last + 2
        elif end > 2 * current.first:
            yield 2 * current.first, end
        end, current = current.enter, current.parent
    if end > value.begin:
        yield value.begin, end


@attrs.define(eq=False)
class Values:
    """All values of a function.

    ``of``: the value of each variable, be it that value or a window of it. ``via``: what each window looks at, and the
    view that it is, None for another name. ``order``: the loops and ifs, outer before inner, in program order.
    ``end``: a time after everything.
    """

    all: list[Value] = attrs.field(factory=list)
    of: dict[Var, Value] = attrs.field(factory=dict)
    via: dict[Var, tuple[Var, Call | None]] = attrs.field(factory=dict)
    order: list[ForStmt | WhileStmt | IfStmt] = attrs.field(factory=list)
    end: int = 0

    def root(self, expr: Expr) -> Value | None:
        """The value that an expression is, or is a window of."""
        return self.of.get(expr) if isinstance(expr, Var) else None


def values_of(function: Function) -> Values:
    """Analyse a function whose tiles have MemRefs."""
    walker = _Walker()
    top = Region(None, False, 0)
    for param in function.params:
        walker.define(param, Origin.PARAM, top, -1)
    walker.region(function.body, top)
    walker.out.end = 2 * walker.position + 2
    for value in walker.out.all:
        if value.origin is Origin.PARAM:
            value.uses.append((walker.out.end, top, value.window))
    return walker.out


class _Walker:
    def __init__(self) -> None:
        self.out = Values()
        self.position = 0
        self.tuples: dict[Var, tuple[int, Call]] = {}
        self.pieces: dict[tuple[Var, int], Var] = {}
        self.owned: set[tuple[Var, int | None, int]] = set()

    def define(
        self,
        var: Var,
        origin: Origin,
        region: Region,
        begin: int,
        call: Call | None = None,
        source: Var | None = None,
    ) -> None:
        memref = memref_of(var)
        if memref is None:
            return
        place = (memref.base, static_dim(memref.byte_offset), memref.size)
        if origin in (Origin.OWNER, Origin.PARAM):
            self.owned.add(place)
        value = Value(
            var=var,
            memref=memref,
            origin=origin,
            region=region,
            begin=begin,
            index=len(self.out.all),
            call=call,
            source=source,
            # A slot may have more bytes than the tile in it.
            packed=place in self.owned or is_packed(var.type, memref.size),
        )
        self.out.all.append(value)
        self.out.of[var] = value
        if call is not None:
            self.constrain(value, call)

    def read(self, expr: Expr | None, region: Region, time: int) -> None:
        """Every tile variable in an expression is read at ``time``."""
        for var in _tiles_in(expr):
            value = self.out.of.get(var)
            memref = memref_of(var)
            if value is not None and memref is not None:
                value.uses.append((time + 1, region, window_of(memref)))

    def region(self, body: Stmt | None, region: Region) -> None:
        for stmt in flatten(body):
            self.stmt(stmt, region)
        region.last = max(self.position - 1, region.first)

    def stmt(self, stmt: Stmt, region: Region) -> None:
        if isinstance(stmt, AssignStmt):
            self.assign(stmt, region)
        elif isinstance(stmt, ForStmt | WhileStmt):
            self.loop(stmt, region)
        elif isinstance(stmt, IfStmt):
            self.branch(stmt, region)
        elif isinstance(stmt, ScopeStmt):
            for inner in flatten(stmt.body):
                self.stmt(inner, region)
        else:
            self.leaf(stmt, region)

    def leaf(self, stmt: Stmt, region: Region) -> None:
        if isinstance(stmt, EvalStmt):
            self.read(stmt.expr, region, 2 * self.position)
        elif isinstance(stmt, YieldStmt | ReturnStmt):
            for value in stmt.values:
                self.read(value, region, 2 * self.position)
        self.position += 1

    def assign(self, stmt: AssignStmt, region: Region) -> None:
        var, value, at = stmt.var, stmt.value, self.position
        self.position += 1
        if isinstance(value, Var):
            self.window(var, value)
            return
        if isinstance(value, TupleGetItemExpr) and isinstance(value.tuple, Var):
            self.piece(var, value, region)
            return
        if not isinstance(value, Call):
            self.read(value, region, 2 * at)
            self.define(var, Origin.OWNER, region, 2 * at + 1)
            return
        index = alias_source(value)
        source = value.args[index] if index is not None and index < len(value.args) else None
        if is_view(value) and isinstance(source, Var) and source in self.out.of:
            self.window(var, source, value)
            for other in value.args[1:]:
                self.read(other, region, 2 * at)
            return
        self.read(value, region, 2 * at)
        if isinstance(source, Var) and source in self.out.of:
            self.define(var, Origin.IN_PLACE, region, 2 * at + 1, value, source)
        elif memref_of(var) is not None:
            self.define(var, Origin.OWNER, region, 2 * at + 1, value)
        else:
            self.tuples[var] = (at, value)

    def window(self, var: Var, source: Var, view: Call | None = None) -> None:
        value = self.out.of.get(source)
        if value is not None and memref_of(var) is not None:
            self.out.of[var] = value
            self.out.via[var] = source, view

    def piece(self, var: Var, value: TupleGetItemExpr, region: Region) -> None:
        """A part of a tuple is written where the tuple is made."""
        assert isinstance(value.tuple, Var)
        key = (value.tuple, value.index)
        if key in self.pieces:
            self.window(var, self.pieces[key])
        elif value.tuple in self.tuples:
            at, call = self.tuples[value.tuple]
            self.define(var, Origin.OWNER, region, 2 * at + 1, call)
            self.pieces[key] = var

    def constrain(self, value: Value, call: Call) -> None:
        """What the operator says of sharing bytes between its result and its operands."""
        forbidden = alias_forbidden(call)
        reused = alias_source(call)
        for index, arg in enumerate(call.args):
            operand = self.out.root(arg)
            memref = memref_of(arg)
            if operand is None or memref is None or operand is value:
                continue
            if index == reused:
                continue
            read = window_of(memref)
            part = read != operand.window and touches_memory(call)
            here = memref.base is value.memref.base
            if part and here and apart_or_itself(call, read, value.start, value.packed):
                continue
            if index in forbidden or part or not (operand.packed or operand.handed_on):
                value.apart.append(operand)
            else:
                value.exact.append(operand)

    def loop(self, stmt: ForStmt | WhileStmt, region: Region) -> None:
        self.out.order.append(stmt)
        enter = 2 * self.position
        for arg in stmt.iter_args:
            # Read at the header, before anything in the body runs.
            self.read(arg.init_value, region, enter - 1)
        body = Region(region, True, self.position, enter)
        for arg in stmt.iter_args:
            self.define(arg, Origin.CARRY, body, enter)
        if isinstance(stmt, WhileStmt):
            self.read(stmt.condition, body, enter)
        # The header takes a position of its own: carries of a loop that begins with a loop begin one after the other.
        self.position += 1
        self.region(stmt.body, body)
        self.results(stmt, region)

    def branch(self, stmt: IfStmt, region: Region) -> None:
        self.out.order.append(stmt)
        enter = 2 * self.position
        self.read(stmt.condition, region, enter - 1)
        for body in (stmt.then_body, stmt.else_body):
            if body is not None:
                self.region(body, Region(region, False, self.position, enter))
        self.results(stmt, region)

    def results(self, stmt: ForStmt | WhileStmt | IfStmt, region: Region) -> None:
        origin = Origin.BRANCH if isinstance(stmt, IfStmt) else Origin.LOOP
        for var in stmt.return_vars:
            self.define(var, origin, region, 2 * self.position - 1)


def _tiles_in(expr: Expr | None) -> Iterator[Var]:
    if isinstance(expr, Var):
        yield expr
    elif isinstance(expr, Call):
        for arg in expr.args:
            yield from _tiles_in(arg)
    elif isinstance(expr, MakeTuple):
        for element in expr.elements:
            yield from _tiles_in(element)
    elif isinstance(expr, TupleGetItemExpr):
        yield from _tiles_in(expr.tuple)


def joins(stmt: ForStmt | WhileStmt | IfStmt) -> Iterator[tuple[Var, Stmt, int, Expr]]:
    """(target, region, slot, yielded value) of every value that a loop or branch hands on through its yields."""
    if isinstance(stmt, IfStmt):
        for body in (stmt.then_body, stmt.else_body):
            tail = last_yield(body)
            if body is not None and tail is not None:
                for slot, (var, value) in enumerate(zip(stmt.return_vars, tail.values, strict=False)):
                    yield var, body, slot, value
        return
    tail = last_yield(stmt.body)
    if tail is not None:
        for slot, (arg, value) in enumerate(zip(stmt.iter_args, tail.values, strict=False)):
            yield arg, stmt.body, slot, value
