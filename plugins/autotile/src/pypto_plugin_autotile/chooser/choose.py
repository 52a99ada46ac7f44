"""The front door: one question, one tile, answers kept."""

from __future__ import annotations

from functools import lru_cache

import attrs

from pypto_plugin_autotile.chooser.config import L0TileConfig, Stationarity
from pypto_plugin_autotile.chooser.regimes import Regime
from pypto_plugin_autotile.chooser.search import Space, explore_all


@attrs.frozen(kw_only=True)
class L0TileResult:
    """The chosen tile. ``estimated_cost_cycles`` is the rounded wall of the whole product.

    ``os_holds_a`` says whether loading A once moves no more cycles than loading B once for this grid.
    ``padded_compute_volume`` is in elements multiplied, every tile in full. ``perf_hint`` is empty unless the
    problem is smaller than the least tile.
    """

    m: int
    n: int
    k: int
    stationarity: Stationarity
    os_holds_a: bool
    double_buffer_c: bool
    estimated_cost_cycles: int
    estimated_traffic_bytes: int
    padded_compute_volume: int
    perf_hint: str = ""

    @property
    def tile(self) -> tuple[int, int, int]:
        """m, n, k."""
        return self.m, self.n, self.k


def _blocks(config: L0TileConfig, m: int, n: int, k: int) -> tuple[int, int, int]:
    return -(-config.M // m), -(-config.N // n), -(-config.K // k)


def traffic_bytes(config: L0TileConfig, regime: Regime, tile: tuple[int, int, int], holds_a: bool) -> int:
    """Bytes moved to L0 and out of it: an operand held is moved once, one that streams once a row or column."""
    rows, cols, _ = _blocks(config, *tile)
    a_once, b_once = config.bytes_a * config.M * config.K, config.bytes_b * config.K * config.N
    output = regime.stationarity is Stationarity.OutputStationary
    if output and tile[2] < config.K:
        moved = a_once * cols + b_once * rows
    elif regime.stationarity is Stationarity.AStationary or (output and holds_a):
        moved = a_once + b_once * rows
    else:
        moved = a_once * cols + b_once
    return moved + (2 if config.c_read else 1) * config.bytes_c * config.M * config.N


def _perf_hint(config: L0TileConfig, tile: tuple[int, int, int]) -> str:
    least = (config.min_m, config.min_n, config.min_k)
    if all(extent >= bound for extent, bound in zip(config.whole(), least, strict=True)):
        return ""
    return (
        f"matmul {config.M} x {config.N} x {config.K} is smaller than the least tile "
        f"{least[0]} x {least[1]} x {least[2]} and runs padded as {tile[0]} x {tile[1]} x {tile[2]}"
    )


def result_at(config: L0TileConfig, space: Space, at: int) -> L0TileResult:
    """What the chooser reports of one tile of a schedule."""
    m, n, k = tile = space.tile(at)
    rows, cols, depth = _blocks(config, *tile)
    window = space.window[at]
    holds_a = bool(space.windows.held_a[window] <= space.windows.held_b[window])
    return L0TileResult(
        m=m,
        n=n,
        k=k,
        stationarity=space.regime.stationarity,
        os_holds_a=holds_a,
        double_buffer_c=space.regime.double_buffer_c,
        estimated_cost_cycles=int(space.costs.cost[at]),
        estimated_traffic_bytes=traffic_bytes(config, space.regime, tile, holds_a),
        padded_compute_volume=rows * m * cols * n * depth * k,
        perf_hint=_perf_hint(config, tile),
    )


@lru_cache(maxsize=4096)
def choose_l0_tile(config: L0TileConfig) -> L0TileResult:
    """The tile with the least estimated wall; answers are kept by question.

    Raises a UserError (a ValueError) when the question is invalid or no tile is legal.
    """
    found = explore_all(config)
    return result_at(config, found.winner, found.at)
