"""Writes docs/reference/tile-walls.md: walls of tiles by the chooser's model and by the time engine, side by side.

Usage: tile_walls_table.py [--check]. Every tile is forced upon AutoTileMatmulL0, compiled and simulated on a machine
whose global memory takes no time, as the model leaves that out. Takes some minutes. With --check nothing is written;
the exit code is 1 when the page is stale.
"""

from __future__ import annotations

import csv
import random
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from unittest.mock import patch

import attrs

from pypto_core.contract import Backend, entry_function
from pypto_core.diagnostics import UserError
from pypto_core.host import load_host
from pypto_core.ir import DataType, PipeType, Program
from pypto_core.language import parse
from pypto_core.run import compile
from pypto_core.testing import random_inputs
from pypto_plugin_autotile import analysis
from pypto_plugin_autotile.chooser import (
    L0TileConfig,
    L0TileResult,
    Stationarity,
    choose_l0_tile,
)
from pypto_plugin_autotile.chooser.choose import result_at
from pypto_plugin_autotile.chooser.regimes import BASELINE, alternatives
from pypto_plugin_autotile.chooser.search import explore, survey
from pypto_plugin_simulator.timing.engine import run
from pypto_plugin_simulator.timing.report import CoreTimes

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "plugins" / "autotile" / "tests" / "data" / "user_matmul_tiles.csv"
PAGE = ROOT / "docs" / "reference" / "tile-walls.md"
BACKENDS = ("910b", "a5")
PLANNERS = ("pypto", "dsa_rp")
"""The default, which has one accumulator, and one under which two are allowed."""

PRODUCTS = 50
SAMPLE, FEW = 10, 4
"""Other tiles to try for each product, and for each large one."""
LARGE = "Large products: "
NEAR, BETTER, SLACK = 0.15, 0.05, 1.5
"""What counts as the same wall, what as a better one, and up to which model wall a random tile is worth a try."""

KERNEL = """
import pypto_core.language as pl

@pl.program
class Product:
    @pl.function(type=pl.FunctionType.InCore)
    def main(
        self, a: pl.Tensor[[{M}, {K}], pl.{dtype}], b: pl.Tensor[[{rows}, {cols}], pl.{dtype}],
        out: pl.Out[pl.Tensor[[{M}, {N}], pl.{result}]],
    ) -> pl.Tensor[[{M}, {N}], pl.{result}]:
        lhs = pl.load(a, [0, 0], [{M}, {K}], target_memory=pl.Mem.Mat)
        rhs = pl.load(b, [0, 0], [{rows}, {cols}], target_memory=pl.Mem.Mat)
        return pl.store(pl.matmul(lhs, {turned}), [0, 0], out)
"""


@attrs.frozen
class Product:
    """One row of the data."""

    M: int
    N: int
    K: int
    dtype: DataType
    turned: bool

    def __str__(self) -> str:
        return f"{self.M} x {self.N} x {self.K} {self.dtype.name.lower()}{' (B transposed)' * self.turned}"

    @property
    def text(self) -> str:
        """The kernel."""
        rows, cols = (self.N, self.K) if self.turned else (self.K, self.N)
        return KERNEL.format(
            M=self.M, N=self.N, K=self.K, rows=rows, cols=cols, dtype=self.dtype.name,
            result="INT32" if self.dtype is DataType.INT8 else "FP32",
turned="pl.tile.transpose_view(rhs)" if self.turned else "rhs",
        )  # fmt: skip


@attrs.frozen
class Wall:
    """One tile: what the model says, and what was simulated.

    ``ends``: cycles that nothing can hide at the beginning or the end: where the loads decide, the last product, else
    the loads before the first one. ``tails``: cycles of drains beyond those that the model charges.
    """

    choice: L0TileResult
    simulated: float
    ends: float
    tails: float

    @property
    def excess(self) -> float:
        """How much longer than the model says, as a part of that."""
        return self.simulated / self.choice.estimated_cost_cycles - 1

    @property
    def rest(self) -> float:
        """What neither ends nor tails explain; below zero where drains overlap with the loads of the next window."""
        return self.simulated - self.choice.estimated_cost_cycles - self.ends - self.tails


def products() -> list[Product]:
    """The most frequent ones."""
    with DATA.open(encoding="utf-8") as file:
        rows = [
            Product(int(r["M"]), int(r["N"]), int(r["K"]), DataType[r["dtype"]], r["b_trans"] == "true")
            for r in csv.DictReader(file)
        ]
    return rows[:PRODUCTS]


