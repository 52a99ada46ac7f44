"""One reading of a function, shared by all verifiers.

Most rules look at a few kinds of statements, at all calls, or at who reads which variable. Reading the function once
and keeping the lists makes each of them cost what it looks at. A function never changes, so its reading is kept as
long as the function lives; a pass that leaves a function alone leaves nothing to read again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast
from weakref import WeakKeyDictionary

import attrs

from pypto_core.diagnostics import Span
from pypto_core.ir import (
    DEFINE,
    MAP,
    NODES,
    AssignStmt,
    BinaryExpr,
    Call,
    ConstBool,
    ConstFloat,
    ConstInt,
    EvalStmt,
    Expr,
    Function,
    IterArg,
    MakeTuple,
    PtrType,
    ReturnStmt,
    ScalarType,
    SeqStmts,
    Stmt,
    Submit,
    TensorType,
    TupleType,
    Type,
    UnaryExpr,
    Var,
    WhileStmt,
    YieldStmt,
    child_fields,
    map_nodes,
    regions,
    type_vars,
)

_CONSTANTS = frozenset({ConstInt, ConstFloat, ConstBool})


@attrs.frozen
class SeenType:
    """A type object, with the name and the place where it was met first."""

    type: Type
    name: str
    span: Span


@attrs.frozen(eq=False)
class Scan:
    """What a function holds, in program order.

    ``stmts``: all statements but sequences, outer before inner. ``by_class``: the same by class.
    ``sequences``: the SeqStmts. ``calls``: every Call and Submit with its statement.
    ``nested``: statements in which a call is part of a larger expression.
    ``reads``: variables that a statement's own expressions, notes and types use, regions left out;
    ``late_reads``: those of a While's condition, which is evaluated after the iter args are bound.
    ``defs``: every variable defined in the body with the statement that defines it first.
    ``given``: variables that the signature defines: parameters, and what their types name.
    ``symbols``: variables that occur in tensor types alone, or as the base of a MemRef: extents and
    allocations that may be declared outside of the function.
    ``types``: each type object once, nested tuples opened.
    """

    stmts: tuple[Stmt, ...]
    by_class: Mapping[type, list[Any]]
    sequences: tuple[SeqStmts, ...]
    calls: tuple[tuple[Call | Submit, Stmt], ...]
    nested: tuple[Stmt, ...]
    reads: Mapping[Stmt, tuple[Var, ...]]
    late_reads: Mapping[Stmt, tuple[Var, ...]]
    defs: Mapping[Var, Stmt]
    given: frozenset[Var]
    symbols: frozenset[Var]
    types: tuple[SeenType, ...]

    def of(self, *classes: type) -> Iterator[Any]:
        """The statements of exactly these classes, class by class."""
        for cls in classes:
            yield from self.by_class.get(cls, ())


_SCANS: WeakKeyDictionary[Function, Scan] = WeakKeyDictionary()


def scan(function: Function) -> Scan:
    """The reading of a function."""
    found = _SCANS.get(function)
    if found is None:
        found = _SCANS[function] = _Reader().read(function)
    return found


class _Reader:
    def __init__(self) -> None:
        self.stmts: list[Stmt] = []
        self.by_class: dict[type, list[Any]] = {}
        self.sequences: list[SeqStmts] = []
        self.calls: list[tuple[Call | Submit, Stmt]] = []
        self.nested: dict[Stmt, None] = {}
        self.reads: dict[Stmt, tuple[Var, ...]] = {}
        self.late_reads: dict[Stmt, tuple[Var, ...]] = {}
        self.defs: dict[Var, Stmt] = {}
        self.types: list[SeenType] = []
        # By id; the types are kept alive by the function.
        self.type_reads: dict[int, tuple[Var, ...]] = {}
        self.loose: set[Var] = set()
        self.solid: set[Var] = set()

    def read(self, function: Function) -> Scan:
        given: set[Var] = set()
        for param in function.params:
            given.add(param)
            given.update(self.type(param.type, param.name_hint, param.span))
        returned = [self.type(kind, "return value", function.span) for kind in function.return_types]
        self.body(function.body)
        # A returned type may also name a value that the body computes.
        given.update(var for inside in returned for var in inside if var not in self.defs)
        return Scan(
            tuple(self.stmts),
            self.by_class,
            tuple(self.sequences),
            tuple(self.calls),
            tuple(self.nested),
            self.reads,
            self.late_reads,
            self.defs,
            frozenset(given),
            frozenset(self.loose - self.solid),
            tuple(self.types),
        )

    def body(self, body: Stmt) -> None:
        stack = [body]
        while stack:
            stmt = stack.pop()
            if isinstance(stmt, SeqStmts):
                self.sequences.append(stmt)
                stack.extend(stmt.stmts[::-1])
                continue
            self.stmts.append(stmt)
            self.by_class.setdefault(type(stmt), []).append(stmt)
            found: list[Var] = []
            if isinstance(stmt, AssignStmt):
                self.expr(stmt.value, stmt, found)
                self.define(stmt.var, stmt, found)
            elif isinstance(stmt, EvalStmt):
                self.expr(stmt.expr, stmt, found)
            elif isinstance(stmt, YieldStmt | ReturnStmt):
                for value in stmt.values:
                    self.expr(value, stmt, found)
            else:
                self.header(stmt, found)
                stack.extend(regions(stmt)[::-1])
            self.reads[stmt] = tuple(found)

    def header(self, stmt: Stmt, found: list[Var]) -> None:
        for field in child_fields(type(stmt)):
            value = field.get(stmt)
            if value is None:
                continue
            items: Iterable[Any] = (
                value if field.kind == NODES else map_nodes(value) if field.kind == MAP else (value,)
            )
            late = field.name == "condition" and isinstance(stmt, WhileStmt)
            target: list[Var] = [] if late else found
            for item in items:
                if field.role == DEFINE:
                    self.define(item, stmt, found)
                    if isinstance(item, IterArg):
                        self.expr(item.init_value, stmt, found)
                elif not isinstance(item, Stmt):
                    self.expr(item, stmt, target)
            if late:
                self.late_reads[stmt] = tuple(target)

    def define(self, var: Var, stmt: Stmt, found: list[Var]) -> None:
        self.defs.setdefault(var, stmt)
        kind = var.type
        inside = self.type_reads.get(id(kind))
        if inside is None:
            inside = self.type(kind, var.name_hint, stmt.span)
        if inside:
            found.extend(inside)

    def type(self, kind: Type, name: str, span: Span) -> tuple[Var, ...]:
        """Note a type and give the variables in it."""
        inside = self.type_reads.get(id(kind))
        if inside is not None:
            return inside
        if isinstance(kind, ScalarType):
            inside = ()
        elif isinstance(kind, TupleType):
            parts = [self.type(part, name, span) for part in kind.types]
            inside = tuple(var for part in parts for var in part)
        else:
            inside = tuple(dict.fromkeys(type_vars(kind)))
            for var in inside:
                loose = isinstance(kind, TensorType) or isinstance(var.type, PtrType)
                (self.loose if loose else self.solid).add(var)
        self.type_reads[id(kind)] = inside
        self.types.append(SeenType(kind, name, span))
        return inside

    def expr(self, root: Expr, stmt: Stmt, found: list[Var]) -> None:
        stack: list[Any] = [root]
        while stack:
            node: Any = stack.pop()
            cls = cast("type[object]", type(node))
            if cls is Var or cls is IterArg:
                found.append(node)
                self.solid.add(node)
            elif cls in _CONSTANTS:
                continue
            elif cls is Call:
                self.call(node, stmt, node is root, found)
                stack.extend(node.args[::-1])
                if node.attrs:
                    stack.extend(map_nodes(node.attrs))
            elif cls is MakeTuple:
                stack.extend(node.elements[::-1])
            elif isinstance(node, BinaryExpr):
                stack.append(node.right)
                stack.append(node.left)
            elif isinstance(node, UnaryExpr):
                stack.append(node.operand)
            elif isinstance(node, Type):
                found.extend(self.type(node, "", stmt.span))
            else:
                if cls is Submit:
                    self.call(node, stmt, node is root, found)
                stack.extend(_below(node))

    def call(self, call: Call | Submit, stmt: Stmt, outermost: bool, found: list[Var]) -> None:
        self.calls.append((call, stmt))
        if not outermost:
            self.nested[stmt] = None
        kind = call.type
        inside = self.type_reads.get(id(kind))
        if inside is None:
            inside = self.type(kind, call.op.name, call.span if call.span.is_valid else stmt.span)
        if inside:
            found.extend(inside)


def _below(node: Any) -> list[Any]:
    """What an uncommon expression holds, last part first."""
    out: list[Any] = []
    cls = cast("type[object]", type(node))
    for field in child_fields(cls):
        value = field.get(node)
        if field.kind == NODES:
            out.extend(value)
        elif field.kind == MAP:
            out.extend(map_nodes(value))
        elif value is not None and not isinstance(value, Type):
            out.append(value)
    return [item for item in reversed(out) if isinstance(item, Expr)]
