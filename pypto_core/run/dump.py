"""The program after every pass, as text in a folder."""

from __future__ import annotations

from pathlib import Path

import attrs

from pypto_core.diagnostics import checked, render_all
from pypto_core.ir import Program
from pypto_core.run.files import as_path
from pypto_core.run.instruments import write_text
from pypto_core.run.run import PipelineStep, Run


@checked()
@attrs.frozen
class DumpInstrument:
    """Writes ``00_frontend.py`` and ``NN_after_<Pass>.py``, each a program that can be parsed again.

    ``only_changed`` leaves out passes that changed nothing; numbers stay those of the steps. What a pass
    reported stands in ``NN_after_<Pass>.log`` beside it. ``concise`` prints without types.
    """

    directory: Path = attrs.field(converter=as_path)
    only_changed: bool = False
    concise: bool = False

    def before_pipeline(self, run: Run) -> None:
        """Write the input, making the folder when it is missing."""
        self._write(0, "frontend", run.program)

    def after_pass(self, run: Run, step: PipelineStep) -> None:
        """Write the program that a pass returned, before it is verified: a wrong one is worth seeing."""
        if run.program is not run.previous or not self.only_changed:
            self._write(step.number, f"after_{step.name}", run.program)
        if run.fresh:
            path = self.directory / f"{step.number:02}_after_{step.name}.log"
            write_text(path, render_all(run.fresh) + "\n")

    def _write(self, number: int, name: str, program: Program) -> None:
        from pypto_core.text import print_program

        text = print_program(program, concise=self.concise)
        write_text(self.directory / f"{number:02}_{name}.py", text if text.endswith("\n") else text + "\n")
