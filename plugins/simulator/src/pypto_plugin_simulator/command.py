"""``pypto profile``: what the pipes of the machine do while a kernel runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from pypto_core.cli import load_arrays, make_context, parse_options, target_options
from pypto_core.contract import entry_function
from pypto_core.diagnostics import UserError, render
from pypto_core.host import load_host
from pypto_core.ir import Function, ScalarType, TensorType, Var, base_name
from pypto_core.run import as_program, compile, write_file
from pypto_plugin_simulator.interpreter import DEFAULT_MAX_STEPS
from pypto_plugin_simulator.timing.engine import SYNC, run
from pypto_plugin_simulator.timing.report import TimeReport


@click.command("profile")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@target_options
@click.option("--goal", "-g", default="pto", show_default=True, help="How far to compile before running.")
@click.option("--entry", "-e", help="Function to run, when the program has several.")
@click.option("--inputs", type=click.Path(exists=True, path_type=Path), help=".npz with arrays by parameter.")
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of random inputs."
)
@click.option("--blocks", type=click.IntRange(min=1), default=1, show_default=True, help="Blocks to launch.")
@click.option(
    "--max-steps",
    type=click.IntRange(min=1),
    default=DEFAULT_MAX_STEPS,
    show_default=True,
    help="Statements after which a run is stopped.",
)
@click.option(
    "--sync",
    type=click.Choice(SYNC),
    default="auto",
    show_default=True,
    help="auto: events as the assembler inserts them; program: the program's own alone.",
)
@click.option(
    "--trace", type=click.Path(dir_okay=False, path_type=Path), help="Write trace events for Perfetto."
)
@click.option(
    "--picture", type=click.Path(dir_okay=False, path_type=Path), help="Draw the timeline (.svg, .png)."
)
@click.option("--top", type=click.IntRange(min=0), default=8, show_default=True, help="Statements to show.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
def command(
    file: Path,
    backend: str | None,
    planner: str | None,
    options: tuple[str, ...],
    goal: str,
    entry: str | None,
    inputs: Path | None,
    seed: int,
    blocks: int,
    max_steps: int,
    sync: str,
    trace: Path | None,
    picture: Path | None,
    top: int,
    as_json: bool,
) -> int:
    """Compile the kernel in FILE, run it on this computer and show how busy each pipe of the machine is.

    Inputs that are not given are random. Exit code 1 when a race or an unbalanced event is found.
    """
    host = load_host()
    given = parse_options(options)
    context = make_context(host, backend, planner, given)
    program = as_program(file)
    function = entry_function(program, entry)
    arrays = _inputs(function, inputs, seed)
    with context:
        try:
            compiled = compile(program, goal=goal, host=host, **given)
        except UserError:
            # What the target refuses to write may run all the same; what can't be compiled is refused again.
            compiled = compile(program, goal=goal, emit=False, host=host, **given)
        report: TimeReport = run(
            compiled.program,
            arrays,
            function.name,
            backend=context.backend,
            sync=sync,
            host=host,
            block_num=blocks,
            max_steps=max_steps,
        ).report["time"]
    if trace is not None:
        from pypto_plugin_simulator.timing.chrome import trace_events

        write_file(trace, json.dumps(trace_events(report)).encode())
    if picture is not None:
        from pypto_plugin_simulator.timing.picture import draw  # matplotlib only where it is asked for

        draw(report, picture)
    if as_json:
        data = {"function": function.name, "planner": context.planner, **report.to_json()}
        data["diagnostics"] = [diagnostic.to_json() for diagnostic in compiled.diagnostics]
        click.echo(json.dumps(data, indent=2, ensure_ascii=False))
    else:
        from pypto_plugin_simulator.timing.tables import show

        for diagnostic in compiled.diagnostics:
            click.echo(render(diagnostic), err=True)
        show(report, top)
    return 1 if report.hazards else 0


def _inputs(function: Function, path: Path | None, seed: int) -> dict[str, Any]:
    """Random inputs, those that ``path`` has in their place."""
    from pypto_core.testing import random_inputs  # loads numpy

    if path is None:
        return random_inputs(function, seed=seed)
    given = load_arrays(path, function)
    drawn = random_inputs(function, seed=seed, dims=_extents(function, given))
    unknown = sorted(set(given) - set(drawn))
    if unknown:
        raise UserError(
            f"'{path}' holds '{unknown[0]}', which is no parameter of '{function.name}'",
            code="SIM-003",
            facts={"parameters": ", ".join(drawn)},
            remedy="name inputs as the parameters are named",
        )
    return {**drawn, **given}


def _extents(function: Function, given: Mapping[str, Any]) -> dict[str, int]:
    """What the given arrays and numbers say about the symbolic extents of the others."""
    found: dict[str, int] = {}
    for param in function.params:
        value = given.get(base_name(param.name_hint))
        if value is None:
            continue
        if isinstance(param.type, TensorType):
            extents = zip(param.type.shape, value.shape, strict=False)
            found |= {base_name(dim.name_hint): extent for dim, extent in extents if isinstance(dim, Var)}
        elif isinstance(param.type, ScalarType) and param.type.dtype.is_int:
            found[base_name(param.name_hint)] = int(value)
    return found
