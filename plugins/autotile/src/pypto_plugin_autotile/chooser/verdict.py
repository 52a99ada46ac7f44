"""One tile at a time: why it is not legal, or why it lost, in a sentence a user can check by hand."""

from __future__ import annotations

import attrs

from pypto_plugin_autotile.chooser.config import L0TileConfig, Stationarity
from pypto_plugin_autotile.chooser.regimes import Regime


@attrs.frozen(kw_only=True)
class Candidate:
    """One tile under one schedule. ``load``, ``mad``, ``drain`` and ``wall`` are core cycles of the whole product.

    ``held``: the operand loaded once, "A", "B" or "" when both stream. ``rows`` and ``cols`` count tiles along M
    and N, ``k_blocks`` the steps along K. ``extra_passes`` are the FIXPIPE's beyond the first over each
    accumulator row. ``reason`` says why it lost; empty for the winner.
    """

    m: int
    n: int
    k: int
    stationarity: Stationarity
    double_buffer_c: bool
    schedule: str
    held: str
    load: float
    mad: int
    drain: float
    wall: float
    cost: int
    rows: int
    cols: int
    k_blocks: int
    extra_passes: int
    padded_volume: int
    reason: str = ""

    @property
    def tile(self) -> tuple[int, int, int]:
        """m, n, k."""
        return self.m, self.n, self.k

    @property
    def compute(self) -> float:
        """Cycles until the last tile is computed: the longer of loads and multiply-adds."""
        return max(self.load, self.mad)

    @property
    def exposed_drain(self) -> float:
        """Cycles of the wall that no compute hides."""
        return self.wall - self.compute

    @property
    def tiles(self) -> int:
        """Output tiles, each drained once."""
        return self.rows * self.cols

    @property
    def window_area(self) -> int:
        """Elements of all output tiles, boundary tiles in full."""
        return self.tiles * self.m * self.n


def why_lost(winner: Candidate, loser: Candidate) -> str:
    """The reason in one sentence; the cycles it names are differences of whole-product walls."""
    if loser.cost <= winner.cost:
        return f"same {winner.cost} cycles; {_tie(winner, loser)}"
    by_compute = loser.compute - winner.compute
    by_drain = loser.exposed_drain - winner.exposed_drain
    text = _compute_reason(winner, loser) if by_compute >= by_drain else _drain_reason(winner, loser)
    share = 100 * (loser.wall - winner.wall) / winner.wall if winner.wall > 0 else 0.0
    return f"{text}: +{loser.wall - winner.wall:.0f} cycles ({share:.1f} %)"


def _tie(winner: Candidate, loser: Candidate) -> str:
    if loser.schedule != winner.schedule:
        return f"the simpler schedule, {winner.schedule}, is kept"
    if loser.padded_volume != winner.padded_volume:
        extra = loser.padded_volume - winner.padded_volume
        return f"multiplies {extra} more elements of padding"
    if loser.k_blocks != winner.k_blocks:
        return f"takes {loser.k_blocks} K blocks instead of {winner.k_blocks}"
    if loser.load != winner.load:
        return f"its loads take {loser.load - winner.load:.0f} more cycles under the multiply-adds"
    if loser.m * loser.n != winner.m * winner.n:
        return f"its {loser.m} x {loser.n} window is the smaller one"
    return f"k={loser.k} is smaller" if loser.k != winner.k else "the winner is met first"


def _compute_reason(winner: Candidate, loser: Candidate) -> str:
    if loser.load >= loser.mad:
        streams = [("A", loser.cols, winner.cols), ("B", loser.rows, winner.rows)]
        again = [f"{name} {times} times" for name, times, _ in streams if name != loser.held and times > 1]
        text = " and ".join(again) if again else "each operand once"
        return f"m={loser.m} n={loser.n} is bound by loads, streaming {text}"
    blocks, least = loser.tiles * loser.k_blocks, winner.tiles * winner.k_blocks
    if loser.window_area > winner.window_area:
        extra = 100 * (loser.window_area - winner.window_area) / winner.window_area
        return f"m={loser.m} n={loser.n} computes {extra:.1f} % more output, all of it padding"
    if blocks > least:
        return f"m={loser.m} n={loser.n} k={loser.k} issues {blocks} multiply-adds instead of {least}"
    return f"m={loser.m} n={loser.n} k={loser.k} keeps the cube busy for longer"


