"""The part of a report on tiles: for each product the chooser's pick, the runners-up, and why they lost."""

from __future__ import annotations

from collections.abc import Iterator

from pypto_core.ir import Program, base_name, walk_stmts
from pypto_core.run import Compiled
from pypto_plugin_autotile.analysis import analyse
from pypto_plugin_autotile.chooser import explain
from pypto_plugin_autotile.hints import Hints
from pypto_plugin_autotile.machine import Machine
from pypto_plugin_autotile.match import Product, match_product

PASS = "AutoTileMatmulL0"
TOP = 6


def report_section(compiled: Compiled) -> str:
    """Markdown; empty when the pass did not run or found no product that it could ask the chooser about."""
    before = _program_before(compiled)
    if before is None:
        return ""
    machine = Machine.of(compiled.context)
    return "\n\n".join(text for product in _products(before) if (text := _choice(product, machine)))


def _program_before(compiled: Compiled) -> Program | None:
    program = compiled.source
    for stage in compiled.stages:
        if stage.step.name == PASS:
            return program
        program = stage.program
    return None


def _products(program: Program) -> Iterator[Product]:
    for function in program:
        if not function.is_incore:
            continue
        for stmt in walk_stmts(function.body):
            product = match_product(stmt)
            if product is not None:
                yield product


def _choice(product: Product, machine: Machine) -> str:
    plan = analyse(product, machine, Hints())
    if plan is None:
        return ""
    choice = explain(plan.config, top=TOP)
    rows = choice.rows()
    columns = list(rows[0])
    where = f" ({product.stmt.span})" if product.stmt.span.is_valid else ""
    extents = f"{plan.M} x {plan.N} x {plan.K}"
    lines = [
        f"**{base_name(product.var.name_hint)}**{where}: {extents}, {choice.considered} legal tiles; walls in cycles",
        "",
        f"| {' | '.join(columns)} |",
        f"|{'---|' * len(columns)}",
    ]
    lines += [f"| {' | '.join(str(row[column]) for column in columns)} |" for row in rows]
    return "\n".join(lines)
