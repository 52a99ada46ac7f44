"""``pypto pipeline``: the order of the passes, and why."""

from __future__ import annotations

from pathlib import Path

import click

from pypto_core.cli.choices import make_context, make_wishes, parse_options, solver_options, target_options
from pypto_core.cli.output import console, emit_json, json_option, table
from pypto_core.diagnostics import UserError
from pypto_core.host import load_host
from pypto_core.ir import Program
from pypto_core.language import parse_program
from pypto_core.run import as_program, goals_of, make_problem, resolve, write_file
from pypto_core.solver import explain_plan, lock_text, plan_svg


@click.command("pipeline")
@click.argument("file", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@target_options
@solver_options
@click.option("--goal", "-g", default="pto", show_default=True, help="A target, or a property to reach.")
@click.option("--explain", is_flag=True, help="Give each step's needs, products and reasons.")
@click.option(
    "--lock", type=click.Path(dir_okay=False, path_type=Path), help="Write the order with versions."
)
@click.option("--graph", type=click.Path(dir_okay=False, path_type=Path), help="Write a picture (.svg).")
@json_option
def command(
    file: Path | None,
    backend: str | None,
    planner: str | None,
    options: tuple[str, ...],
    allow_rerun: tuple[str, ...],
    solver_budget: int,
    goal: str,
    explain: bool,
    lock: Path | None,
    graph: Path | None,
    as_json: bool,
) -> None:
    """Resolve the pipeline for FILE; without it for a small tile kernel (two loads, an add and a store)."""
    if graph is not None:
        _check_picture(graph)
    host = load_host()
    context = make_context(host, backend, planner, parse_options(options))
    _, goals = goals_of(goal, context, host)
    program = as_program(file) if file is not None else sample_kernel()
    wishes = make_wishes(host, allow_rerun, solver_budget)
    resolved = resolve(context, host, goals, program, wishes)
    plan = resolved.plan
    assert plan is not None
    if lock is not None:
        write_file(lock, lock_text(plan))
    if graph is not None:
        problem = make_problem(context, host, goals, resolved.initial or frozenset(), wishes)
        write_file(graph, plan_svg(problem, plan))
    if as_json:
        emit_json(plan.to_json())
    elif explain:
        console().print(explain_plan(plan))
    else:
        rows = [(i, s.instance, s.here, s.origin) for i, s in enumerate(plan.steps, 1)]
        console().print(table(("", "pass", "why it is here", "distribution"), rows, right=("",)))


def _check_picture(path: Path) -> None:
    """Refuse a file name that promises a picture of another kind."""
    if path.suffix.lower() != ".svg":
        raise UserError(
            f"a graph can't be written as '{path.suffix or path.name}'",
            code="PT823",
            facts={"supported": ".svg"},
            remedy=f"write --graph {path.with_suffix('.svg')}",
        )


_SAMPLE = """
import pypto_core.language as pl

@pl.program
class Sample:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(self, a: pl.Tensor[[64, 64], pl.FP32], out: pl.Out[pl.Tensor[[64, 64], pl.FP32]]):
        x = pl.load(a, [0, 0], [64, 64])
        return pl.store(pl.add(x, pl.load(a, [0, 0], [64, 64])), [0, 0], out)
"""


def sample_kernel() -> Program:
    """What stands for "some tile kernel" when none is given."""
    return parse_program(_SAMPLE, "<sample>")
