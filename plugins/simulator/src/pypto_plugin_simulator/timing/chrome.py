"""A report as trace events, the JSON that Perfetto and Chrome's tracing page open: a process a core, a track a pipe."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pypto_core.ir import PipeType
from pypto_plugin_simulator.timing.report import CoreTimes, TimeReport
from pypto_plugin_simulator.timing.stream import PIPES

TRACK = {pipe: number + 1 for number, pipe in enumerate(PIPES)}
TITLES = {
    PipeType.MTE2: "MTE2 (global memory to L1, UB)",
    PipeType.MTE1: "MTE1 (L1 to L0)",
    PipeType.M: "M (cube)",
    PipeType.FIX: "FIX (drain of L0C)",
    PipeType.V: "V (vector)",
    PipeType.MTE3: "MTE3 (UB to global memory)",
    PipeType.S: "S (scalar)",
}


def trace_events(report: TimeReport) -> dict[str, Any]:
    """The whole run; times are microseconds at the machine's clock, each event's cycles are among its arguments.

    Operations that take no time are left out, as a viewer can't show them. Arrows are the events between pipes.
    """
    names: list[dict[str, Any]] = []
    events: list[dict[str, Any]] = []
    arrows = 0
    for process, core in enumerate(report.cores, start=1):
        names += _names(process, core)
        events += _slices(process, core, report.frequency_mhz)
        for arrow in _arrows(process, core, report.frequency_mhz):
            arrows += 1
            events += ({**end, "id": arrows} for end in arrow)
    events.sort(key=lambda event: (event["ts"], _PHASES.index(event["ph"]), event["pid"], event["tid"]))
    return {
        "traceEvents": [*names, *events],
        "displayTimeUnit": "ns",
        "otherData": {
            "backend": report.backend,
            "frequency_mhz": report.frequency_mhz,
            "wall_cycles": report.wall,
            "sync": report.sync,
        },
    }


_PHASES = ("X", "s", "f")


def _names(process: int, core: CoreTimes) -> Iterator[dict[str, Any]]:
    where = core.core
    title = f"launch {where.launch}, block {where.block}" + (f".{where.subblock}" if where.subblock else "")
    yield {"ph": "M", "name": "process_name", "pid": process, "tid": 0, "ts": 0, "args": {"name": title}}
    for row in core.pipes:
        yield {
            "ph": "M",
            "name": "thread_name",
            "pid": process,
            "tid": TRACK[row.pipe],
            "ts": 0,
            "args": {"name": TITLES[row.pipe]},
        }
        yield {
            "ph": "M",
            "name": "thread_sort_index",
            "pid": process,
            "tid": TRACK[row.pipe],
            "ts": 0,
            "args": {"sort_index": TRACK[row.pipe]},
        }


def _slices(process: int, core: CoreTimes, mhz: float) -> Iterator[dict[str, Any]]:
    schedule = core.schedule
    critical = set(schedule.critical_path())
    for at, (work, start) in enumerate(zip(schedule.works, schedule.starts, strict=True)):
        if work.cycles > 0:
            yield {
                "ph": "X",
                "name": work.label,
                "cat": work.pipe.name,
                "ts": (core.begin + start) / mhz,
                "dur": work.cycles / mhz,
                "pid": process,
                "tid": TRACK[work.pipe],
                "args": {
                    "at": str(work.span),
                    "cycles": work.cycles,
                    "start": core.begin + start,
                    "critical": at in critical,
                },
            }


def _arrows(process: int, core: CoreTimes, mhz: float) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """The events that a pipe had to wait for: from the end of the work before the set to where the wait ended."""
    for handover in core.schedule.handovers:
        if handover.setter < 0 or not handover.waited:
            continue
        shared = {"name": str(handover.flag), "cat": "event", "pid": process}
        yield (
            {
                **shared,
                "ph": "s",
                "ts": (core.begin + handover.set_at) / mhz,
                "tid": TRACK[handover.flag.source],
            },
            {
                **shared,
                "ph": "f",
                "bp": "e",
                "ts": (core.begin + handover.taken_at) / mhz,
                "tid": TRACK[handover.flag.target],
            },
        )
