"""Grids by schedule, and the placements that a result allows."""

from __future__ import annotations

from pypto_core.ir import Var
from pypto_plugin_autotile.emit import Emitter
from pypto_plugin_autotile.grid_full_k import emit_full_k_grid
from pypto_plugin_autotile.grid_split_k import emit_split_k_grid
from pypto_plugin_autotile.placers import Placer
from pypto_plugin_autotile.plan import Plan


def emit_grid(out: Emitter, plan: Plan, placer: Placer) -> Var:
    """Emit a plan's grid and return what stands for the whole result."""
    if plan.full_k:
        return emit_full_k_grid(out, plan, placer)
    return emit_split_k_grid(out, plan, placer)
