"""What regions assign, use before assigning, and leave live: the facts that phis and carries are made from.

One bottom-up walk summarises every region, one backward walk finds what is live behind each branch and loop; both
are linear in the statements.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import attrs

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
    ForStmt,
    IfStmt,
    IterArg,
    MakeTuple,
    ScopeStmt,
    SplitAivScopeStmt,
    SpmdScopeStmt,
    Stmt,
    Type,
    Var,
    WhileStmt,
    child_fields,
    flatten,
    map_nodes,
    prove_lt,
    type_vars,
)  # fmt: skip

_CONSTANTS = frozenset({ConstInt, ConstFloat, ConstBool})


@attrs.frozen
class Summary:
    """Of one region: ``assigned`` somewhere, ``certain`` on every way through, ``exposed``: used before that."""

    assigned: dict[Var, None]
    certain: set[Var]
    exposed: set[Var]


@attrs.frozen
class Dataflow:
    """Facts about a function, keyed by the identity of statements.

    ``inside``: summary of each If, For, While and scope (its bodies taken together, a While's condition included).
    ``live``: of the variables that a branch or loop assigns, those used after it, in the order of their first
    assignment. ``whole``: summary of the function's body.
    """

    inside: dict[int, Summary]
    live: dict[int, tuple[Var, ...]]
    whole: Summary


def analyse(body: Stmt) -> Dataflow:
    """The facts of a function's body. No compound statement may occur twice in it."""
    inside: dict[int, Summary] = {}
    uses = Uses()
    whole = _Summaries(inside, uses).region(body)
    flow = Dataflow(inside, {}, whole)
    _Liveness(flow, uses).region(body)
    return flow


class Uses:
    """Finds the variables that expressions and statements mention; types are looked into once each."""

    def __init__(self) -> None:
        self.types: dict[int, tuple[Type, tuple[Var, ...]]] = {}
        self.known: dict[int, frozenset[Var]] = {}

    def of(self, stmt: Stmt) -> frozenset[Var]:
        """What the parts of a statement outside its regions mention; a While's condition and carries left out."""
        found = self.known.get(id(stmt))
        if found is None:
            collected: set[Var] = set()
            self._parts(stmt, collected)
            found = self.known[id(stmt)] = frozenset(collected)
        return found

    def of_expr(self, expr: Any) -> set[Var]:
        """What an expression mentions."""
        found: set[Var] = set()
        self._expr(expr, found)
        return found

    def of_type(self, kind: Type) -> tuple[Var, ...]:
        """What a type mentions."""
        known = self.types.get(id(kind))
        if known is None:
            known = self.types[id(kind)] = (kind, tuple(dict.fromkeys(type_vars(kind))))
        return known[1]

    def _parts(self, stmt: Stmt, found: set[Var]) -> None:
        if type(stmt) is AssignStmt:
            self._expr(stmt.value, found)
            found.update(self.of_type(stmt.var.type))
            return
        for field in child_fields(type(stmt)):
            value = field.get(stmt)
            if value is None or (field.name == "condition" and isinstance(stmt, WhileStmt)):
                continue
            items: Iterable[Any] = (
                value if field.kind == NODES else map_nodes(value) if field.kind == MAP else (value,)
            )
            for item in items:
                if field.role == DEFINE:
                    found.update(self.of_type(item.type))
                    if isinstance(item, IterArg):
                        self._expr(item.init_value, found)
                elif not isinstance(item, Stmt):
                    self._expr(item, found)

    def _expr(self, root: Any, found: set[Var]) -> None:
        stack = [root]
        while stack:
            node = stack.pop()
            cls = cast("type[object]", node.__class__)
            if cls is Var or cls is IterArg:
                found.add(node)
            elif cls in _CONSTANTS:
                continue
            elif cls is Call:
                stack.extend(node.args)
                if node.attrs:
                    stack.extend(map_nodes(node.attrs))
                if node.kwargs:
                    stack.extend(map_nodes(node.kwargs))
                found.update(self.of_type(node.type))
            elif cls is MakeTuple:
                stack.extend(node.elements)
            elif isinstance(node, BinaryExpr):
                stack.append(node.left)
                stack.append(node.right)
            elif isinstance(node, Type):
                found.update(self.of_type(node))
            else:
                for field in child_fields(cls):
                    value = field.get(node)
                    if field.kind == NODES:
                        stack.extend(value)
                    elif field.kind == MAP:
                        stack.extend(map_nodes(value))
                    elif value is not None:
                        stack.append(value)


def own_defs(stmt: Stmt) -> tuple[Var, ...]:
    """The variables that a statement defines in the region it stands in."""
    if isinstance(stmt, AssignStmt):
        return (stmt.var,)
    if isinstance(stmt, ForStmt | WhileStmt | IfStmt):
        return stmt.return_vars
    if isinstance(stmt, ScopeStmt) and stmt.task_id is not None:
        return (stmt.task_id,)
    return ()


def _inner_defs(stmt: Stmt) -> tuple[Var, ...]:
    if isinstance(stmt, ForStmt):
        return (stmt.loop_var, *stmt.iter_args)
    if isinstance(stmt, WhileStmt):
        return stmt.iter_args
    if isinstance(stmt, SpmdScopeStmt | SplitAivScopeStmt) and stmt.loop_var is not None:
        return (stmt.loop_var,)
    return ()


@attrs.define
class _Summaries:
    inside: dict[int, Summary]
    uses: Uses

    def region(self, body: Stmt | None) -> Summary:
        out = Summary({}, set(), set())
        for stmt in flatten(body):
            self.statement(stmt, out)
        return out

    def statement(self, stmt: Stmt, out: Summary) -> None:
        for var in self.uses.of(stmt):
            if var not in out.certain:
                out.exposed.add(var)
        inner = self.nested(stmt)
        if inner is not None:
            self.inside[id(stmt)] = inner
            out.assigned.update(inner.assigned)
            out.exposed.update(inner.exposed - out.certain)
            out.certain.update(inner.certain)
        for var in own_defs(stmt):
            out.assigned.setdefault(var)
            out.certain.add(var)

    def nested(self, stmt: Stmt) -> Summary | None:
        if isinstance(stmt, IfStmt):
            a, b = self.region(stmt.then_body), self.region(stmt.else_body)
            return Summary({**a.assigned, **b.assigned}, a.certain & b.certain, a.exposed | b.exposed)
        if isinstance(stmt, ForStmt | WhileStmt):
            body = self.region(stmt.body)
            exposed = body.exposed
            if isinstance(stmt, WhileStmt):
                exposed = exposed | self.uses.of_expr(stmt.condition)
            certain = body.certain if isinstance(stmt, ForStmt) and _runs(stmt) else set[Var]()
            return Summary(body.assigned, certain, exposed - set(_inner_defs(stmt)))
        if isinstance(stmt, ScopeStmt):
            body = self.region(stmt.body)
            return Summary(body.assigned, body.certain, body.exposed - set(_inner_defs(stmt)))
        return None


def _runs(loop: ForStmt) -> bool:
    """Whether constant bounds say that the loop makes a trip."""
    if not (isinstance(loop.step, ConstInt) and isinstance(loop.start, ConstInt)):
        return False
    ends = (loop.start, loop.stop) if loop.step.value > 0 else (loop.stop, loop.start)
    return prove_lt(*ends) is True


class _Liveness:
    """Walks backwards; ``now`` is what is used from here on. Arms start from one state: changes are undone."""

    def __init__(self, flow: Dataflow, uses: Uses) -> None:
        self.flow, self.uses = flow, uses
        self.now: set[Var] = set()
        self.logs: list[list[Var]] = []

    def add(self, variables: Iterable[Var]) -> None:
        for var in variables:
            if var not in self.now:
                self.now.add(var)
                if self.logs:
                    self.logs[-1].append(var)

    def drop(self, variables: Iterable[Var]) -> None:
        for var in variables:
            if var in self.now:
                self.now.discard(var)
                if self.logs:
                    self.logs[-1].append(var)

    def tried(self, body: Stmt | None, also: Iterable[Var] = ()) -> None:
        """Walk a region, and forget again what it changed."""
        self.logs.append([])
        self.add(also)
        self.region(body)
        for var in reversed(self.logs.pop()):
            if var in self.now:
                self.now.discard(var)
            else:
                self.now.add(var)

    def region(self, body: Stmt | None) -> None:
        for stmt in reversed(flatten(body)):
            inner = self.flow.inside.get(id(stmt))
            if inner is None:
                self.drop(own_defs(stmt))
                self.add(self.uses.of(stmt))
                continue
            self.flow.live[id(stmt)] = tuple(v for v in inner.assigned if v in self.now)
            self.drop(own_defs(stmt))
            self.nested(stmt, inner)
            self.add(self.uses.of(stmt))

    def nested(self, stmt: Stmt, inner: Summary) -> None:
        if isinstance(stmt, IfStmt):
            self.tried(stmt.then_body)
            self.tried(stmt.else_body)
        elif isinstance(stmt, ForStmt | WhileStmt):
            # What the next trip reads first is live at the end of this one.
            self.tried(stmt.body, inner.exposed)
        elif isinstance(stmt, ScopeStmt):
            self.region(stmt.body)
            return
        self.drop(inner.certain)
        self.add(inner.exposed)