def _drain_reason(winner: Candidate, loser: Candidate) -> str:
    if loser.extra_passes > winner.extra_passes:
        return f"n={loser.n} pays {loser.extra_passes - winner.extra_passes} extra drain passes"
    if winner.double_buffer_c and not loser.double_buffer_c:
        return "one accumulator leaves the drain exposed"
    if loser.double_buffer_c and loser.tiles < winner.tiles:
        return f"{loser.tiles} tiles hide less of the drain than {winner.tiles}"
    if loser.tiles > winner.tiles:
        return f"m={loser.m} n={loser.n} drains {loser.tiles} tiles instead of {winner.tiles}"
    if loser.rows * loser.cols * loser.m > winner.rows * winner.cols * winner.m:
        rows = loser.tiles * loser.m
        return f"m={loser.m} n={loser.n} drains {rows} accumulator rows instead of {winner.tiles * winner.m}"
    return f"m={loser.m} n={loser.n} drains for longer"


def why_illegal(config: L0TileConfig, regime: Regime, m: int, n: int, k: int) -> str:
    """The first rule the tile breaks under this schedule; empty when it is legal."""
    return (
        _breaks_enumeration(config, m, n, k)
        or _breaks_budgets(config, regime, m, n, k)
        or _breaks_schedule(config, regime, m, n, k)
    )


def _breaks_enumeration(config: L0TileConfig, m: int, n: int, k: int) -> str:
    for name, value, least, step, extent in (
        ("m", m, config.min_m, config.align_m, config.M),
        ("n", n, config.min_n, config.align_n, config.N),
        ("k", k, config.min_k, config.align_k, config.K),
    ):
        if value < least or (value - least) % step:
            return f"{name}={value} is not {least} plus a multiple of {step}"
        top = -(-extent // step) * step if config.allow_padding else extent
        if name == "k":
            top = (max(top, least) if config.allow_padding else top) // step * step
        if value > top:
            return f"{name}={value} exceeds {name.upper()}={extent}"
    if config.max_n > 0 and n > config.max_n:
        return f"n={n} exceeds the {config.max_n} columns a bias row may have"
    if config.allow_padding or (config.allow_k_boundary and config.K % config.align_k == 0):
        return ""
    return "" if config.K % k == 0 else f"k={k} does not divide K={config.K}"


def _breaks_budgets(config: L0TileConfig, regime: Regime, m: int, n: int, k: int) -> str:
    a_budget, b_budget, c_budget = regime.budgets(config)
    held = k + (-k % config.align_k)
    for space, used, budget, width, what in (
        ("L0C", config.acc_rows(m) * config.box_n(n), c_budget, config.bytes_c, "accumulator"),
        ("L0A", config.box_m(m) * held, a_budget, config.bytes_a, "left block"),
        ("L0B", config.box_n(n) * held, b_budget, config.bytes_b, "right block"),
    ):
        if used > budget:
            return f"{what} of {used * width} bytes exceeds the {budget * width} bytes of one {space} buffer"
    return ""


def _breaks_schedule(config: L0TileConfig, regime: Regime, m: int, n: int, k: int) -> str:
    if regime.full_k_only and k != config.K:
        return f"{regime.title} needs k=K={config.K}"
    if k != config.K:
        return ""
    rows, cols = -(-config.M // m), -(-config.N // n)
    a_bytes, b_bytes = config.bytes_a * config.M * config.K, config.bytes_b * config.K * config.N
    held_a = a_bytes / config.bw_a + (b_bytes * rows) / config.bw_b
    holds_a = held_a <= (a_bytes * cols) / config.bw_a + b_bytes / config.bw_b
    output = regime.stationarity is Stationarity.OutputStationary
    if (m, n) != (config.M, config.N):
        one, two = config.max_n_pipelined, config.max_n_nested_pipelined
        if 0 < one < n and regime.stationarity is not Stationarity.BStationary:
            return f"n={n} exceeds {one}: the pipeline holds two bias rows at once"
        if 0 < two < n and output and holds_a:
            return f"n={n} exceeds {two}: the nested pipelines hold four bias rows at once"
    if regime.double_buffer_c:
        rows_outer = holds_a if output else regime.stationarity is Stationarity.AStationary
        inner, axis = (config.N // n, "N") if rows_outer else (config.M // m, "M")
        if inner < 2:
            return f"only {inner} full tile along {axis}: two accumulators need two to alternate"
    return ""
