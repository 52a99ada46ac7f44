"""The contracts of this plugin's passes."""

from __future__ import annotations

from pypto_core.contract import Pass, PassContract, PassScope, Role

_HERE = "pypto_plugin_memory"
_TILES = frozenset({"SplitIncoreOrch", "IncoreTileOps", "TileOps2D"})

PASSES = (
    Pass(
        contract=PassContract(
            name="InitMemRef",
            requires=_TILES | {"SSAForm", "TileMemoryInferred"},
            produces={"HasMemRefs", "NormalizedStmtStructure"},
            invalidates={"SSAForm"},
            role=Role.PROVIDE,
            touches={"buffer.memrefs"},
        ),
        run=f"{_HERE}.init_memref:init_mem_ref",
        scope=PassScope.FUNCTION,
        summary="give every tile and tensor a place and state the allocations",
    ),
    Pass(
        contract=PassContract(
            name="AllocateMemoryAddr",
            requires=_TILES | {"HasMemRefs"},
            produces={"AllocatedMemoryAddr"},
            excludes={"planner:ptoas"},
            role=Role.PROVIDE,
            touches={"buffer.addresses"},
        ),
        run=f"{_HERE}.allocate:allocate_memory_addr",
        scope=PassScope.FUNCTION,
        summary="give every allocation an address inside its memory",
    ),
)
