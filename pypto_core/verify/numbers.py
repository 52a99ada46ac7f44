"""The order of the well-known properties: the bit of each in a property set, and the code of its findings.

Names stand here whether the kernel has a verifier for them or not, so that a plugin that brings one gets the bit and
the code that belong to it. New names go to the end.
"""

from __future__ import annotations

PROPERTY_ORDER: tuple[str, ...] = (
    "SSAForm",
    "TypeChecked",
    "NoNestedCalls",
    "NormalizedStmtStructure",
    "NoRedundantBlocks",
    "SplitIncoreOrch",
    "HasMemRefs",
    "IncoreTileOps",
    "AllocatedMemoryAddr",
    "MixedKernelExpanded",
    "ClusterOutlined",
    "TileOps2D",
    "TileMemoryInferred",
    "BreakContinueValid",
    "UseAfterDef",
    "HierarchyOutlined",
    "StructuredCtrlFlow",
    "VectorKernelSplit",
    "OutParamNotShadowed",
    "NoNestedInCore",
    "InOutUseValid",
    "PipelineLoopValid",
    "PipelineResolved",
    "CallDirectionsResolved",
    "TileTypeCoherence",
    "InlineFunctionsEliminated",
    "OrchestrationReferencesResolved",
    "TensorViewCanonical",
    "ArrayNotEscaped",
    "CommDomainScopesMaterialized",
    "DistTensorCtxMaterialized",
    "RuntimeScopesMaterialized",
    "AssignTypeSymmetry",
    "ManualDepsOnSubmitOnly",
    "ReturnParamsExplicit",
    "UnrollResolved",
    "AivSplitValid",
    "HardSyncallOccupancyValid",
    "IterArgCarryClassified",
    "AccToGmStoreValid",
    "AtomicAddDtypeValid",
    "AccCompactValid",
    "BufferIR",
    "TileStorageLegalized",
    "TileStorageAllocated",
)

_NUMBERS = {name: number for number, name in enumerate(PROPERTY_ORDER)}
_FIRST_CODE = 420


def property_number(name: str) -> int | None:
    """The bit of a well-known property; None for a name that is not one."""
    return _NUMBERS.get(name)


def property_code(name: str) -> str:
    """The code of a property's findings: PT420 and up, PT400 for names that are not well known."""
    number = _NUMBERS.get(name)
    return "PT400" if number is None else f"PT{_FIRST_CODE + number}"
