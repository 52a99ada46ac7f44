"""What regions assign, use before assigning, and leave live: the facts that phis and carries are made from.

One bottom-up walk summarises every region, one backward walk finds what is live behind each branch and loop; both
are linear in the statements.
"""

from __future__ import annotations

import attrs

from pypto_core.ir import (
    DEFINE,
    MAP,
    NODES,
    AssignStmt,
    ForStmt,
    IfStmt,
    IterArg,
    ReturnStmt,
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
    type_vars,
)  # fmt: skip


@attrs.frozen
class Summary:
    """Of one region: ``assigned`` somewhere, ``certain`` on every way through, ``exposed``: used before that."""

    assigned: dict[Var, None]
    certain: set[Var]
    exposed: set[Var]


@attrs.frozen
class Dataflow:
    """Facts about a function, keyed by the identity of statements.

    ``inside``: summary of each If, For, While (its bodies taken together, conditions of While included).
    ``live``: of the variables that it assigns, those used after it, in the order of their first assignment.
    """

    inside: dict[int, Summary]
    live: dict[int, tuple[Var, ...]]


def analyse(body: Stmt) -> Dataflow:
    """The facts of a function's body."""
    flow = Dataflow({}, {})
    _Summaries(flow.inside).region(body)
    _liveness(body, set(), flow)
    return flow


def uses_of(node: object) -> set[Var]:
    """The variables that an expression, or the parts of a statement outside its regions, mention."""
    found: set[Var] = set()
    _collect(node, found)
    return found


def _collect(node: object, found: set[Var]) -> None:
    if isinstance(node, Var):
        found.add(node)
        return
    for field in child_fields(type(node)):
        value = field.get(node)
        if field.role == DEFINE:
            for var in value if field.kind == NODES else (value,):
                if var is not None:
                    found.update(type_vars(var.type))
                if isinstance(var, IterArg):
                    _collect(var.init_value, found)
            continue
        items = value if field.kind == NODES else map_nodes(value) if field.kind == MAP else (value,)
        for item in items:
            if isinstance(item, Type):
                found.update(type_vars(item))
            elif item is not None and not isinstance(item, Stmt):
                _collect(item, found)


def own_defs(stmt: Stmt) -> tuple[Var, ...]:
    """The variables that a statement defines in the region it stands in."""
    if isinstance(stmt, AssignStmt):
        return (stmt.var,)
    if isinstance(stmt, ForStmt | WhileStmt | IfStmt):
        return stmt.return_vars
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

    def region(self, body: Stmt | None) -> Summary:
        out = Summary({}, set(), set())
        for stmt in flatten(body):
            self.statement(stmt, out)
        return out

    def statement(self, stmt: Stmt, out: Summary) -> None:
        uses = uses_of(stmt)
        if isinstance(stmt, WhileStmt):
            uses -= set(stmt.iter_args)
        out.exposed.update(uses - out.certain)
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
                exposed = exposed | uses_of(stmt.condition)
            hidden = set(_inner_defs(stmt))
            # A loop may make no trip at all, so nothing in it is certain.
            return Summary(body.assigned, set(), exposed - hidden)
        if isinstance(stmt, ScopeStmt):
            body = self.region(stmt.body)
            return Summary(body.assigned, body.certain, body.exposed - set(_inner_defs(stmt)))
        return None


def _liveness(body: Stmt | None, live: set[Var], flow: Dataflow) -> None:
    """Walk a region backwards; ``live`` enters as what is used after it and leaves as what is used from it on."""
    for stmt in reversed(flatten(body)):
        inner = flow.inside.get(id(stmt))
        if inner is not None:
            flow.live[id(stmt)] = tuple(v for v in inner.assigned if v in live)
            _nested_liveness(stmt, inner, live, flow)
        elif isinstance(stmt, ReturnStmt):
            live.clear()
        live.difference_update(own_defs(stmt))
        live.update(uses_of(stmt))


def _nested_liveness(stmt: Stmt, inner: Summary, live: set[Var], flow: Dataflow) -> None:
    if isinstance(stmt, IfStmt):
        other = set(live)
        _liveness(stmt.then_body, live, flow)
        _liveness(stmt.else_body, other, flow)
        live.update(other)
    elif isinstance(stmt, ForStmt | WhileStmt):
        # What the next trip reads first is live at the end of this one.
        again = live | inner.exposed
        _liveness(stmt.body, again, flow)
        live.update(inner.exposed)
    elif isinstance(stmt, ScopeStmt):
        _liveness(stmt.body, live, flow)
