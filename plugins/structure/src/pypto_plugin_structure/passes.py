"""The contracts of this plugin's passes."""

from __future__ import annotations

from pypto_core.contract import OrderFact, Pass, PassContract, PassScope, Role, after, before

_HERE = "pypto_plugin_structure"
_AGAIN = "Simplify#2"
_OUTLINE = ("OutlineHierarchyScopes", "OutlineIncoreScopes", "OutlineClusterScopes")
_TILES = (
    "ConvertTensorToTileOps", "OptimizeOrchTensors", "LowerCompositeOps", "FlattenTileNdTo2D", "LegalizeTileCast",
    "AutoTileMatmulL0", "CanonicalizeTileSlice", "InferTileMemorySpace", "InsertMxScaleAddr",
    "ResolveBackendOpLayouts", "ExpandMixedKernel", "SkewCrossCorePipeline", "LowerPipelineToSlots",
    "LowerPipelineLoops", "CanonicalizeIOOrder", "MaterializeTensorStrides", "InitMemRef",
)  # fmt: skip
"""Everything that reads tiles and tensors in three-address form."""


def _before(names: tuple[str, ...], reason: str, instance: str = "") -> tuple[OrderFact, ...]:
    return tuple(before(name, reason, instance=instance) for name in names)


def _after(names: tuple[str, ...], reason: str, instance: str = "") -> tuple[OrderFact, ...]:
    return tuple(after(name, reason, instance=instance) for name in names)


_INLINE = Pass(
    contract=PassContract(
        name="InlineFunctions",
        produces={"InlineFunctionsEliminated"},
        role=Role.MUST,
        order=_before(
            ("UnrollLoops", "CtrlFlowTransform", "ConvertToSSA", *_OUTLINE),
            "every pass takes it that no function is left to inline, and spliced code needs the others too",
        ),
        # Scopes and calls that it splices were part of the program before.
        touches={"ir.ssa-names", "ir.control-flow"},
    ),
    run=f"{_HERE}.inline_functions:inline_functions",
    scope=PassScope.PROGRAM,
    summary="put the bodies of inline functions in the place of their calls",
)

_UNROLL = Pass(
    contract=PassContract(
        name="UnrollLoops",
        produces={"UnrollResolved"},
        role=Role.MUST,
        order=_before(
            ("CtrlFlowTransform", "ConvertToSSA"),
            "trips assign the same variables again, and exits are resolved trip by trip",
        ),
        touches={"ir.ssa-names", "ir.control-flow"},
    ),
    run=f"{_HERE}.unroll_loops:unroll_loops",
    scope=PassScope.FUNCTION,
    summary="write the trips of loops to unroll one after the other",
)

_CONTROL_FLOW = Pass(
    contract=PassContract(
        name="CtrlFlowTransform",
        produces={"StructuredCtrlFlow"},
        role=Role.MUST,
        order=_before(("ConvertToSSA",), "phis and carries are made from structured control flow"),
        touches={"ir.ssa-names", "ir.control-flow"},
    ),
    run=f"{_HERE}.ctrl_flow:ctrl_flow_transform",
    scope=PassScope.FUNCTION,
    summary="turn break, continue and early return into conditions",
)

_SSA = Pass(
    contract=PassContract(
        name="ConvertToSSA",
        produces={"SSAForm"},
        invalidates={"NormalizedStmtStructure"},
        role=Role.MUST,
        touches={"ir.ssa-names", "ir.control-flow"},
    ),
    run=f"{_HERE}.convert_to_ssa:convert_to_ssa",
    scope=PassScope.FUNCTION,
    summary="assign every variable once; reassignment becomes phis and loop carries",
)

# What the second run waits for: rewriting of tiles, memory, call directions and dependencies of tasks.
_LATE = (
    "FlattenCallExpr", "InferTileMemorySpace", "CanonicalizeIOOrder", "MaterializeTensorStrides", "InitMemRef",
    "MaterializeSemanticAliases", "MemoryReuse", "AllocateMemoryAddr", "FoldNoOpReshape",
    "FuseCreateAssembleToSlice", "DeriveCallDirections", "AutoDeriveTaskDependencies", "ExpandManualPhaseFence",
    "LowerHostTensorCollectives", "MaterializeDistTensorCtx",
)  # fmt: skip
_LAST = ("MaterializeRuntimeScopes", "InsertCommFence", "MaterializeValidShapeSymbols", "LowerTileToBuffer")

_SIMPLIFY = Pass(
    contract=PassContract(
        name="Simplify",
        runs=("Simplify", _AGAIN),
        # Regions are spliced into others and statements removed.
        invalidates={"NormalizedStmtStructure"},
        role=Role.MUST,
        order=(
            *_after(("ConvertToSSA",), "only what is assigned once is propagated", "Simplify"),
            *_before(
                ("NormalizeStmtStructure", "FlattenCallExpr", *_OUTLINE),
                "later passes need literal extents in normal form",
                "Simplify",
            ),
            *_after(_LATE, "it clears away what they leave", _AGAIN),
            *_before(_LAST, "scopes and signatures are made of the final statements", _AGAIN),
        ),
        touches={"ir.control-flow"},
    ),
    run=f"{_HERE}.simplify:simplify",
    scope=PassScope.FUNCTION,
    summary="fold constants, propagate copies, decide what ranges decide, drop dead scalars",
)

_NORMALIZE = Pass(
    contract=PassContract(
        name="NormalizeStmtStructure",
        produces={"NormalizedStmtStructure"},
        role=Role.MUST,
        order=_after(("ConvertToSSA",), "it brings in order what that pass may leave"),
        touches={"ir.control-flow"},
    ),
    run=f"{_HERE}.normalize:normalize_stmt_structure",
    scope=PassScope.FUNCTION,
    summary="flatten sequences of statements",
)

_FLATTEN = Pass(
    contract=PassContract(
        name="FlattenCallExpr",
        requires={"SSAForm", "NormalizedStmtStructure"},
        produces={"SSAForm", "NoNestedCalls", "NormalizedStmtStructure"},
        role=Role.MUST,
        order=(
            *_after(("NormalizeStmtStructure",), "it keeps the normal form that it finds"),
            *_before((*_OUTLINE, "InitMemRef"), "tile passes and memory planning read three-address form"),
        ),
        # The new variables may be tiles that have no place yet.
        touches={"ir.control-flow", "buffer.memrefs"},
    ),
    run=f"{_HERE}.flatten_calls:flatten_call_expr",
    scope=PassScope.FUNCTION,
    summary="assign nested calls to variables of their own",
)

PASSES = (_INLINE, _UNROLL, _CONTROL_FLOW, _SSA, _SIMPLIFY, _NORMALIZE, _FLATTEN)
