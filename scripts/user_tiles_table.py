"""Writes docs/reference/user-tiles.md: the L0 tile that each matmul of published kernels gets, on every machine.

Usage: user_tiles_table.py [--check]. With --check nothing is written; the exit code is 1 when the page is stale.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any

from pypto_core.contract import Backend
from pypto_core.host import load_host
from pypto_core.ir import DataType
from pypto_plugin_autotile.chooser import (
    L0TileResult,
    Stationarity,
    choose_l0_tile,
    config_for,
    schedule_gates,
)

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "plugins" / "autotile" / "tests" / "data" / "user_matmul_tiles.csv"
PAGE = ROOT / "docs" / "reference" / "user-tiles.md"
BACKENDS = ("910b", "a5")

INTRO = """# Tiles of real kernels

The matrix products that published kernels contain, most frequent first, and the L0 tile (m, n, k) that
`AutoTileMatmulL0` picks for each. *One accumulator* is what the planner `pypto` gets by default, *two allowed* what
`dsa_rp` and `ptoas` get. Walls are the cost model's estimates in core cycles.

| sign | meaning |
|---|---|
| whole | the product is one tile and is not touched |
| K | one window, split along K in a pipelined loop |
| grid | several windows, each split along K |
| A, B | several windows over all of K; this operand's panel stays in L0 while the other moves |
| hold A, hold B | several windows over all of K; both loops are pipelined, this operand in the outer one |
| +2 | two accumulators: one drains while the next is computed |

Made by `scripts/user_tiles_table.py` from `plugins/autotile/tests/data/user_matmul_tiles.csv`.
"""


def schedule(result: L0TileResult, extents: tuple[int, int, int]) -> str:
    """The schedule of a choice in the signs of the page."""
    if result.tile == extents:
        return "whole"
    if result.stationarity is not Stationarity.OutputStationary:
        text = "A" if result.stationarity is Stationarity.AStationary else "B"
    elif (result.m, result.n) == extents[:2]:
        text = "K"
    elif result.k < extents[2]:
        text = "grid"
    else:
        text = "hold A" if result.os_holds_a else "hold B"
    return f"{text} +2" if result.double_buffer_c else text


def cell(backend: Backend, extents: tuple[int, int, int], dtype: DataType, double: bool) -> str:
    """One choice: tile, schedule, wall."""
    gates: dict[str, Any] = dict(schedule_gates(double_buffer_c=double))
    result = choose_l0_tile(config_for(backend, *extents, dtype, **gates))
    m, n, k = result.tile
    return f"{m}, {n}, {k} | {schedule(result, extents)} | {result.estimated_cost_cycles:,}"


def table(backend: Backend) -> list[str]:
    """The page's table for one machine."""
    lines = [
        f"## {backend.title}",
        "",
        "| calls | M x N x K | type | one accumulator | | cycles | two allowed | | cycles |",
        "|---:|---|---|---|---|---:|---|---|---:|",
    ]
    with DATA.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            extents = (int(row["M"]), int(row["N"]), int(row["K"]))
            dtype = DataType[row["dtype"]]
            name = "{} x {} x {}".format(*extents) + (" (B transposed)" if row["b_trans"] == "true" else "")
            cells = " | ".join(cell(backend, extents, dtype, double) for double in (False, True))
            lines.append(f"| {row['calls']} | {name} | {dtype.name.lower()} | {cells} |")
    return lines


def page() -> str:
    """The whole page."""
    host = load_host()
    parts = [INTRO, *("\n".join([*table(host.backend(name)), ""]) for name in BACKENDS)]
    return "\n".join(parts)


def main() -> int:
    """Write or check the page."""
    text = page()
    if "--check" in sys.argv[1:]:
        stale = not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text
        print(
            f"{PAGE.relative_to(ROOT)} is {'stale: run scripts/user_tiles_table.py' if stale else 'up to date'}"
        )
        return int(stale)
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(text, encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
