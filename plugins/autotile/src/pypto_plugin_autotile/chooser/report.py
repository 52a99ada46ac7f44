"""What a command line or page shows of one choice, as plain data."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pypto_core.contract import Backend
from pypto_core.ir import DataType
from pypto_plugin_autotile.chooser.config import config_for, schedule_gates
from pypto_plugin_autotile.chooser.explain import Tile, TileChoice, explain


def tile_report(
    backend: Backend,
    M: int,
    N: int,
    K: int,
    dtype: DataType,
    *,
    double_buffer_c: bool = False,
    output_stationary: bool = False,
    top: int = 10,
    ask: Iterable[Tile] = (),
    **fields: Any,
) -> dict[str, Any]:
    """The choice AutoTileMatmulL0 makes for a product of ``dtype`` operands on ``backend``.

    Keys: ``title`` (a line), ``columns`` and ``rows`` (a table of strings), ``notes`` (lines), ``choice`` (all
    figures, see ``TileChoice.to_json``). ``fields`` override single fields of the question.
    """
    gates: dict[str, Any] = dict(
        schedule_gates(double_buffer_c=double_buffer_c, output_stationary=output_stationary)
    )
    choice = explain(config_for(backend, M, N, K, dtype, **(gates | fields)), top=top, ask=ask)
    rows = choice.rows()
    return {
        "title": f"{M} x {N} x {K} {dtype} on {backend.title}",
        "columns": list(rows[0]),
        "rows": [list(row.values()) for row in rows],
        "notes": list(_notes(choice)),
        "choice": choice.to_json(),
    }


def _notes(choice: TileChoice) -> Iterable[str]:
    yield f"{choice.considered} legal tiles under: {'; '.join(choice.schedules)}"
    if choice.winner.tile == choice.config.whole():
        yield "the whole product is one L0 tile, so no grid was considered"
    if choice.result.perf_hint:
        yield choice.result.perf_hint
    for asked in choice.asked:
        name = "{}, {}, {}".format(*asked.tile)
        if asked.candidate is not None:
            yield f"{name}: {asked.candidate.reason or 'chosen'}"
        else:
            yield from (f"{name} under {schedule}: {why}" for schedule, why in asked.broken)
