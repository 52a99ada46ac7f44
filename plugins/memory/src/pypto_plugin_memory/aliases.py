"""MaterializeSemanticAliases: what must share storage shares it, and what can't is copied.

Operators that work in place write over their operand, loops write over their carries, both arms of a branch leave
their results in one place. Where the old content is still needed a ``tile.move`` keeps it: ahead of the operator,
ahead of the loop, or at the end of the arm or body whose value lies elsewhere. Afterwards the storage of every loop
and branch is closed: initial value, carry, yielded value and result are one window, and so are both arms and the
result of a branch.

The moves at the end of a region act as one: each is made while its source is still there, and where they form a
cycle one source goes through storage of its own.
"""

from __future__ import annotations

from typing import Any

import attrs

from pypto_core.diagnostics import Span, UserError
from pypto_core.ir import (
    AssignStmt,
    Call,
    Expr,
    ForStmt,
    Function,
    IfStmt,
    IterArg,
    MemorySpace,
    MemRef,
    Stmt,
    TileType,
    Var,
    WhileStmt,
    YieldStmt,
    base_name,
    conservative_acc_rows,
    flatten,
    is_orchestration_like,
    last_yield,
    replace,
    seq,
    updated,
)
from pypto_core.ops import alias_source, create_call
from pypto_plugin_memory.coalesce import Grouping, grouping_of
from pypto_plugin_memory.places import Bases, Places, same_window, space_of
from pypto_plugin_memory.rewrite import PlaceTiles, add_allocations, drop_unused_allocations
from pypto_plugin_memory.storage import alloc_facts, memref_of
from pypto_plugin_memory.values import joins, values_of, window_of


def materialize_semantic_aliases(function: Function, ctx: Any) -> Function:
    """The function with its storage closed; the same object when it was.

    Raises UserError when a copy is needed in a memory that can't be copied within.
    """
    if is_orchestration_like(function.func_type):
        return function
    declared = frozenset(base for base, (_, by_author) in alloc_facts(function).items() if by_author)
    values = values_of(function)
    if not values.all:
        return function
    grouping = grouping_of(values, declared)
    bases = Bases.of(function)
    backend = ctx.backend if ctx is not None else None
    places = Places(
        grouping, bases, backend.acc_row_alignment if backend is not None else conservative_acc_rows
    )
    closer = _Closer(grouping, places, bases, backend)
    if closer.idle():
        return function
    new = add_allocations(closer.visit(function), tuple(bases.made))
    return drop_unused_allocations(new)


@attrs.frozen(eq=False)
class _Copy:
    """One transfer at the end of a region: the value of ``slot`` from ``source`` to ``target``."""

    slot: int
    source: Var
    origin: MemRef | None
    target: MemRef


