"""Which variables may stand for the same bytes, and which parts of them statements read and write.

Values of a program in SSA form need no such care; tensors in global memory, allocations that the author has declared
and operators that work in place do: a load must not move across a store to the same elements.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs

from pypto_core.ir import (
    INDEX_ONE,
    AssignStmt,
    BreakStmt,
    Call,
    ConstInt,
    ContinueStmt,
    EvalStmt,
    Expr,
    ForStmt,
    Function,
    IfStmt,
    InlineStmt,
    MakeTuple,
    MemRef,
    ReturnStmt,
    Stmt,
    Submit,
    TensorType,
    TileType,
    TupleGetItemExpr,
    TupleType,
    Var,
    WhileStmt,
    add,
    last_yield,
    prove_le,
    used_vars,
    walk,
    walk_stmts,
)
from pypto_core.ops import alias_source, op_of, written_arguments

CROSS_CORE = ("tile.tpush_", "tile.tpop_", "system.tfree_")
"""Beginnings of the names of what goes through the pipes between cores, in the order in which it is written."""

Dims = tuple[Expr, ...]


@attrs.frozen(eq=False)
class Window:
    """A block of a tensor: ``extents`` elements from ``offsets`` on."""

    offsets: Dims
    extents: Dims

    def apart_from(self, other: Window) -> bool:
        """Whether the two provably share no element."""
        if len(self.offsets) != len(other.offsets):
            return False
        ours = zip(self.offsets, self.extents, strict=True)
        theirs = zip(other.offsets, other.extents, strict=True)
        return any(
            prove_le(add(a, n), b) or prove_le(add(b, m), a)
            for (a, n), (b, m) in zip(ours, theirs, strict=True)
        )


@attrs.frozen(eq=False)
class Access:
    """A read or a write of some storage; ``window`` None for all of it."""

    storage: object
    writes: bool
    window: Window | None = None

    def conflicts(self, other: Access) -> bool:
        """Whether the order of the two matters; both are of one storage."""
        if not (self.writes or other.writes):
            return False
        return self.window is None or other.window is None or not self.window.apart_from(other.window)


_EFFECTIVE = (Call, Submit, AssignStmt, BreakStmt, ContinueStmt, ReturnStmt, InlineStmt)

PIPE = "pipes between cores"
"""The storage that all transfers between cores are said to write, which keeps their order."""


class Storage:
    """The storage behind the variables of a function: what may alias has one representative."""

    def __init__(self, function: Function) -> None:
        self._parent: dict[Var, Var] = {}
        for stmt in walk_stmts(function.body):
            self._learn(stmt)

    def of(self, var: Var) -> Var:
        """The representative of what ``var`` may share bytes with."""
        root = var
        while (above := self._parent.get(root, root)) is not root:
            root = above
        while (above := self._parent.get(var, var)) is not root:
            self._parent[var] = root
            var = above
        return root

    def _join(self, a: Expr, b: Expr) -> None:
        if isinstance(a, Var) and isinstance(b, Var) and _holds_bytes(a) and _holds_bytes(b):
            left, right = self.of(a), self.of(b)
            if left is not right:
                self._parent[left] = right

    def _learn(self, stmt: Stmt) -> None:
        if isinstance(stmt, AssignStmt):
            self._value(stmt.var, stmt.value)
        elif isinstance(stmt, ForStmt | WhileStmt):
            tail = last_yield(stmt.body)
            for i, arg in enumerate(stmt.iter_args):
                self._join(arg, arg.init_value)
                self._join(arg, stmt.return_vars[i])
                if tail is not None:
                    self._join(arg, tail.values[i])
        elif isinstance(stmt, IfStmt):
            for body in (stmt.then_body, stmt.else_body):
                tail = last_yield(body)
                for var, value in zip(stmt.return_vars, tail.values if tail else (), strict=False):
                    self._join(var, value)

    def _value(self, var: Var, value: Expr) -> None:
        memref = _memref(var)
        if memref is not None:
            left, right = self.of(var), self.of(memref.base)
            if left is not right:
                self._parent[left] = right
        if isinstance(value, Var):
            self._join(var, value)
        elif isinstance(value, TupleGetItemExpr):
            self._join(var, value.tuple)
        elif isinstance(value, Submit) or (isinstance(value, Call) and op_of(value) is None):
            for arg in value.args:
                self._join(var, arg)
        elif isinstance(value, Call):
            index = alias_source(value)
            if index is not None and index < len(value.args):
                self._join(var, value.args[index])


@attrs.frozen(eq=False)
class Reading:
    """One walk through a statement: the variables that it uses, and what in it may have an effect."""

    stmt: Stmt
    used: tuple[Var, ...]
    nodes: tuple[Any, ...]


def read(stmt: Stmt) -> Reading:
    """Walk through a statement and all that is nested in it."""
    return Reading(stmt, used_vars(stmt), tuple([n for n in walk(stmt) if isinstance(n, _EFFECTIVE)]))


def accesses(reading: Reading, storage: Storage) -> tuple[Access, ...]:
    """What a statement reads and writes."""
    stmt, found = reading.stmt, list[Access]()
    if isinstance(stmt, AssignStmt | EvalStmt):
        found += _windowed(stmt.value if isinstance(stmt, AssignStmt) else stmt.expr, storage)
    covered = {a.storage for a in found}
    others: dict[tuple[object, bool, int | None], Access] = {}

    def note(place: object, writes: bool, slot: ConstInt | None = None) -> None:
        if place not in covered:
            window = None if slot is None else Window((slot,), (INDEX_ONE,))
            key = (place, writes, None if slot is None else slot.value)
            others.setdefault(key, Access(place, writes, window))

    for node in reading.nodes:
        if isinstance(node, Call | Submit):
            for place in _written(node, storage):
                note(place, True)
        elif isinstance(node, AssignStmt) and _memref(node.var) is not None:
            note(storage.of(node.var), True, _slot(node.var))
    for var in reading.used:
        if _holds_bytes(var):
            note(storage.of(var), False, _slot(var))
    return (*found, *others.values())


def _windowed(value: Expr, storage: Storage) -> Iterator[Access]:
    """The access of a load or store to its tensor, when its block can be told."""
    if not isinstance(value, Call):
        return
    args: list[Expr] = [*value.args]
    if value.name == "tile.load":
        source, offsets, shape = args[:3]
        window = _block(offsets, shape, source)
        if window is not None and isinstance(source, Var):
            yield Access(storage.of(source), writes=False, window=window)
    elif value.name == "tile.store":
        tile, offsets, target = args[:3]
        extents = args[3] if len(args) > 3 else None
        if extents is None and isinstance(tile.type, TileType):
            extents = MakeTuple(tile.type.shape)
        window = None if extents is None else _block(offsets, extents, target)
        if window is None or not (isinstance(tile, Var) and isinstance(target, Var)):
            return
        # A tile whose own storage is that tensor's would be read as well.
        if storage.of(tile) is not storage.of(target):
            yield Access(storage.of(target), writes=True, window=window)


def _block(offsets: Expr, extents: Expr, tensor: Expr) -> Window | None:
    kind = tensor.type
    if not (
        isinstance(offsets, MakeTuple) and isinstance(extents, MakeTuple) and isinstance(kind, TensorType)
    ):
        return None
    if not len(offsets.elements) == len(extents.elements) == len(kind.shape):
        return None
    return Window(offsets.elements, extents.elements)


def _written(call: Call | Submit, storage: Storage) -> Iterator[object]:
    op = op_of(call) if isinstance(call, Call) else None
    if op is None:
        # A function may write whatever it is handed.
        yield from (storage.of(a) for a in call.args if isinstance(a, Var) and _holds_bytes(a))
        return
    assert isinstance(call, Call)
    for index in written_arguments(call):
        arg = call.args[index]
        if isinstance(arg, Var):
            yield storage.of(arg)
    if call.name.startswith(CROSS_CORE):
        yield PIPE
        # Giving a slot back ends the life of what was popped from it.
        if call.name.startswith("system.") and isinstance(call.args[0], Var):
            yield storage.of(call.args[0])


def _holds_bytes(var: Var) -> bool:
    return isinstance(var.type, TensorType | TileType | TupleType)


def _memref(var: Var) -> MemRef | None:
    return var.type.memref if isinstance(var.type, TensorType | TileType) else None


def _slot(var: Var) -> ConstInt | None:
    """The slot of a declared ring that a tile lies in, when it is known."""
    memref = _memref(var)
    slot = memref.slot_index if memref is not None and memref.is_pinned else None
    return slot if isinstance(slot, ConstInt) else None


def is_barrier(reading: Reading) -> bool:
    """Whether nothing may move across a statement: it waits, leaves the region, or does what nothing here knows."""
    for node in reading.nodes:
        if isinstance(node, BreakStmt | ContinueStmt | ReturnStmt | InlineStmt):
            return True
        if isinstance(node, Call) and _unknown_effect(node):
            return True
    return False


def _unknown_effect(call: Call) -> bool:
    op = op_of(call)
    if op is None or op.pure or op.effects or call.name.startswith(CROSS_CORE):
        return False
    return op.memory is None or call.name.startswith("system.")
