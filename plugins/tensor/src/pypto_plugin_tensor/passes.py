"""The contracts of this plugin's passes."""

from __future__ import annotations

from pypto_core.contract import Pass, PassContract, PassScope, Role, after, before

_HERE = "pypto_plugin_tensor"
_SSA = frozenset({"SSAForm", "NormalizedStmtStructure"})
_TILES = ("LegalizeTileCast", "AutoTileMatmulL0", "CanonicalizeTileSlice", "InferTileMemorySpace")
_PLACED = "a MemRef lies in a memory space"

_AROUND = (
    Pass(
        contract=PassContract(
            name="OutlineHierarchyScopes",
            requires={"SSAForm"},
            produces={"SSAForm", "HierarchyOutlined", "OrchestrationReferencesResolved"},
            role=Role.PROVIDE,
            order=(
                after("FlattenCallExpr", "what a scope writes is looked for in statements of their own"),
                before("OutlineIncoreScopes", "scopes are outlined from the outside in"),
                before("InitMemRef", "functions are final by then"),
            ),
            touches={"ir.signatures"},
        ),
        run=f"{_HERE}.launches:outline_hierarchy_scopes",
        summary="make functions of the scopes of outer levels",
    ),
    Pass(
        contract=PassContract(
            name="OutlineClusterScopes",
            requires={"SSAForm"},
            produces={"SSAForm", "ClusterOutlined"},
            role=Role.PROVIDE,
            order=(
                after("FlattenCallExpr", "what a scope writes is looked for in statements of their own"),
                before(
                    "ConvertTensorToTileOps", "launches are functions when their kernels get new parameters"
                ),
                before("InitMemRef", "functions are final by then"),
            ),
            touches={"ir.signatures"},
        ),
        run=f"{_HERE}.launches:outline_cluster_scopes",
        summary="make functions of clusters and of launches over blocks",
    ),
)

PASSES = (
    *_AROUND,
    Pass(
        contract=PassContract(
            name="SplitMixedScopes",
            requires=_SSA | {"NoNestedCalls"},
            produces=_SSA | {"NoNestedCalls"},
            role=Role.OPTIMISE,
            order=(
                after("FlattenCallExpr", "which core a statement needs is told by its operator"),
                before("OutlineHierarchyScopes", "scopes are outlined as they are then"),
                before("OutlineIncoreScopes", "each scope becomes one kernel"),
            ),
            touches={"ir.control-flow"},
        ),
        run=f"{_HERE}.mixed_scopes:split_mixed_scopes",
        summary="make one scope per core of those with work for both cores",
    ),
    Pass(
        contract=PassContract(
            name="OutlineIncoreScopes",
            requires={"SSAForm"},
            produces={"SSAForm", "SplitIncoreOrch"},
            role=Role.PROVIDE,
            order=(
                after("FlattenCallExpr", "what a scope writes is looked for in statements of their own"),
                after("OutlineHierarchyScopes", "scopes are outlined from the outside in"),
                before("OutlineClusterScopes", "scopes of kernels are outlined before those of launches"),
                before("InitMemRef", "kernels are functions of their own by then"),
            ),
            touches={"ir.signatures"},
        ),
        run=f"{_HERE}.incore:outline_incore_scopes",
        summary="make kernels of the scopes that run on a core",
    ),
    Pass(
        contract=PassContract(
            name="ConvertTensorToTileOps",
            requires=_SSA | {"SplitIncoreOrch", "NoNestedCalls"},
            produces=_SSA | {"IncoreTileOps", "NoNestedCalls"},
            role=Role.PROVIDE,
            order=(
                after("OutlineClusterScopes", "launches and kernels are told apart by then"),
                before("InitMemRef", "new tiles need a place like all others"),
            ),
            touches={"tile.shapes", "tile.memory", "tile.valid", "ir.signatures", "buffer.memrefs"},
        ),
        run=f"{_HERE}.convert:convert_tensor_to_tile_ops",
        summary="load, compute on tiles and store, in place of computing on tensors",
    ),
    Pass(
        contract=PassContract(
            name="OptimizeOrchTensors",
            requires={"SplitIncoreOrch", "IncoreTileOps", "SSAForm"},
            produces={"SplitIncoreOrch", "IncoreTileOps", "SSAForm"},
            role=Role.OPTIMISE,
            order=(
                after("FlattenCallExpr", "calls are looked for as statements of their own"),
                after("ConvertTensorToTileOps", "the tensors that callers make come from there"),
                before("LowerCompositeOps", "signatures are final when kernels are worked on"),
                *(before(name, "signatures are final when kernels are worked on") for name in _TILES),
                before("FuseCreateAssembleToSlice", "what is left of the tensors may become part of others"),
                before("InitMemRef", "signatures are final by then"),
            ),
            touches={"ir.signatures"},
        ),
        run=f"{_HERE}.orchestration:optimize_orch_tensors",
        summary="replace a tensor that a loop hands on where it lies",
    ),
    Pass(
        contract=PassContract(
            name="LowerCompositeOps",
            role=Role.OPTIMISE,
            order=(
                after("FlattenCallExpr", "an operator is looked for as a statement of its own"),
                after("ConvertTensorToTileOps", "tile operators come from there"),
                *(before(name, "tile passes know instructions") for name in _TILES),
                before("InitMemRef", "new tiles need a place like all others"),
            ),
            touches={"tile.memory", "buffer.memrefs"},
        ),
        run=f"{_HERE}.composite:lower_composite_ops",
        scope=PassScope.FUNCTION,
        summary="write operators without an instruction as several that have one",
    ),
    Pass(
        contract=PassContract(
            name="FlattenTileNdTo2D",
            requires=_SSA | {"IncoreTileOps"},
            produces=_SSA | {"TileOps2D"},
            role=Role.PROVIDE,
            order=(
                after("ConvertTensorToTileOps", "tiles of any rank come from there"),
                after("LowerCompositeOps", "it knows no composite operators"),
                *(before(name, "tile passes know matrices") for name in _TILES),
                before("InitMemRef", _PLACED),
            ),
            touches={"tile.memory", "buffer.memrefs"},
        ),
        run=f"{_HERE}.flatten_nd:flatten_tile_nd_to_2d",
        scope=PassScope.FUNCTION,
        summary="make matrices of tiles of any rank",
    ),
)
