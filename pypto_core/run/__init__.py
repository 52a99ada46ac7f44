"""Compiling: contexts, pipelines that run plans, verification between passes, dumps and the front door."""

from pypto_core.run.capabilities import capabilities
from pypto_core.run.compile import Compiled, compile, compile_context
from pypto_core.run.context import DEFAULT_PLANNER, PassContext
from pypto_core.run.dump import DumpInstrument
from pypto_core.run.files import write_file
from pypto_core.run.instruments import (
    CallbackInstrument,
    Instrument,
    ReportInstrument,
    RoundTripInstrument,
    TimingInstrument,
    VerificationInstrument,
    VerificationMode,
    check_round_trip,
)
from pypto_core.run.level import VerificationLevel, level_from_environment
from pypto_core.run.log import DiagnosticLog
from pypto_core.run.memory_table import MemoryRow, memory_table
from pypto_core.run.options import Options
from pypto_core.run.pipeline import MismatchError, Pipeline
from pypto_core.run.plan import ANCHORS, Wishes, goals_of, initial_state, make_problem, resolve
from pypto_core.run.run import PipelineStep, Run, Stage
from pypto_core.run.source import as_program
from pypto_core.run.verification import findings, holding, require, structural

__all__ = [
    "ANCHORS",
    "DEFAULT_PLANNER",
    "CallbackInstrument",
    "Compiled",
    "DiagnosticLog",
    "DumpInstrument",
    "Instrument",
    "MemoryRow",
    "MismatchError",
    "Options",
    "PassContext",
    "Pipeline",
    "PipelineStep",
    "ReportInstrument",
    "RoundTripInstrument",
    "Run",
    "Stage",
    "TimingInstrument",
    "VerificationInstrument",
    "VerificationLevel",
    "VerificationMode",
    "Wishes",
    "as_program",
    "capabilities",
    "check_round_trip",
    "compile",
    "compile_context",
    "findings",
    "goals_of",
    "holding",
    "initial_state",
    "level_from_environment",
    "make_problem",
    "memory_table",
    "require",
    "resolve",
    "structural",
    "write_file",
]
