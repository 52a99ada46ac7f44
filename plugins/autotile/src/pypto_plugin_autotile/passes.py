"""The contract of this plugin's pass."""

from __future__ import annotations

from pypto_core.contract import Pass, PassContract, Role, after, before, strictly_before
from pypto_plugin_autotile.options import AutoTileOptions

_KEPT = frozenset(("SSAForm", "SplitIncoreOrch", "IncoreTileOps", "TileOps2D", "NormalizedStmtStructure"))

PASSES = (
    Pass(
        contract=PassContract(
            name="AutoTileMatmulL0",
            requires=_KEPT,
            produces=_KEPT,
            # Its loops are pipelined ones, so whatever lowers those has to come later.
            invalidates=frozenset(("PipelineResolved",)),
            # A kernel of products that fit L0 compiles without it, also where nothing can lower its loops.
            role=Role.OPTIMISE,
            # Operands placed by hand make TileMemoryInferred true of the input, and are checked here all the same:
            # that is why this is an order and not a forbidden property.
            order=(
                strictly_before(
                    "InferTileMemorySpace", "operands are still in Mat, where the tiles are cut from"
                ),
                after("FlattenCallExpr", "a product is looked for as a statement of its own"),
                after("LegalizeTileCast", "casts that fold into the drain of the accumulator are legal ones"),
                after("FlattenTileNdTo2D", "the products to tile are two-dimensional"),
                before("CanonicalizeTileSlice", "slices of operands are taken as they are written"),
                before("InitMemRef", "new tiles need a place like all others"),
            ),
            touches=frozenset(("ir.control-flow",)),
        ),
        run="pypto_plugin_autotile.auto_tile:auto_tile_matmul_l0",
        options=AutoTileOptions(),
        summary="split matrix products into pipelined loops over tiles that fit L0",
    ),
)
