"""Which memory a tensor is: the variable that names its storage, and what a region reads and writes of each.

Writing a tensor makes a new name for the same memory. The names are followed through writes, views, aliases, carries
of loops and results of branches, as long as these hand on one and the same memory; where they don't, the result is a
value of its own.
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from pypto_core.ir import (
    ArgEffect,
    AssignStmt,
    AtomicType,
    Call,
    EvalStmt,
    Expr,
    ForStmt,
    Function,
    IfStmt,
    IterArg,
    MakeTuple,
    ParamDirection,
    ReturnStmt,
    Stmt,
    Submit,
    TensorType,
    TupleGetItemExpr,
    Var,
    WhileStmt,
    flatten,
    last_yield,
    regions,
)
from pypto_core.ops import alias_source, effect_of, is_view, may_write, op_of

_UNREAD = frozenset({"tensor.dim"})


@attrs.frozen(eq=False)
class Place:
    """``root`` names the storage; ``whole`` says whether the value is all of it, and no window."""

    root: Var
    whole: bool = True


class Storage:
    """The places of a region's tensors; every variable that the region does not define is a root.

    ``reads`` and ``writes``: the roots whose memory is read and written. ``values``: carries and results that are no
    single memory, so that each trip or way makes a value of its own.
    """

    def __init__(self, body: Stmt, functions: Mapping[str, Function]) -> None:
        self.functions = functions
        self.values: set[Var] = set()
        self._returns: dict[str, tuple[int | None, ...]] = {}
        while True:
            self.places: dict[Var, Place] = {}
            self.reads: dict[Var, None] = {}
            self.writes: dict[Var, None] = {}
            self._calls: dict[Var, Call | Submit | MakeTuple] = {}
            known = len(self.values)
            self._region(body)
            if len(self.values) == known:
                break

    def of(self, value: Expr) -> Place | None:
        """Where a tensor lies; None for what is no tensor variable."""
        if isinstance(value, Var) and isinstance(value.type, TensorType):
            return self.places.get(value) or Place(value)
        return None

    def root(self, value: Expr) -> Var | None:
        """The root behind a tensor."""
        place = self.of(value)
        return None if place is None else place.root

    # -- statements

    def _region(self, body: Stmt | None) -> None:
        for stmt in flatten(body):
            self._stmt(stmt)

    def _stmt(self, stmt: Stmt) -> None:
        if isinstance(stmt, AssignStmt):
            self._effects(stmt.value)
            if isinstance(stmt.value, Call | Submit | MakeTuple):
                self._calls[stmt.var] = stmt.value
            if isinstance(stmt.var.type, TensorType):
                self.places[stmt.var] = self._made(stmt.value) or Place(stmt.var)
        elif isinstance(stmt, EvalStmt):
            self._effects(stmt.expr)
        elif isinstance(stmt, ForStmt | WhileStmt):
            self._loop(stmt)
        else:
            for region in regions(stmt):
                self._region(region)
            if isinstance(stmt, IfStmt):
                self._branch(stmt)

    def _loop(self, stmt: ForStmt | WhileStmt) -> None:
        for arg in stmt.iter_args:
            self._carry(arg, arg.init_value)
        self._region(stmt.body)
        tail = last_yield(stmt.body)
        for i, (arg, result) in enumerate(zip(stmt.iter_args, stmt.return_vars, strict=True)):
            if not isinstance(arg.type, TensorType):
                continue
            handed = self.of(tail.values[i]) if tail is not None and i < len(tail.values) else None
            place = self.places[arg]
            if arg not in self.values and (handed is None or not _same(handed, place)):
                self.values.add(arg)
            if arg in self.values:
                self._read_all((arg.init_value, *(tail.values[i : i + 1] if tail is not None else ())))
            self.places[result] = Place(result) if arg in self.values else place

    def _carry(self, arg: IterArg, init: Expr) -> None:
        if isinstance(arg.type, TensorType):
            place = None if arg in self.values else self.of(init)
            self.places[arg] = place or Place(arg)

    def _branch(self, stmt: IfStmt) -> None:
        tails = [last_yield(body) for body in (stmt.then_body, stmt.else_body)]
        for i, result in enumerate(stmt.return_vars):
            if not isinstance(result.type, TensorType):
                continue
            ways = [t.values[i] for t in tails if t is not None and i < len(t.values)]
            places = [p for way in ways if (p := self.of(way)) is not None]
            if len(places) == 2 and _same(*places):
                self.places[result] = places[0]
            else:
                self.values.add(result)
                self.places[result] = Place(result)
                self._read_all(ways)

    def _read_all(self, values: tuple[Expr, ...] | list[Expr]) -> None:
        self.reads.update((root, None) for value in values if (root := self.root(value)) is not None)

    # -- values

    def _made(self, value: Expr) -> Place | None:
        """Where the value assigned to a variable lies, when that is something known already."""
        if isinstance(value, Var):
            return self.of(value)
        if isinstance(value, TupleGetItemExpr):
            call = self._calls.get(value.tuple) if isinstance(value.tuple, Var) else None
            if isinstance(call, MakeTuple):
                return self.of(call.elements[value.index])
            return None if call is None else self._handed_back(call, value.index)
        if isinstance(value, Submit) or (isinstance(value, Call) and op_of(value) is None):
            return self._handed_back(value, 0)
        if not isinstance(value, Call):
            return None
        if is_view(value):
            place = self.of(value.args[0])
            return None if place is None else Place(place.root, whole=False)
        index = alias_source(value)
        return None if index is None else self.of(value.args[index])

    def _handed_back(self, call: Call | Submit, index: int) -> Place | None:
        """Which of its arguments a callee returns at ``index``."""
        name = call.op.name
        if name not in self._returns:
            self._returns[name] = ()  # a function that calls itself returns what can't be told
            callee = self.functions.get(name)
            self._returns[name] = () if callee is None else returned_parameters(callee, self.functions)
        positions = self._returns[name]
        position = positions[index] if index < len(positions) else None
        return None if position is None or position >= len(call.args) else self.of(call.args[position])

    def _effects(self, value: Expr) -> None:
        if not isinstance(value, Call | Submit):
            return
        for index, arg in enumerate(value.args):
            root = self.root(arg)
            if root is None:
                continue
            reads, writes = self._effect(value, index)
            if reads:
                self.reads.setdefault(root)
            if writes:
                self.writes.setdefault(root)

    def _effect(self, call: Call | Submit, index: int) -> tuple[bool, bool]:
        """Whether a call reads, and writes, its argument."""
        if isinstance(call, Submit) or op_of(call) is None:
            callee = self.functions.get(call.op.name)
            way = callee.param_directions[index] if callee is not None else ParamDirection.InOut
            return way is not ParamDirection.Out, way is not ParamDirection.In
        if call.op.name in _UNREAD or (is_view(call) and index == 0):
            return False, False
        if call.op.name == "tensor.assemble" and index == 0:
            return is_atomic(call), True
        return effect_of(call, index) is not ArgEffect.Write, may_write(call, index)


def returned_parameters(function: Function, functions: Mapping[str, Function]) -> tuple[int | None, ...]:
    """For each returned value the parameter that it is, all of it; None where it is another tensor."""
    last = flatten(function.body)[-1:]
    if not last or not isinstance(last[0], ReturnStmt):
        return ()
    others = {name: f for name, f in functions.items() if f is not function}
    storage = Storage(function.body, others)
    positions = {p: i for i, p in enumerate(function.params)}
    places = [storage.of(value) for value in last[0].values]
    return tuple(positions.get(p.root) if p is not None and p.whole else None for p in places)


def is_atomic(call: Call) -> bool:
    """Whether a write adds to what is there."""
    return call.kwargs.get("atomic", AtomicType.None_) is not AtomicType.None_


def _same(a: Place, b: Place) -> bool:
    return a.root is b.root and a.whole and b.whole
