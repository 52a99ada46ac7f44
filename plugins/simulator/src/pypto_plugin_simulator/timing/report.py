"""What a schedule says: how long, who was busy, what was not hidden, and what made it as long as it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from pypto_core.diagnostics import Span
from pypto_core.ir import PipeType
from pypto_plugin_simulator.timing.cores import Core
from pypto_plugin_simulator.timing.hazards import Hazard
from pypto_plugin_simulator.timing.schedule import Schedule
from pypto_plugin_simulator.timing.stream import PIPES

LOADS = (PipeType.MTE2, PipeType.MTE1)
COMPUTES = (PipeType.M, PipeType.V)


@attrs.frozen(kw_only=True)
class PipeTimes:
    """One pipe of a core, in cycles.

    ``busy``: while it works. ``exposed``: while it works and no other pipe does. ``critical``: its part of the critical
    path. ``count``: operations.
    """

    pipe: PipeType
    count: int
    busy: float
    exposed: float
    critical: float


@attrs.frozen(kw_only=True)
class CriticalStep:
    """A statement on the critical path: how often it is there and the cycles that it has in it."""

    label: str
    pipe: PipeType
    span: Span
    count: int
    cycles: float


@attrs.frozen(eq=False, kw_only=True)
class CoreTimes:
    """What one core did with one block.

    ``load_exposed``: cycles in which something is loaded while nothing is computed. ``begin``: when the block begins
    in the run.
    """

    core: Core
    makespan: float
    pipes: tuple[PipeTimes, ...]
    load_exposed: float
    critical: tuple[CriticalStep, ...]
    hazards: tuple[Hazard, ...]
    schedule: Schedule = attrs.field(repr=False)
    begin: float = 0.0

    def pipe(self, pipe: PipeType) -> PipeTimes:
        """The row of one pipe; of zeros when it had nothing to do."""
        for row in self.pipes:
            if row.pipe is pipe:
                return row
        return PipeTimes(pipe=pipe, count=0, busy=0.0, exposed=0.0, critical=0.0)

    def utilisation(self, pipe: PipeType) -> float:
        """Part of the makespan in which a pipe is busy."""
        return self.pipe(pipe).busy / self.makespan if self.makespan else 0.0


def measure(core: Core, schedule: Schedule, hazards: Sequence[Hazard] = ()) -> CoreTimes:
    """The figures of one core's schedule."""
    path = [(schedule.works[i], schedule.ends[i] - schedule.starts[i]) for i in schedule.critical_path()]
    alone, load_exposed = _exposed(schedule)
    rows: list[PipeTimes] = []
    for pipe in PIPES:
        mine = [work.cycles for work in schedule.works if work.pipe is pipe]
        if mine:
            rows.append(
                PipeTimes(
                    pipe=pipe,
                    count=len(mine),
                    busy=sum(mine),
                    exposed=alone[pipe],
                    critical=sum(cycles for work, cycles in path if work.pipe is pipe),
                )
            )
    steps: dict[Any, list[float]] = {}
    for work, cycles in path:
        steps.setdefault((work.label, work.pipe, work.span), []).append(cycles)
    return CoreTimes(
        core=core,
        makespan=schedule.makespan,
        pipes=tuple(rows),
        load_exposed=load_exposed,
        critical=tuple(
            CriticalStep(label=label, pipe=pipe, span=span, count=len(cycles), cycles=sum(cycles))
            for (label, pipe, span), cycles in sorted(steps.items(), key=lambda step: -sum(step[1]))
        ),
        hazards=tuple(hazards),
        schedule=schedule,
    )


def _exposed(schedule: Schedule) -> tuple[dict[PipeType, float], float]:
    """Cycles in which each pipe is the only busy one, and in which only loads hold up the computing pipes."""
    starts, ends = np.array(schedule.starts), np.array(schedule.ends)
    pipes = np.array([PIPES.index(work.pipe) for work in schedule.works], np.int64)
    times = np.unique(np.concatenate((starts, ends)))
    if len(times) < 2:
        return dict.fromkeys(PIPES, 0.0), 0.0
    lengths = np.diff(times)
    busy = np.zeros((len(PIPES), len(times)), np.int64)
    np.add.at(busy, (pipes, np.searchsorted(times, starts)), 1)
    np.add.at(busy, (pipes, np.searchsorted(times, ends)), -1)
    busy = np.cumsum(busy, axis=1)[:, :-1] > 0
    only = busy.sum(axis=0) == 1
    alone = {pipe: float(lengths[busy[row] & only].sum()) for row, pipe in enumerate(PIPES)}
    loads, computes = (busy[[PIPES.index(pipe) for pipe in which]].any(axis=0) for which in (LOADS, COMPUTES))
    return alone, float(lengths[loads & ~computes].sum())


@attrs.frozen(eq=False, kw_only=True)
class TimeReport:
    """What the engine ``time`` has to say. All times are core cycles.

    ``launches``: wall of each launch, one after the other; the blocks of one are dealt out over the cores of the
    machine in order. ``untimed``: operators that run on no pipe that the backend knows, and how often; they take no
    time here. ``sync``: where the events come from.
    """

    backend: str
    frequency_mhz: float
    sync: str
    cores: tuple[CoreTimes, ...]
    launches: tuple[float, ...]
    untimed: tuple[tuple[str, int], ...] = ()
    core_hazards: tuple[Hazard, ...] = ()

    @property
    def wall(self) -> float:
        """Cycles of the whole run: the launches one after the other."""
        return sum(self.launches)

    @property
    def microseconds(self) -> float:
        """The same at the machine's clock."""
        return self.wall / self.frequency_mhz

    @property
    def hazards(self) -> tuple[Hazard, ...]:
        """The findings of all cores, those that several share once."""
        found: dict[Any, Hazard] = {}
        for hazard in (*(h for core in self.cores for h in core.hazards), *self.core_hazards):
            known = found.setdefault((hazard.code, hazard.message, hazard.spans), hazard)
            if known is not hazard:
                found[hazard.code, hazard.message, hazard.spans] = attrs.evolve(
                    known, times=known.times + hazard.times
                )
        return tuple(found.values())

    @property
    def slowest(self) -> CoreTimes | None:
        """The core that takes longest, the first of equals; None when nothing took any time."""
        return max(self.cores, key=lambda core: core.makespan, default=None)

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "backend": self.backend,
            "frequency_mhz": self.frequency_mhz,
            "sync": self.sync,
            "wall_cycles": self.wall,
            "microseconds": self.microseconds,
            "launches": list(self.launches),
            "cores": [_core_json(core) for core in self.cores],
            "hazards": [hazard.to_json() for hazard in self.hazards],
            "untimed": dict(self.untimed),
        }


def _core_json(core: CoreTimes) -> dict[str, Any]:
    return {
        "launch": core.core.launch,
        "block": core.core.block,
        "subblock": core.core.subblock,
        "begin": core.begin,
        "makespan": core.makespan,
        "load_exposed": core.load_exposed,
        "pipes": [
            {
                "pipe": row.pipe.name,
                "operations": row.count,
                "busy": row.busy,
                "utilisation": core.utilisation(row.pipe),
                "exposed": row.exposed,
                "critical": row.critical,
            }
            for row in core.pipes
        ],
        "critical_path": [
            {
                "statement": step.label,
                "at": str(step.span),
                "pipe": step.pipe.name,
                "times": step.count,
                "cycles": step.cycles,
            }
            for step in core.critical
        ],
    }
