"""What passes report, as PyPTO prints it: warnings at once, hints to the report's folder or else on the terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import attrs

from pypto.log import LOGGER, LogLevel
from pypto_core import run
from pypto_core.diagnostics import Diagnostic, Severity
from pypto_core.ir import Program
from pypto_core.run import PassContext, Pipeline, Run

HINTS = "perf_hints.log"
_LABELS = {Severity.WARNING: "warning", Severity.PERF_HINT: "perf_hint"}


class PassInstrument:
    """Base of instruments."""

    def get_name(self) -> str:
        """What messages call it."""
        return type(self).__name__


@attrs.frozen
class ReportInstrument(PassInstrument):
    """Writes what a run reported to a folder."""

    output_dir: Path = attrs.field(converter=Path)

    def get_output_dir(self) -> str:
        """The folder."""
        return str(self.output_dir)

    def after_pipeline(self, current: Run) -> None:
        """Write the files; hints a line each."""
        run.ReportInstrument(self.output_dir).after_pipeline(current)
        write_hints(self.output_dir, current.diagnostics, "w")


def write_hints(folder: Path, reported: Iterable[Diagnostic], mode: str = "a") -> None:
    """Put the hints among what was reported into the report, a line each; nothing happens without any."""
    lines = [line(found) + "\n" for found in reported if found.severity is Severity.PERF_HINT]
    if lines:
        with (folder / HINTS).open(mode, encoding="utf-8") as file:
            file.writelines(lines)


def line(found: Diagnostic) -> str:
    """``[perf_hint PH-AT-007] AutoTileMatmulL0: <message> at <span>``."""
    rule = f"{found.rule}: " if found.rule else ""
    place = f" at {found.span}" if found.span.is_valid else ""
    return f"[{_LABELS[found.severity]} {found.code}] {rule}{found.message}{place}"


def run_aloud(pipeline: Pipeline, program: Program, context: PassContext) -> Program:
    """The program after a pipeline; what its passes reported is announced."""
    done = pipeline.run(program, context)
    announce(done.diagnostics, report_folder(context))
    return done.program


def report_folder(context: PassContext) -> Path | None:
    """Where the first report of a context goes, None without one."""
    return next((i.output_dir for i in context.instruments if isinstance(i, ReportInstrument)), None)


def announce(reported: Iterable[Diagnostic], folder: Path | None = None) -> None:
    """Print warnings, and hints where no report has them in ``folder``, in which case one line says where they are.

    Hints are messages of level INFO: a higher level set with ``set_log_level`` silences them.
    """
    found = list(reported)
    for item in found:
        if item.severity is Severity.WARNING and _wanted(LogLevel.WARN):
            sys.stderr.write(line(item) + "\n")
    hints = [item for item in found if item.severity is Severity.PERF_HINT]
    if not hints or not _wanted(LogLevel.INFO):
        return
    if folder is None:
        sys.stderr.writelines(line(item) + "\n" for item in hints)
    else:
        sys.stderr.write(f"[perf_hint] {len(hints)} performance hints in {folder / HINTS}\n")


def _wanted(level: LogLevel) -> bool:
    return LOGGER.level <= level  # not set is 0
