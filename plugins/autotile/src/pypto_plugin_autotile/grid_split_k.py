"""A grid whose windows are reduced over K in several blocks: straight-line, window after window."""

from __future__ import annotations

from pypto_core.ir import Var
from pypto_plugin_autotile.emit import Emitter
from pypto_plugin_autotile.k_loop import Window, emit_reduction, window_is_empty
from pypto_plugin_autotile.placers import Placer
from pypto_plugin_autotile.plan import Plan


def windows_of(M: int, N: int, m: int, n: int) -> tuple[Window, ...]:
    """The windows of a grid, column of windows after column; those at the ends are smaller."""
    return tuple(
        Window(row, col, min(m, M - row), min(n, N - col)) for col in range(0, N, n) for row in range(0, M, m)
    )


def emit_split_k_grid(out: Emitter, plan: Plan, placer: Placer) -> Var:
    """Emit the grid; windows that hold no valid element are left out."""
    chain = placer.begin(out)
    base = plan.product.var.name_hint
    for step, window in enumerate(windows_of(plan.M, plan.N, plan.m, plan.n)):
        if step and window_is_empty(plan, window):
            continue
        name = f"{base}_t{step}"
        value = emit_reduction(out, plan, window, name, name)
        chain = placer.place(out, value, window.row, window.col, chain, step)
    return placer.finish(out, chain)
