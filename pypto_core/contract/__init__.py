"""What plugins hand to the kernel as data: passes, properties and what they promise."""

from pypto_core.contract.backend import Backend
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
from pypto_core.contract.properties import Property, PropertyKind
from pypto_core.contract.rates import CostModel, FigureRow, VectorRates

__all__ = [
    "Backend",
    "CoreCounts",
    "CostModel",
    "FigureRow",
    "MemoryPath",
    "MemorySpec",
    "OrderFact",
    "Pass",
    "PassContract",
    "PassScope",
    "PassSpec",
    "Property",
    "PropertyKind",
    "Relation",
    "Role",
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
