"""LowerPipelineToSlots: a pipelined loop keeps its body and turns it through the slots of rings.

Every load of the body is bound to a ring of as many slots as the loop has stages, with the slot counted from the
loop variable; the loop becomes a sequential one. Loops are judged from the outside in: one that is replicated would
make several selections of one ring in one body, so nothing below it rotates.
"""

from __future__ import annotations

from typing import Any

from pypto_core.diagnostics import InternalError
from pypto_core.ir import (
    PIPELINE_DOUBLE_BUFFER_C,
    PIPELINE_OVERLAP_STORES,
    PIPELINE_STAGES,
    PTR,
    AssignStmt,
    ConstInt,
    DataType,
    ForKind,
    ForStmt,
    Function,
    MemRef,
    Mutator,
    Stmt,
    TileType,
    Var,
    base_name,
    defined_vars,
    replace,
)
from pypto_plugin_slots.budget import Budget
from pypto_plugin_slots.candidates import load_decline, nothing_wanted, uses_of, wanting
from pypto_plugin_slots.decline import Decline, Site, report
from pypto_plugin_slots.passes import rotates
from pypto_plugin_slots.shape import shape_decline, slot_index

_PREFIX = "pipe_"
_NOTES = (PIPELINE_STAGES, PIPELINE_OVERLAP_STORES, PIPELINE_DOUBLE_BUFFER_C)


def lower_pipeline_to_slots(function: Function, ctx: Any) -> Function:
    """The function with its pipelined loops rotated where that is safe; hints say why others are not.

    The same function when no loop is, and without a context or under a planner that loops don't rotate for.
    """
    if ctx is None or not rotates(ctx.capabilities):
        return function
    return _Rotation(function, ctx).visit(function)


class _Rotation(Mutator):
    def __init__(self, function: Function, ctx: Any) -> None:
        super().__init__()
        self.function, self.ctx = function, ctx
        self.budget = Budget(function, ctx.backend)
        self.declined: ForStmt | None = None
        self.bound: dict[Var, Var] = {}
        self.taken = _names(function)

    def visit_def(self, var: Var) -> Var:
        """A load is defined in its slot."""
        return self.bound.get(var) or super().visit_def(var)

    def visit_for_stmt(self, loop: ForStmt) -> Stmt:
        """Judge a loop before what is in it."""
        stages = _stages(loop)
        if stages < 2:
            return self.mutate_children(loop)
        loads = wanting(loop)
        reasons = self._judge(loop, stages, loads)
        if reasons:
            report(self.ctx, Site(self.function, loop.loop_var.name_hint, stages, loop.span), reasons)
            outer, self.declined = self.declined, self.declined or loop
            kept = self.mutate_children(loop)
            self.declined = outer
            return kept
        for load in loads:
            self._bind(load.var, loop, stages)
        inside = self.mutate_children(loop)
        notes = {key: value for key, value in loop.attrs.items() if key not in _NOTES}
        return replace(inside, kind=ForKind.Sequential, attrs=notes)

    def _judge(self, loop: ForStmt, stages: int, loads: tuple[AssignStmt, ...]) -> tuple[Decline, ...]:
        """Why a loop is not rotated; when nothing is against it, its rings are in the budget."""
        outer = self.declined
        reason = _below(outer) if outer is not None else shape_decline(loop, stages)
        if reason is not None:
            return (reason,)
        if not loads:
            return (nothing_wanted(loop),)
        uses = uses_of(loop.body)
        found = [load_decline(load, uses, self.budget) for load in loads]
        reasons = tuple(reason for reason in found if reason is not None)
        return reasons or self.budget.take([_tile(load.var) for load in loads], stages)

    def _bind(self, var: Var, loop: ForStmt, stages: int) -> None:
        base = Var(self._name(var), PTR, span=var.span)
        ring = MemRef(
            base,
            ConstInt(0, DataType.INT64),
            is_pinned=True,
            slot_count=stages,
            slot_index=slot_index(loop, stages),
            span=var.span,
        )
        new = Var(var.name_hint, replace(_tile(var), memref=ring), span=var.span)
        self.bound[var] = self.remap[var] = new

    def _name(self, var: Var) -> str:
        """The name of a ring. Rings of one name would become one when the text is read again."""
        stem = name = _PREFIX + base_name(var.name_hint)
        number = 0
        while name in self.taken:
            number += 1
            name = f"{stem}_{number}"
        self.taken.add(name)
        return name


def _stages(loop: ForStmt) -> int:
    """Stages of a pipelined loop; 1 for any other, for there is nothing to turn."""
    if loop.kind is not ForKind.Pipeline or PIPELINE_STAGES not in loop.attrs:
        return 1
    stages: Any = loop.attrs[PIPELINE_STAGES]
    if not isinstance(stages, int) or stages < 1:
        raise InternalError(f"a pipelined loop can't have {stages!r} stages", span=loop.span)
    return stages


def _below(outer: ForStmt) -> Decline:
    name = base_name(outer.loop_var.name_hint)
    return Decline(
        code="PH-LS-002", gate="no replicated loop around it",
        because=f"the loop over '{name}' around it is replicated, and each copy would select a slot of the same ring",
        facts=(("outer loop", name), ("outer stages", _stages(outer))),
        remedy=f"write pl.range for the loop over '{name}', or resolve what keeps that one from rotating",
    )  # fmt: skip


def _tile(var: Var) -> TileType:
    assert isinstance(var.type, TileType)
    return var.type


def _names(function: Function) -> set[str]:
    """The names that a ring may not have: those of variables and of declared allocations."""
    names = {var.name_hint for var in function.params}
    for var in defined_vars(function.body):
        names.add(var.name_hint)
        if isinstance(var.type, TileType) and var.type.memref is not None:
            names.add(var.type.memref.name)
    return names
