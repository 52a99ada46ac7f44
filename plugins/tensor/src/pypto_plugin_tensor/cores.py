"""Which core the statements of a scope need: the cube multiplies, the vector core does all other work on elements."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import attrs

from pypto_core.contract import Backend
from pypto_core.ir import (
    AssignStmt,
    BreakStmt,
    Call,
    CastMode,
    ContinueStmt,
    CoreType,
    DataType,
    EvalStmt,
    Expr,
    ForStmt,
    Function,
    IfStmt,
    IterArg,
    MemorySpace,
    ReturnStmt,
    ScopeStmt,
    Stmt,
    TensorType,
    Var,
    WhileStmt,
    YieldStmt,
    child_fields,
    defined_vars,
    flatten,
    last_yield,
    regions,
    static_dim,
    used_vars,
    walk_stmts,
)
from pypto_core.ops import is_view, op_of
from pypto_plugin_tensor.accumulators import PRODUCTS, find_accumulators

Needs = frozenset[CoreType]

CUBE: Needs = frozenset({CoreType.CUBE})
VECTOR: Needs = frozenset({CoreType.VECTOR})
EITHER: Needs = frozenset()
"""What needs no core in particular: scalars, views, single elements."""

_ANYWHERE = frozenset({"tensor.create", "tensor.dim", "tensor.read", "tensor.write"})
_NARROW = (DataType.BF16, DataType.FP16)
_WAYS = {"tensor.matmul": ("operand", "operand"), "tensor.matmul_acc": ("sum", "operand", "operand")}
"""How products use their arguments."""
_MAYBE = {"tensor.cast": "operand", "tensor.full": "sum"}
"""Operators that the cube does when all that uses the result uses it in one way."""


_KINDS: dict[type[Stmt], str] = {
    WhileStmt: "a 'while'",
    BreakStmt: "a 'break'",
    ContinueStmt: "a 'continue'",
    AssignStmt: "a value that is no call",
    ReturnStmt: "a 'return'",
}


@attrs.define(eq=False)
class Cores:
    """The cores that the statements of one function need.

    ``accumulated``: tensors that lie where the matrix unit left them. ``on_the_cube``: results of casts that are done
    on the way out of the accumulator, because matrix products are all that uses them, and the zeros of sums.
    """

    accumulated: frozenset[Var]
    on_the_cube: frozenset[Var]
    _known: dict[Stmt, Needs | None] = attrs.field(factory=dict[Stmt, Needs | None], init=False)

    @classmethod
    def of(cls, function: Function, backend: Backend | None) -> Cores:
        """Look through a function; without a backend accumulators are taken to be large enough."""
        accumulated = find_accumulators(function)
        room = None if backend is None else backend.capacity(MemorySpace.Acc)
        return cls(accumulated, frozenset(_on_the_cube(function, accumulated, room)))

    def within(self, scope: ScopeStmt) -> Cores:
        """The same for a scope by itself: what others accumulate lies in memory."""
        return Cores(self.accumulated & frozenset(defined_vars(scope.body)), self.on_the_cube)

    def needed(self, stmt: Stmt) -> Needs | None:
        """The cores of a statement with all that it contains; None when that can't be told or divided.

        Tiles stay on their core, called functions and scopes have cores of their own, and exits are for whole bodies.
        """
        if stmt not in self._known:
            self._known[stmt] = self._needed(stmt)
        return self._known[stmt]

    def of_all(self, body: Stmt) -> Needs | None:
        """The cores of a region."""
        found = EITHER
        for stmt in flatten(body):
            cores = EITHER if isinstance(stmt, YieldStmt) else self.needed(stmt)
            if cores is None:
                return None
            found |= cores
        return found

    def seen(self, body: Stmt) -> Needs:
        """The cores of those statements of a region, and of the regions in it, whose cores can be told."""
        found = EITHER
        for stmt in walk_stmts(body):
            if isinstance(stmt, AssignStmt | EvalStmt):
                found |= self.needed(stmt) or EITHER
        return found

    def unknown(self, body: Stmt) -> str | None:
        """The first thing in a region whose cores can't be told or divided; None when there is none."""
        for stmt in flatten(body):
            if isinstance(stmt, YieldStmt) or self.needed(stmt) is not None:
                continue
            if isinstance(stmt, ForStmt | IfStmt):
                return next((u for region in regions(stmt) if (u := self.unknown(region)) is not None), None)
            value = stmt.value if isinstance(stmt, AssignStmt) else getattr(stmt, "expr", None)
            return (
                f"'{value.op.name}'" if isinstance(value, Call) else _KINDS.get(type(stmt), "an inner scope")
            )
        return None

    def drained(self, stmt: Stmt) -> set[Var]:
        """What a statement takes out of the accumulator, where it has to lie for that."""
        own = set(defined_vars(stmt))
        found: set[Expr] = set()
        for inner in walk_stmts(stmt):
            call = getattr(inner, "value", None)
            if isinstance(call, Call) and call.name == "tensor.assemble":
                found.add(call.args[1])
            elif isinstance(inner, AssignStmt) and inner.var in self.on_the_cube and isinstance(call, Call):
                found.update(call.args[:1])
        return {v for v in found if isinstance(v, Var) and v in self.accumulated and v not in own}

    def multiplies(self, stmt: Stmt) -> bool:
        """Whether there is a product in a statement."""
        calls = (getattr(inner, "value", None) for inner in walk_stmts(stmt))
        return any(isinstance(call, Call) and call.name in PRODUCTS for call in calls)

    def _needed(self, stmt: Stmt) -> Needs | None:
        if isinstance(stmt, AssignStmt):
            return CUBE if self._is_on_the_cube(stmt) else self._of_value(stmt.value)
        if isinstance(stmt, EvalStmt):
            return self._of_value(stmt.expr)
        if not isinstance(stmt, ForStmt | IfStmt):
            return None
        found = CUBE | VECTOR if self._moves_products(stmt) else EITHER
        for region in regions(stmt):
            cores = self.of_all(region)
            if cores is None:
                return None
            found |= cores
        return found

    def _moves_products(self, stmt: ForStmt | IfStmt) -> bool:
        """Whether a product becomes part of a carry or result that is no accumulator, because other values do too."""
        for region in regions(stmt):
            tail = last_yield(region)
            for value, result in zip(tail.values if tail is not None else (), stmt.return_vars, strict=False):
                if value in self.accumulated and result not in self.accumulated:
                    return True
        return False

    def _is_on_the_cube(self, stmt: AssignStmt) -> bool:
        call = stmt.value
        if stmt.var not in self.on_the_cube or not isinstance(call, Call):
            return False
        return call.name != "tensor.cast" or call.args[0] in self.accumulated

    def _of_value(self, value: Expr) -> Needs | None:
        if isinstance(value, Call):
            return self._of_call(value)
        return EITHER if not isinstance(value.type, TensorType) or isinstance(value, Var) else None

    def _of_call(self, call: Call) -> Needs | None:
        name = call.name
        if not name.startswith("tensor.") or op_of(call) is None or name == "tensor.create_l1":
            return EITHER if name.startswith("tile.get_") and not call.args else None
        if name in PRODUCTS:
            return CUBE
        if name in _ANYWHERE or is_view(call) or not isinstance(call.type, TensorType):
            return EITHER
        return CUBE if name == "tensor.assemble" and call.args[1] in self.accumulated else VECTOR


