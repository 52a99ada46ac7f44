"""Why this tile: the winner beside the runners-up, each wall split into its parts, each loss with its reason."""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import Any

import attrs
import numpy as np

from pypto_plugin_autotile.chooser.choose import L0TileResult, result_at
from pypto_plugin_autotile.chooser.config import L0TileConfig, Stationarity
from pypto_plugin_autotile.chooser.cost import Ints, drain_extra_passes, padded_volume
from pypto_plugin_autotile.chooser.regimes import BASELINE, alternatives
from pypto_plugin_autotile.chooser.search import Exploration, Space, explore_all, tie_key
from pypto_plugin_autotile.chooser.verdict import Candidate, why_illegal, why_lost

Tile = tuple[int, int, int]

_WHOLE = "not compared: the whole product is one L0 tile"


@attrs.frozen(kw_only=True)
class Asked:
    """The answer to "why not this tile": its best legal form, or the rule it breaks under each schedule."""

    tile: Tile
    candidate: Candidate | None
    broken: tuple[tuple[str, str], ...] = ()


@attrs.frozen(kw_only=True)
class TileChoice:
    """A choice with its reasons. ``considered`` counts legal tiles over all ``schedules`` explored."""

    config: L0TileConfig
    result: L0TileResult
    winner: Candidate
    runners_up: tuple[Candidate, ...]
    asked: tuple[Asked, ...] = ()
    considered: int
    schedules: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {
            "config": attrs.asdict(self.config),
            "result": attrs.asdict(self.result, value_serializer=_plain),
            "winner": _candidate_json(self.winner),
            "runners_up": [_candidate_json(c) for c in self.runners_up],
            "asked": [
                {
                    "tile": list(a.tile),
                    "candidate": _candidate_json(a.candidate) if a.candidate else None,
                    "broken": dict(a.broken),
                }
                for a in self.asked
            ],
            "considered": self.considered,
            "schedules": list(self.schedules),
        }

    def rows(self) -> list[dict[str, str]]:
        """The table people read: winner first, then the runners-up, cycles rounded."""
        return [_row(c) for c in (self.winner, *self.runners_up)]

    def _repr_html_(self) -> str:
        rows = self.rows()
        head = "".join(f"<th>{html.escape(name)}</th>" for name in rows[0])
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row.values()) + "</tr>"
            for row in rows
        )
        config = self.config
        title = f"{config.M} x {config.N} x {config.K}: {self.considered} legal tiles"
        return f"<table><caption>{title}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _plain(_: object, __: object, value: Any) -> Any:
    return value.name if isinstance(value, Stationarity) else value


def _candidate_json(candidate: Candidate) -> dict[str, Any]:
    return attrs.asdict(candidate, value_serializer=_plain)


def _row(c: Candidate) -> dict[str, str]:
    return {
        "m, n, k": f"{c.m}, {c.n}, {c.k}",
        "schedule": c.schedule,
        "tiles": f"{c.rows} x {c.cols}",
        "load": f"{c.load:.0f}",
        "MAD": f"{c.mad}",
        "drain": f"{c.drain:.0f}",
        "wall": f"{c.cost}",
        "why not": c.reason or "chosen",
    }


def _held(config: L0TileConfig, space: Space, at: int) -> str:
    stationarity, window = space.regime.stationarity, space.window[at]
    if stationarity is not Stationarity.OutputStationary:
        return "A" if stationarity is Stationarity.AStationary else "B"
    if space.k[at] < config.K:
        return ""
    return "A" if space.windows.held_a[window] <= space.windows.held_b[window] else "B"


def _candidate(config: L0TileConfig, space: Space, at: int) -> Candidate:
    m, n, k = space.tile(at)
    window = space.window[at]
    return Candidate(
        m=m,
        n=n,
        k=k,
        stationarity=space.regime.stationarity,
        double_buffer_c=space.regime.double_buffer_c,
        schedule=space.regime.title,
        held=_held(config, space, at),
        load=float(space.costs.load[at]),
        mad=int(space.costs.mad[at]),
        drain=float(space.costs.drain[at]),
        wall=float(space.costs.wall[at]),
        cost=int(space.costs.cost[at]),
        rows=int(space.windows.rows[window]),
        cols=int(space.windows.cols[window]),
        k_blocks=-(-config.K // k),
        extra_passes=int(drain_extra_passes(config, space.windows.n[window])),
        padded_volume=int(padded_volume(config, *(np.array([extent]) for extent in (m, n, k)))[0]),
    )


def _ranking(config: L0TileConfig, found: Exploration) -> list[tuple[int, int]]:
    """All candidates as (schedule, index), best first, by the chooser's own order."""
    places = [(s, np.arange(space.size)) for s, space in enumerate(found.spaces)]
    owner: Ints = np.concatenate([np.full(at.size, s) for s, at in places])
    index: Ints = np.concatenate([at for _, at in places])
    cost = np.concatenate([space.costs.cost for space in found.spaces])
    ties = [
        np.concatenate([tie_key(config, found.spaces[s], at, key) for s, at in places]) for key in range(5)
    ]
    order = np.lexsort((index, *reversed(ties), owner, cost))
    return list(zip(owner[order].tolist(), index[order].tolist(), strict=True))


def _diverse(found: Exploration, ranking: list[tuple[int, int]], top: int) -> list[tuple[int, int]]:
    """The best of each (m, n) window in order, and beside the winner its window's second-best tile."""
    winner = found.winner.tile(found.at)
    quota = {winner[:2]: 1}
    picked: list[tuple[int, int]] = []
    for place, at in ranking:
        tile = found.spaces[place].tile(at)
        left = quota.setdefault(tile[:2], 1)
        if tile != winner and left and len(picked) < top:
            quota[tile[:2]] = left - 1
            picked.append((place, at))
    return picked


def _answer(
    config: L0TileConfig, found: Exploration, winner: Candidate, ranking: list[tuple[int, int]], tile: Tile
) -> Asked:
    for place, at in ranking:
        if found.spaces[place].tile(at) == tile:
            candidate = _candidate(config, found.spaces[place], at)
            reason = "" if tile == winner.tile else why_lost(winner, candidate)
            return Asked(tile=tile, candidate=attrs.evolve(candidate, reason=reason))
    broken = (
        (regime.title, why_illegal(config, regime, *tile)) for regime in (BASELINE, *alternatives(config))
    )
    return Asked(tile=tile, candidate=None, broken=tuple((title, why or _WHOLE) for title, why in broken))


def explain(config: L0TileConfig, top: int = 10, ask: Iterable[Tile] = ()) -> TileChoice:
    """The chooser's answer, at most ``top`` runners-up, and a verdict on each tile of ``ask``.

    Of every output window only the best tile is shown, and of the winner's window the next best too. Raises
    what :func:`choose_l0_tile` raises.
    """
    found = explore_all(config)
    winner = _candidate(config, found.winner, found.at)
    ranking = _ranking(config, found)
    runners = [_candidate(config, found.spaces[s], at) for s, at in _diverse(found, ranking, top)]
    return TileChoice(
        config=config,
        result=result_at(config, found.winner, found.at),
        winner=winner,
        runners_up=tuple(attrs.evolve(c, reason=why_lost(winner, c)) for c in runners),
        asked=tuple(_answer(config, found, winner, ranking, tile) for tile in ask),
        considered=len(ranking),
        schedules=tuple(space.regime.title for space in found.spaces),
    )
