"""What plugins hand to the kernel as data: passes, properties and what they promise."""

from pypto_core.contract.backend import Backend
from pypto_core.contract.codes import CodePage
from pypto_core.contract.command import Command
from pypto_core.contract.devices import Device, DistributedValue
from pypto_core.contract.emission import EmitContext, Operand, Recipe, names_of, types_of
from pypto_core.contract.entry import entry_function
from pypto_core.contract.executor import (
    RESULT,
    ArrayValue,
    BlockPosition,
    Engine,
    ExecContext,
    OpExecutor,
    RunResult,
    TileStorage,
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
from pypto_core.contract.placement import (
    NoPlacementError,
    Placement,
    PlacementBlock,
    PlacementProblem,
    ReusePenalty,
    Separation,
    Violation,
    check_placement,
    intervals_meet,
    live_peak,
    peak_bytes,
    reuse_cost,
    shares_bytes,
)
from pypto_core.contract.planner import PlanFunction, Planner
from pypto_core.contract.properties import Property, PropertyKind
from pypto_core.contract.rates import CostModel, FigureRow, VectorRates
from pypto_core.contract.report import ReportSection
from pypto_core.contract.target import Artifact, OpEmitter, Target

__all__ = [
    "RESULT",
    "ArrayValue",
    "Artifact",
    "Backend",
    "BlockPosition",
    "CodePage",
    "Command",
    "CoreCounts",
    "CostModel",
    "Device",
    "DistributedValue",
    "EmitContext",
    "Engine",
    "ExecContext",
    "FigureRow",
    "MemoryPath",
    "MemorySpec",
    "NoPlacementError",
    "OpEmitter",
    "OpExecutor",
    "Operand",
    "OrderFact",
    "Pass",
    "PassContract",
    "PassScope",
    "PassSpec",
    "Placement",
    "PlacementBlock",
    "PlacementProblem",
    "PlanFunction",
    "Planner",
    "Property",
    "PropertyKind",
    "Recipe",
    "Relation",
    "ReportSection",
    "ReusePenalty",
    "Role",
    "RunResult",
    "Separation",
    "Target",
    "TileStorage",
    "Touch",
    "VectorRates",
    "Violation",
    "after",
    "before",
    "check_placement",
    "entry_function",
    "format_value",
    "intervals_meet",
    "live_peak",
    "load_reference",
    "names_of",
    "parse_pass_spec",
    "pass_spec",
    "peak_bytes",
    "reuse_cost",
    "shares_bytes",
    "strictly_after",
    "strictly_before",
    "types_of",
]
