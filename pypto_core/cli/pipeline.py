"""``pypto pipeline``: the order of the passes, why, and what they say of a program."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import click

from pypto_core.cli.choices import make_context, make_wishes, parse_options, solver_options, target_options
from pypto_core.cli.output import console, emit_json, json_option, table
from pypto_core.diagnostics import Diagnostic, DiagnosticError, UserError, render
from pypto_core.host import load_host
from pypto_core.ir import Program
from pypto_core.language import parse_program
from pypto_core.run import (
    PassContext,
    Pipeline,
    PipelineStep,
    Run,
    Stage,
    as_program,
    goals_of,
    make_problem,
    resolve,
    structural,
    write_file,
)
from pypto_core.solver import Plan, explain_plan, lock_text, plan_svg


@click.command("pipeline")
@click.argument("file", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@target_options
@solver_options
@click.option("--goal", "-g", default="pto", show_default=True, help="A target, or a property to reach.")
@click.option(
    "--explain",
    is_flag=True,
    help="Give each step's needs, products and reasons; with FILE, run the steps and give what each says of it.",
)
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
    watch = _Watch()
    context = make_context(host, backend, planner, parse_options(options))
    context = context.derive(instruments=(*context.instruments, watch))
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
    failure = _run(resolved, program, context) if explain and file is not None else None
    if failure is not None and as_json:
        raise failure
    if as_json:
        emit_json(_data(plan, watch.stages))
    elif explain:
        console().print(explain_plan(plan, _remarks(watch.stages)))
        if failure is not None:
            raise failure
    else:
        rows = [(i, s.instance, s.here, s.origin) for i, s in enumerate(plan.steps, 1)]
        console().print(table(("", "pass", "why it is here", "distribution"), rows, right=("",)))


@attrs.define
class _Watch:
    """Keeps hold of a run, also of one that fails."""

    run: Run | None = None

    def before_pass(self, run: Run, step: PipelineStep) -> None:
        """Called before each pass."""
        self.run = run

    @property
    def stages(self) -> Mapping[str, Stage]:
        """What the steps did that ran to their end, by instance."""
        return {s.step.instance: s for s in self.run.stages} if self.run is not None else {}


def _run(pipeline: Pipeline, program: Program, context: PassContext) -> DiagnosticError | None:
    """Run the steps; returns the error of one that fails."""
    known = structural(pipeline.properties) | (pipeline.initial or frozenset())
    try:
        pipeline.run(program, context, verified=known)
    except DiagnosticError as error:
        return error
    return None


def _remarks(stages: Mapping[str, Stage]) -> dict[str, list[str]]:
    """Under each step that ran: whether it changed the program, and what it reported."""
    return {
        instance: [
            f"program   {'changed' if stage.changed else 'unchanged'}",
            *[line for found in stage.diagnostics for line in _said(found)],
        ]
        for instance, stage in stages.items()
    }


def _said(found: Diagnostic) -> list[str]:
    first, *rest = render(found).splitlines()
    return [f"says      {first}", *[f"{' ' * 10}{line}" for line in rest]]


def _data(plan: Plan, stages: Mapping[str, Stage]) -> dict[str, Any]:
    """The plan, with what each step did where the steps were run."""
    data = plan.to_json()
    for step in data["steps"] if stages else ():
        stage = stages[step["instance"]]
        step |= {"changed": stage.changed, "diagnostics": [d.to_json() for d in stage.diagnostics]}
    return data


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
