"""The devices of a run and the order in which they run.

Host code launches kernels on devices; each device works through its launches one by one. Exactly one device runs at a
time: the next one in turn that can, until it waits for a signal that is not there or has nothing left to do. So a run
takes the same course each time. Devices have threads of their own only because a wait may lie deep in a kernel.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from pypto_core.contract import ArrayValue, DistributedValue
from pypto_core.diagnostics import UNKNOWN_SPAN, DiagnosticError, Note, Span, UserError
from pypto_core.ir import Function, Level, ParamDirection
from pypto_plugin_simulator.devices.waits import Wait
from pypto_plugin_simulator.devices.windows import Use, Windows
from pypto_plugin_simulator.formats import Array

if TYPE_CHECKING:
    from pypto_plugin_simulator.interpreter import Interpreter


class _Cancelled(BaseException):
    """Ends the thread of a device whose run is over because of another; no error of its own."""


@attrs.frozen(eq=False)
class Promised:
    """A tensor that a launched kernel will return. ``index``: which of its results."""

    task: Task
    index: int

    @property
    def value(self) -> Any:
        """The tensor, once the kernel has run."""
        return self.task.results[self.index]


@attrs.define(eq=False)
class Task:
    """A launch. ``after``: launches on other devices that it has to wait for, as they share tensors of the host."""

    function: Function
    arguments: tuple[Any, ...]
    span: Span
    clock: Array
    after: list[Task] = attrs.field(factory=list)
    results: tuple[Any, ...] = ()
    done: bool = False

    def tensors(self, written: bool) -> list[Array]:
        """The tensors of the host that it writes, or all that it uses."""
        found: list[Array] = []
        for direction, value in zip(self.function.param_directions, self.arguments, strict=False):
            if written and direction is ParamDirection.In:
                continue
            if isinstance(value, Promised):
                found += value.task.tensors(written=True)
            elif isinstance(value, ArrayValue) and not isinstance(value, DistributedValue):
                found.append(value.data)
        return found

    def clashes(self, other: Task) -> bool:
        """Whether one of the two writes what the other uses."""
        pairs = ((self.tensors(True), other.tensors(False)), (self.tensors(False), other.tensors(True)))
        return any(_share(a, b) for mine, theirs in pairs for a in mine for b in theirs)


def _share(a: Array, b: Array) -> bool:
    return bool(np.may_share_memory(a, b) and np.shares_memory(a, b))


@attrs.define(eq=False)
class SimulatedDevice:
    """A :class:`pypto_core.contract.Device`. ``rank``: None for the host."""

    world: World
    rank: int | None
    run: Interpreter = attrs.field(init=False)
    clock: Array = attrs.field(init=False)
    span: Span = UNKNOWN_SPAN
    tasks: deque[Task] = attrs.field(factory=deque)
    waits: Wait | None = None
    error: BaseException | None = None
    resume: threading.Semaphore = attrs.field(factory=lambda: threading.Semaphore(0))
    thread: threading.Thread | None = None

    def __attrs_post_init__(self) -> None:
        self.clock = np.zeros(self.world.count, np.int64)
        if self.rank is not None:
            self.clock[self.rank] = 1

    @property
    def count(self) -> int:
        """How many devices take part in the run."""
        return self.world.count

    def allocate(self, size: int, name: str) -> tuple[Any, ...]:
        """A window."""
        if self.rank is not None and not self.world.alone:
            raise UserError(
                "a window is allocated by a kernel, which knows only of its own device",
                code="SIM-022",
                span=self.span,
                remedy="allocate it in the host function, and pass a distributed tensor in it",
            )
        return self.world.windows.allocate(size, name)

    def reads(self, part: Any) -> None:
        """A window is about to be read."""
        self.touch(part, Use.READ)

    def writes(self, part: Any, *, atomic: bool = False) -> None:
        """A window is about to be written."""
        self.touch(part, Use.ADD if atomic else Use.WRITE)

    def touch(self, part: Array, use: Use) -> None:
        """A window is about to be used."""
        if self.rank is not None:
            self.world.windows.touch(part, use, self.rank, self.clock, self.span)

    def notify(self, cell: Any, value: int, *, adds: bool) -> None:
        """A signal is changed."""
        self.world.windows.signal(cell, value, adds, self.rank, self.clock)
        if self.rank is not None:
            self.clock[self.rank] += 1

    def wait(self, cell: Any, ready: Callable[[int], bool], told: Callable[[], Mapping[str, object]]) -> None:
        """Let others run until a signal is there."""
        self._pause(Wait(lambda: ready(int(cell)), told, self.span))
        self.clock = np.maximum(self.clock, self.world.windows.heard(cell, ready, self.clock))

    def _pause(self, wait: Wait) -> None:
        if wait.ready():
            return
        if self.run.block is not None:
            self.run.block.wait(wait)
        else:
            self._give_way(wait)

    def idle(self, waits: Sequence[Wait]) -> None:
        """No block of a launch can go on by itself: let other devices run until one can."""
        told = [wait.told for wait in waits]
        self._give_way(
            Wait(
                lambda: any(wait.ready() for wait in waits),
                lambda: {key: value for each in told for key, value in each().items()},
                waits[0].span,
            )
        )

    def _give_way(self, wait: Wait) -> None:
        self.waits = wait
        if self.thread is None:  # nobody else is there to change anything
            raise self.world.stuck([self])
        self.world.back.release()
        self.resume.acquire()
        if self.world.cancelled:
            raise _Cancelled
        self.waits = None

    # -- launches

    @property
    def can_run(self) -> bool:
        """Whether there is something that it can do now."""
        return bool(self.tasks) and (self.waits is None or self.waits.ready())

    def advance(self) -> None:
        """Run until it waits or is done; raises what went wrong in it."""
        if self.thread is None:
            context = copy_context()
            self.thread = threading.Thread(target=context.run, args=(self._work,), daemon=True)
            self.thread.start()
        self.resume.release()
        self.world.back.acquire()
        if self.error is not None:
            raise self.error

    def _work(self) -> None:
        try:
            self.resume.acquire()
            with np.errstate(all="ignore"):
                while self.tasks and not self.world.cancelled:
                    self._execute(self.tasks[0])
                    self.tasks.popleft()
        except _Cancelled:
            pass
        except BaseException as error:
            self.error = _on_device(error, self.rank)
        finally:
            self.thread = None
            self.world.back.release()

    def _execute(self, task: Task) -> None:
        for earlier in task.after:
            self.span = task.span
            self._pause(
                Wait(
                    lambda task=earlier: task.done,
                    lambda task=earlier: {"waits for": f"the launch of '{task.function.name}' to end"},
                    task.span,
                )
            )
            self.clock = np.maximum(self.clock, earlier.clock)
        self.clock = np.maximum(self.clock, task.clock)
        arguments = tuple(_seen(value, self.rank) for value in task.arguments)
        task.results = self.run.launch(task.function, arguments, None, None, task.span)
        task.clock, task.done = self.clock.copy(), True
        assert self.rank is not None
        self.clock[self.rank] += 1


def _seen(value: Any, rank: int | None) -> Any:
    """An argument of a launch as the device sees it."""
    if isinstance(value, Promised):
        value = value.value
    return value.on(rank) if isinstance(value, DistributedValue) and rank is not None else value


def _on_device(error: BaseException, rank: int | None) -> BaseException:
    if isinstance(error, DiagnosticError):
        error.diagnostics = tuple(
            attrs.evolve(d, facts=(*d.facts, ("device", str(rank)))) for d in error.diagnostics
        )
    return error


@attrs.define(eq=False)
class World:
    """The devices of one run. ``alone``: there is no host code, the run begins with a kernel on the only device."""

    count: int
    alone: bool = False
    windows: Windows = attrs.field(init=False)
    host: SimulatedDevice = attrs.field(init=False)
    devices: list[SimulatedDevice] = attrs.field(init=False)
    back: threading.Semaphore = attrs.field(factory=lambda: threading.Semaphore(0))
    cancelled: bool = False
    launched: list[tuple[int, Task]] = attrs.field(factory=list)

    def __attrs_post_init__(self) -> None:
        self.windows = Windows(self.count)
        self.devices = [SimulatedDevice(self, rank) for rank in range(self.count)]
        self.host = self.devices[0] if self.alone else SimulatedDevice(self, None)

    @classmethod
    def of(cls, function: Function, count: int) -> World:
        """The devices for a run that begins with ``function``; raises UserError SIM-022 when it can't have so many."""
        on_host = function.level is Level.HOST
        if count < 1 or (count > 1 and not on_host):
            raise UserError(
                f"'{function.name}' can't be run on {count} devices",
                code="SIM-022",
                span=function.span,
                remedy="begin with a function of the host that launches it with device=r: @pl.jit.host, or "
                "level=pl.Level.HOST"
                if count > 1
                else "give a positive world_size",
            )
        return cls(count, alone=not on_host)

    def start(self, run: Interpreter) -> None:
        """Give each device its own memories; ``run`` is that of the host."""
        run.device = self.host
        self.host.run = run
        for device in self.devices:
            if device is not self.host:
                device.run = run.fork(device)

    def launch(self, rank: int, function: Function, arguments: tuple[Any, ...], span: Span) -> Any:
        """Have device ``rank`` run a kernel when it has done what it was told before; gives what is promised."""
        if not 0 <= rank < self.count:
            raise UserError(
                f"'{function.name}' is launched on device {rank}, and there are {self.count}",
                code="SIM-022",
                span=span,
                remedy="run with a greater world_size, or loop over pl.range(pld.world_size())",
            )
        task = Task(function, arguments, span, self.host.clock)
        task.after = [t for other, t in self.launched if other != rank and not t.done and t.clashes(task)]
        promised = [v.task for v in arguments if isinstance(v, Promised)]
        task.after += [t for t in promised if t not in task.after and t not in self.devices[rank].tasks]
        self.launched.append((rank, task))
        self.devices[rank].tasks.append(task)
        results = tuple(Promised(task, index) for index in range(len(function.return_types)))
        return None if not results else results[0] if len(results) == 1 else results

    def join(self) -> None:
        """Run the devices until all launches are done. Raises UserError SIM-020 when that can't be."""
        last: SimulatedDevice | None = None
        try:
            while able := [device for device in self.devices if device.can_run]:
                last = next_in_turn(able, last)
                last.advance()
            waiting = [device for device in self.devices if device.tasks]
            if waiting:
                raise self.stuck(waiting)
        except BaseException:
            self._cancel()
            raise
        self.launched.clear()
        self.host.clock = np.maximum.reduce([device.clock for device in self.devices])

    def _cancel(self) -> None:
        self.cancelled = True
        for device in self.devices:
            if device.thread is not None:
                device.resume.release()
                self.back.acquire()

    def stuck(self, waiting: list[SimulatedDevice]) -> UserError:
        """The error for devices that all wait."""
        facts: list[tuple[str, object]] = []
        notes: list[Note] = []
        for device in waiting:
            wait = device.waits
            assert wait is not None
            told = ", ".join(f"{key} {value}" for key, value in wait.told().items())
            where = f"{wait.span.filename}:{wait.span.begin_line}: " if wait.span.is_valid else ""
            facts.append((f"device {device.rank}", f"{where}{told}"))
            if device is not waiting[0]:
                notes.append(Note(message=f"device {device.rank} waits here", span=wait.span))
        first = waiting[0].waits
        assert first is not None
        idle = self.count - len(waiting)
        return UserError(
            "every device waits, and none can end another's wait"
            if not idle
            else f"{len(waiting)} of {self.count} devices wait, and the others are done",
            code="SIM-020",
            span=first.span,
            facts=facts,
            notes=tuple(notes),
            remedy="see which signal is missing: whether it goes to the right device and element, and is given "
            "before its sender waits itself",
        )


def next_in_turn(able: list[SimulatedDevice], last: SimulatedDevice | None) -> SimulatedDevice:
    """Which of the devices that can go on does so: the first one behind the last, else the first of all."""
    behind = -1 if last is None or last.rank is None else last.rank
    return next((device for device in able if device.rank is not None and device.rank > behind), able[0])


def settled(value: Any) -> Any:
    """A value of host code once all launches are done."""
    if isinstance(value, Promised):
        return value.value
    if isinstance(value, tuple):
        return tuple(settled(item) for item in value)  # pyright: ignore[reportUnknownVariableType]
    return value


def is_promised(value: Any) -> bool:
    """Whether a value of host code waits for a launch."""
    if isinstance(value, tuple):
        return any(map(is_promised, value))  # pyright: ignore[reportUnknownArgumentType]
    return isinstance(value, Promised)
