"""A report as tables for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console
from rich.table import Table

from pypto_plugin_simulator.timing.report import CoreTimes, TimeReport

_LOG_WIDTH = 150
"""A log has no width to keep to, but a reader has."""


def show(report: TimeReport, top: int = 8, console: Console | None = None) -> None:
    """Print the wall, the pipes of the slowest core, what made it slow, and the findings."""
    out = console or Console(highlight=False, markup=False, emoji=False)
    if not out.is_terminal:
        out.width = _LOG_WIDTH
    core = report.slowest
    for line in _head(report):
        out.print(line)
    if core is not None:
        out.print()
        out.print(_pipes(core))
        out.print(f"loads that nothing hides: {_cycles(core.load_exposed)} cycles")
        if top:
            out.print()
            out.print(_critical(core, top))
    for name, times in report.untimed:
        out.print(f"not timed: {name}, {times} times: the backend has no pipe for it")
    for hazard in report.hazards:
        where = " and ".join(str(span) for span in hazard.spans)
        count = f" ({hazard.times} times)" if hazard.times > 1 else ""
        out.print(f"{hazard.code} {where}: {hazard.message}{count}")


def _head(report: TimeReport) -> Iterator[str]:
    yield (
        f"{_cycles(report.wall)} cycles, {report.microseconds:,.2f} us at {report.frequency_mhz:,.0f} MHz "
        f"on {report.backend}, events: {report.sync}"
    )
    if len(report.cores) > 1:
        yield f"{len(report.cores)} blocks in {len(report.launches)} launches; the slowest one is shown"


def _table(title: str, headers: Sequence[str], rows: Iterable[Sequence[str]], left: Sequence[str]) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for header in headers:
        table.add_column(header, justify="left" if header in left else "right", overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def _pipes(core: CoreTimes) -> Table:
    rows = [
        (
            row.pipe.name,
            str(row.count),
            _cycles(row.busy),
            f"{core.utilisation(row.pipe):.1%}",
            _cycles(row.exposed),
            _cycles(row.critical),
        )
        for row in core.pipes
    ]
    headers = ("pipe", "operations", "busy", "utilisation", "alone", "on critical path")
    return _table("pipes", headers, rows, ("pipe",))


def _critical(core: CoreTimes, top: int) -> Table:
    rows = [
        (step.label, step.pipe.name, str(step.count), _cycles(step.cycles), str(step.span))
        for step in core.critical[:top]
    ]
    headers = ("statement", "pipe", "times", "cycles", "at")
    return _table("critical path", headers, rows, ("statement", "pipe", "at"))


def _cycles(value: float) -> str:
    return f"{value:,.0f}"
