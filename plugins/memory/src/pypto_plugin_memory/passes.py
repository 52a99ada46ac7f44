"""The contracts of this plugin's passes, and the properties that they make."""

from __future__ import annotations

from pypto_core.contract import Pass, PassContract, PassScope, Property, Role, strictly_before

_HERE = "pypto_plugin_memory"
_TILES = frozenset({"SplitIncoreOrch", "IncoreTileOps", "TileOps2D"})
_CLOSED = "memory.StorageClosed"
_KEPT = "memory.PlanKept"

PROPERTIES = (
    Property(
        name=_CLOSED,
        summary="loops and branches hand on their tiles in one place, and nothing overwrites what is still read",
        verifier=f"{_HERE}.audit:verify_storage_closed",
        disturbed_by=frozenset({"ir.control-flow", "ir.calls", "buffer.memrefs", "ir.ssa-names"}),
    ),
    Property(
        name=_KEPT,
        summary="with the addresses that tiles have, every byte is still there when it is read",
        verifier=f"{_HERE}.audit:verify_plan_kept",
        disturbed_by=frozenset(
            {"ir.control-flow", "ir.calls", "buffer.memrefs", "buffer.addresses", "ir.ssa-names"}
        ),
    ),
)

PASSES = (
    Pass(
        contract=PassContract(
            name="InitMemRef",
            requires=_TILES | {"SSAForm", "TileMemoryInferred"},
            produces=frozenset({"HasMemRefs", "NormalizedStmtStructure"}),
            invalidates=frozenset({"SSAForm"}),
            role=Role.PROVIDE,
            touches=frozenset({"buffer.memrefs"}),
        ),
        run=f"{_HERE}.init_memref:init_mem_ref",
        scope=PassScope.FUNCTION,
        summary="give every tile and tensor a place and state the allocations",
    ),
    Pass(
        contract=PassContract(
            name="MaterializeSemanticAliases",
            requires=_TILES | {"HasMemRefs", "NormalizedStmtStructure"},
            produces=frozenset({"NormalizedStmtStructure", _CLOSED}),
            order=(
                strictly_before(
                    "MemoryReuse", "what has to share storage does so before anything else may take it"
                ),
                strictly_before("AllocateMemoryAddr", "addresses are given to the storage that is left"),
            ),
            role=Role.OPTIMISE,
            touches=frozenset({"ir.control-flow"}),
        ),
        run=f"{_HERE}.aliases:materialize_semantic_aliases",
        scope=PassScope.FUNCTION,
        summary="put carries, branch results and results in place where they belong, with copies where they must be",
    ),
    Pass(
        contract=PassContract(
            name="MemoryReuse",
            requires=_TILES | {"HasMemRefs", "NormalizedStmtStructure", _CLOSED},
            produces=frozenset({"NormalizedStmtStructure"}),
            needs=frozenset({"planner:pypto"}),
            order=(strictly_before("AllocateMemoryAddr", "addresses are given to the storage that is left"),),
            role=Role.OPTIMISE,
        ),
        run=f"{_HERE}.reuse:memory_reuse",
        scope=PassScope.FUNCTION,
        summary="let tiles that are never alive together share storage",
    ),
    Pass(
        contract=PassContract(
            name="AllocateMemoryAddr",
            requires=_TILES | {"HasMemRefs", _CLOSED},
            produces=frozenset({"AllocatedMemoryAddr", _KEPT}),
            excludes=frozenset({"planner:ptoas"}),
            role=Role.PROVIDE,
            touches=frozenset({"buffer.addresses"}),
        ),
        run=f"{_HERE}.allocate:allocate_memory_addr",
        scope=PassScope.FUNCTION,
        summary="give every allocation an address inside its memory",
    ),
)
