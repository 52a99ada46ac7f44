"""``pypto tile``: the tile that AutoTileMatmulL0 picks for a product, the runners-up, and why they lost."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from pypto_core.contract import Backend
from pypto_core.diagnostics import UserError
from pypto_core.host import load_host
from pypto_core.ir import DataType
from pypto_core.run import DEFAULT_PLANNER
from pypto_plugin_autotile.chooser import config_for, plot_landscape, schedule_gates, tile_report
from pypto_plugin_autotile.machine import STACKING_PLANNER


@click.command("tile")
@click.argument("m", metavar="M", type=int)
@click.argument("n", metavar="N", type=int)
@click.argument("k", metavar="K", type=int)
@click.option("--dtype", "-t", default="bf16", show_default=True, help="Element type of both operands.")
@click.option("--backend", "-b", help="Machine; may be left out when one is installed.")
@click.option("--planner", "-p", default=DEFAULT_PLANNER, show_default=True, help="Memory planner.")
@click.option("--double-buffer-c", is_flag=True, help="Allow two accumulators under every planner.")
@click.option(
    "--ask", multiple=True, metavar="M,N,K", help="Say why this tile was not chosen; may be repeated."
)
@click.option("--top", default=10, show_default=True, help="How many runners-up to show.")
@click.option("--plot", type=click.Path(dir_okay=False, path_type=Path), help="Draw the costs (.svg, .png).")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def command(
    m: int,
    n: int,
    k: int,
    dtype: str,
    backend: str | None,
    planner: str,
    double_buffer_c: bool,
    ask: tuple[str, ...],
    top: int,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Choose the L0 tile of an M x K by K x N product; walls are estimated core cycles."""
    machine, element = backend_of(backend), dtype_of(dtype)
    double = double_buffer_c or planner != STACKING_PLANNER
    report = tile_report(
        machine, m, n, k, element, double_buffer_c=double, top=top, ask=[_tile(text) for text in ask]
    )
    if plot is not None:
        gates: dict[str, Any] = dict(schedule_gates(double_buffer_c=double))
        plot_landscape(config_for(machine, m, n, k, element, **gates), plot)
    if as_json:
        click.echo(json.dumps(report["choice"], indent=2, ensure_ascii=False))
        return
    click.echo(report["title"])
    click.echo("\n".join(_columns([report["columns"], *report["rows"]])))
    for note in report["notes"]:
        click.echo(note)


def backend_of(name: str | None) -> Backend:
    """The machine of that name, or the only one. Raises UserError (PT612) when it is not clear which."""
    host = load_host()
    if name is not None:
        return host.backend(name)
    if len(host.backends) == 1:
        return next(iter(host.backends.values()))
    raise UserError(
        "it is not clear which machine to choose a tile for",
        code="PT612",
        facts={"installed": ", ".join(host.backends) or "none"},
        remedy="name one: --backend 910b",
    )


def dtype_of(name: str) -> DataType:
    """The element type of that name or text. Raises UserError (PT612) when there is none."""
    found = {known.name.lower(): known for known in DataType} | {known.text: known for known in DataType}
    if name.lower() in found:
        return found[name.lower()]
    raise UserError(
        f"there is no element type '{name}'",
        code="PT612",
        facts={"types": ", ".join(known.name.lower() for known in DataType)},
        remedy="name one of them: --dtype bf16",
    )


def _tile(text: str) -> tuple[int, int, int]:
    parts = text.replace("x", ",").split(",")
    if len(parts) != 3 or not all(part.strip().isdigit() for part in parts):
        raise UserError(f"'{text}' is not a tile", code="PT612", remedy="write it as m,n,k: --ask 128,256,64")
    m, n, k = (int(part) for part in parts)
    return m, n, k


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
