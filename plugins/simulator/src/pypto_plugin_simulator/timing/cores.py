"""From the steps of a run to one stream for each core."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from pypto_core.contract import Backend, OpExecutor
from pypto_core.diagnostics import UserError
from pypto_core.ir import AssignStmt, AtomicType, Call, Function, PipeType, Program, base_name, walk
from pypto_plugin_simulator.cycles import cycles_of
from pypto_plugin_simulator.timing.stream import Barrier, Extent, Flag, Item, SetFlag, WaitFlag, Work
from pypto_plugin_simulator.trace import ByteRange, Recorder, Step

_ALL_PIPES = ("system.bar_all", "system.syncall")
_CORE_FLAGS = ("system.sync_set", "system.sync_wait")
_BETWEEN_CORES = ("system.syncall", *_CORE_FLAGS)


@attrs.frozen(order=True)
class Core:
    """Where a stream runs: the launch that it belongs to, the block, and the vector core within the block."""

    launch: int
    block: int
    subblock: int


@attrs.define(eq=False)
class Streams:
    """What each core does, filled step by step while a program runs.

    ``of``: the streams. ``untimed``: operators that ran on no pipe although they touch bytes, and how often.
    ``core_flags``: sets and waits of each event between cores. ``joined``: launches whose cores wait for each other.
    """

    of: dict[Core, list[Item]] = attrs.field(factory=dict[Core, list[Item]])
    untimed: dict[str, int] = attrs.field(factory=dict[str, int])
    core_flags: dict[int, tuple[int, int]] = attrs.field(factory=dict[int, tuple[int, int]])
    joined: set[int] = attrs.field(factory=set[int])


def recorder(
    streams: Streams, program: Program | Function, backend: Backend, executors: Mapping[str, OpExecutor]
) -> Recorder:
    """Sorts steps by core into ``streams`` and gives the work its time. The program's own flags stay where they are.

    Nothing of a step is kept but what the stream needs: the data of a long run would fill the memory.
    """
    labels = _labels(program)

    def record(step: Step) -> None:
        stream = streams.of.setdefault(Core(step.launch, step.block.index, step.block.subblock), [])
        if step.kind == "sync":
            stream += _mark(step, streams)
        elif step.pipe is None:
            streams.untimed[step.op] = streams.untimed.get(step.op, 0) + 1
        else:
            stream.append(
                Work(
                    index=step.index,
                    pipe=step.pipe,
                    cycles=cycles_of(backend, step, executors),
                    reads=_extents(step.reads),
                    writes=_extents(step.writes),
                    label=labels.get(step.call) or step.op,
                    span=step.span,
                    atomic=step.call.kwargs.get("atomic", AtomicType.None_) is not AtomicType.None_,
                )
            )

    return record


def _extents(ranges: Iterable[ByteRange]) -> tuple[Extent, ...]:
    return tuple((_area(r), r.start, r.stop) for r in ranges)


def _area(touched: ByteRange) -> str:
    return f"{touched.space.name} of {touched.storage}" if touched.storage else touched.space.name


def _mark(step: Step, streams: Streams) -> list[Item]:
    """The flag or barrier of an operator that only orders others; none for those within one pipe."""
    options: Mapping[str, Any] = step.call.kwargs
    if step.op in _BETWEEN_CORES:
        streams.joined.add(step.launch)
    if step.op in _ALL_PIPES:
        return [Barrier(step.span)]
    if step.op in _CORE_FLAGS:
        sets, waits = streams.core_flags.get(options["event_id"], (0, 0))
        is_set = step.op == "system.sync_set"
        streams.core_flags[options["event_id"]] = (sets + is_set, waits + (not is_set))
        return []
    if step.op not in ("system.sync_src", "system.sync_dst"):
        return []
    source, target = PipeType(options["set_pipe"]), PipeType(options["wait_pipe"])
    if PipeType.ALL in (source, target) or source is target:
        raise UserError(
            f"an event goes from one pipe to another one, not from {source.name} to {target.name}",
            code="SIM-041", span=step.span, remedy="name two pipes, or use a barrier",
        )  # fmt: skip
    flag = Flag(source, target, options["event_id"])
    return [(SetFlag if step.op == "system.sync_src" else WaitFlag)(flag, step.span)]


def _labels(program: Program | Function) -> dict[Call, str]:
    """``result = operator`` for each call that is assigned; nodes are told apart by identity."""
    functions = [program] if isinstance(program, Function) else program.functions.values()
    return {
        node.value: f"{base_name(node.var.name_hint)} = {node.value.op.name}"
        for function in functions
        for node in walk(function.body)
        if isinstance(node, AssignStmt) and isinstance(node.value, Call)
    }
