"""AllocateMemoryAddr: every allocation gets an address in its memory.

The function's allocations become a placement problem, the chosen planner answers it, and the kernel's checker
judges the answer before a single address is written. Afterwards the offset of every MemRef counts from the start
of its memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from pypto_core.contract import (
    Placement,
    PlacementProblem,
    Planner,
    check_placement,
    shares_bytes,
)
from pypto_core.diagnostics import DiagnosticError, InternalError
from pypto_core.ir import Add, ConstInt, DataType, Function, MemRef, Var, const_index, replace, scalar_type
from pypto_plugin_memory.penalties import Waits
from pypto_plugin_memory.planners.table import PLANNERS
from pypto_plugin_memory.problem import Planning, planning_of
from pypto_plugin_memory.reserve import settle_reserved
from pypto_plugin_memory.rewrite import drop_unused_allocations, map_memrefs, strip_membership

if TYPE_CHECKING:
    from collections.abc import Callable

_INDEX = scalar_type(DataType.INDEX)


def allocate_memory_addr(function: Function, ctx: Any) -> Function:
    """The function with addresses in its MemRefs; functions that do not run on a core are left alone.

    Raises NoPlacementError when the tiles don't fit, InternalError (PT930) when the planner fails or its answer breaks
    a rule.
    """
    if not function.is_incore:
        return function
    planning = planning_of(function, ctx)
    planner = chosen_planner(ctx)
    if planner.plan is None and not planner.assigns_addresses:
        return function
    if planning.problem.blocks:
        placement = answer(planner, planning.problem, function, ctx)
        judge(planner, planning.problem, placement, function)
        hint_relaxed(planning.problem, placement, function, ctx)
        hint_near(planning.waits, function, ctx)
        function = write_addresses(function, planning, placement)
    function = settle_reserved(function, planning.reserved)
    return drop_unused_allocations(strip_membership(function))


def chosen_planner(ctx: Any) -> Planner:
    """The context's planner: a registered one, else one of this plugin's."""
    name = ctx.planner if ctx is not None else "pypto"
    host = ctx.host if ctx is not None else None
    if host is not None:
        return host.planner(name)
    return next(p for p in PLANNERS if p.name == name)


def answer(planner: Planner, problem: PlacementProblem, function: Function, ctx: Any) -> Placement:
    """What a planner makes of a problem. Whatever it does wrong is told as its own fault, not as that of the pass."""
    try:
        plan = planner.load()
        if plan is None:
            raise TypeError("it is said to assign addresses and has no plan")
        placement = cast("Callable[[PlacementProblem], object]", plan)(problem)
        if not isinstance(placement, Placement):
            raise TypeError(f"it returned a {type(placement).__name__} where a Placement belongs")
    except DiagnosticError as error:
        raise error.located(function.span) from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit and the like would end the process without a word
        host = ctx.host if ctx is not None else None
        origin = f" of {host.planners.origin(planner.name)}" if host is not None else ""
        raise InternalError(
            f"planner {planner.name} failed on function '{function.name}': {type(error).__name__}: {error}",
            code="PT930",
            span=function.span,
            facts={"planner": f"{planner.name}{origin}"},
            remedy="report it to whoever provides the planner, or choose another one: --planner pypto",
        ) from error
    return placement


def judge(planner: Planner, problem: PlacementProblem, placement: Placement, function: Function) -> None:
    """Refuse an answer that breaks a rule of the problem."""
    wrong = check_placement(problem, placement)
    if wrong:
        raise InternalError(
            f"planner {planner.name} gave function '{function.name}' a plan that breaks the rules",
            code="PT930",
            span=function.span,
            facts=[(v.kind, v.message) for v in wrong[:8]],
            remedy="report it to whoever provides the planner, with the problem that it was given",
        )


def hint_relaxed(problem: PlacementProblem, placement: Placement, function: Function, ctx: Any) -> None:
    """Say how many pairs of pipeline stages share storage that would rather not."""
    if ctx is None or not placement.relaxed:
        return
    sharing = [pair for pair in placement.relaxed if shares_bytes(problem, placement, *pair)]
    if not sharing:
        return
    labels = {b.name: b.label or b.name for b in problem.blocks}
    ctx.hint(
        "PH-DSA-001",
        f"{len(sharing)} of {len(placement.relaxed)} relaxed pair(s) reuse physical storage",
        function.span,
        facts=[
            ("function", function.name),
            *(("shared", f"{labels[a]} and {labels[b]}") for a, b in sharing[:6]),
        ],
        remedy="use fewer pipeline stages or smaller tiles, so that every stage has storage of its own",
    )


def hint_near(waits: Waits, function: Function, ctx: Any) -> None:
    """Say of a kernel with very many tiles that not all pairs of them were weighed."""
    if ctx is None or not waits.near:
        return
    ctx.hint(
        "PH-DSA-002",
        f"of the tiles of '{function.name}' only near ones are weighed against each other",
        function.span,
        facts=[
            (space.name, f"{count} tiles in one region, those up to {reach} definitions apart")
            for space, count, reach in waits.near
        ],
        remedy="nothing is wrong; split the kernel, or use a loop instead of so many statements, to have all weighed",
    )


def write_addresses(function: Function, planning: Planning, placement: Placement) -> Function:
    """Every MemRef's offset becomes an address: that of its allocation and what it had before."""
    start: dict[Var, int] = {
        b.allocation.base: placement.offsets[b.allocation.name] for b in planning.buffers
    }

    def change(memref: MemRef) -> MemRef:
        at = start.get(memref.base)
        if at is None:
            return memref
        offset = memref.byte_offset
        if isinstance(offset, ConstInt):
            if at == 0 and offset.dtype is DataType.INT64:
                return memref
            return replace(memref, byte_offset=ConstInt(at + offset.value, DataType.INT64))
        return replace(memref, byte_offset=Add(const_index(at), offset, _INDEX))

    return map_memrefs(function, change)
