"""How good and how fast the planners are on public problems.

Reads the folder that PYPTO_PLANNING_DATA names, or ``shared/data`` beside the checkout, and says so when there is
none. Every answer is judged by the kernel's checker before it counts. As a script it prints the figures::

    PYTHONPATH=. python plugins/memory/benchmarks/bench_planners.py dsa minimalloc
"""

from __future__ import annotations

import importlib.util
import math
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.figures import Figure, clock
from pypto_core.contract import NoPlacementError, check_placement, live_peak, peak_bytes, reuse_cost
from pypto_core.ir import MemorySpace
from pypto_plugin_memory.planners import dsa
from pypto_plugin_memory.planners.lowest import lowest_peak

SKIPPED = "planners: skipped, as PYPTO_PLANNING_DATA names no folder with dsa and minimalloc\n"

SECONDS = 60.0
"""Processor time for each problem of the MinimAlloc collection."""


def _data() -> ModuleType:
    name = "memory_planning_data"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name("planning_data.py"))
        assert spec is not None and spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


def dsa_figures(folder: Path) -> Iterator[Figure]:
    """Cost, fit and time on the DSA collection."""
    times: list[float] = []
    costs: list[tuple[int, int]] = []
    missed = 0
    for case in _data().dsa_cases(folder):
        cost, seconds = _solve(case)
        times.append(seconds * 1e3)
        if case.best is None:
            continue
        if cost is None:
            missed += 1
        else:
            costs.append((cost, case.best))
    times.sort()
    yield Figure(name="soft problems that fit and were not fitted", value=missed, unit="problems", target=0)
    yield Figure(
        name="summed cost of reuse",
        value=sum(cost for cost, _ in costs),
        unit="waits",
        target=sum(best for _, best in costs),
        note=f"{len(costs)} problems with a best known cost",
    )
    yield Figure(name="one problem, median", value=statistics.median(times), unit="ms", target=10.0)
    yield Figure(
        name="one problem, 95 of 100", value=times[math.ceil(0.95 * len(times)) - 1], unit="ms", target=60.0
    )
    yield Figure(name="one problem, slowest", value=times[-1], unit="ms")


def _solve(case: Any) -> tuple[int | None, float]:
    started = clock()
    try:
        placement = dsa.plan(case.problem)
    except NoPlacementError:
        return None, clock() - started
    seconds = clock() - started
    wrong = check_placement(case.problem, placement)
    if wrong:
        raise AssertionError(f"{case.name}: {wrong[0].message}")
    return reuse_cost(case.problem, placement), seconds


def minimalloc_figures(folder: Path, seconds: float = SECONDS) -> Iterator[Figure]:
    """Peaks on the MinimAlloc collection."""
    ratios: list[float] = []
    exact = 0
    space = MemorySpace.Vec
    for case in _data().minimalloc_cases(folder):
        if len(case.problem.blocks) < 20:
            continue
        need = live_peak(case.problem, space)[0]
        placement = lowest_peak(case.problem, space, seconds=seconds)
        wrong = [v for v in check_placement(case.problem, placement) if v.kind != "capacity"]
        if wrong:
            raise AssertionError(f"{case.name}: {wrong[0].message}")
        peak = peak_bytes(case.problem, placement, space)
        ratios.append(peak / need)
        exact += peak <= case.problem.capacities[space]
        yield Figure(name=f"{case.name}, peak over bytes alive", value=ratios[-1], unit="")
    if ratios:
        mean = statistics.geometric_mean(ratios)
        yield Figure(name="peak over bytes alive, geometric mean", value=mean, unit="", target=1.08)
        yield Figure(name="over their capacity", value=len(ratios) - exact, unit=f"of {len(ratios)} problems")


def run() -> list[Figure]:
    """All figures; none, and a message, when the problems are not there."""
    folder = _data().data_folder()
    if folder is None:
        sys.stderr.write(SKIPPED)
        return []
    return [*dsa_figures(folder), *minimalloc_figures(folder)]


def main() -> None:
    """Write the figures as they come."""
    folder = _data().data_folder()
    if folder is None:
        sys.stderr.write(SKIPPED)
        return
    parts = {"dsa": dsa_figures, "minimalloc": minimalloc_figures}
    for name in sys.argv[1:] or list(parts):
        for figure in parts[name](folder):
            limit = "" if figure.target is None else f" (at most {figure.target:g})"
            sys.stdout.write(f"{figure.name}: {figure.value:.4g} {figure.unit}{limit}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
