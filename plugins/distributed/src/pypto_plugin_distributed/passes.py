"""The contracts of this plugin's passes."""

from __future__ import annotations

from pypto_core.contract import Pass, PassContract, PassScope, Role, after, before

PASSES = (
    Pass(
        contract=PassContract(
            name="LowerRemoteTransfers",
            role=Role.OPTIMISE,
            order=(
                after("FlattenCallExpr", "a transfer is looked for as a statement of its own"),
                after("OutlineIncoreScopes", "transfers are written out in kernels alone"),
                before("ConvertTensorToTileOps", "what a transfer takes from chip is a tile by then"),
                *(
                    before(name, "tile passes know loads, stores and remote ones")
                    for name in ("LegalizeTileCast", "CanonicalizeTileSlice", "InferTileMemorySpace")
                ),
                before(
                    "LowerPipelineLoops", "a transfer in a pipelined loop is replicated with the rest of it"
                ),
                before(
                    "LowerPipelineToSlots", "a transfer in a pipelined loop is replicated with the rest of it"
                ),
                before("InitMemRef", "the tiles of transfers need a place like all others"),
            ),
            touches={"tile.memory", "buffer.memrefs"},
        ),
        run="pypto_plugin_distributed.lower:lower_remote_transfers",
        scope=PassScope.FUNCTION,
        summary="copies between devices as loops over tiles, barriers as signals",
    ),
)
"""The passes of this plugin."""
