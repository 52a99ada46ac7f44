"""Runs every `bench_*.py` here and in the plugins' `benchmarks/` folders and prints one table.

A benchmark is a module with `run() -> list[Figure]`. The exit code is 1 when a target is missed or a
benchmark fails, 0 otherwise.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, cast

import attrs
import click
from rich.console import Console
from rich.table import Table

from benchmarks.figures import Figure
from pypto_core.cli import worker_options
from pypto_core.jobs import map_jobs, open_workers

ROOT = Path(__file__).resolve().parent.parent


@attrs.frozen
class Outcome:
    """What one benchmark module gave: its figures, or the traceback it ended with."""

    name: str
    figures: tuple[Figure, ...]
    seconds: float
    failure: str | None = None


def discover() -> dict[str, Path]:
    """Benchmark files by name: `solver` for benchmarks/bench_solver.py, `memory.plan` for a plugin's."""
    found = {path.stem.removeprefix("bench_"): path for path in sorted(ROOT.glob("benchmarks/bench_*.py"))}
    for path in sorted(ROOT.glob("plugins/*/benchmarks/bench_*.py")):
        found[f"{path.parent.parent.name}.{path.stem.removeprefix('bench_')}"] = path
    return found


def run_one(name: str, path: Path) -> Outcome:
    """Load and run one benchmark; whatever it raises is its outcome."""
    start = time.perf_counter()
    try:
        figures = tuple(_load(name, path)())
    except Exception:
        return Outcome(name, (), time.perf_counter() - start, traceback.format_exc())
    return Outcome(name, figures, time.perf_counter() - start)


def _load(name: str, path: Path) -> Callable[[], Iterable[Figure]]:
    module_name = f"benchmarks.bench_{name}" if "." not in name else f"bench_{name.replace('.', '_')}"
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    spec.loader.exec_module(module)
    return cast(Callable[[], Iterable[Figure]], module.run)


def number(value: float | None) -> str:
    """A figure with the digits that matter; empty for None."""
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def table(outcomes: Iterable[Outcome]) -> Table:
    """One row a figure; the peer's column says how many times better we are."""
    result = Table(title="pypto figures", title_justify="left")
    for column in ("benchmark", "figure", "value", "unit", "target", "peer", "ratio", "met"):
        result.add_column(column, justify="right" if column in ("value", "target", "ratio") else "left")
    for outcome in outcomes:
        for figure in outcome.figures:
            result.add_row(outcome.name, *_cells(figure))
        if outcome.failure is not None:
            reason = outcome.failure.strip().splitlines()[-1]
            result.add_row(outcome.name, reason, "", "", "", "", "", "[red]failed[/red]")
    return result


def _cells(figure: Figure) -> list[str]:
    sign = "<=" if figure.better == "lower" else ">="
    target = "" if figure.target is None else f"{sign} {number(figure.target)}"
    peer = "" if figure.peer is None else f"{figure.peer_name} {number(figure.peer)}".strip()
    ratio = "" if figure.ratio is None else f"{number(figure.ratio)}x"
    met = {None: "", True: "[green]yes[/green]", False: "[red]NO[/red]"}[figure.ok]
    name = f"{figure.name} ({figure.note})" if figure.note else figure.name
    return [name, number(figure.value), figure.unit, target, peer, ratio, met]


def as_json(outcomes: Iterable[Outcome]) -> list[dict[str, Any]]:
    """The same facts for another program to read."""
    rows: list[dict[str, Any]] = []
    for outcome in outcomes:
        for figure in outcome.figures:
            rows.append(
                {"benchmark": outcome.name, **attrs.asdict(figure), "ratio": figure.ratio, "ok": figure.ok}
            )
        if outcome.failure is not None:
            rows.append({"benchmark": outcome.name, "ok": False, "failure": outcome.failure})
    return rows


@click.command(help=__doc__)
@click.option("--json", "json_output", is_flag=True, help="Print JSON instead of a table.")
@click.option("--only", multiple=True, metavar="NAME", help="Run only this benchmark; may be repeated.")
@worker_options
@click.option("--list", "list_only", is_flag=True, help="Name the benchmarks and stop.")
def main(
    json_output: bool, only: tuple[str, ...], list_only: bool, jobs: int | None, executor: str | None
) -> None:
    """Run the benchmarks and print their figures; times that share a machine are longer."""
    found = discover()
    unknown = [name for name in only if name not in found]
    if unknown:
        raise click.UsageError(f"no benchmark named {', '.join(unknown)}; there are {', '.join(found)}")
    names = list(only) or list(found)
    if list_only:
        click.echo("\n".join(names))
        return
    with open_workers(jobs, executor) as workers:
        outcomes = map_jobs(_run_loudly, [(name, found[name]) for name in names], workers)
    if json_output:
        click.echo(json.dumps(as_json(outcomes), indent=2))
    else:
        # Beside a terminal's own width the table would be cut: a log has no width to keep to.
        Console(width=None if sys.stdout.isatty() else 150).print(table(outcomes))
    missed = [
        f"{outcome.name}: {figure.name}"
        for outcome in outcomes
        for figure in outcome.figures
        if figure.ok is False
    ]
    failed = [outcome for outcome in outcomes if outcome.failure is not None]
    for outcome in failed:
        click.echo(f"{outcome.name} failed:\n{outcome.failure}", err=True)
    if missed:
        click.echo("targets missed: " + "; ".join(missed), err=True)
    sys.exit(1 if missed or failed else 0)


def _run_loudly(named: tuple[str, Path]) -> Outcome:
    name, path = named
    click.echo(f"{name} ...", err=True)
    return run_one(name, path)


if __name__ == "__main__":
    main()
