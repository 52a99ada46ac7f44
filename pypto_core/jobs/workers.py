"""Work on many things side by side: in this process, in others, or on machines of a cluster.

Results come in the order of what was asked for, whatever finishes first, and each item is worked on until it has one:
a worker that dies takes nothing with it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any, TypeVar, cast

import attrs

from pypto_core.diagnostics import UserError

T = TypeVar("T")
R = TypeVar("R")

MAX_ROUNDS = 4
"""How often an item is handed out before it is taken to be what kills its workers."""

_DASK = "dask://"


@attrs.define(eq=False)
class Workers:
    """Who does the work. ``executor``: None for this process. ``renew``: a new executor once that one is broken."""

    executor: Executor | None = None
    renew: Callable[[], Executor] | None = None


def map_jobs(
    function: Callable[[T], R],
    items: Iterable[T],
    workers: Workers | Executor | None = None,
    on_done: Callable[[int, R], None] | None = None,
) -> list[R]:
    """``[function(item) for item in items]``, done by ``workers``.

    ``function`` and the items have to be such that they can be sent to another process. ``on_done`` is told the number
    and the result of each item as it is finished. What ``function`` raises is raised here, and the rest called off.
    Raises UserError (PT864) for an item whose workers die time and again.
    """
    pool = workers if isinstance(workers, Workers) else Workers(workers)
    things = list(items)
    if pool.executor is None:
        results: list[R] = []
        for number, thing in enumerate(things):
            results.append(function(thing))
            if on_done is not None:
                on_done(number, results[-1])
        return results
    found: dict[int, R] = {}
    for _ in range(MAX_ROUNDS):
        try:
            _round(function, things, pool.executor, found, on_done)
            return [found[number] for number in range(len(things))]
        except BrokenExecutor:
            if pool.renew is None:
                break
            pool.executor = pool.renew()
    left = [number for number in range(len(things)) if number not in found]
    raise UserError(
        f"the workers died {MAX_ROUNDS} times with {len(left)} of {len(things)} jobs left",
        code="PT864",
        facts={"first of them": str(things[left[0]])[:120] if left else "none"},
        remedy="run that one by itself, or with fewer jobs if memory runs out",
    )


def _round(
    function: Callable[[T], R],
    things: list[T],
    executor: Executor,
    found: dict[int, R],
    on_done: Callable[[int, R], None] | None,
) -> None:
    """Hand out everything without a result; what is done by the time a worker dies is kept."""
    numbers: dict[Future[R], int] = {
        executor.submit(function, thing): number for number, thing in enumerate(things) if number not in found
    }
    waiting = set(numbers)
    broken: BrokenExecutor | None = None
    try:
        while waiting:
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                try:
                    result = future.result()
                except BrokenExecutor as error:
                    broken = error
                    continue
                found[numbers[future]] = result
                if on_done is not None:
                    on_done(numbers[future], result)
    finally:
        for future in waiting:
            future.cancel()
    if broken is not None:
        raise broken


@contextmanager
def open_workers(jobs: int | None = None, executor: str | None = None) -> Generator[Workers]:
    """The workers that ``--jobs`` and ``--executor`` ask for, closed at the end.

    ``jobs``: processes on this machine; one or none works in this process. ``executor``: ``dask://host:port`` of a
    scheduler, which needs the extra ``dask``. Raises UserError (PT865) for anything else, and when nobody answers.
    """
    if executor is not None:
        with _dask_workers(executor) as workers:
            yield workers
        return
    if jobs is None or jobs <= 1:
        yield Workers()
        return
    made: list[ProcessPoolExecutor] = []

    def renew() -> Executor:
        # A fresh interpreter in each: what the parent holds (threads, locks) is not copied.
        made.append(ProcessPoolExecutor(jobs, mp_context=get_context("spawn")))
        return made[-1]

    try:
        yield Workers(renew(), renew)
    finally:
        for pool in made:
            pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _dask_workers(text: str) -> Generator[Workers]:
    if not text.startswith(_DASK) or ":" not in text.removeprefix(_DASK):
        raise UserError(
            f"'{text}' names no executor", code="PT865", remedy=f"write {_DASK}host:port, or use --jobs N"
        )
    try:
        from distributed import Client  # pyright: ignore[reportMissingImports, reportUnknownVariableType]
    except ImportError:
        raise UserError(
            "dask is not installed", code="PT865", remedy="pip install 'pypto-core[dask]'"
        ) from None
    address = f"tcp://{text.removeprefix(_DASK)}"
    try:
        client = cast(Any, Client)(address, timeout=10, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise UserError(
            f"no dask scheduler answers at {address}: {error}",
            code="PT865",
            remedy="start one with: dask scheduler",
        ) from None
    try:
        # A job may be sent again when its worker dies; an equal job is never taken for the same one.
        yield Workers(client.get_executor(pure=False, retries=MAX_ROUNDS))
    finally:
        client.close()