def large_products() -> list[Product]:
    """Drawn ones: multiples of 64 up to 1024, both operands in L1 at once, at least 2**24 multiply-adds."""
    rng = random.Random("large products")
    found: dict[Product, None] = {}
    while len(found) < PRODUCTS:
        M, N, K = (64 * rng.randint(1, 16) for _ in range(3))
        dtype = rng.choice((DataType.BF16, DataType.BF16, DataType.FP32))
        if M * N * K >= 2**24 and (M + N) * K * dtype.bits // 8 <= 2**19:
            found[Product(M, N, K, dtype, False)] = None
    return list(found)


@cache
def without_global_memory(name: str) -> Backend:
    """The machine with operands that are in L1 at once."""
    backend = load_host().backend(name)
    return attrs.evolve(
        backend,
        paths=[
            attrs.evolve(path, bytes_per_cycle=1e12, head_cycles=0.0) if path.pipe is PipeType.MTE2 else path
            for path in backend.paths
        ],
    )


def question(product: Product, name: str, planner: str) -> L0TileConfig:
    """What the pass asks the chooser about a product."""
    asked: list[L0TileConfig] = []

    def choose(config: L0TileConfig) -> L0TileResult:
        asked.append(config)
        return choose_l0_tile(config)

    with patch.object(analysis, "choose_l0_tile", choose):
        compiled(product, name, planner)
    return asked[0]


def compiled(product: Product, name: str, planner: str) -> Program:
    """The product as the assembler gets it. Raises UserError where that takes no such tiles."""
    return compile(parse(product.text), backend=name, planner=planner, verification="none").program


