"""The roofline, for arrays of tiles at once.

Loads and drains are float64 in one fixed order of operations, multiply-adds are exact integers, so that a tile
costs the same whoever evaluates the formulas. What depends on m and n alone is computed once for each window,
what depends on k alone once for each depth; candidates only gather and combine.
"""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from pypto_plugin_autotile.chooser.config import L0TileConfig, Stationarity
from pypto_plugin_autotile.chooser.regimes import Regime

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

COST_LIMIT = 2**53
"""Above this a float64 no longer tells neighbouring cycle counts apart."""


@attrs.frozen(eq=False)
class Windows:
    """Output windows as parallel arrays, with all that follows from m and n.

    ``acc``: elements of L0C one accumulator takes. ``rows``, ``cols``: tiles along M and N. ``fractals``: cube
    fractals of one window. ``held_a``, ``held_b``, ``restream``: cycles of all loads when A, B or neither is
    loaded once. ``drain``: cycles to empty L0C of the whole product.
    """

    m: Ints
    n: Ints
    acc: Ints
    rows: Ints
    cols: Ints
    fractals: Ints
    held_a: Floats
    held_b: Floats
    restream: Floats
    drain: Floats


@attrs.frozen(eq=False)
class Depths:
    """Values of k, ascending, with the K blocks and K fractals each makes; a tail counts at its own width."""

    k: Ints
    blocks: Ints
    fractals: Ints


@attrs.frozen(eq=False)
class Costs:
    """Cycles of each candidate by part; ``cost`` is the wall rounded half away from zero."""

    load: Floats
    mad: Ints
    drain: Floats
    wall: Floats
    cost: Ints


def measure_windows(config: L0TileConfig, m: Ints, n: Ints, acc: Ints) -> Windows:
    """The windows with their loads and drains."""
    rows, cols = -(-config.M // m), -(-config.N // n)
    a_bytes, b_bytes = config.bytes_a * config.M * config.K, config.bytes_b * config.K * config.N
    a_again = (a_bytes * cols) / config.bw_a
    b_again = (b_bytes * rows) / config.bw_b
    row = np.maximum(config.drain_row_cycles, config.bytes_c * n / config.bw_drain)
    row = row + config.drain_penalty_cycles * drain_extra_passes(config, n)
    return Windows(
        m=m,
        n=n,
        acc=acc,
        rows=rows,
        cols=cols,
        fractals=-(-m // config.align_m) * -(-n // config.align_n),
        held_a=a_bytes / config.bw_a + b_again,
        held_b=a_again + b_bytes / config.bw_b,
        restream=a_again + b_again,
        drain=rows * cols * (config.drain_fixed_cycles + m * row),
    )


def drain_extra_passes(config: L0TileConfig, n: Ints) -> Ints:
    """Passes beyond the first over each accumulator row: the odd part of its fractal count, less one."""
    fractals = -(-n // max(1, config.drain_c0_bytes // config.bytes_c))
    return fractals // (fractals & -fractals) - 1


def measure_depths(config: L0TileConfig, k: Ints) -> Depths:
    """The depths with what they ask of the cube."""
    width = max(1, config.mad_k_fractal_bytes // config.bytes_a)
    full = config.K // k
    tail = config.K - full * k
    return Depths(k=k, blocks=full + (tail > 0), fractals=full * -(-k // width) + -(-tail // width))


def cube_passes(config: L0TileConfig) -> int:
    """Passes of the cube over one fractal of the left operand's type."""
    return max(1, config.mad_fp32_passes) if config.bytes_a == 4 else max(1, config.bytes_a // 2)


def candidate_costs(
    config: L0TileConfig, regime: Regime, windows: Windows, window: Ints, depths: Depths, depth: Ints
) -> Costs:
    """Costs of the candidates that pair these windows with these depths (both given by index).

    A wall beyond :data:`COST_LIMIT` is reported as 2 more than it, the next float64.
    """
    grid = windows.rows[window] * windows.cols[window]
    work = windows.fractals[window] * depths.fractals[depth]
    mad = grid * (depths.blocks[depth] * config.mad_head + cube_passes(config) * work)
    load = _load(config, regime, windows, window, depths.k[depth])
    drain = windows.drain[window]
    compute = np.maximum(load, mad)
    if regime.double_buffer_c:
        wall = np.maximum(compute, drain) + np.minimum(compute, drain) / grid
    else:
        wall = compute + drain
    return Costs(load, mad, drain, wall, _rounded(wall))


def _load(config: L0TileConfig, regime: Regime, windows: Windows, window: Ints, k: Ints) -> Floats:
    if regime.stationarity is Stationarity.AStationary:
        return windows.held_a[window]
    if regime.stationarity is Stationarity.BStationary:
        return windows.held_b[window]
    held = np.minimum(windows.held_a, windows.held_b)[window]
    if regime.full_k_only:
        return held
    return np.where(k >= config.K, held, windows.restream[window])


def _rounded(wall: Floats) -> Ints:
    whole = np.trunc(wall)
    away = np.copysign(np.abs(wall - whole) >= 0.5, wall)
    return np.minimum(whole + away, COST_LIMIT + 2).astype(np.int64)


def padded_volume(config: L0TileConfig, m: Ints, n: Ints, k: Ints) -> Ints:
    """Elements multiplied when every tile, the K tail too, is computed in full."""
    return -(-config.M // m) * m * (-(-config.N // n) * n) * (-(-config.K // k) * k)
