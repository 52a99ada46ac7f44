"""The contracts of this plugin's passes, and the properties that they make."""

from __future__ import annotations

from typing import Any

from pypto_core.contract import Pass, PassContract, PassScope, Property, Role, strictly_after, strictly_before

_HERE = "pypto_plugin_buffer_ir"
RUNTIME = "runtime.buffer_ir"
"""The capability of machines whose kernels are written as buffers."""
TARGET = "target:pto"
"""The capability of compilations that end in text; those that end in a property end in tiles."""
SWITCHED_OFF = "option:enable_buffer_ir=false"
"""The capability that switches everything here off."""
_KERNELS = frozenset(
    {
        "SplitIncoreOrch",
        "IncoreTileOps",
        "TileOps2D",
        "TileMemoryInferred",
        "NoNestedCalls",
        "StructuredCtrlFlow",
        "PipelineResolved",
        "HasMemRefs",
    }
)
_LAST = (
    "SelectBufferIRFunctions",
    "MaterializeSemanticAliases",
    "MemoryReuse",
    "AllocateMemoryAddr",
    "FoldNoOpReshape",
    "Simplify",
    "MaterializeValidShapeSymbols",
)

_PLANNING = ("MaterializeSemanticAliases", "MemoryReuse", "AllocateMemoryAddr")
_SELECTED, _LEGALIZED = "buffer_ir.Selected", "TileStorageLegalized"

PROPERTIES = (
    Property(
        name=_SELECTED,
        summary="of every kernel it is decided whether it is written on buffers",
        verifier=f"{_HERE}.select.decide:verify_selected",
    ),
    Property(
        name=_LEGALIZED,
        summary="the tiles of kernels for buffers have places, and loops and branches hand each on in one",
        verifier=f"{_HERE}.legalise.check:verify_tile_storage_legalized",
        disturbed_by=frozenset({"buffer.memrefs"}),
    ),
    Property(
        name="TileStorageAllocated",
        summary="the same with addresses, and no copy overlaps a part of what it reads",
        verifier=f"{_HERE}.legalise.check:verify_tile_storage_allocated",
        disturbed_by=frozenset({"buffer.memrefs", "buffer.addresses"}),
    ),
    Property(
        name="BufferIR",
        summary="kernels on buffers name every byte that they touch and overwrite none that they read",
        verifier=f"{_HERE}.verify:verify_buffer_ir",
        disturbed_by=frozenset(
            {"ir.control-flow", "ir.calls", "ir.ssa-names", "buffer.memrefs", "buffer.addresses"}
        ),
    ),
)


def _contract(name: str, **parts: Any) -> PassContract:
    """A contract of a pass for machines that take buffers, where text is written, unless it is switched off."""
    return PassContract(name=name, needs={RUNTIME, TARGET}, excludes={SWITCHED_OFF}, **parts)


# Selection and verification are wanted and not only provided: of a program whose kernels are still to be outlined, what
# they make holds from the start.
PASSES = (
    Pass(
        contract=_contract(
            "SelectBufferIRFunctions",
            requires=_KERNELS,
            produces=_KERNELS | {_SELECTED},
            order=tuple(
                strictly_before(name, "kernels are judged as they are written, before storage is shared")
                for name in _PLANNING
            ),
            role=Role.OPTIMISE,
        ),
        run=f"{_HERE}.select.decide:select_buffer_ir_functions",
        scope=PassScope.FUNCTION,
        summary="decide which kernels are written on buffers, and note why others are not",
    ),
    Pass(
        contract=_contract(
            "LegalizeTileStorage",
            requires=_KERNELS,
            produces=_KERNELS,
            order=(
                strictly_after("SelectBufferIRFunctions", "kernels in tiles are left as they are"),
                *(
                    strictly_before(name, "what is copied needs storage that is planned like any other")
                    for name in _PLANNING
                ),
            ),
            role=Role.OPTIMISE,
            touches={"ir.calls"},
        ),
        run=f"{_HERE}.legalise.snapshots:legalize_tile_storage",
        scope=PassScope.FUNCTION,
        summary="copy tiles of which one part is written while another is read",
    ),
    Pass(
        contract=_contract(
            "VerifyTileStorage",
            requires=_KERNELS,
            produces=_KERNELS | {_LEGALIZED},
            order=(
                strictly_after("SelectBufferIRFunctions", "kernels in tiles are not asked"),
                strictly_after(
                    "MaterializeSemanticAliases", "it is what puts carries and results into one place"
                ),
                strictly_after("MemoryReuse", "storage is shared by then"),
                strictly_before("AllocateMemoryAddr", "addresses are given to storage that is in order"),
            ),
            role=Role.CHECK,
        ),
        run=f"{_HERE}.legalise.check:verify_tile_storage",
        scope=PassScope.FUNCTION,
        summary="refuse kernels for buffers whose storage lowering could not rely on",
    ),
    Pass(
        contract=_contract(
            "LowerTileToBuffer",
            requires=_KERNELS | {_LEGALIZED},
            produces=_KERNELS | {_SELECTED, "BufferIR"},
            order=(
                strictly_after(
                    "SelectBufferIRFunctions",
                    "only chosen kernels are written; all where nobody was asked to choose",
                ),
                *(
                    strictly_after(name, "it works on tiles, of which a kernel on buffers has none")
                    for name in _LAST
                ),
            ),
            role=Role.OPTIMISE,
            touches=frozenset({"ir.calls"}),
        ),
        run=f"{_HERE}.lower:lower_tile_to_buffer",
        scope=PassScope.PROGRAM,
        summary="write kernels as explicit buffers with destination operands",
    ),
)
