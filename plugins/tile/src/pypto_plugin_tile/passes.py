"""The contracts of this plugin's passes."""

from __future__ import annotations

from pypto_core.contract import Pass, PassContract, PassScope, Role, after, before, strictly_before

_HERE = "pypto_plugin_tile"
_KERNELS = frozenset({"SplitIncoreOrch", "IncoreTileOps"})
_SSA = frozenset({"SSAForm", "NormalizedStmtStructure"})
_FLAT = _SSA | _KERNELS | {"TileOps2D"}
_INFER = "InferTileMemorySpace"
_PLACED = "a MemRef lies in a memory space"

_BEFORE_SPACES = (
    Pass(
        contract=PassContract(
            name="LegalizeTileCast",
            requires=_SSA,
            produces=_SSA,
            role=Role.OPTIMISE,
            order=(
                after("FlattenCallExpr", "a conversion is looked for as a statement of its own"),
                after("FlattenTileNdTo2D", "conversions are of two-dimensional tiles by then"),
                before("AutoTileMatmulL0", "casts that fold into the drain of an accumulator are legal ones"),
                before(_INFER, "new tiles need a space like all others"),
                before("InitMemRef", "new tiles need a place like all others"),
            ),
            touches={"tile.memory", "buffer.memrefs"},
        ),
        run=f"{_HERE}.casts:legalize_tile_cast",
        scope=PassScope.FUNCTION,
        summary="convert through a type between where the machine has no instruction",
    ),
    Pass(
        contract=PassContract(
            name="CanonicalizeTileSlice",
            requires=_FLAT,
            produces=_FLAT,
            role=Role.OPTIMISE,
            order=(
                after("FlattenCallExpr", "a slice is looked for as a statement of its own"),
                after("AutoTileMatmulL0", "it takes slices of operands as they are written"),
                # An order and not a forbidden property: spaces written by hand are there from the start.
                strictly_before(_INFER, "operands cut out of L1 need no further move"),
                before("InitMemRef", "new tiles need a place like all others"),
            ),
            touches={"tile.memory", "buffer.memrefs"},
        ),
        run=f"{_HERE}.slices:canonicalize_tile_slice",
        scope=PassScope.FUNCTION,
        summary="fold windows of windows, and cut operands of the matrix unit straight out of L1",
    ),
    Pass(
        contract=PassContract(
            name=_INFER,
            requires=_SSA | _KERNELS,
            produces=_SSA | {"TileMemoryInferred", "AccToGmStoreValid"},
            role=Role.MUST,
            order=(
                after("FlattenCallExpr", "operands are mended one statement at a time"),
                before("InitMemRef", _PLACED),
            ),
            touches={"buffer.memrefs"},
        ),
        run=f"{_HERE}.infer_memory_space:infer_tile_memory_space",
        summary="give every tile a memory space and move operands to where their operators take them",
    ),
)

_BEFORE_MEMORY = (
    Pass(
        contract=PassContract(
            name="ResolveBackendOpLayouts",
            requires=_FLAT - {"NormalizedStmtStructure"} | {"TileMemoryInferred"},
            produces=_FLAT | {"TileMemoryInferred"},
            role=Role.OPTIMISE,
            order=(
                after(_INFER, "which tiles lie in Vec is settled, and how"),
                after("InsertMxScaleAddr", "scale tiles are bound before anything is copied"),
                before("LowerAutoVectorSplit", "what is split has its final layout"),
                before("ExpandMixedKernel", "copies belong to the core of their operator"),
                before("LowerPipelineToSlots", "what is bound to a slot has its final layout"),
                before("LowerPipelineLoops", "copies belong to the stage of their operator"),
                before("InitMemRef", "new tiles need a place like all others"),
            ),
            touches={"buffer.memrefs"},
        ),
        run=f"{_HERE}.op_layouts:resolve_backend_op_layouts",
        scope=PassScope.FUNCTION,
        summary="look at columns as rows, and copy boxed tiles into rows, for element-wise operators",
    ),
    Pass(
        contract=PassContract(
            name="NormalizeReturnOrder",
            requires=_KERNELS,
            produces={"ReturnParamsExplicit"},
            role=Role.PROVIDE,
            order=(
                after("SplitVectorKernel", "signatures are final"),
                after("StampTfreeSplit", "signatures are final"),
                before(
                    "SkewCrossCorePipeline", "what a kernel returns is settled before loops are rewritten"
                ),
                before("FuseCreateAssembleToSlice", "it follows what kernels return to their parameters"),
            ),
        ),
        run=f"{_HERE}.return_order:normalize_return_order",
        summary="return written parameters by name, in the order of the parameters",
    ),
    Pass(
        contract=PassContract(
            name="MaterializeTensorStrides",
            requires=_FLAT | {"TileMemoryInferred"},
            produces=_FLAT | {"TileMemoryInferred", "TensorViewCanonical"},
            role=Role.PROVIDE,
            order=(before("InitMemRef", "it writes the last word on types of tensors"),),
        ),
        run=f"{_HERE}.tensor_strides:materialize_tensor_strides",
        summary="write out the strides of tensor views",
    ),
    Pass(
        contract=PassContract(
            name="FuseCreateAssembleToSlice",
            requires={"SplitIncoreOrch", "SSAForm"},
            produces={"SSAForm"},
            role=Role.OPTIMISE,
            order=(
                after("FlattenCallExpr", "calls are looked for as statements of their own"),
                after("OptimizeOrchTensors", "calls and their tensors are final"),
                before("InitMemRef", "a part of a tensor lies where the tensor does"),
                before("DeriveCallDirections", "it is the last to change what calls are given"),
            ),
        ),
        run=f"{_HERE}.create_assemble:fuse_create_assemble_to_slice",
        summary="let kernels write into the part of a tensor that their result would be copied to",
    ),
)

_AFTER_MEMORY = (
    Pass(
        contract=PassContract(
            name="FoldNoOpReshape",
            requires=_KERNELS | {"TileOps2D", "HasMemRefs"},
            role=Role.OPTIMISE,
            order=(
                after("MaterializeSemanticAliases", "which values share a place is settled"),
                after("MemoryReuse", "which values share a place is settled"),
                after("AllocateMemoryAddr", "which values share an address is settled"),
            ),
        ),
        run=f"{_HERE}.no_op_reshape:fold_no_op_reshape",
        scope=PassScope.FUNCTION,
        summary="make reshapes that change nothing other names",
    ),
    Pass(
        contract=PassContract(
            name="MaterializeValidShapeSymbols",
            role=Role.OPTIMISE,
            order=(
                after("InsertCommFence", "call lists are final"),
                after("AllocateMemoryAddr", "signatures change last"),
                after("InitMemRef", "signatures change last"),
                before("LowerTileToBuffer", "extents that handles need are parameters by then"),
            ),
        ),
        run=f"{_HERE}.valid_symbols:materialize_valid_shape_symbols",
        summary="make extents that only a valid shape names parameters",
    ),
)

PASSES = (*_BEFORE_SPACES, *_BEFORE_MEMORY, *_AFTER_MEMORY)
