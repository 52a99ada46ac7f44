"""Diagnostic checks: which there are, when each runs, and who runs them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

import attrs

from pypto.pypto_core.passes import findings
from pypto.pypto_core.passes.context import PHASE, kernel_context
from pypto.pypto_core.passes.properties import DiagnosticCheckSet, names_of
from pypto.pypto_core.passes.reporting import PassInstrument, announce, report_folder, run_aloud, write_hints
from pypto.pypto_core.passes.settings import DiagnosticCheck, DiagnosticPhase
from pypto.pypto_core.passes.verifying import Diagnostic, diagnostic
from pypto_core import diagnostics
from pypto_core.contract import Backend
from pypto_core.ir import Program
from pypto_core.run import PassContext, Pipeline, PipelineStep, Run

Find = Callable[[Program, Backend | None], Iterable[diagnostics.Diagnostic]]

_CHECKS: Mapping[DiagnosticCheck, tuple[DiagnosticPhase, Find]] = MappingProxyType(
    {
        DiagnosticCheck.UnusedVariable: (DiagnosticPhase.PRE_PIPELINE, findings.unused_variables),
        DiagnosticCheck.UnusedControlFlowResult: (DiagnosticPhase.PRE_PIPELINE, findings.unused_results),
        DiagnosticCheck.OutParamWriteDropped: (DiagnosticPhase.PRE_PIPELINE, findings.dropped_writes),
        DiagnosticCheck.TileInnermostDimGranularity: (DiagnosticPhase.POST_PIPELINE, findings.narrow_rows),
    }
)
_HINTS = (DiagnosticCheck.TileInnermostDimGranularity,)


class DiagnosticCheckRegistry:
    """The checks that there are."""

    @staticmethod
    def run_checks(checks: Any, phase: DiagnosticPhase, program: Program) -> list[Diagnostic]:
        """What those of ``checks`` find that run in a phase, in the order of their numbers."""
        return [diagnostic(item) for item in found(names_of(checks), phase, program)]

    @staticmethod
    def get_all_checks() -> DiagnosticCheckSet:
        """All of them."""
        return DiagnosticCheckSet(DiagnosticCheck)

    @staticmethod
    def get_warning_checks() -> DiagnosticCheckSet:
        """Those that find mistakes."""
        return DiagnosticCheckSet(check for check in DiagnosticCheck if check not in _HINTS)

    @staticmethod
    def get_perf_hint_checks() -> DiagnosticCheckSet:
        """Those that find what costs time."""
        return DiagnosticCheckSet(_HINTS)


def found(names: Iterable[str], phase: DiagnosticPhase, program: Program) -> list[diagnostics.Diagnostic]:
    """The findings of the named checks that run in a phase."""
    wanted, context = set(names), kernel_context()
    with context:
        return [
            item
            for check, (when, find) in _CHECKS.items()
            if check.name in wanted and when is phase
            for item in find(program, context.backend)
        ]


def run_checked(pipeline: Pipeline, program: Program, context: PassContext) -> Program:
    """The program after a pipeline, with the checks of the context before and after it.

    They don't run in the phase NONE, nor beside a :class:`DiagnosticInstrument`, which runs its own.
    """
    off = context.option(PHASE) is DiagnosticPhase.NONE
    own = any(isinstance(item, DiagnosticInstrument) for item in context.instruments)
    names = (
        [] if off or own else [c.name for c in DiagnosticCheck if c.name not in context.disabled_diagnostics]
    )
    with context:
        announce(found(names, DiagnosticPhase.PRE_PIPELINE, program))
        after = run_aloud(pipeline, program, context)
        late, folder = found(names, DiagnosticPhase.POST_PIPELINE, after), report_folder(context)
        if folder is not None:
            write_hints(folder, late)
        announce(late, folder)
    return after


@attrs.frozen
class DiagnosticInstrument(PassInstrument):
    """Runs checks around a pipeline, each in its phase, and prints what they find; by default all of them."""

    checks: Any = attrs.field(factory=DiagnosticCheckRegistry.get_all_checks)

    def before_pipeline(self, current: Run) -> None:
        """The checks of programs as they were written."""
        announce(found(names_of(self.checks), DiagnosticPhase.PRE_PIPELINE, current.program))

    def after_pass(self, current: Run, step: PipelineStep) -> None:
        """The checks of programs between passes."""
        announce(found(names_of(self.checks), DiagnosticPhase.POST_PASS, current.program))

    def after_pipeline(self, current: Run) -> None:
        """The checks of programs after the last pass."""
        announce(found(names_of(self.checks), DiagnosticPhase.POST_PIPELINE, current.program))
