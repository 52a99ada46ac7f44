"""Passes in a fixed order, ready to run any number of times."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping

import attrs

from pypto_core.contract import Pass, Property
from pypto_core.diagnostics import UserError, checked
from pypto_core.ir import Program
from pypto_core.run.context import DEFAULT_PLANNER, PassContext
from pypto_core.run.instruments import check_round_trip, notify
from pypto_core.run.level import VerificationLevel
from pypto_core.run.log import DiagnosticLog
from pypto_core.run.notebook import pipeline_html
from pypto_core.run.run import PipelineStep, Run
from pypto_core.run.state import after_pass
from pypto_core.run.transform import transform
from pypto_core.run.verification import INPUT_LABEL, holding, require, structural
from pypto_core.solver import Plan

_EMPTY: Mapping[str, Property] = {}


class MismatchError(UserError, RuntimeError):
    """Two choices that have to agree do not: planner, backend or switches of a pipeline and of its context."""

    default_code = "PT810"


@checked()
@attrs.frozen(kw_only=True, eq=False)
class Pipeline:
    """An immutable sequence of passes; all state of a run lives in its :class:`Run`.

    ``plan`` is the solver's answer it was made from and ``context`` what it was asked in, both None for one put
    together by hand. ``planner`` and ``backend`` are the names it was resolved for, None where it does not
    matter. ``initial`` are the properties the plan counts on, beside the structural ones; None means that they
    are found out as they are needed.
    """

    steps: tuple[PipelineStep, ...] = attrs.field(converter=tuple)
    properties: Mapping[str, Property] = attrs.field(default=_EMPTY, repr=False)
    plan: Plan | None = attrs.field(default=None, repr=False)
    context: PassContext | None = attrs.field(default=None, repr=False)
    planner: str | None = None
    backend: str | None = None
    initial: frozenset[str] | None = None

    @classmethod
    @checked()
    def of(
        cls,
        passes: Iterable[Pass],
        properties: Mapping[str, Property] = _EMPTY,
        *,
        planner: str | None = None,
        backend: str | None = None,
    ) -> Pipeline:
        """A pipeline of these passes as they stand, without asking the solver.

        What a pass requires is still checked: it has to be made by an earlier one or to hold of the input.
        """
        count: dict[str, int] = {}
        steps: list[PipelineStep] = []
        for number, pass_ in enumerate(passes, start=1):
            runs, at = pass_.contract.runs, count.get(pass_.name, 0)
            instance = runs[at] if at < len(runs) else f"{pass_.name}#{at + 1}"
            count[pass_.name] = at + 1
            steps.append(PipelineStep(number=number, instance=instance, pass_=pass_))
        return cls(steps=tuple(steps), properties=properties, planner=planner, backend=backend)

    @property
    def names(self) -> tuple[str, ...]:
        """The instance ids in order."""
        return tuple(step.instance for step in self.steps)

    @checked()
    def prefix(self, count: int) -> Pipeline:
        """The first ``count`` steps as a pipeline of its own."""
        return attrs.evolve(self, steps=self.steps[:count], plan=None)

    def spec(self) -> str:
        """The passes with their options as one line of text."""
        return ",".join(step.pass_.spec() for step in self.steps)

    def _repr_html_(self) -> str:
        return pipeline_html(self)

    @checked()
    def run(
        self, program: Program, context: PassContext | None = None, *, verified: frozenset[str] = frozenset()
    ) -> Run:
        """Send a program through all steps.

        ``context`` defaults to the active one, then to that of the pipeline, then to a plain one; without a host
        it takes that of the pipeline. ``verified`` are properties that the caller has
        just verified of this program. Raises MismatchError when the context has another planner or backend
        than the pipeline was resolved for, or an option that decides which passes there are has another value;
        VerificationError when the input or a pass's output lacks a property
        that it should have, and whatever a pass raises.
        """
        outer = (
            context
            or PassContext.current()
            or self.context
            or PassContext(planner=self.planner or DEFAULT_PLANNER)
        )
        self._check_context(outer)
        host = self.context.host if outer.host is None and self.context is not None else outer.host
        inner = outer.derive(host=host, log=DiagnosticLog())
        run = Run(pipeline=self, context=inner, source=program, program=program, previous=program)
        try:
            with inner:
                self._enter(run, verified)
                notify(run, "before_pipeline")
                for step in self.steps:
                    self._run_step(run, step)
                notify(run, "after_pipeline")
        finally:
            outer.log.extend(inner.log)
        return run

    def _check_context(self, context: PassContext) -> None:
        backend = context.backend.name if context.backend is not None else "none"
        pairs = (("planner", self.planner, context.planner), ("backend", self.backend, backend))
        for what, mine, theirs in pairs:
            if mine is not None and mine != theirs:
                raise MismatchError(
                    f"the pipeline was resolved for {what} {mine} and can't run with {what} {theirs}",
                    facts={"pipeline": mine, "context": theirs},
                    remedy=f"resolve it again for {what} {theirs}, or run it in a context with {what} {mine}",
                )
        self._check_switches(context)

    def _check_switches(self, context: PassContext) -> None:
        """Options that switch passes on or off have the values that the order was found for."""
        resolved = self.context
        if resolved is None or resolved.host is None:
            return
        gates: set[str] = set()
        for value in resolved.host.passes.values():
            gates |= value.contract.needs | value.contract.excludes
        changed = sorted(
            g for g in gates & (resolved.capabilities ^ context.capabilities) if g.startswith("option:")
        )
        if changed:
            name = changed[0].removeprefix("option:").removesuffix("=false")
            mine, theirs = resolved.options.get(name, "not given"), context.options.get(name, "not given")
            raise MismatchError(
                f"option {name} changed since the pipeline was resolved",
                facts={"pipeline": mine, "context": theirs},
                remedy="resolve it again in the context that it runs in",
            )

    def _enter(self, run: Run, verified: frozenset[str]) -> None:
        started = time.perf_counter()
        counted_on = structural(self.properties) | (self.initial or frozenset())
        if run.context.verification is not VerificationLevel.NONE:
            require(
                run.program,
                self.properties,
                counted_on - verified,
                code="PT800",
                message=f"{INPUT_LABEL}: the program does not have the properties that the pipeline counts on",
                facts=[("program", run.program.name)],
                written=True,
            )
        run.held = counted_on
        run.input_seconds = time.perf_counter() - started

    def _run_step(self, run: Run, step: PipelineStep) -> None:
        checking = run.context.verification is not VerificationLevel.NONE
        if checking:
            self._check_may_run(run, step)
        run.previous = run.program
        notify(run, "before_pass", step)
        started = time.perf_counter()
        with run.context.derive(pass_options=step.pass_.options) as context:
            run.program = transform(step, run.program, context)
        seconds = time.perf_counter() - started
        held, new = after_pass(step.pass_.contract, run.held, self.properties)
        run.held = held
        notify(run, "after_pass", step)
        started = time.perf_counter()
        if checking:
            self._check_result(run, step, new)
        run.finish_step(step, seconds, time.perf_counter() - started)

    def _check_may_run(self, run: Run, step: PipelineStep) -> None:
        contract = step.pass_.contract
        facts = [("pass", f"{step.instance} of {step.origin}")]
        missing = contract.requires - run.held
        if missing:
            require(
                run.program,
                self.properties,
                missing,
                code="PT802",
                message=f"pass {step.name} can't run on a program without what it requires",
                facts=facts,
            )
            run.held |= missing
        barred = contract.forbids & run.held
        if self.initial is None:
            barred |= holding(run.program, self.properties, contract.forbids - run.held)
        if barred:
            raise UserError(
                f"pass {step.name} must not run once {' and '.join(sorted(barred))} holds",
                code="PT803",
                facts=facts,
                remedy=f"run {step.name} before whatever makes {sorted(barred)[0]}",
            )

    def _check_result(self, run: Run, step: PipelineStep, new: frozenset[str]) -> None:
        changed = run.program is not run.previous
        names = new | (structural(self.properties) if changed else frozenset[str]())
        require(
            run.program,
            self.properties,
            names,
            code="PT801",
            message=f"pass {step.name} left a program without properties that it should have",
            facts=[("pass", f"{step.instance} of {step.origin}"), ("program", run.program.name)],
        )
        if changed and run.context.verification is VerificationLevel.ROUNDTRIP:
            check_round_trip(run.program, f"pass {step.name}")
