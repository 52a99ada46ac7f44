"""What plugins hand to the kernel as data: passes, properties and what they promise."""

from pypto_core.contract.backend import Backend
from pypto_core.contract.codes import CodePage
from pypto_core.contract.command import Command
from pypto_core.contract.executor import (
    ArrayValue,
    BlockPosition,
    Engine,
    ExecContext,
    OpExecutor,
    RunResult,
    Touch,
)
from pypto_core.contract.machine import CoreCounts, MemoryPath, MemorySpec
from pypto_core.contract.options import PassSpec, format_value, parse_pass_spec, pass_spec
from pypto_core.contract.passes import (
    OrderFact,
    Pass,
    PassContract,
    PassScope,
    Relation,
    Role,
    after,
    before,
    load_reference,
    strictly_after,
    strictly_before,
)
from pypto_core.contract.planner import Placement, PlacementBlock, PlacementProblem, Planner
from pypto_core.contract.properties import Property, PropertyKind
from pypto_core.contract.rates import CostModel, FigureRow, VectorRates
from pypto_core.contract.report import ReportSection
from pypto_core.contract.target import Artifact, OpEmitter, Target

__all__ = [
    "ArrayValue",
    "Artifact",
    "Backend",
    "BlockPosition",
    "CodePage",
    "Command",
    "CoreCounts",
    "CostModel",
    "Engine",
    "ExecContext",
    "FigureRow",
    "MemoryPath",
    "MemorySpec",
    "OpEmitter",
    "OpExecutor",
    "OrderFact",
    "Pass",
    "PassContract",
    "PassScope",
    "PassSpec",
    "Placement",
    "PlacementBlock",
    "PlacementProblem",
    "Planner",
    "Property",
    "PropertyKind",
    "Relation",
    "ReportSection",
    "Role",
    "RunResult",
    "Target",
    "Touch",
    "VectorRates",
    "after",
    "before",
    "format_value",
    "load_reference",
    "parse_pass_spec",
    "pass_spec",
    "strictly_after",
    "strictly_before",
]
