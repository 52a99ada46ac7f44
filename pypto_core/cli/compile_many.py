"""Several files in one go, with progress for people and one row each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from pypto_core.cli.output import console, emit_json, error_console, table
from pypto_core.diagnostics import UserError, render
from pypto_core.jobs import Outcome, Workers, compile_many
from pypto_core.run import write_file


def compile_files(
    files: Sequence[Path], workers: Workers, output: Path | None, options: Mapping[str, Any], as_json: bool
) -> int:
    """Compile, write, tell; the exit code is 0 when all went well, 2 for mistakes, 3 for faults of the compiler."""
    folders = _folders(files, output)
    errors = error_console()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal) as progress:
        task = progress.add_task("compiling", total=len(files))

        def done(number: int, outcome: Outcome) -> None:
            """Written as it comes, so that an interruption loses nothing that was finished."""
            folder = folders[number]
            for artifact in outcome.artifacts if folder is not None else ():
                write_file(folder / artifact.name, artifact.content)  # type: ignore[operator]
            progress.advance(task)

        outcomes = compile_many(files, workers, done, **options)
    if as_json:
        emit_json([_data(outcome, folder) for outcome, folder in zip(outcomes, folders, strict=True)])
    else:
        for outcome in outcomes:
            for diagnostic in (*outcome.diagnostics, *outcome.errors):
                errors.print(render(diagnostic))
        console().print(table(("file", "artifacts", "bytes", "hints", "ms", ""), map(_row, outcomes)))
    if any(outcome.fault for outcome in outcomes):
        return 3
    return 0 if all(outcome.ok for outcome in outcomes) else 2


def _folders(files: Sequence[Path], output: Path | None) -> list[Path | None]:
    """A folder for each file: its name without the ending, which has to be a name of its own."""
    if output is None:
        return [None] * len(files)
    stems = [file.stem for file in files]
    twice = next((stem for stem in stems if stems.count(stem) > 1), None)
    if twice is not None:
        raise UserError(
            f"two of the files would be written to '{output / twice}'",
            code="PT866",
            remedy="compile them in two goes, or give one another name",
        )
    return [output / stem for stem in stems]


def _row(outcome: Outcome) -> tuple[object, ...]:
    size = sum(len(artifact.content) for artifact in outcome.artifacts)
    verdict = "" if outcome.ok else outcome.errors[0].code
    hints = len(outcome.diagnostics)
    return outcome.name, len(outcome.artifacts), size, hints, f"{outcome.seconds * 1e3:.0f}", verdict


def _data(outcome: Outcome, folder: Path | None) -> dict[str, Any]:
    return {
        "file": outcome.name,
        "ok": outcome.ok,
        "artifacts": [
            {
                "name": a.name,
                "bytes": len(a.content),
                "file": str(folder / a.name) if folder is not None else None,
                "text": a.data if folder is None and isinstance(a.data, str) else None,
            }
            for a in outcome.artifacts
        ],
        "diagnostics": [d.to_json() for d in outcome.diagnostics],
        "errors": [d.to_json() for d in outcome.errors],
        "seconds": round(outcome.seconds, 6),
    }
