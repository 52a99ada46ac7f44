"""The schedules the chooser compares: who stays in L0 and whether L0C holds one accumulator or two."""

from __future__ import annotations

import attrs

from pypto_plugin_autotile.chooser.config import L0TileConfig, Stationarity

_NAMES = {
    Stationarity.OutputStationary: "output-stationary",
    Stationarity.AStationary: "A-stationary",
    Stationarity.BStationary: "B-stationary",
}


@attrs.frozen
class Regime:
    """One schedule: its stationary value and its number of accumulators."""

    stationarity: Stationarity
    double_buffer_c: bool

    @property
    def title(self) -> str:
        """How tables and sentences call it."""
        return _NAMES[self.stationarity] + (", two accumulators" if self.double_buffer_c else "")

    @property
    def full_k_only(self) -> bool:
        """Whether k must be K: a pinned operand or a second accumulator leaves no room for a K loop."""
        return self.double_buffer_c or self.stationarity is not Stationarity.OutputStationary

    def budgets(self, config: L0TileConfig) -> tuple[int, int, int]:
        """Elements one buffer may have in L0A, L0B and L0C: a streaming operand needs two buffers."""
        depth_a = 1 if self.stationarity is Stationarity.AStationary else 2
        depth_b = 1 if self.stationarity is Stationarity.BStationary else 2
        depth_c = 2 if self.double_buffer_c else 1
        return (
            config.l0a_bytes // (config.bytes_a * depth_a),
            config.l0b_bytes // (config.bytes_b * depth_b),
            config.l0c_bytes // (config.bytes_c * depth_c),
        )


BASELINE = Regime(Stationarity.OutputStationary, False)


def alternatives(config: L0TileConfig) -> tuple[Regime, ...]:
    """The schedules beside the baseline that the gates open and L0C can hold, simplest first."""
    kinds = [Stationarity.OutputStationary]
    kinds += [Stationarity.AStationary] if config.allow_a_stationary else []
    kinds += [Stationarity.BStationary] if config.allow_b_stationary else []
    depths = (False, True) if config.allow_double_buffer_c else (False,)
    least = config.acc_rows(config.min_m) * config.box_n(config.min_n)
    found = (Regime(kind, depth) for kind in kinds for depth in depths)
    return tuple(r for r in found if r != BASELINE and r.budgets(config)[2] >= least)
