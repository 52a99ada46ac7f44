"""The part of a report on time: a simulated run on random inputs, pipe by pipe."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from pypto_core.contract import entry_function
from pypto_core.diagnostics import UserError
from pypto_core.run import Compiled
from pypto_core.testing import random_inputs
from pypto_plugin_simulator.timing.engine import run
from pypto_plugin_simulator.timing.report import CoreTimes, TimeReport

MAX_STEPS = 100_000
"""A report is not worth waiting for longer runs: `pypto profile` has no such bound."""

_MAX_BOXES = 4000
_WIDTH, _LANE, _LEFT = 760, 26, 70
_COLOUR = "#4c78a8"


def report_section(compiled: Compiled) -> str:
    """HTML; empty without a backend. A kernel that can't be run on random inputs gets a sentence that says why."""
    backend = compiled.context.backend
    if backend is None:
        return ""
    try:
        function = entry_function(compiled.source)
        result = run(
            compiled.program,
            random_inputs(function),
            function.name,
            backend=backend,
            host=compiled.context.host,
            max_steps=MAX_STEPS,
        )
    except UserError as error:
        return f"<p>Not timed: {escape(error.message)}. See <code>pypto profile</code>.</p>"
    report: TimeReport = result.report["time"]
    core = report.slowest
    if core is None:
        return "<p>Nothing runs on a pipe of the machine.</p>"
    return "\n".join([*_head(report, core), *_table(core), *_timeline(core), *_hazards(core)])


def _head(report: TimeReport, core: CoreTimes) -> Iterator[str]:
    yield (
        f"<p>{report.wall:,.0f} cycles, {report.microseconds:,.2f} us on {escape(report.backend)}, on random "
        f"inputs; {core.load_exposed:,.0f} cycles of loads that nothing hides.</p>"
    )


def _table(core: CoreTimes) -> Iterator[str]:
    yield "<table><tr><th>pipe</th>"
    yield "".join(
        f'<th class="n">{name}</th>' for name in ("operations", "busy", "share", "alone", "critical")
    )
    yield "</tr>"
    for row in core.pipes:
        cells = (
            f"{row.count}",
            f"{row.busy:,.0f}",
            f"{core.utilisation(row.pipe):.0%}",
            f"{row.exposed:,.0f}",
            f"{row.critical:,.0f}",
        )
        numbers = "".join(f'<td class="n">{cell}</td>' for cell in cells)
        yield f"<tr><td>{row.pipe.name}</td>{numbers}</tr>"
    yield "</table>"


def _timeline(core: CoreTimes) -> Iterator[str]:
    """One lane a pipe, one box an operation; what is on the critical path has a black edge."""
    schedule = core.schedule
    if len(schedule.works) > _MAX_BOXES:
        count = len(schedule.works)
        yield f"<p>{count} operations are too many to draw here: <code>pypto profile --picture</code>.</p>"
        return
    critical = set(schedule.critical_path())
    scale = _WIDTH / (core.makespan or 1)
    height = len(core.pipes) * _LANE + 24
    size = f'width="{_LEFT + _WIDTH + 10}" height="{height}"'
    yield f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="11">'
    for lane, row in enumerate(core.pipes):
        y = lane * _LANE + 4
        yield f'<text x="{_LEFT - 8}" y="{y + 13}" text-anchor="end">{row.pipe.name}</text>'
        for at, work in enumerate(schedule.works):
            if work.pipe is not row.pipe:
                continue
            x, width = _LEFT + schedule.starts[at] * scale, max(0.5, work.cycles * scale)
            edge = "#000" if at in critical else "#fff"
            title = f"{work.label}: {work.cycles:,.0f} cycles from {schedule.starts[at]:,.0f}"
            yield (
                f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{_LANE - 8}" fill="{_COLOUR}" '
                f'stroke="{edge}" stroke-width="0.6"><title>{escape(title)}</title></rect>'
            )
    yield f'<text x="{_LEFT}" y="{height - 4}">0</text>'
    end = f"{core.makespan:,.0f} cycles"
    yield f'<text x="{_LEFT + _WIDTH}" y="{height - 4}" text-anchor="end">{end}</text>'
    yield "</svg>"


def _hazards(core: CoreTimes) -> Iterator[str]:
    for hazard in core.hazards:
        yield f"<p><b>{escape(hazard.code)}</b> {escape(hazard.message)}</p>"
