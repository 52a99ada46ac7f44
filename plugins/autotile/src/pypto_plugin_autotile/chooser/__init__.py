"""The L0 tile chooser: which (m, n, k), schedule and accumulator count make a product cheapest on a machine."""

from pypto_plugin_autotile.chooser.choose import L0TileResult, choose_l0_tile
from pypto_plugin_autotile.chooser.config import L0TileConfig, Stationarity, config_for, schedule_gates
from pypto_plugin_autotile.chooser.explain import Asked, TileChoice, explain
from pypto_plugin_autotile.chooser.landscape import landscape, plot_landscape
from pypto_plugin_autotile.chooser.report import tile_report
from pypto_plugin_autotile.chooser.verdict import Candidate

__all__ = [
    "Asked",
    "Candidate",
    "L0TileConfig",
    "L0TileResult",
    "Stationarity",
    "TileChoice",
    "choose_l0_tile",
    "config_for",
    "explain",
    "landscape",
    "plot_landscape",
    "schedule_gates",
    "tile_report",
]
