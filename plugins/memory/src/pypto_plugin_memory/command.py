"""``pypto memory``: what lies where in each memory, statement by statement."""

from __future__ import annotations

import json
from pathlib import Path

import click

from pypto_core.cli import make_context, parse_options, target_options
from pypto_core.diagnostics import UserError
from pypto_core.host import load_host
from pypto_core.ir import FunctionIRStage
from pypto_core.run import Compiled, compile, write_file
from pypto_plugin_memory.memory_map import MemoryMap, memory_map

PLACED, STATED = "AllocatedMemoryAddr", "HasMemRefs"


@click.command("memory")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@target_options
@click.option("--picture", type=click.Path(dir_okay=False, path_type=Path), help="Draw the map (.svg).")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def command(
    file: Path,
    backend: str | None,
    planner: str | None,
    options: tuple[str, ...],
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
    found = compiled_map(file, backend, planner, options)
    if picture is not None:
        write_file(picture, found.svg())
    click.echo(json.dumps(found.to_json(), indent=2) if as_json else found.render())


def compiled_map(file: Path, backend: str | None, planner: str | None, options: tuple[str, ...]) -> MemoryMap:
    """The map of a kernel file, as far as the planner places tiles."""
    host = load_host()
    context = make_context(host, backend, planner, parse_options(options))
    assigns = host.planner(context.planner).assigns_addresses
    compiled = compile(
        file,
        host=host,
        backend=context.backend,
        planner=context.planner,
        goal=PLACED if assigns else STATED,
        **parse_options(options),
    )
    return map_of(compiled)


def map_of(compiled: Compiled) -> MemoryMap:
    """The map of a compilation: of its program as it was when tiles last had a place."""
    for stage in reversed(compiled.stages):
        # Kernels on buffers have no tiles: those of all kernels are there together before.
        in_tiles = all(f.ir_stage is FunctionIRStage.Functional for f in stage.program)
        if in_tiles and {PLACED, STATED} & stage.held:
            found = memory_map(stage.program, compiled.context.backend, addressed=PLACED in stage.held)
            if found.spaces:
                return found
    return MemoryMap([])


def report_section(compiled: Compiled) -> str:
    """The map as part of a report."""
    found = map_of(compiled)
    return found.svg() if found.spaces else ""