def _on_the_cube(function: Function, accumulated: frozenset[Var], room: int | None) -> Iterator[Var]:
    """Casts that only products use, and filled tensors that only sums of products begin with."""
    found: dict[Var, AssignStmt] = {}
    uses: dict[Var, set[str]] = {}
    for stmt in walk_stmts(function.body):
        call = stmt.value if isinstance(stmt, AssignStmt) else None
        if not isinstance(call, Call):
            _note_uses(stmt, accumulated, uses)
            continue
        if call.name in _MAYBE:
            assert isinstance(stmt, AssignStmt)
            found[stmt.var] = stmt
        ways = _WAYS.get(call.name, ())
        for index, arg in enumerate(call.args):
            for var in used_vars(arg):
                uses.setdefault(var, set()).add(ways[index] if index < len(ways) else "")
    for var, stmt in found.items():
        call = stmt.value
        assert isinstance(call, Call)
        if uses.get(var) == {_MAYBE[call.name]} and (
            call.name == "tensor.full" or (call.args[0] in accumulated and _fits(stmt, room))
        ):
            yield var


def _note_uses(stmt: Stmt, accumulated: frozenset[Var], uses: dict[Var, set[str]]) -> None:
    """What a statement that is no call uses itself, the regions in it apart."""
    below = set(regions(stmt))
    for field in child_fields(type(stmt)):
        value: object = field.get(stmt)
        items = cast("tuple[object, ...]", value) if isinstance(value, tuple) else (value,)
        for item in items:
            if not isinstance(item, Expr | Stmt) or item in below:
                continue
            way = "sum" if item in accumulated else ""
            for var in used_vars(item.init_value if isinstance(item, IterArg) else item):
                uses.setdefault(var, set()).add(way)


def _fits(stmt: AssignStmt, room: int | None) -> bool:
    """Whether the way out of the accumulator rounds as the cast does, and the accumulator holds all of it at once."""
    call = stmt.value
    assert isinstance(call, Call) and isinstance(call.type, TensorType)
    source = call.args[0].type
    if not isinstance(source, TensorType) or source.dtype is not DataType.FP32:
        return False
    if call.type.dtype not in _NARROW or call.kwargs.get("mode") is not CastMode.rint:
        return False
    extents = [static_dim(dim) for dim in call.type.shape]
    size = 4
    for extent in extents:
        if extent is None:
            return False
        size *= extent
    return room is None or size <= room


__all__ = ["CUBE", "EITHER", "VECTOR", "Cores", "Needs"]
