"""``pypto sweep``: the tiles of many products at once."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import click

from pypto_core.cli import worker_options
from pypto_core.contract import Backend
from pypto_core.diagnostics import UserError
from pypto_core.host import load_host
from pypto_core.jobs import map_jobs, open_workers
from pypto_core.run import DEFAULT_PLANNER
from pypto_plugin_autotile.chooser import choose_l0_tile, config_for, schedule_gates
from pypto_plugin_autotile.command import backend_of, dtype_of
from pypto_plugin_autotile.machine import STACKING_PLANNER

COLUMNS = ("m", "n", "k")
CHUNK = 64
"""Products of one job: a choice takes about a millisecond, too little to be sent by itself."""


@attrs.frozen
class Asked:
    """A product: extents and the element type of its operands, as text."""

    M: int
    N: int
    K: int
    dtype: str


@click.command("sweep")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--backend", "-b", help="Machine; may be left out when one is installed.")
@click.option("--planner", "-p", default=DEFAULT_PLANNER, show_default=True, help="Memory planner.")
@click.option("--dtype", "-t", default="bf16", show_default=True, help="Element type where FILE names none.")
@worker_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def command(
    file: Path,
    backend: str | None,
    planner: str,
    dtype: str,
    jobs: int | None,
    executor: str | None,
    as_json: bool,
) -> None:
    """Choose the L0 tile of every product in FILE, a CSV with the columns m, n, k and perhaps dtype.

    A product without a tile gets a row that says why.
    """
    machine = backend_of(backend)
    asked = read_products(file, dtype)
    chunks = [asked[at : at + CHUNK] for at in range(0, len(asked), CHUNK)]
    with open_workers(jobs, executor) as workers:
        rows = sum(map_jobs(partial(choose_all, machine.name, planner), chunks, workers), list[Any]())
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    for row in rows:
        tile = row.get("tile")
        found = f"{tile[0]}, {tile[1]}, {tile[2]}  {row['wall']} cycles" if tile else row["error"]
        click.echo(f"{row['m']} x {row['n']} x {row['k']} {row['dtype']}: {found}")


def read_products(file: Path, dtype: str) -> list[Asked]:
    """The rows of a CSV file. Raises UserError (PT613) that names the line of one that is no product."""
    with file.open(encoding="utf-8", newline="") as lines:
        reader = csv.DictReader(lines)
        names = {name.strip().lower(): name for name in reader.fieldnames or ()}
        missing = [name for name in COLUMNS if name not in names]
        if missing:
            raise UserError(
                f"'{file}' lacks the column {missing[0]}",
                code="PT613",
                facts={"columns": ", ".join(names) or "none"},
                remedy="begin it with a line m,n,k or m,n,k,dtype",
            )
        found: list[Asked] = []
        for row in reader:
            texts = [(row[names[name]] or "").strip() for name in COLUMNS]
            if not all(text.isdigit() for text in texts):
                raise UserError(
                    f"line {reader.line_num} of '{file}' is no product",
                    code="PT613",
                    facts={"m, n, k": ", ".join(texts)},
                    remedy="write three whole numbers",
                )
            column = next((names[name] for name in ("dtype", "lhs_dtype") if name in names), "")
            named = (row.get(column) or "").strip()
            found.append(Asked(int(texts[0]), int(texts[1]), int(texts[2]), named or dtype))
    return found


def choose_all(backend: str, planner: str, products: Sequence[Asked]) -> list[dict[str, Any]]:
    """One row for each product: its tile and wall, or why it has none."""
    machine = load_host().backend(backend)
    return [_choose(machine, planner, product) for product in products]


def _choose(machine: Backend, planner: str, product: Asked) -> dict[str, Any]:
    row: dict[str, Any] = {"m": product.M, "n": product.N, "k": product.K, "dtype": product.dtype}
    gates: dict[str, Any] = dict(schedule_gates(double_buffer_c=planner != STACKING_PLANNER))
    try:
        config = config_for(machine, product.M, product.N, product.K, dtype_of(product.dtype), **gates)
        choice = choose_l0_tile(config)
    except UserError as error:
        return row | {"error": error.message}
    return row | {
        "tile": list(choice.tile),
        "wall": choice.estimated_cost_cycles,
    }
