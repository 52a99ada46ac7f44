"""``pypto memory``: what lies where in each memory, statement by statement."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click

from pypto_core.cli import make_context, parse_options, target_options
from pypto_core.contract import Backend
from pypto_core.diagnostics import UserError
from pypto_core.host import Host, load_host
from pypto_core.ir import FunctionIRStage
from pypto_core.run import Compiled, PassContext, Stage, as_program, goals_of, resolve, write_file
from pypto_plugin_memory.memory_map import MemoryMap, memory_map

PLACED, STATED = "AllocatedMemoryAddr", "HasMemRefs"
TARGET = "pto"


@click.command("memory")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@target_options
@click.option(
    "--goal",
    "-g",
    help=f"How far to compile; by default to {TARGET}, or until tiles have a place without it.",
)
@click.option("--picture", type=click.Path(dir_okay=False, path_type=Path), help="Draw the map (.svg).")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def command(
    file: Path,
    backend: str | None,
    planner: str | None,
    options: tuple[str, ...],
    goal: str | None,
    picture: Path | None,
    as_json: bool,
) -> None:
    """Show the memory map of the kernels in FILE: address by statement, per memory, with its capacity."""
    if picture is not None and picture.suffix.lower() != ".svg":
        raise UserError(
            f"no picture of the form '{picture.suffix or picture.name}' can be drawn",
            code="PT632",
            remedy="give a name that ends in .svg",
        )
    found = compiled_map(file, backend, planner, options, goal)
    if picture is not None:
        write_file(picture, found.svg())
    text = (
        found.render()
        or "no tile has a place: nothing lies on chip, or the goal comes before places are known"
    )
    click.echo(json.dumps(found.to_json(), indent=2) if as_json else text)


def compiled_map(
    file: Path, backend: str | None, planner: str | None, options: tuple[str, ...], goal: str | None = None
) -> MemoryMap:
    """The map of a kernel file, after all passes that the target wants; nothing is written for the target."""
    host = load_host()
    context = make_context(host, backend, planner, parse_options(options))
    program = as_program(file)
    _, goals = goals_of(goal or _default_goal(host, context), context, host)
    run = resolve(context, host, goals, program).run(program, context)
    return _map_of(run.stages, context.backend)


def _default_goal(host: Host, context: PassContext) -> str:
    # Not only to the addresses: which loops are pipelined, and so how many tiles there are, the target decides.
    if TARGET in host.targets:
        return TARGET
    return PLACED if host.planner(context.planner).assigns_addresses else STATED


def map_of(compiled: Compiled) -> MemoryMap:
    """The map of a compilation: of its program as it was when tiles last had a place."""
    return _map_of(compiled.stages, compiled.context.backend)


def _map_of(stages: Sequence[Stage], backend: Backend | None) -> MemoryMap:
    for stage in reversed(stages):
        # Kernels on buffers have no tiles: those of all kernels are there together before.
        in_tiles = all(f.ir_stage is FunctionIRStage.Functional for f in stage.program)
        if in_tiles and {PLACED, STATED} & stage.held:
            found = memory_map(stage.program, backend, addressed=PLACED in stage.held)
            if found.spaces:
                return found
    return MemoryMap([])


def report_section(compiled: Compiled) -> str:
    """The map as part of a report."""
    found = map_of(compiled)
    return found.svg() if found.spaces else ""