class _Closer(PlaceTiles):
    def __init__(self, grouping: Grouping, places: Places, bases: Bases, backend: Any) -> None:
        super().__init__(places.all())
        self.grouping, self.final, self.bases, self.backend = grouping, places, bases, backend
        self.values = grouping.values
        self.entry: dict[IterArg, Var] = {}
        self.names = set(bases.taken)

    def idle(self) -> bool:
        """Whether everything lies where it should already."""
        if self.places or self.grouping.copied_operands or self.grouping.copied_inits:
            return False
        return not any(
            self.transfer(slot, target, value, value) is not None
            for stmt in self.values.order
            for target, _, slot, value in joins(stmt)
        )

    # -- copies

    def name(self, stem: str) -> str:
        """``stem``, or with a number when it is taken."""
        name, count = stem, 0
        while name in self.names:
            count += 1
            name = f"{stem}_{count}"
        self.names.add(name)
        return name

    def move(self, source: Var, target: MemRef, name: str, span: Span, why: str) -> AssignStmt:
        """``name = tile.move(source)`` into ``target``, in the source's own memory."""
        space = space_of(source)
        self.check_movable(source, space, span, why)
        kind = source.type
        assert isinstance(kind, TileType)
        options: dict[str, Any] = {"target_memory": space}
        call = create_call("tile.move", (source,), options, span)
        made = call.type
        if isinstance(made, TileType) and made.view.layout != kind.view.layout:
            options |= {"blayout": kind.view.blayout, "slayout": kind.view.slayout}
            call = create_call("tile.move", (source,), options, span)
        assert isinstance(call.type, TileType)
        var = Var(self.name(name), replace(call.type, memref=target), span=span)
        return AssignStmt(var, call, span=span)

    def check_movable(self, source: Var, space: MemorySpace, span: Span, why: str) -> None:
        able = space is not MemorySpace.Acc
        if self.backend is not None:
            able = self.backend.path(space, space) is not None
        if able:
            return
        raise UserError(
            f"'{base_name(source.name_hint)}' would have to be copied within {space.name}, which nothing can do",
            code="PT640",
            span=span if span.is_valid else source.span,
            facts={"needed because": why, "memory": space.name},
            remedy="don't use the old value after it is overwritten, or compute it again where it is needed",
        )

    # -- operators in place

    def visit_assign_stmt(self, node: AssignStmt) -> Stmt:
        """Copy an operand that is overwritten too early."""
        stmt = node
        value = self.values.of.get(stmt.var)
        if value is None or value.var is not stmt.var or value.index not in self.grouping.copied_operands:
            return self.mutate_children(stmt)
        call = stmt.value
        assert isinstance(call, Call)
        index = alias_source(call)
        assert index is not None
        operand = self.visit(call.args[index])
        target = self.final.value(value)
        why = f"{call.op.name} writes over it, and it is read again"
        copy = self.move(operand, target, f"{base_name(operand.name_hint)}_mv", stmt.span, why)
        new = self.visit(call)
        args = tuple(copy.var if i == index else a for i, a in enumerate(new.args))
        changed = replace(
            stmt, var=self.visit_def(stmt.var), value=replace(new, args=args), leading_comments=()
        )
        return seq((replace(copy, leading_comments=stmt.leading_comments), changed), stmt.span)

    # -- loops

    def visit_def(self, var: Var) -> Var:
        """A carry whose initial value was copied starts from the copy."""
        copied = self.entry.get(var) if isinstance(var, IterArg) else None
        if copied is None:
            return super().visit_def(var)
        kind = self.visit_type(var.type)
        assert isinstance(kind, TileType) and isinstance(var, IterArg)
        place = self.final.of(var)
        new = IterArg(var.name_hint, replace(kind, memref=place), copied, span=var.span)
        self.remap[var] = new
        return new

    def entries(self, stmt: ForStmt | WhileStmt) -> list[Stmt]:
        """The copies ahead of a loop."""
        out: list[Stmt] = []
        for arg in stmt.iter_args:
            value = self.values.of.get(arg)
            if value is None or value.index not in self.grouping.copied_inits:
                continue
            init = self.visit(arg.init_value)
            if not isinstance(init, Var):
                continue
            target = self.final.value(value)
            name = self.bases.name("carry_input")
            why = "the loop writes over its carry, and the initial value is still needed"
            copy = self.move(init, target, name, stmt.span, why)
            self.entry[arg] = copy.var
            out.append(copy)
        return out

    def visit_for_stmt(self, stmt: ForStmt) -> Stmt:
        """Entry copies, then the loop with a closed body."""
        ahead = self.entries(stmt)
        new = self.mutate_children(stmt)
        closed = updated(new, body=self.closed(stmt.body, new.body, stmt.iter_args))
        return self.behind(ahead, closed)

    visit_while_stmt = visit_for_stmt

    def behind(self, ahead: list[Stmt], stmt: Any) -> Stmt:
        if not ahead:
            return stmt
        first = replace(ahead[0], leading_comments=stmt.leading_comments)
        return seq((first, *ahead[1:], replace(stmt, leading_comments=())), stmt.span)

    def visit_if_stmt(self, stmt: IfStmt) -> Stmt:
        """Both arms leave their values where the results lie."""
        new = self.mutate_children(stmt)
        then_body = self.closed(stmt.then_body, new.then_body, stmt.return_vars)
        else_body = new.else_body
        if stmt.else_body is not None:
            else_body = self.closed(stmt.else_body, else_body, stmt.return_vars)
        return updated(new, then_body=then_body, else_body=else_body)

    # -- ends of regions

    def closed(self, old: Stmt, new: Stmt, targets: tuple[Var, ...]) -> Stmt:
        """``new`` with transfers ahead of its yield; ``old`` and ``targets`` are from before the rewriting."""
        before, tail = last_yield(old), last_yield(new)
        if before is None or tail is None:
            return new
        copies: list[_Copy] = []
        for slot, (target, value, moved) in enumerate(zip(targets, before.values, tail.values, strict=False)):
            copy = self.transfer(slot, target, value, moved)
            if copy is not None:
                copies.append(copy)
        if not copies:
            return new
        stmts, taken = self.in_order(copies, tail.span)
        values = tuple(taken.get(slot, value) for slot, value in enumerate(tail.values))
        return seq((*flatten(new)[:-1], *stmts, YieldStmt(values, span=tail.span)), new.span)

    def transfer(self, slot: int, target: Var, value: Expr, moved: Expr) -> _Copy | None:
        goal = self.values.of.get(target)
        if goal is None or not isinstance(value, Var) or not isinstance(moved, Var):
            return None
        place = self.final.value(goal)
        origin = self.final.of(value) if value in self.values.of else memref_of(value)
        if origin is not None and same_window(origin, place):
            return None
        return _Copy(slot, moved, origin, place)

    def in_order(self, copies: list[_Copy], span: Span) -> tuple[list[Stmt], dict[int, Var]]:
        """The transfers so that none overwrites the source of a later one."""
        out: list[Stmt] = []
        taken: dict[int, Var] = {}
        pending = list(copies)
        while pending:
            ready = next((c for c in pending if not self.blocked(c, pending)), None)
            if ready is None:
                pending[0] = self.spilled(pending[0], out, span)
                continue
            pending.remove(ready)
            name = f"{base_name(ready.source.name_hint)}_mv"
            why = "a loop or branch hands it on in another place"
            stmt = self.move(ready.source, ready.target, name, span, why)
            out.append(stmt)
            taken[ready.slot] = stmt.var
        return out, taken

    def blocked(self, copy: _Copy, pending: list[_Copy]) -> bool:
        return any(
            other is not copy and other.origin is not None and _overlap(copy.target, other.origin)
            for other in pending
        )

    def spilled(self, copy: _Copy, out: list[Stmt], span: Span) -> _Copy:
        """The copy with its source saved elsewhere first."""
        space = space_of(copy.source)
        stem = f"mem_{space.name.lower()}_carry_spill"
        place = self.bases.fresh(stem, space, copy.target.size, span)
        saved = self.move(
            copy.source, place, f"{base_name(copy.source.name_hint)}_spill", span, "carries change places"
        )
        out.append(saved)
        return _Copy(copy.slot, saved.var, place, copy.target)


def _overlap(a: MemRef, b: MemRef) -> bool:
    (low_a, high_a), (low_b, high_b) = window_of(a), window_of(b)
    return a.base is b.base and low_a < high_b and low_b < high_a
