"""``pypto compile``: from a kernel file to what the assembler takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pypto_core.cli.choices import (
    make_wishes,
    parse_options,
    solver_options,
    target_options,
    worker_options,
)
from pypto_core.cli.compile_many import compile_files
from pypto_core.cli.memory import memory_rows, print_memory
from pypto_core.cli.output import console, emit_json, error_console, json_option, table
from pypto_core.diagnostics import render
from pypto_core.host import load_host
from pypto_core.jobs import open_workers
from pypto_core.run import Compiled, compile


@click.command("compile")
@click.argument(
    "files",
    nargs=-1,
    required=True,
    metavar="FILE...",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
)
@target_options
@solver_options
@worker_options
@click.option("--goal", "-g", default="pto", show_default=True, help="A target, or a property to reach.")
@click.option("--output", "-o", type=click.Path(file_okay=False, path_type=Path), help="Folder to write to.")
@click.option("--dump-passes", is_flag=True, help="Write the program after each pass (needs --output).")
@click.option("--verify", type=click.Choice(["none", "basic", "roundtrip"]), help="How much to check.")
@json_option
def command(
    files: tuple[Path, ...],
    backend: str | None,
    planner: str | None,
    options: tuple[str, ...],
    allow_rerun: tuple[str, ...],
    solver_budget: int,
    jobs: int | None,
    executor: str | None,
    goal: str,
    output: Path | None,
    dump_passes: bool,
    verify: str | None,
    as_json: bool,
) -> int:
    """Compile the kernels in each FILE, which is parsed and never executed.

    Without --output the artifacts are printed. Several files may share the work (--jobs); each then gets a folder of
    its name below --output, and one that can't be compiled does not stop the others.
    """
    host = load_host()
    if len(files) > 1 or jobs is not None or executor is not None:
        if dump_passes:
            raise click.UsageError("--dump-passes is for one file at a time")
        wanted: dict[str, Any] = {
            "wishes": make_wishes(host, allow_rerun, solver_budget),
            "backend": backend,
            "planner": planner,
            "goal": goal,
            "verification": verify,
            **parse_options(options),
        }
        with open_workers(jobs, executor) as workers:
            return compile_files(files, workers, output, wanted, as_json)
    file = next(iter(files))  # click refuses a call without one
    compiled = compile(
        file,
        host=host,
        wishes=make_wishes(host, allow_rerun, solver_budget),
        backend=backend,
        planner=planner,
        goal=goal,
        output_dir=output,
        dump_passes=dump_passes,
        verification=verify,
        **parse_options(options),
    )
    if as_json:
        emit_json(_data(compiled, output))
        return 0
    errors = error_console()
    for diagnostic in compiled.diagnostics:
        errors.print(render(diagnostic))
    out = console()
    if output is None:
        for artifact in compiled.artifacts:
            out.print(artifact.data if isinstance(artifact.data, str) else f"{artifact.name}: binary")
        return 0
    print_memory(out, memory_rows(compiled))
    names = [(a.name, len(a.content), output / a.name) for a in compiled.artifacts]
    out.print(table(("artifact", "bytes", "file"), names, right=("bytes",)))
    return 0


def _data(compiled: Compiled, output: Path | None) -> dict[str, Any]:
    return {
        "program": compiled.program.name,
        "pipeline": compiled.plan.spec(),
        "planner": compiled.context.planner,
        "backend": compiled.context.backend.name if compiled.context.backend else None,
        "artifacts": [
            {
                "name": a.name,
                "bytes": len(a.content),
                "file": str(output / a.name) if output is not None else None,
                "text": a.data if output is None and isinstance(a.data, str) else None,
            }
            for a in compiled.artifacts
        ],
        "memory": memory_rows(compiled),
        "diagnostics": [d.to_json() for d in compiled.diagnostics],
        "seconds": {name: round(seconds, 6) for name, seconds in compiled.timings},
    }
