"""The kernel's properties: what each means, how it lives, and where its verifier is.

Verifiers are given by name, so that reading the catalogue imports none of them.

Effects (``touches`` of a pass, ``disturbed_by`` of a property) tell a pass that has never heard of a property
what it may break. The kernel's own passes name what they invalidate; the effects here are for everybody else:

* ``ir.ssa-names``: assigns variables again, or moves definitions away from their uses
* ``ir.control-flow``: makes, removes or nests statements and regions
* ``ir.calls``: makes calls inside of expressions, or calls of other functions
* ``ir.scopes``: makes scope statements
* ``ir.signatures``: changes parameters or returned values
* ``tensor.layout``: makes or changes views of tensors
* ``tile.shapes``: makes tiles of other ranks
* ``tile.memory``: makes tiles in other memory spaces, or in none yet
* ``tile.valid``: changes valid extents or compactness of accumulators
* ``buffer.memrefs``: makes tiles without a MemRef, or changes sizes
* ``buffer.addresses``: changes offsets
"""

from __future__ import annotations

from types import MappingProxyType

from pypto_core.contract import Property, PropertyKind

EFFECTS: tuple[str, ...] = (
    "ir.ssa-names",
    "ir.control-flow",
    "ir.calls",
    "ir.scopes",
    "ir.signatures",
    "tensor.layout",
    "tile.shapes",
    "tile.memory",
    "tile.valid",
    "buffer.memrefs",
    "buffer.addresses",
)


def _property(name: str, where: str, summary: str, *disturbed_by: str) -> Property:
    return Property(
        name=name,
        summary=summary,
        verifier=f"pypto_core.verify.{where}",
        disturbed_by=frozenset(disturbed_by),
    )


def _always(name: str, where: str, summary: str) -> Property:
    return Property(
        name=name, summary=summary, verifier=f"pypto_core.verify.{where}", kind=PropertyKind.STRUCTURAL
    )


