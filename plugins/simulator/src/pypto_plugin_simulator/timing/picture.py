"""A timeline as a picture: one lane a pipe, one box an operation."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from pypto_core.diagnostics import UserError
from pypto_plugin_simulator.timing.report import CoreTimes, TimeReport

_COLOURS = {
    "MTE2": "#4477aa",
    "MTE1": "#66ccee",
    "M": "#ee6677",
    "FIX": "#ccbb44",
    "V": "#aa3377",
    "MTE3": "#228833",
    "S": "#bbbbbb",
}
"""Colours that people with any kind of colour vision tell apart."""

SUFFIXES = (".svg", ".png", ".pdf")


def draw(report: TimeReport, path: str | Path) -> Path:
    """Draw the slowest core of ``report`` to ``path``, whose suffix names the format, and return it.

    Needs matplotlib, which the extra ``pypto-core[plot]`` brings. Raises UserError (SIM-045) without it, for a suffix
    other than .svg, .png and .pdf, and when the file can't be written.
    """
    path = Path(path)
    if path.suffix.lower() not in SUFFIXES:
        raise UserError(
            f"a picture can't be written as '{path.name}'",
            code="SIM-045",
            facts={"formats": " ".join(SUFFIXES)},
        )
    try:
        mpl: Any = import_module("matplotlib")
        figures: Any = import_module("matplotlib.figure")
    except ImportError as missing:
        raise UserError(
            "a picture of the timeline needs matplotlib",
            code="SIM-045",
            remedy="pip install 'pypto-core[plot]'",
        ) from missing
    core = report.slowest
    lanes = len(core.pipes) if core is not None else 1
    # A fixed salt and no date: the same run draws the same bytes.
    with mpl.rc_context({"svg.hashsalt": "pypto"}):
        figure = figures.Figure(figsize=(11, 1.6 + 0.55 * lanes), layout="constrained")
        _draw(figure.subplots(), report, core)
        try:
            figure.savefig(path, metadata={"Date": None} if path.suffix.lower() == ".svg" else None)
        except OSError as error:
            raise UserError(f"'{path}' can't be written: {error.strerror or error}", code="SIM-045") from None
    return path


def _draw(axes: Any, report: TimeReport, core: CoreTimes | None) -> None:
    axes.set(
        title=f"{report.backend}: {report.wall:,.0f} cycles, {report.microseconds:,.2f} us",
        xlabel="core cycles",
    )
    if core is None:
        return
    schedule = core.schedule
    critical = set(schedule.critical_path())
    for lane, row in enumerate(core.pipes):
        mine = [at for at, work in enumerate(schedule.works) if work.pipe is row.pipe]
        boxes = [(schedule.starts[at], schedule.works[at].cycles) for at in mine]
        edges = ["black" if at in critical else "white" for at in mine]
        axes.broken_barh(
            boxes, (lane - 0.4, 0.8), facecolors=_COLOURS[row.pipe.name], edgecolors=edges, linewidth=0.6
        )
    axes.set_yticks(
        range(len(core.pipes)), labels=[f"{r.pipe.name}  {core.utilisation(r.pipe):.0%}" for r in core.pipes]
    )
    axes.set_xlim(0, core.makespan or 1)
    axes.invert_yaxis()
