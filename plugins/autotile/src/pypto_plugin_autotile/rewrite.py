"""One walk over a function: every product is tiled where it stands, or where its result is stored."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from pypto_core.ir import (
    PIPELINE_DOUBLE_BUFFER_C,
    PIPELINE_OVERLAP_STORES,
    AssignStmt,
    Call,
    ForStmt,
    Function,
    Mutator,
    SeqStmts,
    Stmt,
    Var,
    replace,
    seq,
    types_equal,
)
from pypto_core.ops import rebuild_call
from pypto_plugin_autotile.analysis import LEFT_ALONE, Question, along_k_only, analyse
from pypto_plugin_autotile.cast_fold import cast_stays, drain_can_cast, fold_cast, is_chained_cast
from pypto_plugin_autotile.emit import Emitter, with_comments
from pypto_plugin_autotile.facts import ListFacts, Roots, list_facts, storage_roots
from pypto_plugin_autotile.grid import emit_grid
from pypto_plugin_autotile.hints import Hints, Refusal
from pypto_plugin_autotile.k_loop import emit_reduction, whole_window
from pypto_plugin_autotile.machine import Machine
from pypto_plugin_autotile.match import Product, is_call, is_window, literal_pair, match_product, tile_type
from pypto_plugin_autotile.placement import bias_refusal, find_scratch, find_store
from pypto_plugin_autotile.placers import DirectStore, scratch_for
from pypto_plugin_autotile.plan import Plan
from pypto_plugin_autotile.uses import Uses, count_uses


def tile_products(function: Function, machine: Machine, hints: Hints, marked: frozenset[ForStmt]) -> Function:
    """The function with its products tiled and the loops in ``marked`` told to use two accumulators."""
    walker = _Walker(machine, hints, count_uses(function), storage_roots(function), marked)
    body = walker.visit(function.body)
    return function if body is function.body else replace(function, body=body)


class _Walker(Mutator):
    """Substitutes what was replaced and hands each list of statements to :class:`_List`."""

    def __init__(
        self, machine: Machine, hints: Hints, uses: Uses, roots: Roots, marked: frozenset[ForStmt]
    ) -> None:
        super().__init__(rebuild_call=rebuild_call)
        self.machine, self.hints, self.uses, self.roots, self.marked = machine, hints, uses, roots, marked

    def visit_seq_stmts(self, node: SeqStmts) -> Stmt:
        return self.list_of(node.stmts, node)

    def visit_assign_stmt(self, node: AssignStmt) -> Stmt:
        # Statements of a list don't come here: this one is a region of its own.
        return self.list_of((node,), node)

    def list_of(self, stmts: tuple[Stmt, ...], node: Stmt) -> Stmt:
        new = _List(self, list_facts(stmts, self.uses)).run()
        if len(new) == len(stmts) and all(a is b for a, b in zip(new, stmts, strict=True)):
            return node
        return seq(new, node.span)

    def visit_for_stmt(self, stmt: ForStmt) -> Stmt:
        new = self.mutate_children(stmt)
        if stmt not in self.marked:
            return new
        kept = {
            key: value
            for key, value in new.attrs.items()
            if key not in (PIPELINE_OVERLAP_STORES, PIPELINE_DOUBLE_BUFFER_C)
        }
        marks = {PIPELINE_OVERLAP_STORES: False, PIPELINE_DOUBLE_BUFFER_C: True}
        return replace(new, attrs={**kept, **marks})

    def assigned(self, stmt: AssignStmt) -> AssignStmt:
        """The statement with replaced variables; a variable whose value changed its type is a new one."""
        if not self.remap:
            return stmt
        new = super().visit_assign_stmt(stmt)
        assert isinstance(new, AssignStmt)
        if new.value is stmt.value or types_equal(new.value.type, stmt.value.type):
            return new
        var = Var(stmt.var.name_hint, new.value.type, span=stmt.var.span)
        self.remap[stmt.var] = var
        return replace(new, var=var)


@attrs.frozen(eq=False)
class _Pending:
    """A grid to emit where its result is stored, and the comments of the product that stood elsewhere."""

    plan: Plan
    comments: tuple[str, ...]


@attrs.define(eq=False)
class _List:
    walker: _Walker
    facts: ListFacts
    out: list[Stmt] = attrs.field(factory=list)
    pending: dict[AssignStmt, _Pending] = attrs.field(factory=dict)
    dropped: set[Var] = attrs.field(factory=set)
    bias_loads: dict[Var, AssignStmt] = attrs.field(factory=dict)
    unused_loads: set[AssignStmt] = attrs.field(factory=set)
    comments: tuple[str, ...] = ()

    def run(self) -> Sequence[Stmt]:
        for stmt in self.facts.stmts:
            if not isinstance(stmt, AssignStmt):
                self.put(self.walker.visit(stmt))
            elif stmt in self.pending:
                self.emit_at_store(self.pending[stmt], stmt)
            elif stmt.var in self.dropped:
                self.comments += stmt.leading_comments
            else:
                self.one(stmt)
        return self.without_unused_loads() if self.unused_loads else self.out

    def put(self, *stmts: Stmt) -> None:
        """Append statements; comments that wait for one go ahead of the first."""
        self.out += with_comments(stmts, self.comments)
        self.comments = ()

    def without_unused_loads(self) -> Sequence[Stmt]:
        kept: list[Stmt] = []
        waiting: tuple[str, ...] = ()
        for stmt in self.out:
            if isinstance(stmt, AssignStmt) and stmt in self.unused_loads:
                waiting += stmt.leading_comments
            else:
                kept += with_comments((stmt,), waiting)
                waiting = ()
        return kept

    def one(self, stmt: AssignStmt) -> None:
        current = self.walker.assigned(stmt)
        if is_call(current.value, "tile.load"):
            self.bias_loads[stmt.var] = current
        elif is_call(current.value, "tile.cast"):
            if self.fold(stmt, current):
                return
        else:
            product = match_product(current)
            if product is not None and self.tile(stmt, product):
                return
        self.put(current)

    # -- casts

    def fold(self, stmt: AssignStmt, current: AssignStmt) -> bool:
        walker, call = self.walker, current.value
        assert isinstance(call, Call)
        if not is_chained_cast(stmt, current, walker.uses, walker.machine):
            return False
        source = call.args[0]
        if not drain_can_cast(call, tile_type(source).dtype):
            cast_stays(call, current, walker.hints)
            return False
        assert isinstance(source, Var)
        out = Emitter.at(current)
        walker.remap[stmt.var] = fold_cast(out, call, source)
        self.put(*with_comments(out.stmts, stmt.leading_comments))
        return True

    # -- products

    def tile(self, stmt: AssignStmt, product: Product) -> bool:
        """Whether the product was replaced, here or by a grid to come."""
        walker = self.walker
        question = Question(bias_load=self.bias_load(stmt, product))
        plan = analyse(product, walker.machine, walker.hints, question)
        if plan is None:
            return False
        if not plan.needs_grid:
            self.along_k(stmt, plan)
            return True
        refused = bias_refusal(plan)
        refusals = [refused] if refused is not None else self.place(stmt, plan)
        return refusals is None or self.fall_back(stmt, plan, refusals)

    def place(self, stmt: AssignStmt, plan: Plan) -> list[Refusal] | None:
        """Find the grid a place: None when it has one, else the reasons why not."""
        walker = self.walker
        scratch = find_scratch(stmt, plan, self.facts, walker.uses, walker.machine)
        refusals: list[Refusal] = []
        if isinstance(scratch, Refusal):
            refusals.append(scratch)
        elif scratch is not None:
            out = Emitter.at(stmt)
            value = emit_grid(out, scratch.plan, scratch_for(scratch.plan, scratch.dtype))
            self.replaced(stmt, scratch.plan, value, out)
            if scratch.cast is not None:
                walker.remap[scratch.cast.var] = value
                self.dropped.add(scratch.cast.var)
            return None
        store = find_store(stmt, plan, self.facts, walker.uses, walker.roots)
        if isinstance(store, Refusal):
            return [*refusals, store]
        self.pending[store] = _Pending(plan, self.comments + stmt.leading_comments)
        self.comments = ()
        return None

    def along_k(self, stmt: AssignStmt, plan: Plan) -> None:
        out = Emitter.at(stmt)
        name = stmt.var.name_hint
        self.replaced(stmt, plan, emit_reduction(out, plan, whole_window(plan), name, name), out)

    def fall_back(self, stmt: AssignStmt, plan: Plan, refusals: list[Refusal]) -> bool:
        """Split along K alone where that is possible, and say so."""
        walker = self.walker
        plain = along_k_only(plan) if walker.machine.options.k_only_fallback else None
        if plain is None:
            outcome = LEFT_ALONE
        elif plain.is_whole:
            outcome = "it runs whole, which L0 has just the room for"
        else:
            outcome = f"it is split along K alone, into blocks of {plain.k}"
        for refusal in refusals:
            walker.hints.refused(refusal, plan, walker.machine, outcome)
        if plain is None or plain.is_whole:
            return False
        self.along_k(stmt, plain)
        return True

    def replaced(self, stmt: AssignStmt, plan: Plan, value: Var, out: Emitter) -> None:
        """``value`` stands for the result of ``stmt`` from here on."""
        self.walker.remap[stmt.var] = value
        self.forget_bias(plan)
        self.put(*with_comments(out.stmts, stmt.leading_comments))

    def emit_at_store(self, pending: _Pending, store: AssignStmt) -> None:
        plan = pending.plan
        current = self.walker.assigned(store)
        out = Emitter.at(plan.product.stmt)
        self.walker.remap[store.var] = emit_grid(out, plan, DirectStore(current))
        self.forget_bias(plan)
        self.put(*with_comments(out.stmts, pending.comments + store.leading_comments))

    # -- biases

    def bias_load(self, stmt: AssignStmt, product: Product) -> AssignStmt | None:
        """The load of the product's bias, as it is now, when it brings exactly one whole row."""
        value = stmt.value
        if product.bias is None or not isinstance(value, Call):
            return None
        bias = value.args[2]
        if not isinstance(bias, Var) or bias not in self.facts.bias_loads:
            return None
        load = self.bias_loads.get(bias)
        call = load.value if load is not None else None
        if load is None or not isinstance(call, Call) or len(call.args) != 4:
            return None
        columns = tile_type(product.rhs).shape[1]
        width = getattr(columns, "value", None)
        if width is None or literal_pair(call.args[1]) is None:
            return None
        return load if is_window(call.args[2], 1, width) and is_window(call.args[3], 1, width) else None

    def forget_bias(self, plan: Plan) -> None:
        """Drop the load of a whole bias row of which windows are loaded instead."""
        if plan.bias_load is not None and plan.n != plan.N:
            self.unused_loads.add(plan.bias_load)