CORE_PROPERTIES: tuple[Property, ...] = (
    _property(
        "SSAForm", "ssa:verify_ssa_form",
        "every variable is assigned once and visible where it is read", "ir.ssa-names",
    ),
    _always(
        "TypeChecked", "types:verify_type_checked",
        "loops and ifs start with, hand on and result in values of one type",
    ),
    _property(
        "NoNestedCalls", "calls:verify_no_nested_calls", "every call is a statement's whole value", "ir.calls"
    ),
    _property(
        "NormalizedStmtStructure", "blocks:verify_normalized_stmt_structure",
        "sequences of statements are flat and a yield ends its region", "ir.control-flow",
    ),
    _always(
        "NoRedundantBlocks", "blocks:verify_no_redundant_blocks",
        "no sequence holds one statement, another sequence, or anything after a yield",
    ),
    _property(
        "SplitIncoreOrch", "scopes:verify_split_incore_orch",
        "kernels are functions of their own: no InCore scope is left", "ir.scopes",
    ),
    _property(
        "HasMemRefs", "memory:verify_has_mem_refs", "every tile has a place in memory", "buffer.memrefs"
    ),
    _property(
        "IncoreTileOps", "scopes:verify_incore_tile_ops", "kernels compute on tiles, not on tensors", "ir.calls"
    ),
    _property(
        "AllocatedMemoryAddr", "memory:verify_allocated_memory_addr",
        "every on-chip tile has an address and every memory is large enough",
        "buffer.memrefs", "buffer.addresses",
    ),
    _property(
        "ClusterOutlined", "scopes:verify_cluster_outlined", "no cluster or SPMD scope is left", "ir.scopes"
    ),
    _property(
        "TileOps2D", "tiles:verify_tile_ops_2d", "tile operators of kernels are two-dimensional", "tile.shapes"
    ),
    _property(
        "TileMemoryInferred", "tiles:verify_tile_memory_inferred",
        "every tile of a kernel lies in a memory space that its operators take", "tile.memory",
    ),
    _always(
        "BreakContinueValid", "control_flow:verify_break_continue_valid",
        "break and continue stand in loops whose trips run one after the other",
    ),
    _always(
        "UseAfterDef", "use_after_def:verify_use_after_def", "nothing is read before it is defined"
    ),
    _property(
        "HierarchyOutlined", "scopes:verify_hierarchy_outlined", "no scope of an outer level is left", "ir.scopes"
    ),
    _property(
        "StructuredCtrlFlow", "control_flow:verify_structured_ctrl_flow",
        "device code has neither break nor continue",
    ),
    _always(
        "OutParamNotShadowed", "params:verify_out_param_not_shadowed",
        "no output parameter is bound to a fresh tensor",
    ),
    _always(
        "NoNestedInCore", "scopes:verify_no_nested_in_core", "no InCore scope lies inside another one"
    ),
    _always(
        "InOutUseValid", "params:verify_in_out_use_valid",
        "a variable handed to a function that writes it is not read afterwards",
    ),
    _always(
        "PipelineLoopValid", "control_flow:verify_pipeline_loop_valid",
        "a loop says its pipeline stages exactly when it is pipelined",
    ),
    _property(
        "PipelineResolved", "control_flow:verify_pipeline_resolved", "no pipelined loop is left"
    ),
    _property(
        "CallDirectionsResolved", "functions:verify_call_directions_resolved",
        "every call of a kernel says how it passes its arguments", "ir.signatures",
    ),
    _property(
        "TileTypeCoherence", "tiles:verify_tile_type_coherence",
        "no tile type stores a view that equals the implicit one",
    ),
    _property(
        "InlineFunctionsEliminated", "functions:verify_inline_functions_eliminated",
        "no function is still to be inlined and every callee exists",
    ),
    _property(
        "OrchestrationReferencesResolved", "functions:verify_orchestration_references_resolved",
        "every kernel that orchestration calls is in the program",
    ),
    _property(
        "TensorViewCanonical", "tensors:verify_tensor_view_canonical",
        "views of tensors carry strides, in one way of writing them", "tensor.layout",
    ),
    _always(
        "ArrayNotEscaped", "types:verify_array_not_escaped", "no array is a parameter or a returned value"
    ),
    _property(
        "AssignTypeSymmetry", "types:verify_assign_type_symmetry",
        "every variable has the type of the value assigned to it",
    ),
    _always(
        "ManualDepsOnSubmitOnly", "functions:verify_manual_deps_on_submit_only",
        "only submitted tasks carry dependencies",
    ),
    _property(
        "ReturnParamsExplicit", "returns:verify_return_params_explicit",
        "kernels return the parameters they wrote under the parameters' own names", "ir.signatures",
        "ir.ssa-names",  # a parameter that is assigned again is returned as the last assignment's variable
    ),
    _property(
        "UnrollResolved", "control_flow:verify_unroll_resolved", "no loop is still to be unrolled"
    ),
    _property(
        "AccToGmStoreValid", "stores:verify_acc_to_gm_store_valid",
        "accumulators are stored in element types that their pipe can write", "tile.memory",
    ),
    _always(
        "AtomicAddDtypeValid", "stores:verify_atomic_add_dtype_valid",
        "atomic additions use element types that the backend can add",
    ),
    _property(
        "AccCompactValid", "stores:verify_acc_compact_valid",
        "accumulators are read at the pitch at which they are written", "tile.valid",
    ),
)  # fmt: skip
"""In the order of their bits.

Well-known names without a verifier here (PROPERTY_ORDER has them all) are the affair of the plugins whose passes
make them: mixed-kernel expansion, vector splits, runtime scopes, communication domains, buffers.
"""

PROPERTIES_BY_NAME = MappingProxyType({p.name: p for p in CORE_PROPERTIES})

STRUCTURAL: tuple[str, ...] = (
    "TypeChecked",
    "NoRedundantBlocks",
    "BreakContinueValid",
    "UseAfterDef",
    "OutParamNotShadowed",
    "NoNestedInCore",
    "InOutUseValid",
    "PipelineLoopValid",
    "ArrayNotEscaped",
    "ManualDepsOnSubmitOnly",
    "AtomicAddDtypeValid",
)
"""Hold of every program; checked around every pass, never scheduled."""

VERIFIED: tuple[str, ...] = (
    "SSAForm",
    "TypeChecked",
    "NoRedundantBlocks",
    "AllocatedMemoryAddr",
    "MixedKernelExpanded",
    "TileMemoryInferred",
    "BreakContinueValid",
    "InOutUseValid",
    "CallDirectionsResolved",
    "DistTensorCtxMaterialized",
    "RuntimeScopesMaterialized",
    "ManualDepsOnSubmitOnly",
    "ReturnParamsExplicit",
    "AivSplitValid",
    "HardSyncallOccupancyValid",
    "IterArgCarryClassified",
    "AccToGmStoreValid",
    "AtomicAddDtypeValid",
)
"""Checked by a pipeline of its own accord: the structural ones on the input, each other one when it is produced.

Holds well-known names whatever brings their verifiers.
"""

DEFAULT_CHECKS: tuple[str, ...] = (
    "SSAForm",
    "TypeChecked",
    "NoNestedCalls",
    "NoRedundantBlocks",
    "BreakContinueValid",
    "UseAfterDef",
    "OutParamNotShadowed",
    "NoNestedInCore",
    "TileTypeCoherence",
    "ArrayNotEscaped",
)
"""What a verification checks when it is not told what to check."""
