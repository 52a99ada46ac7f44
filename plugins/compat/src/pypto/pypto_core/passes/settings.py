"""The enumerations of contexts and diagnostics, and how they map to what the kernel calls them."""

from __future__ import annotations

import enum

from pypto_core.diagnostics import Severity
from pypto_core.run import VerificationLevel


class MemoryPlanner(enum.Enum):
    """Who places buffers."""

    PYPTO = 0
    PTOAS = 1
    DSA_RP = 2

    @property
    def kernel_name(self) -> str:
        """The name under which the planner is installed."""
        return self.name.lower()


class VerificationMode(enum.Enum):
    """When a VerificationInstrument looks."""

    NONE = 0
    BEFORE = 1
    AFTER = 2
    BEFORE_AND_AFTER = 3


class DiagnosticPhase(enum.Enum):
    """When diagnostic checks run; kept in a context, as the kernel's passes report when they run."""

    NONE = 0
    PRE_PIPELINE = 1
    POST_PASS = 2
    POST_PIPELINE = 3


class DiagnosticSeverity(enum.Enum):
    """How much a diagnostic weighs."""

    Error = 0
    Warning = 1
    PerfHint = 2

    @classmethod
    def of(cls, severity: Severity) -> DiagnosticSeverity:
        """The kernel's severity under PyPTO's name."""
        return cls(severity.value)


class DiagnosticCheck(enum.Enum):
    """Checks that a context may disable, by their names."""

    UnusedVariable = 0
    UnusedControlFlowResult = 1
    TileInnermostDimGranularity = 2
    OutParamWriteDropped = 3


class RuntimeKind(enum.Enum):
    """Which runtime the orchestration is written for."""

    TENSORMAP_AND_RINGBUFFER = 0
    HOST_BUILD_GRAPH = 1


def runtime_kind_from_name(name: str) -> RuntimeKind:
    """The runtime of that name, in any case; ValueError for any other name."""
    found = RuntimeKind.__members__.get(name.upper())
    if found is None:
        raise ValueError(
            f"there is no runtime '{name}'; use one of: {', '.join(RuntimeKind.__members__).lower()}"
        )
    return found


def runtime_kind_to_name(kind: RuntimeKind) -> str:
    """The name of a runtime, in lower case."""
    return kind.name.lower()


__all__ = [
    "DiagnosticCheck",
    "DiagnosticPhase",
    "DiagnosticSeverity",
    "MemoryPlanner",
    "RuntimeKind",
    "VerificationLevel",
    "VerificationMode",
    "runtime_kind_from_name",
    "runtime_kind_to_name",
]
