"""How good and how fast the planners are on public problems.

Run with the folder of the problems in PYPTO_PLANNING_DATA::

    PYPTO_PLANNING_DATA=folder python plugins/memory/benchmarks/bench_planners.py [dsa] [minimalloc] [--seconds 60]

Every answer is judged by the kernel's checker before it counts.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import time
from pathlib import Path

from planning_data import VARIABLE, Case, data_folder, dsa_cases, minimalloc_cases

from pypto_core.contract import NoPlacementError, check_placement, live_peak, peak_bytes, reuse_cost
from pypto_core.ir import MemorySpace
from pypto_plugin_memory.planners import dsa
from pypto_plugin_memory.planners.lowest import lowest_peak


def bench_dsa(folder: Path, rounds: int) -> None:
    """Cost, fit and time on the DSA collection."""
    times: list[float] = []
    soft: list[tuple[Case, int | None]] = []
    misfits: list[str] = []
    for case in dsa_cases(folder):
        cost, seconds = _solve(case, rounds)
        times.append(seconds)
        if cost is None:
            misfits.append(case.name)
        if case.problem.penalties:
            soft.append((case, cost))
    print(f"dsa: {len(times)} problems, {len(misfits)} without a placement")
    for name in misfits:
        print(f"  none for {name}")
    known = [(case, cost) for case, cost in soft if case.best is not None]
    missed = [case.name for case, cost in known if cost is None]
    ours = sum(cost for _, cost in known if cost is not None)
    print(
        f"  soft problems: {len(soft)}, with a best known cost: {len(known)}, of these not fitted: {len(missed)}"
    )
    print(f"  summed reuse cost {ours}, best known {sum(case.best or 0 for case, _ in known)}")
    for case, cost in known:
        if cost is not None and case.best is not None and cost != case.best:
            print(f"  {case.name}: {cost}, best known {case.best}")
    times.sort()
    p95 = times[math.ceil(0.95 * len(times)) - 1]
    print(
        f"  time per problem: median {statistics.median(times) * 1e3:.2f} ms, p95 {p95 * 1e3:.2f} ms, "
        f"greatest {times[-1] * 1e3:.1f} ms"
    )


def _solve(case: Case, rounds: int) -> tuple[int | None, float]:
    best = math.inf
    cost: int | None = None
    for _ in range(rounds):
        started = time.perf_counter()
        try:
            placement = dsa.plan(case.problem)
        except NoPlacementError:
            placement = None
        best = min(best, time.perf_counter() - started)
        if placement is not None:
            wrong = check_placement(case.problem, placement)
            if wrong:
                raise SystemExit(f"{case.name}: {wrong[0].message}")
            cost = reuse_cost(case.problem, placement)
    return cost, best


def bench_minimalloc(folder: Path, seconds: float, only: str) -> None:
    """Peaks on the MinimAlloc collection."""
    ratios: list[float] = []
    for case in minimalloc_cases(folder):
        if len(case.problem.blocks) < 20 or (only and not case.name.startswith(only)):
            continue
        space = MemorySpace.Vec
        need, capacity = live_peak(case.problem, space)[0], case.problem.capacities[space]
        started = time.perf_counter()
        placement = lowest_peak(case.problem, space, seconds=seconds)
        spent = time.perf_counter() - started
        wrong = [v for v in check_placement(case.problem, placement) if v.kind != "capacity"]
        if wrong:
            raise SystemExit(f"{case.name}: {wrong[0].message}")
        top = peak_bytes(case.problem, placement, space)
        ratios.append(top / need)
        fits = "fits" if top <= capacity else "does not fit"
        print(
            f"  {case.name}: peak {top}, alive {need}, ratio {top / need:.4f}, {fits}, {spent:.1f} s",
            flush=True,
        )
    if ratios:
        print(f"minimalloc: geometric mean of the ratios {statistics.geometric_mean(ratios):.4f}")


def main() -> None:
    """Read the command line and run what it names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", default=["dsa", "minimalloc"])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="")
    wanted = parser.parse_args()
    folder = data_folder()
    if folder is None:
        print(f"skipped: set {VARIABLE} to the folder that holds dsa/ and minimalloc/", file=sys.stderr)
        return
    if "dsa" in wanted.what:
        bench_dsa(folder, wanted.rounds)
    if "minimalloc" in wanted.what:
        bench_minimalloc(folder, wanted.seconds, wanted.only)


if __name__ == "__main__":
    main()
