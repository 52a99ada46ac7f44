"""The engine ``time``: a run on real bytes, then the same operators on the pipes of the machine.

The bytes decide which operators run and what they touch, so that loops, branches and runtime extents are those of the
inputs. The order among pipes comes from the bytes as well, or from the program's own events.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from pypto_core.contract import Backend, RunResult, entry_function
from pypto_core.diagnostics import UserError, checked
from pypto_core.host import Host, load_host
from pypto_core.ir import Function, Level, PipeType, Program
from pypto_plugin_simulator.catalogue import executors as built_in
from pypto_plugin_simulator.interpreter import DEFAULT_MAX_STEPS
from pypto_plugin_simulator.timing.between import block_hazards
from pypto_plugin_simulator.timing.cores import Streams, recorder
from pypto_plugin_simulator.timing.events import derive_events
from pypto_plugin_simulator.timing.hazards import Hazard, hazards_of
from pypto_plugin_simulator.timing.report import CoreTimes, TimeReport, measure
from pypto_plugin_simulator.timing.schedule import simulate

SYNC = ("auto", "program")


@checked("backend")
def run(
    program: Program | Function,
    inputs: Mapping[str, Any] | Iterable[Any] = (),
    entry: str | None = None,
    *,
    backend: Backend | str | None = None,
    sync: str = "auto",
    host: Host | None = None,
    addressed: bool | None = None,
    max_steps: int = DEFAULT_MAX_STEPS,
    block_num: int = 1,
    world_size: int = 1,
) -> RunResult:
    """Run a compiled function and time it; ``report["time"]`` of the result is a :class:`TimeReport`.

    ``backend``: the machine; may be left out inside of a PassContext that has one, or when only one is installed.
    ``sync``: ``auto`` adds the events that the bytes ask for, as the assembler does; ``program`` takes the program's
    own events alone, so that what they leave unordered is found. The rest as for the engine ``bytes``.

    Raises UserError as that engine does, and for transfers that the machine does not have.
    """
    from pypto_plugin_simulator.machine import run as run_bytes

    if sync not in SYNC:
        raise UserError(
            f"there is no kind of sync '{sync}'", code="SIM-044", facts={"kinds": ", ".join(SYNC)}
        )
    first = entry_function(program, entry)
    if first.level is Level.HOST:
        raise UserError(
            f"'{first.name}' runs on the host, and it is the kernels of one device that are timed",
            code="SIM-044",
            span=first.span,
            remedy="name the kernel: --entry NAME, or entry='NAME' in Python",
        )
    host = host or load_host()
    machine = _machine(backend, host)
    ours = {executor.op for executor in built_in()}
    foreign = {name: found for name, found in host.executors.items() if name not in ours}
    streams = Streams()
    result = run_bytes(
        program,
        inputs,
        entry,
        host=host,
        backend=machine,
        addressed=addressed,
        recorder=recorder(streams, program, machine, foreign),
        max_steps=max_steps,
        block_num=block_num,
        world_size=world_size,
    )
    report = time_streams(streams, machine, sync)
    return attrs.evolve(result, report={**result.report, "time": report})


def time_streams(streams: Streams, backend: Backend, sync: str = "auto") -> TimeReport:
    """Put the streams of all cores on the pipes."""
    cores: list[CoreTimes] = []
    for core, issued in streams.of.items():
        stream = derive_events(issued) if sync == "auto" else issued
        schedule = simulate(stream)
        cores.append(measure(core, schedule, hazards_of(stream, schedule)))
    placed, walls = _dealt_out(cores, backend)
    apart = {core: stream for core, stream in streams.of.items() if core.launch not in streams.joined}
    return TimeReport(
        backend=backend.name,
        frequency_mhz=backend.frequency_mhz,
        sync=sync,
        cores=tuple(placed),
        launches=tuple(walls),
        untimed=tuple(sorted(streams.untimed.items())),
        core_hazards=(*_core_flags(streams), *block_hazards(apart)),
    )


def _machine(backend: Backend | str | None, host: Host) -> Backend:
    from pypto_core.run import PassContext

    if isinstance(backend, Backend):
        return backend
    if backend is not None:
        return host.backend(backend)
    context = PassContext.current()
    if context is not None and context.backend is not None:
        return context.backend
    if len(host.backends) == 1:
        return next(iter(host.backends.values()))
    raise UserError(
        "it is not clear which machine to time",
        code="SIM-044",
        facts={"installed": ", ".join(host.backends) or "none"},
        remedy="give backend='910b', or run inside of a PassContext that has one",
    )


def _dealt_out(cores: Iterable[CoreTimes], backend: Backend) -> tuple[list[CoreTimes], list[float]]:
    """The blocks with their begin, each on the core that is free first, and the wall of each launch."""
    launches: dict[int, list[CoreTimes]] = {}
    for core in cores:
        launches.setdefault(core.core.launch, []).append(core)
    placed: list[CoreTimes] = []
    walls: list[float] = []
    for blocks in launches.values():
        uses_cube = any(row.pipe is PipeType.M for core in blocks for row in core.pipes)
        begin = sum(walls)
        free = [begin] * (backend.cores.cube if uses_cube else backend.cores.vector)
        for block in blocks:
            placed.append(attrs.evolve(block, begin=free[0]))
            heapq.heapreplace(free, free[0] + block.makespan)
        walls.append(max(free) - begin)
    return placed, walls


def _core_flags(streams: Streams) -> Iterable[Hazard]:
    for event, (sets, waits) in streams.core_flags.items():
        if sets and not waits or waits and not sets:
            what = "set and never waited for" if sets else "waited for and never set"
            yield Hazard(
                code="SIM-041",
                message=f"event {event} between cores is {what}",
                spans=(),
                times=max(sets, waits),
            )
