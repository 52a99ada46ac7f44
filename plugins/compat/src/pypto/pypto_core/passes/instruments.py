"""Instruments with PyPTO's arguments; each is an instrument of the kernel as well."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import attrs

from pypto.pypto_core.passes.pass_objects import Pass
from pypto.pypto_core.passes.settings import VerificationMode
from pypto_core import run
from pypto_core.ir import Program
from pypto_core.run import PipelineStep, Run

Hook = Callable[[Pass, Program], None]


class PassInstrument:
    """Base of instruments."""

    def get_name(self) -> str:
        """What messages call it."""
        return type(self).__name__


@attrs.frozen
class CallbackInstrument(PassInstrument):
    """Calls ``before_pass(pass, program)`` and ``after_pass(pass, program)`` around every pass."""

    _before: Hook | None = attrs.field(default=None, alias="before_pass")
    _after: Hook | None = attrs.field(default=None, alias="after_pass")
    name: str = "CallbackInstrument"

    def get_name(self) -> str:
        """The name that was given."""
        return self.name

    def before_pass(self, current: Run, step: PipelineStep) -> None:
        """Hand over the program that the pass will see."""
        if self._before is not None:
            self._before(Pass(step.pass_), current.program)

    def after_pass(self, current: Run, step: PipelineStep) -> None:
        """Hand over the program that the pass returned."""
        if self._after is not None:
            self._after(Pass(step.pass_), current.program)


_MODES = {
    VerificationMode.BEFORE: run.VerificationMode.BEFORE,
    VerificationMode.AFTER: run.VerificationMode.AFTER,
    VerificationMode.BEFORE_AND_AFTER: run.VerificationMode.BEFORE_AND_AFTER,
}


@attrs.frozen
class VerificationInstrument(PassInstrument):
    """Verifies what each pass requires before it, and what it produces after it, with the structural properties."""

    mode: VerificationMode = VerificationMode.AFTER

    def before_pass(self, current: Run, step: PipelineStep) -> None:
        """Raise VerificationError when the pass can't count on what it requires."""
        self._call("before_pass", current, step)

    def after_pass(self, current: Run, step: PipelineStep) -> None:
        """Raise VerificationError when the pass did not make what it promises."""
        self._call("after_pass", current, step)

    def _call(self, hook: str, current: Run, step: PipelineStep) -> None:
        mode = _MODES.get(self.mode)
        if mode is not None:
            getattr(run.VerificationInstrument(mode), hook)(current, step)


@attrs.frozen
class ReportInstrument(PassInstrument):
    """Writes what a run reported to a folder."""

    output_dir: Path = attrs.field(converter=Path)

    def get_output_dir(self) -> str:
        """The folder."""
        return str(self.output_dir)

    def after_pipeline(self, current: Run) -> None:
        """Write the files."""
        run.ReportInstrument(self.output_dir).after_pipeline(current)


@attrs.frozen
class RoundTripInstrument(PassInstrument):
    """Checks after every pass that the printed program reads back as the same, memory places included."""

    def after_pass(self, current: Run, step: PipelineStep) -> None:
        """Raise VerificationError when it does not."""
        run.RoundTripInstrument().after_pass(current, step)


def make_roundtrip_instrument() -> RoundTripInstrument:
    """An instrument that prints and reads back the program after every pass."""
    return RoundTripInstrument()