def simulate(product: Product, name: str, planner: str, choice: L0TileResult) -> Wall | None:
    """Compile with this tile and run; None when the pass can't place it, or the assembler can't take it."""
    with patch.object(analysis, "choose_l0_tile", lambda config: choice):
        try:
            program = compiled(product, name, planner)
        except UserError:
            return None
    timed = run(program, random_inputs(entry_function(program)), backend=without_global_memory(name))
    core: CoreTimes = timed.report["time"].slowest
    rows, cols, blocks = (
        -(-whole // part) for whole, part in zip((product.M, product.N, product.K), choice.tile, strict=True)
    )
    if core.pipe(PipeType.M).count != rows * cols * blocks:
        return None
    schedule = core.schedule
    products = [at for at, work in enumerate(schedule.works) if work.pipe is PipeType.M]
    load_bound = core.pipe(PipeType.MTE1).busy >= core.pipe(PipeType.M).busy
    ends = schedule.works[products[-1]].cycles if load_bound else schedule.starts[products[0]]
    model = load_host().backend(name).cost_model
    charged = rows * cols * model.drain_cycles(choice.m, choice.n, 4)
    return Wall(choice, core.makespan, ends, core.pipe(PipeType.FIX).busy - charged)


def candidates(config: L0TileConfig, seed: str, count: int) -> Iterator[L0TileResult]:
    """A sample of the other legal tiles: half the best ones by the model, half any that it puts within reach."""
    chosen = choose_l0_tile(config)
    field = survey(config)
    found = [
        (int(space.costs.cost[at]), space, at)
        for space in (explore(config, regime, field) for regime in (BASELINE, *alternatives(config)))
        for at in range(space.size)
        if space.costs.cost[at] <= SLACK * chosen.estimated_cost_cycles
    ]
    others = [
        (space, at)
        for _, space, at in sorted(found, key=lambda one: one[0])
        if (result := result_at(config, space, at)).tile != chosen.tile
        or result.stationarity is not chosen.stationarity
        or result.double_buffer_c != chosen.double_buffer_c
    ]
    rest = others[count // 2 :]
    rng = random.Random(seed)
    drawn = rng.sample(rest, min(len(rest), count - count // 2))
    for space, at in (*others[: count // 2], *drawn):
        yield result_at(config, space, at)


def schedule_name(product: Product, choice: L0TileResult) -> str:
    """Tile and schedule in the signs of the page."""
    text = "{}, {}, {}".format(*choice.tile)
    if choice.stationarity is not Stationarity.OutputStationary:
        text += " A" if choice.stationarity is Stationarity.AStationary else " B"
    return f"{text} +2" if choice.double_buffer_c else text


def row(product: Product, name: str, planner: str, sample: int = SAMPLE) -> tuple[str, Wall, list[Wall]]:
    """A line of the page, the wall of the pick, and those of the sample that are better by more than the margin."""
    config = question(product, name, planner)
    pick = simulate(product, name, planner, choose_l0_tile(config))
    if pick is None:
        raise SystemExit(f"{product} on {name} with {planner}: the pass does not place its own choice")
    tried = [
        wall
        for choice in candidates(config, f"{product} {name} {planner}", sample)
        if (wall := simulate(product, name, planner, choice))
    ]
    better = sorted(
        (wall for wall in tried if wall.simulated < (1 - BETTER) * pick.simulated), key=lambda w: w.simulated
    )
    cells = [
        str(product),
        schedule_name(product, pick.choice),
        f"{pick.choice.estimated_cost_cycles:,}",
        f"{pick.simulated:,.0f}",
        f"{pick.excess:+.1%}",
        f"{round(pick.ends):,}",
        f"{round(pick.tails):,}",
        f"{round(pick.rest):,}",
        f"{len(tried)}",
        f"{schedule_name(product, better[0].choice)}: {better[0].simulated / pick.simulated - 1:+.1%}"
        if better
        else "",
    ]
    return f"| {' | '.join(cells)} |", pick, better


def section(
    name: str, planner: str, some: Iterable[Product], kind: str = "", sample: int = SAMPLE
) -> list[str]:
    """The table for one machine and planner, with its summary."""
    made = [row(product, name, planner, sample) for product in some]
    near = sum(abs(pick.excess) <= NEAR for _, pick, _ in made)
    worse = sum(bool(better) for _, _, better in made)
    summary = (
        f"{near} of {len(made)} simulated walls are within {NEAR:.0%} of the model. "
        f"For {worse} products a tile of the sample is better by more than {BETTER:.0%}."
    )
    return [
        f"## {kind}{load_host().backend(name).title}, planner `{planner}`",
        "",
        summary,
        "",
        "| product | tile | model | simulated | | ends | tails | rest | tried | better |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---|",
        *(line for line, _, _ in made),
        "",
    ]


INTRO = f"""# Walls of tiles

The tile that `AutoTileMatmulL0` picks for each of the {PRODUCTS} most frequent products of published kernels, its wall
by the chooser's model, and the wall that the engine `time` finds for the compiled kernel when global memory takes no
time. {PRODUCTS} large products, drawn at random, follow. All figures are core cycles.
[What the time engine models](../explanation/timing.md) says where the two differ.

| column | meaning |
|---|---|
| tile | m, n, k; A, B: that operand's panel stays in L0; +2: two accumulators |
| ends | what nothing hides: the loads before the first product or, where loads decide, the last product |
| tails | drains beyond what the model charges: narrow windows at the edge may take more passes |
| rest | simulated less model, ends and tails: panels of an operand that are loaded while nothing is computed |
| tried | other legal tiles that were compiled and simulated too |
| better | the best of them, when it is more than {BETTER:.0%} faster than the pick |

*Rest* is below zero where a drain runs under the loads of the next window. Half of the tiles that were tried are the
best ones by the model, the other half were drawn among those that it puts within {SLACK:g} times the pick.

Most of what differs is in *ends*: of small products the last multiply-add is a good part of the whole. Tiles with a
small k look better for that reason, as it shortens the last one. No source gives a fixed cost of a transfer from L1 to
L0, so that many small ones are as fast here as few large ones; a device may see that otherwise.

Made by `scripts/tile_walls_table.py` from `plugins/autotile/tests/data/user_matmul_tiles.csv`.
"""


def page() -> str:
    """The whole page."""
    parts = [section(name, planner, products()) for name in BACKENDS for planner in PLANNERS]
    parts += [section(name, PLANNERS[0], large_products(), LARGE, FEW) for name in BACKENDS]
    return "\n".join([INTRO, *("\n".join(part) for part in parts)])


def main() -> int:
    """Write or check the page."""
    text = page()
    where = PAGE.relative_to(ROOT)
    if "--check" in sys.argv[1:]:
        stale = not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text
        print(f"{where} is {'stale: run scripts/tile_walls_table.py' if stale else 'up to date'}")
        return int(stale)
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(text, encoding="utf-8")
    print(f"wrote {where}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
