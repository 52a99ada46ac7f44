"""The contracts of this plugin's passes, and the properties that order them."""

from __future__ import annotations

from pypto_core.contract import Pass, PassContract, PassScope, Property, after, before

_HERE = "pypto_plugin_pipeline"
_KEPT = frozenset(
    {
        "SSAForm",
        "SplitIncoreOrch",
        "IncoreTileOps",
        "TileOps2D",
        "TileMemoryInferred",
        "NormalizedStmtStructure",
    }
)
_ONE_WAY = "pipeline.CrossCoreSequential"
_REPLICATED = "pipeline.LoopsReplicated"
_SKEW, _SLOTS = "SkewCrossCorePipeline", "LowerPipelineToSlots"
_COPIES, _ORDER = "LowerPipelineLoops", "CanonicalizeIOOrder"

PROPERTIES = (
    Property(
        name=_ONE_WAY,
        summary="no pipelined loop both pushes to the other core and pops from it",
        verifier=f"{_HERE}.verify:verify_cross_core_sequential",
        # Splitting a kernel over the cores makes calls of its parts, and transfers with them.
        disturbed_by=frozenset({"ir.calls"}),
    ),
    Property(
        name=_REPLICATED,
        summary="every pipelined loop has one stage left",
        verifier=f"{_HERE}.verify:verify_loops_replicated",
        disturbed_by=frozenset({"ir.control-flow"}),
    ),
)
"""They hold of any program without such loops, for which nothing is scheduled then."""

PASSES = (
    Pass(
        contract=PassContract(
            name=_SKEW,
            requires=_KEPT,
            produces=_KEPT | {_ONE_WAY},
            runs=(_SKEW, f"{_SKEW}@again"),
            order=(
                after("InferTileMemorySpace", "moves between memories belong to one of the halves"),
                after("ResolveBackendOpLayouts", "so do moves between layouts"),
                after("NormalizeReturnOrder", "what a kernel returns is settled"),
                before(_SLOTS, "a loop that goes both ways has no slots to turn"),
                before(_COPIES, "copies of such a loop would wait for each other's answers"),
                before(_ORDER, "it demotes the loops that this pass looks for"),
            ),
            touches=frozenset({"ir.control-flow"}),
        ),
        run=f"{_HERE}.skew:skew_cross_core_pipeline",
        scope=PassScope.FUNCTION,
        summary="let pushes to the other core run trips ahead of the pops of its answers",
    ),
    Pass(
        contract=PassContract(
            name=_COPIES,
            requires=_KEPT | {_ONE_WAY},
            produces=_KEPT | {_REPLICATED},
            runs=(_COPIES, f"{_COPIES}@again"),
            order=(
                after(_SLOTS, "it takes loops that say their stages, and this pass leaves none"),
                after("InferTileMemorySpace", "moves between memories belong to the stage that makes them"),
                before(_ORDER, "loads can only be put first where there are several"),
            ),
            touches=frozenset({"ir.control-flow"}),
        ),
        run=f"{_HERE}.lower_loops:lower_pipeline_loops",
        scope=PassScope.FUNCTION,
        summary="replicate the bodies of pipelined loops, a copy per stage",
    ),
    Pass(
        contract=PassContract(
            name=_ORDER,
            requires=_KEPT | {_REPLICATED},
            produces=_KEPT | {"PipelineResolved"},
            order=(
                before("MaterializeTensorStrides", "strides are written once, after all copying"),
                before("InitMemRef", "how long tiles live follows from their order"),
            ),
        ),
        run=f"{_HERE}.io_order:canonicalize_io_order",
        summary="put the loads of all stages first and each stage's stores behind its work",
    ),
)
