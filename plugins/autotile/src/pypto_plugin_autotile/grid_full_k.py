"""A grid whose windows are one product each over all of K: two loops, the inner one pipelined.

The outer loop holds one operand's panel while the other operand moves past it. What the loops don't cover is peeled
into straight-line windows: a strip below, corner included, then one to the right.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from pypto_core.ir import (
    EMPTY_MAP,
    PIPELINE_DOUBLE_BUFFER_C,
    PIPELINE_OVERLAP_STORES,
    Expr,
    MemorySpace,
    Var,
    round_up,
    static_dim,
)
from pypto_plugin_autotile.bias import emit_bias
from pypto_plugin_autotile.emit import PIPELINED, Emitter, loop_head
from pypto_plugin_autotile.k_loop import Window, window_is_empty
from pypto_plugin_autotile.match import Kind
from pypto_plugin_autotile.placers import Placer
from pypto_plugin_autotile.plan import Plan

LEFT, RIGHT = MemorySpace.Left, MemorySpace.Right
_APART: Mapping[str, Any] = {**PIPELINED, PIPELINE_OVERLAP_STORES: False}


@attrs.frozen
class _Grid:
    out: Emitter
    plan: Plan
    placer: Placer

    @property
    def name(self) -> str:
        return self.plan.product.var.name_hint

    @property
    def biased(self) -> bool:
        return self.plan.product.kind is Kind.BIAS

    def left(self, out: Emitter, name: str, row: Expr | int, rows: int) -> Var:
        return out.extract(name, self.plan.product.lhs, (row, 0), (rows, self.plan.K), LEFT)

    def right(self, out: Emitter, name: str, col: Expr | int, cols: int) -> Var:
        return out.extract(name, self.plan.product.rhs, (0, col), (self.plan.K, cols), RIGHT)

    def product(self, out: Emitter, name: str, a: Var, b: Var, bias: Var | None) -> Var:
        notes = self.plan.product.call.attrs
        if bias is None:
            return out.let(name, "tile.matmul", (a, b), {}, notes)
        return out.let(name, "tile.matmul_bias", (a, b, bias), {}, notes)

    def bias(self, out: Emitter, name: str, col: Expr | int, cols: int) -> Var | None:
        return emit_bias(out, self.plan, name, col, cols) if self.biased else None

    def interior(self, chain: Var) -> Var:
        """The two loops over all whole windows."""
        plan, name, out = self.plan, self.name, self.out
        rows = (0, interior(plan.M, plan.m, plan.output_valid[0]), plan.m)
        cols = (0, interior(plan.N, plan.n, plan.output_valid[1]), plan.n)
        outer_bounds, inner_bounds = (rows, cols) if plan.rows_outer else (cols, rows)
        # Two copies of a pinned operand would need twice the memory that it fills.
        outer_attrs = EMPTY_MAP if plan.pins_operand else _APART
        outer = loop_head(
            f"{name}_o", f"{name}_oc", chain, outer_bounds, f"{name}_orv", out.span, outer_attrs
        )
        body = out.nested()
        held: tuple[Var, Var | None]
        if plan.rows_outer:
            held = self.left(body, f"{name}_a", outer.var, plan.m), None
        else:
            held = (
                self.right(body, f"{name}_b", outer.var, plan.n),
                self.bias(body, f"{name}_bias", outer.var, plan.n),
            )
        inner_attrs = {**_APART, PIPELINE_DOUBLE_BUFFER_C: True} if plan.choice.double_buffer_c else _APART
        inner = loop_head(
            f"{name}_i", f"{name}_ic", outer.carry, inner_bounds, f"{name}_irv", out.span, inner_attrs
        )
        trip = body.nested()
        placed = self.trip(trip, held, outer.var, inner.var, inner.carry)
        return out.loop(outer, body, body.loop(inner, trip, placed))

    def trip(self, out: Emitter, held: tuple[Var, Var | None], o: Var, i: Var, chain: Var) -> Var:
        """One window of the interior."""
        plan, name = self.plan, self.name
        if plan.rows_outer:
            a, b = held[0], self.right(out, f"{name}_b", i, plan.n)
            bias = self.bias(out, f"{name}_bias", i, plan.n)
            row, col = o, i
        else:
            a, b = self.left(out, f"{name}_a", i, plan.m), held[0]
            bias, row, col = held[1], i, o
        value = self.product(out, f"{name}_c", a, b, bias)
        return self.placer.place(out, value, row, col, chain, 0)

    def edge(self, window: Window, chain: Var, step: int) -> Var:
        """One window that the loops don't cover."""
        name, out = self.name, self.out
        a = self.left(out, f"{name}_ta{step}", window.row, window.rows)
        b = self.right(out, f"{name}_tb{step}", window.col, window.cols)
        bias = self.bias(out, f"{name}_tbias{step}", window.col, window.cols)
        value = self.product(out, f"{name}_tc{step}", a, b, bias)
        return self.placer.place(out, value, window.row, window.col, chain, step)


def interior(extent: int, step: int, valid: Expr) -> int:
    """How far the loops go: over all whole windows, but not past those that hold data where that is known."""
    whole = extent // step * step
    known = static_dim(valid)
    return whole if known is None else min(whole, max(round_up(known, step), step))


def edge_windows(M: int, N: int, m: int, n: int) -> tuple[Window, ...]:
    """The windows outside of the interior: the strip below it, corner included, then the strip to its right."""
    full_m, full_n = M // m * m, N // n * n
    below = [Window(full_m, col, M - full_m, min(n, N - col)) for col in range(0, N, n)] if full_m < M else []
    right = [Window(row, full_n, m, N - full_n) for row in range(0, full_m, m)] if full_n < N else []
    return (*below, *right)


def emit_full_k_grid(out: Emitter, plan: Plan, placer: Placer) -> Var:
    """Emit the grid; peeled windows that hold no valid element are left out."""
    grid = _Grid(out, plan, placer)
    chain = grid.interior(placer.begin(out))
    for step, window in enumerate(edge_windows(plan.M, plan.N, plan.m, plan.n), start=1):
        if not window_is_empty(plan, window):
            chain = grid.edge(window, chain, step)
    return placer.finish(out, chain)
