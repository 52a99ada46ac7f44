"""The exhaustive search: every legal tile of every allowed schedule, least wall first, ties by a fixed order."""

from __future__ import annotations

from typing import cast

import attrs
import numpy as np

from pypto_core.diagnostics import UserError
from pypto_plugin_autotile.chooser.config import L0TileConfig, Stationarity, validate
from pypto_plugin_autotile.chooser.cost import (
    COST_LIMIT,
    Bools,
    Costs,
    Depths,
    Floats,
    Ints,
    Windows,
    candidate_costs,
    measure_depths,
    measure_windows,
    padded_volume,
)
from pypto_plugin_autotile.chooser.regimes import BASELINE, Regime, alternatives


@attrs.frozen(eq=False)
class Field:
    """What all schedules of one question share: the windows L0C can hold once, and the depths."""

    windows: Windows
    depths: Depths


@attrs.frozen(eq=False)
class Space:
    """The legal tiles of one schedule and their costs, in enumeration order: m, then n, then k."""

    regime: Regime
    windows: Windows
    window: Ints
    k: Ints
    costs: Costs

    @property
    def size(self) -> int:
        """How many tiles are legal."""
        return self.k.size

    def tile(self, at: int) -> tuple[int, int, int]:
        """m, n, k of one candidate."""
        window = self.window[at]
        return int(self.windows.m[window]), int(self.windows.n[window]), int(self.k[at])


@attrs.frozen(eq=False)
class Exploration:
    """All schedules explored, in order, and where the winner is."""

    spaces: tuple[Space, ...]
    space: int
    at: int

    @property
    def winner(self) -> Space:
        """The schedule that won."""
        return self.spaces[self.space]


def _ragged(counts: Ints) -> tuple[Ints, Ints]:
    """For rows of these lengths laid end to end: the row of each item, and its place within the row."""
    owner = np.repeat(np.arange(counts.size), counts)
    return owner, np.arange(owner.size) - np.repeat(np.cumsum(counts) - counts, counts)


