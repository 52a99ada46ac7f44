"""``pypto report``: everything about one compilation in one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pypto_core.cli.choices import make_wishes, parse_options, solver_options, target_options
from pypto_core.cli.output import emit_json, error_console, json_option
from pypto_core.diagnostics import UserError
from pypto_core.host import load_host
from pypto_core.report import render_report
from pypto_core.run import compile, write_file


@click.command("report")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@target_options
@solver_options
@click.option("--goal", "-g", default="pto", show_default=True, help="A target, or a property to reach.")
@click.option("--output", "-o", type=click.Path(dir_okay=False, path_type=Path), help="File to write.")
@json_option
def command(
    file: Path,
    backend: str | None,
    planner: str | None,
    options: tuple[str, ...],
    allow_rerun: tuple[str, ...],
    solver_budget: int,
    goal: str,
    output: Path | None,
    as_json: bool,
) -> int:
    """Compile FILE and write a report: by default beside it, as FILE with the ending .html.

    The report shows the pipeline with its reasons and times, the program after each pass, hints at their lines, what
    installed plugins add, and the output. It is one file and needs no network.
    """
    host = load_host()
    wanted: dict[str, Any] = {
        "host": host,
        "wishes": make_wishes(host, allow_rerun, solver_budget),
        "backend": backend,
        "planner": planner,
        "goal": goal,
        **parse_options(options),
    }
    refused: UserError | None = None
    try:
        compiled = compile(file, **wanted)
    except UserError as error:
        # What can be planned and run may be more than the target can write.
        compiled, refused = compile(file, emit=False, **wanted), error
    path = output or file.with_suffix(".html")
    text = render_report(compiled, refused)
    write_file(path, text)
    if as_json:
        emit_json({"report": str(path), "bytes": len(text.encode()), "written": refused is None})
    else:
        click.echo(f"wrote {path}")
    if refused is not None:
        error_console().print(refused.render())
        return 2
    return 0
