"""Instruments with PyPTO's arguments; each is an instrument of the kernel as well."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from pypto.pypto_core.passes.pass_objects import Pass
from pypto.pypto_core.passes.reporting import PassInstrument, ReportInstrument
from pypto.pypto_core.passes.settings import VerificationMode
from pypto_core import run
from pypto_core.diagnostics import VerificationError
from pypto_core.ir import Program
from pypto_core.run import PipelineStep, Run

Hook = Callable[[Pass, Program], None]


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
        self._call("Pre", current, step)

    def after_pass(self, current: Run, step: PipelineStep) -> None:
        """Raise VerificationError when the pass did not make what it promises."""
        self._call("Post", current, step)

    def _call(self, when: str, current: Run, step: PipelineStep) -> None:
        mode = _MODES.get(self.mode)
        if mode is None:
            return
        kernel, place = run.VerificationInstrument(mode), "before" if when == "Pre" else "after"
        hook = kernel.before_pass if when == "Pre" else kernel.after_pass
        try:
            hook(current, step)
        except VerificationError as error:
            head, *found = error.diagnostics
            named = attrs.evolve(
                head,
                message=f"{when}-verification failed {place} pass '{step.name}':{head.message.rpartition(':')[2]}",
            )
            raise VerificationError(diagnostics=(named, *found)) from None


@attrs.frozen
class RoundTripInstrument(PassInstrument):
    """Checks after every pass that the printed program reads back as the same, memory places included."""

    def after_pass(self, current: Run, step: PipelineStep) -> None:
        """Raise VerificationError when it does not."""
        run.RoundTripInstrument().after_pass(current, step)


def make_roundtrip_instrument() -> RoundTripInstrument:
    """An instrument that prints and reads back the program after every pass."""
    return RoundTripInstrument()


__all__ = [
    "CallbackInstrument",
    "PassInstrument",
    "ReportInstrument",
    "RoundTripInstrument",
    "VerificationInstrument",
    "make_roundtrip_instrument",
]
