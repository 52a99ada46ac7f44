"""UnrollLoops: loops of kind Unroll become their trips, one after the other.

Variables keep their identity, so that a trip reads what the previous one assigned and what follows reads the last;
conversion to SSA tells the trips apart. Those that mean something within one trip alone, as what the loops inside of it
count with and carry, are each trip's own, so that no variable belongs to two loops. The loop variable becomes its
number. Where a type mentions it (a slot of an allocation, a valid extent) it is assigned before each trip instead: a
variable has one type for all trips.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from pypto_core.diagnostics import UserError
from pypto_core.ir import (
    AssignStmt,
    BinaryExpr,
    ConstInt,
    DataType,
    Expr,
    ForKind,
    ForStmt,
    Function,
    IfStmt,
    IterArg,
    Mutator,
    NameSource,
    Node,
    ScalarType,
    Stmt,
    Var,
    WhileStmt,
    defined_vars,
    flatten,
    fold_binary,
    last_yield,
    regions,
    replace,
    type_vars,
    walk,
    walk_stmts,
)
from pypto_plugin_structure.comments import in_place_of

MAX_STATEMENTS = 200_000
"""What the trips of one loop may come to; beyond that the loop was hardly meant to be unrolled."""


def unroll_loops(function: Function, ctx: Any = None) -> Function:
    """The function without loops to unroll; the same object when it has none.

    Raises UserError PT320 for bounds that are no constants, PT321 for a loop whose trips come to more than
    :data:`MAX_STATEMENTS`.
    """
    return _Unroller(function).visit(function)


class _Unroller(Mutator):
    def __init__(self, function: Function) -> None:
        super().__init__()
        self.function = function
        self.names = NameSource()
        self.numbers: dict[Var, Expr] | None = None
        self.occurrences: _Occurrences | None = None

    def visit_for_stmt(self, node: ForStmt) -> Stmt:
        """The trips of a loop to unroll; other loops keep their form."""
        if node.kind is not ForKind.Unroll:
            return self.mutate_children(node)
        if self.numbers is None or self.occurrences is None:
            self.numbers, self.occurrences = _constants(self.function), _Occurrences.of(self.function)
        start, stop, step = (self.number(node, name) for name in ("start", "stop", "step"))
        trips = range(start, stop, step)
        size = sum(1 for _ in walk_stmts(node.body))
        if len(trips) * size > MAX_STATEMENTS:
            raise UserError(
                f"unrolling this loop makes {len(trips)} trips of {size} statements each",
                code="PT321",
                span=node.span,
                facts={"limit": MAX_STATEMENTS, "function": self.function.name},
                remedy="use pl.range, or unroll a loop of fewer trips inside of it",
            )
        carried: list[Expr] = [a.init_value for a in node.iter_args]
        in_types = {used for var in defined_vars(node.body) for used in type_vars(var.type)}
        typed = node.loop_var in in_types
        own = self.occurrences.own(node.body) - in_types
        stmts: list[Stmt] = []
        for at, value in enumerate(trips):
            renewed = own if at else frozenset[Var]()  # the first trip keeps them
            body, carried = self.trip(node, ConstInt(value, _dtype(node)), carried, typed, renewed)
            stmts += body
        results = zip(node.return_vars, carried, strict=True)
        stmts += [AssignStmt(var, value, span=node.span) for var, value in results]
        return in_place_of(node, stmts)

    def trip(
        self, node: ForStmt, value: ConstInt, carried: list[Expr], typed: bool, renewed: frozenset[Var]
    ) -> tuple[list[Stmt], list[Expr]]:
        """The statements of one trip, with variables of its own for ``renewed``, and what the next one takes over."""
        assert self.numbers is not None and self.occurrences is not None
        stmts: list[Stmt] = []
        mapping: dict[Var, Expr] = {}
        # Names of their own, as a carried variable may be assigned before the carry is read.
        for arg, init in zip(node.iter_args, carried, strict=True):
            var = Var(self.names.fresh(arg.name_hint, "iter"), arg.type, span=arg.span)
            stmts.append(AssignStmt(var, init, span=node.span))
            mapping[arg] = var
        if typed:
            stmts.append(AssignStmt(node.loop_var, value, span=node.span))
            self.numbers[node.loop_var] = value
        else:
            mapping[node.loop_var] = value
        folding = _Folding(mapping, renewed)
        body = folding.visit(node.body) if mapping or renewed else node.body
        copies = self.occurrences.copy_of
        copies.update((new, copies.get(old, old)) for old, new in folding.copies.items())
        inner = self.visit(body)
        tail = last_yield(inner)
        stmts += flatten(inner)[:-1] if tail is not None else flatten(inner)
        return stmts, [*tail.values] if tail is not None else carried

    def number(self, node: ForStmt, name: str) -> int:
        """A bound as a number."""
        bound: Expr = getattr(node, name)
        if not isinstance(bound, ConstInt):
            bound = _Folding(self.numbers or {}).visit(bound)
        if not isinstance(bound, ConstInt):
            raise UserError(
                f"the {name} of a loop to unroll must be a constant",
                code="PT320",
                span=node.span,
                facts={"function": self.function.name},
                remedy="use pl.range for bounds that are known only when the kernel runs",
            )
        if name == "step" and bound.value == 0:
            raise UserError(
                "a loop's step can't be 0", code="PT320", span=node.span, remedy="write a step of 1"
            )
        return bound.value


class _Folding(Mutator):
    """Substitutes, folds what becomes constant, and makes new variables where ``renewed`` ones are defined."""

    def __init__(self, mapping: Mapping[Var, Expr], renewed: frozenset[Var] = frozenset()) -> None:
        super().__init__(mapping)
        self.renewed = renewed
        self.copies: dict[Var, Var] = {}

    def visit_def(self, var: Var) -> Var:
        """The variable to define: where it is to be renewed, the same new one each time it is defined."""
        if var not in self.renewed:
            return super().visit_def(var)
        new = self.copies.get(var)
        if new is None:
            init = self.visit(var.init_value) if isinstance(var, IterArg) else None
            new = (
                Var(var.name_hint, var.type, span=var.span) if init is None else replace(var, init_value=init)
            )
            self.remap[var] = self.copies[var] = new
        return new

    def visit_binary_expr(self, node: BinaryExpr) -> Expr:
        new = super().visit_binary_expr(node)
        return fold_binary(new) if new is not node and isinstance(new, BinaryExpr) else new


@attrs.define
class _Occurrences:
    """How often each variable of a function stands in it, and is defined there; copies count as what they are of."""

    everywhere: Counter[Var]
    defined: Counter[Var]
    copy_of: dict[Var, Var] = attrs.field(factory=dict)

    @classmethod
    def of(cls, function: Function) -> _Occurrences:
        """Those of a function."""
        return cls(_mentioned(function), Counter(defined_vars(function.body)))

    def own(self, body: Stmt) -> frozenset[Var]:
        """Variables of loops and branches in the body of a loop that no other trip, and nothing behind, can read.

        Loop variables and carries are such. A result is, where it is defined once, and read by nothing but statements
        that follow the one that defines it in its sequence.
        """
        found: set[Var] = set()
        for stmts in _sequences(body):
            for at, stmt in enumerate(stmts):
                if isinstance(stmt, ForStmt | WhileStmt):
                    found.update(stmt.iter_args)
                if isinstance(stmt, ForStmt):
                    found.add(stmt.loop_var)
                results = stmt.return_vars if isinstance(stmt, ForStmt | WhileStmt | IfStmt) else ()
                if results:
                    behind = _mentioned(*stmts[at + 1 :])
                    found.update(var for var in results if self.is_local(var, behind[var]))
        return frozenset(found)

    def is_local(self, var: Var, uses: int) -> bool:
        """Whether a variable has one definition and no uses but these."""
        first = self.copy_of.get(var, var)
        return self.defined[first] == 1 and self.everywhere[first] == uses + 1


def _mentioned(*nodes: Node) -> Counter[Var]:
    return Counter(found for node in nodes for found in walk(node) if isinstance(found, Var))


def _sequences(body: Stmt) -> Iterator[tuple[Stmt, ...]]:
    """The statements of a region and of every region in it, region by region."""
    yield flatten(body)
    for stmt in walk_stmts(body):
        for region in regions(stmt):
            yield flatten(region)


def _dtype(node: ForStmt) -> DataType:
    kind = node.loop_var.type
    assert isinstance(kind, ScalarType)
    return kind.dtype


def _constants(function: Function) -> dict[Var, Expr]:
    """Variables that are assigned once, and to a number."""
    counts: dict[Var, int] = dict.fromkeys(function.params, 1)
    for var in defined_vars(function.body):
        counts[var] = counts.get(var, 0) + 1
    return {
        stmt.var: stmt.value
        for stmt in walk_stmts(function.body)
        if isinstance(stmt, AssignStmt) and isinstance(stmt.value, ConstInt) and counts[stmt.var] == 1
    }


__all__ = ["MAX_STATEMENTS", "unroll_loops"]
