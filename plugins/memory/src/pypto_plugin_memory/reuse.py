"""MemoryReuse: tiles that are never alive together share storage.

Whole buffers are shared first. Where that does not fit, any freed range of bytes may be used; where that does not
fit either, a pipeline gives up stages, one at a time. What still does not fit is left to AllocateMemoryAddr, which
says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs

from pypto_core.contract import (
    Backend,
    NoPlacementError,
    PlacementProblem,
    Separation,
)
from pypto_core.ir import (
    AssignStmt,
    Call,
    ConstInt,
    DataType,
    Function,
    MemorySpace,
    MemRef,
    Stmt,
    Var,
    add,
    flatten,
    is_orchestration_like,
    replace,
    seq,
)
from pypto_plugin_memory.buffers import Buffer, buffers_of
from pypto_plugin_memory.packing import Gate, Host, apart_lanes, footprint, pack
from pypto_plugin_memory.planners.search import Effort, search
from pypto_plugin_memory.problem import alignment_of, block_of, separations_of
from pypto_plugin_memory.reserve import reserved_ranges
from pypto_plugin_memory.rewrite import drop_unused_allocations, map_memrefs, strip_membership
from pypto_plugin_memory.storage import is_alloc

QUICK = Effort(rankings=20, nodes=5_000, polish=0)
"""What is spent on one memory that overflows, per pipeline depth."""


@attrs.define(eq=False)
class Moves:
    """Where buffers go: per base the one it becomes part of, and where in it. ``sizes``: of bases that grow."""

    to: dict[Var, tuple[Var, int]] = attrs.field(factory=dict)
    sizes: dict[Var, int] = attrs.field(factory=dict)


def memory_reuse(function: Function, ctx: Any) -> Function:
    """The function with shared storage and without the tags of pipelined loops."""
    if is_orchestration_like(function.func_type):
        return function
    buffers = buffers_of(function, ctx)
    moves = Moves()
    reserved = {
        item.space: item.end for item in reserved_ranges(function, ctx.backend if ctx is not None else None)
    }
    for space in MemorySpace:
        members = [b for b in buffers if b.allocation.space is space and b.size > 0]
        if members:
            _Space(function, ctx, space, members, reserved.get(space, 0)).settle(moves)
    return drop_unused_allocations(strip_membership(apply_moves(function, moves)))


class _Space:
    """One memory of one function."""

    def __init__(
        self, function: Function, ctx: Any, space: MemorySpace, buffers: list[Buffer], start: int
    ) -> None:
        self.function, self.ctx, self.space, self.buffers, self.start = function, ctx, space, buffers, start
        backend: Backend | None = ctx.backend if ctx is not None else None
        self.backend = backend
        self.capacity = backend.capacity(space) if backend is not None else 0
        self.alignment = alignment_of(backend, space)

    def settle(self, moves: Moves) -> None:
        gate = Gate.of(self.buffers, self.capacity, self.alignment)
        wanted = {group: len(stages) for group, stages in gate.stages.items()}
        while True:
            hosts = pack(self.buffers, gate)
            if self.fits(hosts):
                _merge(hosts, moves)
                break
            if self.squeeze(gate, moves):
                break
            if not gate.shed():
                _merge(hosts, moves)
                break
        self.report(gate, wanted)

    def fits(self, hosts: list[Host]) -> bool:
        return not self.capacity or footprint(hosts, self.alignment, self.start) <= self.capacity

    def squeeze(self, gate: Gate, moves: Moves) -> bool:
        """Use any free range of bytes; the buffers that are not declared become parts of one allocation."""
        free = [b for b in self.buffers if not b.allocation.declared]
        fixed = [Host(first=b, closed=True) for b in self.buffers if b.allocation.declared]
        room = self.capacity - footprint(fixed, self.alignment, self.start) - self.alignment * bool(fixed)
        if len(free) < 2 or room <= 0:
            return False
        problem = PlacementProblem(
            blocks=[block_of(b, self.backend) for b in free],
            capacities={self.space: room},
            separations=[*separations_without_stages(free), *staged_separations(free, gate)],
        )
        try:
            placement = search(problem, QUICK)
        except NoPlacementError:
            return False
        home = min(free, key=lambda b: b.index)
        for buffer in free:
            offset = placement.offsets[buffer.allocation.name]
            moves.to[buffer.allocation.base] = (home.allocation.base, offset)
        moves.sizes[home.allocation.base] = max(placement.offsets[b.allocation.name] + b.size for b in free)
        return True

    def report(self, gate: Gate, wanted: dict[int, int]) -> None:
        """Say which pipeline got fewer buffers than it has stages."""
        if self.ctx is None:
            return
        for group, depth in gate.depths.items():
            if depth < wanted[group]:
                self._hint(gate, group, depth, wanted[group])

    def _hint(self, gate: Gate, group: int, depth: int, wanted: int) -> None:
        slot = max(b.size for b in self.buffers if group in b.stages)
        first = next(b for b in self.buffers if group in b.stages)
        alone = self.capacity // gate.slots[group] if gate.slots[group] else 0
        per_stage = self.capacity // wanted // self.alignment * self.alignment
        if alone < wanted:
            remedy = f"make each tile at most {per_stage} bytes, or use stage={max(1, alone)}"
        else:
            remedy = f"free {self.space.name} of tiles that live through the loop, or use stage={depth}"
        self.ctx.hint(
            "PH-MR-001",
            f"a pipeline of {wanted} stages gets {depth} of {wanted} buffers in {self.space.name}",
            first.allocation.span,
            facts={
                "function": self.function.name,
                "tile": first.allocation.label,
                "slot": f"{slot} bytes",
                "needed": f"{slot * wanted} bytes for {wanted} stages",
                "available": f"{self.capacity} bytes, shared with everything else alive in {self.space.name}",
                "limit per stage": f"{self.capacity // wanted} bytes",
            },
            remedy=remedy,
        )


def separations_without_stages(buffers: list[Buffer]) -> list[Separation]:
    """What keeps buffers apart beside their stages."""
    plain = [attrs.evolve(b, stages={}) for b in buffers]
    return separations_of(plain)


def staged_separations(buffers: list[Buffer], gate: Gate) -> list[Separation]:
    """What keeps buffers of different lanes apart."""
    staged = [b for b in buffers if b.stages]
    return [
        Separation(a=a.allocation.name, b=b.allocation.name, reasons=("PipelineStage",))
        for at, b in enumerate(staged)
        for a in staged[:at]
        if apart_lanes(a, b, gate) and not a.meets(b)
    ]


def _merge(hosts: Iterable[Host], moves: Moves) -> None:
    for host in hosts:
        for guest in host.guests:
            if guest is not host.first:
                moves.to[guest.allocation.base] = (host.first.allocation.base, 0)


def apply_moves(function: Function, moves: Moves) -> Function:
    """The function with MemRefs in their new bases and alloc statements of the new sizes."""
    if not moves.to:
        return function

    def change(memref: MemRef) -> MemRef:
        base, by = moves.to.get(memref.base, (memref.base, 0))
        if base is memref.base and by == 0:
            return memref
        offset = memref.byte_offset
        if isinstance(offset, ConstInt):
            return replace(memref, base=base, byte_offset=ConstInt(offset.value + by, DataType.INT64))
        return replace(memref, base=base, byte_offset=add(offset, by) if by else offset)

    return _resized(map_memrefs(function, change), moves.sizes)


def _resized(function: Function, sizes: dict[Var, int]) -> Function:
    if not sizes:
        return function
    stmts: list[Stmt] = []
    for stmt in flatten(function.body):
        if isinstance(stmt, AssignStmt) and is_alloc(stmt) and stmt.var in sizes:
            assert isinstance(stmt.value, Call)
            options = {**stmt.value.kwargs, "size": sizes[stmt.var]}
            stmt = replace(stmt, value=replace(stmt.value, kwargs=options))
        stmts.append(stmt)
    return replace(function, body=seq(stmts, function.body.span))
