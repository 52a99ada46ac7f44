"""The contracts of this plugin's passes."""

from __future__ import annotations

from pypto_core.contract import Pass, PassContract, Role, before

_HERE = "pypto_plugin_tile"

PASSES = (
    Pass(
        contract=PassContract(
            name="InferTileMemorySpace",
            requires={"SSAForm", "IncoreTileOps", "SplitIncoreOrch", "NormalizedStmtStructure"},
            produces={"SSAForm", "TileMemoryInferred", "NormalizedStmtStructure", "AccToGmStoreValid"},
            role=Role.MUST,
            order=(before("InitMemRef", "a MemRef lies in a memory space"),),
        ),
        run=f"{_HERE}.infer_memory_space:infer_tile_memory_space",
        summary="give every tile a memory space and move operands to where their operators take them",
    ),
)
