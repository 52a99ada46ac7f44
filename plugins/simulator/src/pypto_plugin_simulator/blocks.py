"""The blocks of a launch: one after the other, or together where they wait for each other.

A kernel with ``system.syncall`` goes on when all blocks have got there, and a block may wait for other devices while
its neighbours go on. Blocks then take turns: each runs until it waits or has ended, in their order, so that a run takes
the same course each time. They have threads of their own only because the wait may lie deep in a kernel; one of them
runs at a time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Container, Iterable, Mapping
from contextvars import copy_context
from typing import Any

import attrs
import numpy as np

from pypto_core.diagnostics import Span, UserError
from pypto_core.ir import Call, Function, Stmt, Submit, walk
from pypto_plugin_simulator.devices.waits import Wait

BARRIER = "system.syncall"


def meets(body: Stmt, functions: Mapping[str, Function], others: Container[str] = ()) -> bool:
    """Whether a region, or a function that it calls, waits for all blocks, or by one of the operators ``others``."""
    seen: set[str] = set()
    todo = [body]
    while todo:
        for node in walk(todo.pop()):
            if not isinstance(node, Call | Submit):
                continue
            name = node.op.name
            if name == BARRIER or name in others:
                return True
            callee = functions.get(name)
            if callee is not None and name not in seen:
                seen.add(name)
                todo.append(callee.body)
    return False


class _Cancelled(BaseException):
    """Ends the thread of a block because of an error in another."""


@attrs.define(eq=False)
class Block:
    """One block of a launch that takes turns with the others."""

    index: int
    work: Callable[[], Any]
    result: Any = None
    error: BaseException | None = None
    waits: Span | None = None
    pause: Wait | None = None
    done: bool = False
    cancelled: bool = False
    thread: threading.Thread | None = None
    go: threading.Semaphore = attrs.field(factory=lambda: threading.Semaphore(0))
    back: threading.Semaphore = attrs.field(factory=lambda: threading.Semaphore(0))

    def arrive(self, span: Span) -> None:
        """Wait for the others."""
        self.waits = span
        self._give_way()
        self.waits = None

    def wait(self, pause: Wait) -> None:
        """Let the others run until something comes from another device."""
        while not pause.ready():
            self.pause = pause
            self._give_way()
        self.pause = None

    def _give_way(self) -> None:
        self.back.release()
        self.go.acquire()
        if self.cancelled:
            raise _Cancelled

    @property
    def can_go(self) -> bool:
        """Whether there is something that it can do without the others."""
        return not self.done and self.waits is None and (self.pause is None or self.pause.ready())

    def advance(self) -> None:
        """Run until the block waits or has ended; raises what went wrong in it."""
        if self.thread is None:
            self.thread = threading.Thread(target=copy_context().run, args=(self._run,), daemon=True)
            self.thread.start()
        else:
            self.go.release()
        self.back.acquire()
        if self.error is not None:
            raise self.error

    def _run(self) -> None:
        try:
            with np.errstate(all="ignore"):  # what a run allows, threads have to be told again
                self.result = self.work()
        except _Cancelled:
            pass
        except BaseException as error:
            self.error = error
        finally:
            self.done, self.waits, self.pause = True, None, None
            self.back.release()

    def cancel(self) -> None:
        """End the thread of a block that waits."""
        if self.waits is not None or self.pause is not None:
            self.cancelled = True
            self.go.release()
            self.back.acquire()


def run_together(
    works: Iterable[Callable[[], Any]],
    turn: Callable[[Block | None], None],
    idle: Callable[[list[Wait]], None],
) -> list[Any]:
    """What the works of all blocks give.

    ``turn`` is told whose turn it is, and None when it is nobody's; ``idle`` waits for other devices when no block can
    go on without. Raises UserError (SIM-005) when a block waits for another that has ended.
    """
    blocks = [Block(index, work) for index, work in enumerate(works)]

    def advance(some: Iterable[Block]) -> None:
        for block in some:
            turn(block)
            block.advance()

    try:
        while not all(block.done for block in blocks):
            if able := [block for block in blocks if block.can_go]:
                advance(able)
            elif pauses := [block.pause for block in blocks if block.pause is not None]:
                turn(None)
                idle(pauses)
            else:  # all have arrived
                _check(blocks)
                advance(blocks)
    finally:
        turn(None)
        for block in blocks:
            block.cancel()
    return [block.result for block in blocks]


def _check(blocks: list[Block]) -> None:
    ended = [block for block in blocks if block.done]
    waiting = {block: block.waits for block in blocks if block.waits is not None}
    if ended and waiting:
        first, span = next(iter(waiting.items()))
        raise UserError(
            f"block {first.index} waits for all blocks, and block {ended[0].index} has ended",
            code="SIM-005",
            span=span,
            facts={"waiting": _names(waiting), "ended": _names(ended)},
            remedy="let all blocks come by the same number of syncalls",
        )


def _names(blocks: Iterable[Block]) -> str:
    return ", ".join(str(block.index) for block in blocks)


__all__ = ["BARRIER", "Block", "meets", "run_together"]
