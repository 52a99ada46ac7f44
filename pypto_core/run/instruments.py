"""Watchers of a run: each hears of the pipeline's start, of every pass, and of the end.

An instrument is any object with some of the methods of :class:`Instrument`. It keeps what belongs to a run out
of itself, so that one instrument may watch several runs at once.
"""

from __future__ import annotations

import enum
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import attrs

from pypto_core.diagnostics import (
    DiagnosticError,
    Severity,
    UserError,
    VerificationError,
    checked,
    render_all,
)
from pypto_core.ir import Program, assert_structural_equal
from pypto_core.run.files import as_path, write_file
from pypto_core.run.run import PipelineStep, Run
from pypto_core.run.verification import require, structural


class Instrument(Protocol):
    """What an instrument may implement; each method may be missing.

    Within a hook ``run.program`` is the current program and ``run.previous`` the one before the current step.
    """

    def before_pipeline(self, run: Run) -> None:
        """Called once, after the input was verified."""
        ...

    def before_pass(self, run: Run, step: PipelineStep) -> None:
        """Called before a pass runs."""
        ...

    def after_pass(self, run: Run, step: PipelineStep) -> None:
        """Called after a pass ran and before what it made is verified."""
        ...

    def after_pipeline(self, run: Run) -> None:
        """Called once, after the last pass."""
        ...


def notify(run: Run, event: str, *arguments: Any) -> None:
    """Call a method of every instrument of a run that has it, in their order."""
    for instrument in run.context.instruments:
        method = getattr(instrument, event, None)
        if method is not None:
            method(run, *arguments)


class VerificationMode(enum.Enum):
    """When a VerificationInstrument looks; the values are those of the public API."""

    BEFORE = 0
    AFTER = 1
    BEFORE_AND_AFTER = 2


@checked()
@attrs.frozen
class VerificationInstrument:
    """Verifies around every pass, whatever the level of the context.

    Before: what the pass requires, and the structural properties. After: all that it produces, also what held
    already, and the structural properties.
    """

    mode: VerificationMode = VerificationMode.AFTER

    def before_pass(self, run: Run, step: PipelineStep) -> None:
        """Raise VerificationError (PT802) when the pass can't count on what it requires."""
        if self.mode is not VerificationMode.AFTER:
            self._check(run, step, step.pass_.contract.requires, "PT802", "before")

    def after_pass(self, run: Run, step: PipelineStep) -> None:
        """Raise VerificationError (PT801) when the pass did not make what it promises."""
        if self.mode is not VerificationMode.BEFORE:
            self._check(run, step, step.pass_.contract.produces, "PT801", "after")

    def _check(self, run: Run, step: PipelineStep, names: frozenset[str], code: str, when: str) -> None:
        known = run.pipeline.properties
        require(
            run.program,
            known,
            names | structural(known),
            code=code,
            message=f"verification failed {when} pass {step.name}",
            facts=[("pass", f"{step.instance} of {step.origin}")],
        )


@checked()
@attrs.frozen
class CallbackInstrument:
    """Calls functions ``(step, program)`` before and after every pass."""

    on_before: Callable[[PipelineStep, Program], None] | None = None
    on_after: Callable[[PipelineStep, Program], None] | None = None
    name: str = "callback"

    def before_pass(self, run: Run, step: PipelineStep) -> None:
        """Pass on the program that the pass will see."""
        if self.on_before is not None:
            self.on_before(step, run.program)

    def after_pass(self, run: Run, step: PipelineStep) -> None:
        """Pass on the program that the pass returned."""
        if self.on_after is not None:
            self.on_after(step, run.program)


@attrs.frozen
class RoundTripInstrument:
    """Checks after every pass that changed something that the printed program reads back as the same."""

    def after_pass(self, run: Run, step: PipelineStep) -> None:
        """Raise VerificationError (PT804) when it does not."""
        if run.program is not run.previous:
            check_round_trip(run.program, f"pass {step.name}")


def check_round_trip(program: Program, maker: str) -> None:
    """Print a program, parse the text and compare, storage included.

    Raises VerificationError (PT804), naming ``maker``, when the text can't be read or is another program.
    """
    from pypto_core.language import parse
    from pypto_core.text import print_program

    text = print_program(program)
    remedy = "report it: every program can be printed and read back"
    try:
        again = parse(text, filename=f"<{program.name} after {maker}>")
    except DiagnosticError as error:
        head = VerificationError(
            f"the program that {maker} made can't be read back from its printed text",
            code="PT804",
            remedy=remedy,
        )
        raise VerificationError(diagnostics=(*head.diagnostics, *error.diagnostics)) from error
    try:
        # Bases of tensors in global memory and open dims are defined nowhere: they are matched as they occur.
        assert_structural_equal(program, again, enable_auto_mapping=True, compare_memref=True)
    except UserError as error:
        [difference] = error.diagnostics
        raise VerificationError(
            f"the program that {maker} made reads back from its printed text as another one",
            code="PT804",
            facts=[("program", program.name), ("difference", difference.message), *difference.facts],
            remedy=remedy,
        ) from None


class TimingInstrument:
    """Adds up the seconds of every pass over all runs it watches, checks included."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._totals: dict[str, tuple[int, float]] = {}

    def after_pipeline(self, run: Run) -> None:
        """Take over the times of a run that is over."""
        with self._lock:
            for stage in run.stages:
                runs, seconds = self._totals.get(stage.step.name, (0, 0.0))
                total = seconds + stage.seconds + stage.verify_seconds
                self._totals[stage.step.name] = (runs + 1, total)

    @property
    def totals(self) -> dict[str, tuple[int, float]]:
        """Pass name to how often it ran and how long in all, by name."""
        with self._lock:
            return {name: self._totals[name] for name in sorted(self._totals)}


@checked()
@attrs.frozen
class ReportInstrument:
    """Writes what a run reported to a folder.

    ``perf_hints.log`` has the hints, ``warnings.log`` the warnings, ``passes.json`` one row per pass. The
    first two are absent when there is nothing to write.
    """

    directory: Path = attrs.field(converter=as_path)

    def after_pipeline(self, run: Run) -> None:
        """Write the files, making the folder when it is missing."""
        for name, severity in (("perf_hints.log", Severity.PERF_HINT), ("warnings.log", Severity.WARNING)):
            found = run.context.log.of(severity)
            if found:
                write_text(self.directory / name, render_all(found) + "\n")
        rows = [
            {
                "number": s.step.number,
                "instance": s.step.instance,
                "pass": s.step.name,
                "changed": s.changed,
                "held": sorted(s.held),
                "seconds": s.seconds,
                "verify_seconds": s.verify_seconds,
                "diagnostics": [d.to_json() for d in s.diagnostics],
            }
            for s in run.stages
        ]
        write_text(self.directory / "passes.json", json.dumps(rows, indent=1) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write text as UTF-8 with newlines as they are, on every system."""
    write_file(path, text)
