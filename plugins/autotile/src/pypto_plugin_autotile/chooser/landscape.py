"""A picture of the search: the least wall of every output window."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from pypto_core.diagnostics import UserError
from pypto_plugin_autotile.chooser.config import L0TileConfig
from pypto_plugin_autotile.chooser.cost import Floats, Ints
from pypto_plugin_autotile.chooser.search import Exploration, explore_all


def landscape(config: L0TileConfig) -> tuple[Ints, Ints, Floats]:
    """The m values, the n values, and the least wall in cycles at each pair over k and schedules (NaN: illegal).

    Raises what :func:`choose_l0_tile` raises.
    """
    return _surface(explore_all(config))


def _surface(found: Exploration) -> tuple[Ints, Ints, Floats]:
    m = np.concatenate([space.windows.m[space.window] for space in found.spaces])
    n = np.concatenate([space.windows.n[space.window] for space in found.spaces])
    wall = np.concatenate([space.costs.wall for space in found.spaces])
    rows, row = np.unique(m, return_inverse=True)
    cols, col = np.unique(n, return_inverse=True)
    least = np.full((rows.size, cols.size), np.inf)
    np.minimum.at(least, (row, col), wall)
    least[np.isinf(least)] = np.nan
    return rows, cols, least


def plot_landscape(config: L0TileConfig, path: str | Path) -> Path:
    """Draw :func:`landscape` to ``path`` (the suffix names the format) and return it.

    Needs matplotlib, which the extra ``pypto-core[plot]`` brings; raises UserError without it.
    """
    try:
        mpl: Any = import_module("matplotlib")
        figures: Any = import_module("matplotlib.figure")
    except ImportError as missing:
        raise UserError(
            "a picture of the tile landscape needs matplotlib",
            code="PT604",
            remedy="pip install 'pypto-core[plot]'",
        ) from missing
    found = explore_all(config)
    # A fixed salt and no date: the same question draws the same bytes.
    with mpl.rc_context({"svg.hashsalt": "pypto"}):
        figure = figures.Figure(figsize=(7, 5), layout="constrained")
        _draw(figure.subplots(), config, found)
        figure.savefig(path, metadata={"Date": None} if Path(path).suffix == ".svg" else None)
    return Path(path)


def _draw(axes: Any, config: L0TileConfig, found: Exploration) -> None:
    m, n, wall = _surface(found)
    ratio = wall / np.nanmin(wall)
    shown = axes.pcolormesh(
        _edges(n), _edges(m), np.minimum(ratio, 3.0), cmap="viridis_r", vmin=1.0, vmax=3.0
    )
    best = found.winner.tile(found.at)
    axes.plot(best[1], best[0], "r*", markersize=14)
    axes.annotate(
        "{} x {} x {}".format(*best),
        (best[1], best[0]),
        (8, 8),
        textcoords="offset points",
        bbox={"boxstyle": "round", "facecolor": "white", "alpha": 0.8},
    )
    axes.set(
        title=f"{config.M} x {config.N} x {config.K}: {found.winner.regime.title}",
        xlabel="n (columns of a tile)",
        ylabel="m (rows of a tile)",
        xscale="log",
        yscale="log",
    )
    _label_doublings(axes.xaxis, n)
    _label_doublings(axes.yaxis, m)
    axes.figure.colorbar(shown, label="wall over the least wall (3 and above alike)")


def _label_doublings(axis: Any, centres: Ints) -> None:
    first, last = int(centres[0]), int(centres[-1])
    places = [first << step for step in range((last // first).bit_length())]
    axis.set_ticks(places, labels=[str(place) for place in places])
    axis.set_ticks([], minor=True)


def _edges(centres: Ints) -> Floats:
    """Cell borders halfway between neighbouring centres on a logarithmic axis."""
    logs = np.log(centres.astype(np.float64))
    inner = (logs[1:] + logs[:-1]) / 2
    first, last = (
        (2 * logs[0] - inner[0], 2 * logs[-1] - inner[-1]) if inner.size else (logs[0] - 0.1, logs[0] + 0.1)
    )
    return np.exp(np.concatenate([[first], inner, [last]]))
