"""The search that both planners share: greedy, local search, and a proof for problems that are small enough.

Memories are independent of each other, so each is solved on its own. All randomness is seeded and all effort is
counted in steps, never in seconds: the same problem gets the same answer on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from pypto_core.contract import NoPlacementError, Placement, PlacementBlock, PlacementProblem, live_peak
from pypto_core.ir import MemorySpace
from pypto_plugin_memory.planners import canonical
from pypto_plugin_memory.planners.exact import Outcome, decide
from pypto_plugin_memory.planners.greedy import best_greedy, orders
from pypto_plugin_memory.planners.improve import improve_cost, squeeze
from pypto_plugin_memory.planners.instance import NO_LIMIT, Instance, instance_of, total_cost

SMALL = 60
"""Up to this many blocks a plan that exists is found or its absence proved, within the nodes allowed."""


@attrs.frozen(kw_only=True)
class Effort:
    """How much to try, in steps. ``shuffles``: random orders of the greedy. ``restarts``: of the search for a fit, with
    ``steps`` each. ``rankings``: attempts at packing from the ground up. ``polish``: steps that lower the cost of
    reuse. ``nodes``: of the exact search.
    """

    shuffles: int = 4
    restarts: int = 2
    steps: int = 100
    rankings: int = 300
    polish: int = 300
    nodes: int = 40_000
    seed: int = 0


def search(problem: PlacementProblem, effort: Effort | None = None) -> Placement:
    """A placement of every block: strict first, then with separations given up that may be.

    Raises NoPlacementError for a memory that holds no placement, ``proven`` when none exists.
    """
    effort = effort or Effort()
    offsets: dict[str, int] = {}
    relaxed: list[tuple[str, str]] = []
    optimal = True
    for space in problem.spaces:
        found = solve_space(problem, space, effort)
        offsets.update(found.offsets)
        relaxed += found.relaxed
        optimal = optimal and found.optimal
    return Placement(offsets=offsets, relaxed=relaxed, optimal=optimal)


def solve_space(problem: PlacementProblem, space: MemorySpace, effort: Effort) -> Placement:
    """One memory."""
    strict = instance_of(problem, space)
    at, proven = solve(strict, effort, _peak_of(problem, space))
    relaxable = [s for s in problem.separations if s.relaxable and _lies_in(problem, s.a, space)]
    pairs: list[tuple[str, str]] = []
    chosen = strict
    if at is None and relaxable:
        chosen = instance_of(problem, space, relaxed=True)
        at, proven = solve(chosen, effort, _peak_of(problem, space))
        pairs = [(s.a, s.b) for s in relaxable]
    if at is None:
        raise no_placement(problem, space, proven)
    return Placement(
        offsets={block.name: at[i] for i, block in enumerate(chosen.blocks)},
        relaxed=pairs,
        optimal=not pairs and total_cost(chosen, at) == 0,
    )


def _lies_in(problem: PlacementProblem, name: str, space: MemorySpace) -> bool:
    return any(b.name == name and b.space is space for b in problem.blocks)


def _peak_of(problem: PlacementProblem, space: MemorySpace) -> int:
    return live_peak(problem, space)[0]


def solve(instance: Instance, effort: Effort, need: int) -> tuple[list[int] | None, bool]:
    """(offsets or None, whether there being none is proved). ``need``: bytes alive at the worst moment."""
    if need > instance.capacity:
        return None, True
    found = best_greedy(instance, effort.shuffles, effort.seed)
    at = found[1] if found is not None else None
    if at is None:
        at, proven = _fit(instance, effort)
        if at is None:
            return None, proven
    if total_cost(instance, at) and effort.polish:
        at = improve_cost(instance, at, effort.polish, effort.seed)
    return at, False


def _fit(instance: Instance, effort: Effort) -> tuple[list[int] | None, bool]:
    """Any placement within the capacity, whatever it costs."""
    roomy = attrs.evolve(instance, capacity=NO_LIMIT, soft=[[] for _ in instance.soft])
    for number, order in enumerate(orders(roomy, effort.restarts, effort.seed)):
        at = squeeze(roomy, order, effort.steps, instance.capacity, effort.seed + number)
        if at is not None:
            return at, False
    at = _packed(instance, effort)
    if at is not None:
        return at, False
    if instance.count <= SMALL:
        outcome, at = decide(instance, effort.nodes)
        return at, outcome is Outcome.IMPOSSIBLE
    return None, False


def _packed(instance: Instance, effort: Effort) -> list[int] | None:
    """A packing from the ground up, where nothing but lifetimes keeps blocks apart."""
    if not effort.rankings or not canonical.applies(instance):
        return None
    ground = canonical.ground_of(instance)
    rankings = canonical.rankings(ground, effort.seed)
    for _ in range(effort.rankings):
        at = canonical.attempt(rankings, instance.capacity // ground.unit)
        if at is not None:
            return [a * ground.unit for a in at]
    return None


def no_placement(
    problem: PlacementProblem, space: MemorySpace, proven: bool, message: str = "", **parts: Any
) -> NoPlacementError:
    """The error for a memory that is too small, with the moment of the greatest need and what is alive then."""
    need, moment = live_peak(problem, space)
    capacity = problem.capacities.get(space, 0)
    alive = sorted(
        (b for b in problem.blocks if b.space is space and any(s <= moment < e for s, e in b.live)),
        key=lambda b: (-b.size, b.name),
    )
    facts: list[tuple[str, object]] = [
        ("available", f"{capacity} bytes in {space.name}"),
        ("alive at once", f"{need} bytes at statement {max(0, moment) // 2}"),
    ]
    facts += [(b.label or b.name, f"{b.size} bytes") for b in alive[:12]]
    if len(alive) > 12:
        facts.append(("and", f"{len(alive) - 12} more"))
    facts.append(("certainty", "no placement exists" if proven else "none was found; one may exist"))
    facts += _with_fewer_stages(alive, need, capacity)
    return NoPlacementError(
        message or f"no placement of {problem.purpose or 'these blocks'} fits into {space.name}",
        proven=proven,
        space=space,
        facts=facts,
        remedy=_what_fits(alive, need, capacity),
        **parts,
    )


def _copies(alive: Sequence[PlacementBlock]) -> dict[str, list[PlacementBlock]]:
    """What is alive by the place in the source: the stages of a pipelined loop have a tile of their own each."""
    found: dict[str, list[PlacementBlock]] = {}
    for block in alive:
        found.setdefault(block.label or block.name, []).append(block)
    return found


def _with_fewer_stages(
    alive: Sequence[PlacementBlock], need: int, capacity: int
) -> Iterator[tuple[str, object]]:
    """The largest number of tiles from one place in the source with which those alive would fit."""
    copies = list(_copies(alive).values())
    most = max(map(len, copies), default=0)
    for stages in range(most - 1, 0, -1):
        left = sum(block.size for blocks in copies for block in blocks[:stages])
        if left <= capacity or stages == 1:
            fits = "fits" if left <= capacity else f"{left - capacity} too many"
            yield f"with stage={stages}", f"{left} bytes instead of {need}: {fits}"
            return


def _what_fits(alive: Sequence[PlacementBlock], need: int, capacity: int) -> str:
    """What to change so that no more than ``capacity`` bytes are alive."""
    over = need - capacity
    if not alive or over <= 0:
        return "make tiles smaller or use fewer pipeline stages"
    name, blocks = max(_copies(alive).items(), key=lambda item: sum(block.size for block in item[1]))
    enough = blocks[0].size - -(-over // len(blocks))
    smaller = f"{name} of at most {enough}" if enough > 0 else f"tiles of {capacity * 100 // need} % of their"
    fewer = ", or fewer pipeline stages" if len(_copies(alive)) < len(alive) else ""
    return f"free {over} bytes: {smaller} bytes{fewer}"
