"""The contracts: where loops become rotations, and for which planners."""

from __future__ import annotations

from typing import Any

from pypto_core.contract import OrderFact, Pass, PassContract, PassScope, Role, after, before, strictly_before

ADDRESSED = "enable_addressed_slots"
"""The option that lets loops rotate under planners that assign addresses themselves."""

_PTOAS = "planner:ptoas"
_RUN = "pypto_plugin_slots.rotate:lower_pipeline_to_slots"
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
_ORDER: tuple[OrderFact, ...] = (
    after("AutoTileMatmulL0", "the loops that it makes are pipelined ones"),
    after("InferTileMemorySpace", "a ring lies in the memory of its tiles"),
    after("ResolveBackendOpLayouts", "all slots of a ring have the final layout"),
    after("NormalizeReturnOrder", "what a kernel returns is settled"),
    after("SkewCrossCorePipeline", "a loop that crosses cores is rearranged and has no slots to turn"),
    before("LowerPipelineLoops", "it replicates the loops that are left and leaves none to turn"),
    before("CanonicalizeIOOrder", "it demotes the loops that this pass looks for"),
    strictly_before("InitMemRef", "a ring is declared and gets its place like one that the author declares"),
)


def _pass(name: str, summary: str, **gate: Any) -> Pass:
    return Pass(
        contract=PassContract(
            name=name, requires=_KEPT, produces=_KEPT, order=_ORDER, role=Role.OPTIMISE, **gate
        ),
        run=_RUN,
        scope=PassScope.FUNCTION,
        summary=summary,
    )


PASSES = (
    _pass(
        "LowerPipelineToSlots",
        "turn one body through the slots of a ring instead of replicating it",
        needs=frozenset({_PTOAS}),
    ),
    _pass(
        "LowerPipelineToAddressedSlots",
        "the same where the planner gives the ring an address",
        needs=frozenset({f"option:{ADDRESSED}"}),
        excludes=frozenset({_PTOAS}),
    ),
)
"""Two contracts for one body: a contract needs all of its capabilities, and here either of two will do."""


def rotates(capabilities: frozenset[str]) -> bool:
    """Whether loops may rotate: the assembler places rings, or it was asked for where a planner does."""
    return _PTOAS in capabilities or f"option:{ADDRESSED}" in capabilities
