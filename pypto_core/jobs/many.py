"""Compiling many kernels, side by side where there is somebody to do it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import Any

import attrs

from pypto_core.contract import Artifact
from pypto_core.diagnostics import Diagnostic, DiagnosticError, InternalError, checked
from pypto_core.jobs.workers import Workers, map_jobs
from pypto_core.run import compile


@attrs.frozen(kw_only=True)
class Outcome:
    """What became of one kernel file. ``errors``: why it could not be compiled; empty when it was.

    ``fault``: whether the compiler is to blame. ``seconds``: how long it took where it was done.
    """

    name: str
    artifacts: tuple[Artifact, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    errors: tuple[Diagnostic, ...] = ()
    fault: bool = False
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether it was compiled."""
        return not self.errors


@checked("workers")
def compile_many(
    files: Iterable[str | Path],
    workers: Workers | Executor | None = None,
    on_done: Callable[[int, Outcome], None] | None = None,
    **options: Any,
) -> list[Outcome]:
    """Compile each file as :func:`compile` does with ``options``; one that fails does not stop the others.

    Files are read here, so that workers need not see the same folders. Outcomes are in the order of the files.
    """
    misplaced = {"executor", "jobs"} & options.keys()
    if misplaced:
        raise TypeError(f"compile_many takes its workers as the second argument, not as {misplaced.pop()!r}")
    texts = [(str(path), Path(path).read_text(encoding="utf-8")) for path in files]
    return map_jobs(partial(_compile_text, options), texts, workers, on_done)


def _compile_text(options: Mapping[str, Any], named: tuple[str, str]) -> Outcome:
    from pypto_core.language import parse  # programs made in Python need no front end

    name, text = named
    started = time.perf_counter()
    try:
        compiled = compile(parse(text, name), **options)
    except DiagnosticError as error:
        return Outcome(
            name=name,
            errors=tuple(error.diagnostics),
            fault=isinstance(error, InternalError),
            seconds=time.perf_counter() - started,
        )
    return Outcome(
        name=name,
        artifacts=compiled.artifacts,
        diagnostics=compiled.diagnostics,
        seconds=time.perf_counter() - started,
    )
