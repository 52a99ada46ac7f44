"""The state of one run of a pipeline: nothing about a run is kept anywhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from pypto_core.contract import Pass
from pypto_core.diagnostics import Diagnostic
from pypto_core.ir import Program
from pypto_core.run.context import PassContext
from pypto_core.solver import Origin

if TYPE_CHECKING:
    from pypto_core.run.pipeline import Pipeline


@attrs.frozen(kw_only=True)
class PipelineStep:
    """One pass in its place. ``number`` counts from 1; ``instance`` tells runs of one pass apart."""

    number: int
    instance: str
    pass_: Pass = attrs.field(repr=False)
    origin: Origin = Origin()

    @property
    def name(self) -> str:
        """The name of the pass."""
        return self.pass_.name


@attrs.frozen(kw_only=True)
class Stage:
    """What a step did. ``seconds`` is the pass itself, ``verify_seconds`` the checks that followed it.

    ``changed`` says whether the pass returned another program; ``held`` are the properties that hold after it;
    ``diagnostics`` what it reported.
    """

    step: PipelineStep
    program: Program = attrs.field(repr=False)
    changed: bool
    held: frozenset[str] = attrs.field(repr=False)
    seconds: float
    verify_seconds: float
    diagnostics: tuple[Diagnostic, ...] = ()


@attrs.define(eq=False, kw_only=True)
class Run:
    """One run: what goes through the steps, and the result once it is over.

    ``program`` is the current program and ``previous`` the one before the current step; ``held`` are the
    properties that hold now. Instruments may read it; only the pipeline changes it.
    """

    pipeline: Pipeline = attrs.field(repr=False)
    context: PassContext = attrs.field(repr=False)
    source: Program
    program: Program
    previous: Program
    held: frozenset[str] = frozenset()
    stages: list[Stage] = attrs.field(factory=lambda: list[Stage]())
    input_seconds: float = 0.0
    _reported: int = 0

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """All that was reported so far, in order."""
        return tuple(self.context.log)

    @property
    def fresh(self) -> tuple[Diagnostic, ...]:
        """What was reported since the last step ended."""
        return self.diagnostics[self._reported :]

    @property
    def timings(self) -> tuple[tuple[str, float], ...]:
        """Seconds per step with its checks, by instance, in order."""
        return tuple((s.step.instance, s.seconds + s.verify_seconds) for s in self.stages)

    def finish_step(self, step: PipelineStep, seconds: float, verify_seconds: float) -> None:
        """Record the step that has just ended."""
        self.stages.append(
            Stage(
                step=step,
                program=self.program,
                changed=self.program is not self.previous,
                held=self.held,
                seconds=seconds,
                verify_seconds=verify_seconds,
                diagnostics=self.fresh,
            )
        )
        self._reported = len(self.context.log)