def _windows(config: L0TileConfig, budget: int) -> Windows:
    """All windows whose accumulator fits ``budget`` elements."""
    m_last, n_last = config.M, config.N
    if config.allow_padding:
        m_last = -(-m_last // config.align_m) * config.align_m
        n_last = -(-n_last // config.align_n) * config.align_n
    if config.max_n > 0:
        n_last = min(n_last, config.max_n)
    m_last = min(m_last, budget // config.box_n(config.min_n))
    m = np.arange(config.min_m, m_last + 1, config.align_m, dtype=np.int64)
    rows = config.acc_rows(m)
    counts: Ints = (np.minimum(n_last, budget // rows) - config.min_n) // config.align_n + 1
    owner, place = _ragged(np.maximum(counts, 0))
    m, n = m[owner], config.min_n + place * config.align_n
    acc = rows[owner] * config.box_n(n)
    if config.box_align_n > 1:
        fits = acc <= budget
        m, n, acc = m[fits], n[fits], acc[fits]
    return measure_windows(config, m, n, acc)


def _depths(config: L0TileConfig) -> Depths:
    """All k that the rules on dividing K allow and the operand buffers can hold."""
    limit = config.K
    if config.allow_padding:
        limit = max(-(-config.K // config.align_k) * config.align_k, config.min_k)
    a_room = config.l0a_bytes // config.bytes_a // config.box_m(config.min_m)
    b_room = config.l0b_bytes // config.bytes_b // config.box_n(config.min_n)
    limit = min(limit, a_room, b_room) // config.align_k * config.align_k
    k = np.arange(config.min_k, limit + 1, config.align_k, dtype=np.int64)
    if not (config.allow_padding or (config.allow_k_boundary and config.K % config.align_k == 0)):
        k = k[config.K % k == 0]
    return measure_depths(config, k)


def survey(config: L0TileConfig) -> Field:
    """Windows and depths of a valid question."""
    return Field(_windows(config, BASELINE.budgets(config)[2]), _depths(config))


def legal(config: L0TileConfig, regime: Regime, field: Field) -> tuple[Ints, Ints]:
    """The schedule's legal tiles as indices of windows and of depths, in enumeration order."""
    windows, depths = field.windows, field.depths
    a_budget, b_budget, c_budget = regime.budgets(config)
    a_room, b_room = a_budget // config.box_m(windows.m), b_budget // config.box_n(windows.n)
    room: Ints = np.minimum(a_room, b_room) // config.align_k * config.align_k
    if not regime.full_k_only:
        window, depth = _ragged(cast(Ints, np.searchsorted(depths.k, room, side="right")))
        if config.max_n_pipelined or config.max_n_nested_pipelined:
            keep = (depths.k[depth] != config.K) | _grid_allowed(config, regime, windows)[window]
            window, depth = window[keep], depth[keep]
        return window, depth
    whole = int(np.searchsorted(depths.k, config.K))
    if whole == depths.k.size or depths.k[whole] != config.K:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    fits = (room >= config.K) & (windows.acc <= c_budget)
    window = np.flatnonzero(fits & _grid_allowed(config, regime, windows))
    return window, np.full(window.size, whole)


def _grid_allowed(config: L0TileConfig, regime: Regime, windows: Windows) -> Bools:
    """Which windows a full-K grid may use: bias rows held at once, and two tiles to alternate accumulators."""
    keep = np.ones(windows.m.size, dtype=bool)
    holds_a = windows.held_a <= windows.held_b
    output = regime.stationarity is Stationarity.OutputStationary
    tiled = (windows.m != config.M) | (windows.n != config.N)
    if config.max_n_pipelined and regime.stationarity is not Stationarity.BStationary:
        keep &= ~tiled | (windows.n <= config.max_n_pipelined)
    if config.max_n_nested_pipelined and output:
        keep &= ~(tiled & holds_a) | (windows.n <= config.max_n_nested_pipelined)
    if regime.double_buffer_c:
        rows_outer = holds_a if output else regime.stationarity is Stationarity.AStationary
        keep &= np.where(rows_outer, config.N // windows.n, config.M // windows.m) >= 2
    return keep


def explore(config: L0TileConfig, regime: Regime, field: Field) -> Space:
    """Every legal tile of one schedule with its costs."""
    window, depth = legal(config, regime, field)
    found = candidate_costs(config, regime, field.windows, window, field.depths, depth)
    return Space(regime, field.windows, window, field.depths.k[depth], found)


def best_of_space(config: L0TileConfig, space: Space) -> int | None:
    """Index of the least tile of a schedule: by wall, padded work, K blocks, load, area, k; then the first."""
    if space.size == 0:
        return None
    left = np.flatnonzero(space.costs.cost == space.costs.cost.min())
    for key in range(5):
        if left.size == 1:
            break
        values = tie_key(config, space, left, key)
        left = left[values == values.min()]
    return int(left[0])


def tie_key(config: L0TileConfig, space: Space, at: Ints, key: int) -> Ints | Floats:
    """The ``key``-th value by which equal walls are told apart, least first."""
    window, k = space.window[at], space.k[at]
    m, n = space.windows.m[window], space.windows.n[window]
    if key == 0:
        return padded_volume(config, m, n, k)
    if key == 1:
        return -(-config.K // k)
    if key == 2:
        return space.costs.load[at]
    return -(m * n) if key == 3 else -k


def explore_all(config: L0TileConfig) -> Exploration:
    """Explore every schedule the gates open; a product that is one legal tile is never turned into a grid.

    Raises a UserError (a ValueError) when the question is invalid or no tile is legal.
    """
    validate(config)
    field = survey(config)
    spaces = [explore(config, BASELINE, field)]
    at = best_of_space(config, spaces[0])
    if at is None:
        raise _no_tile(config)
    winner, cost = (0, at), int(spaces[0].costs.cost[at])
    if spaces[0].tile(at) != config.whole():
        for regime in alternatives(config):
            spaces.append(explore(config, regime, field))
            at = best_of_space(config, spaces[-1])
            if at is not None and int(spaces[-1].costs.cost[at]) < cost:
                winner, cost = (len(spaces) - 1, at), int(spaces[-1].costs.cost[at])
    if cost > COST_LIMIT:
        raise UserError(
            "the estimated wall is beyond 2**53 cycles",
            code="PT603",
            facts={"problem": f"{config.M} x {config.N} x {config.K}"},
            remedy="check the rates of the backend, or tile the tensors before they reach a core",
        )
    return Exploration(tuple(spaces), *winner)


def _no_tile(config: L0TileConfig) -> UserError:
    remainder = config.K % config.align_k
    dividing = not (config.allow_padding or (config.allow_k_boundary and remainder == 0))
    return UserError(
        f"no legal (m, n, k) tile for M={config.M} N={config.N} K={config.K}",
        code="PT602",
        facts={"K step": config.align_k, "K remainder": remainder, "k must divide K": dividing},
        remedy="pad K to a multiple of the step" if remainder else "allow k that does not divide K",
    )
