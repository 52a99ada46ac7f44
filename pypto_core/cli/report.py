"""``pypto report``: everything about one compilation in one HTML file."""

from __future__ import annotations

from pathlib import Path

import click

from pypto_core.cli.choices import make_wishes, parse_options, solver_options, target_options
from pypto_core.cli.output import emit_json, json_option
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
) -> None:
    """Compile FILE and write a report: by default beside it, as FILE with the ending .html.

    The report shows the pipeline with its reasons and times, the program after each pass, hints at their lines, what
    installed plugins add, and the output. It is one file and needs no network.
    """
    host = load_host()
    compiled = compile(
        file,
        host=host,
        wishes=make_wishes(host, allow_rerun, solver_budget),
        backend=backend,
        planner=planner,
        goal=goal,
        **parse_options(options),
    )
    path = output or file.with_suffix(".html")
    text = render_report(compiled)
    write_file(path, text)
    if as_json:
        emit_json({"report": str(path), "bytes": len(text.encode())})
    else:
        click.echo(f"wrote {path}")
