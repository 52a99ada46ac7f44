"""Local search on a placement: blocks that cost are taken out with their neighbours and put back in other orders."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

from pypto_plugin_memory.planners.greedy import Score, place_in_order, score
from pypto_plugin_memory.planners.instance import MANY, UNPLACED, Instance, pays, peak, put, row_of


def improve_cost(instance: Instance, start: list[int], steps: int, seed: int = 0) -> list[int]:
    """A placement of less or equal reuse cost.

    Each step takes out a block that pays, and some of those it pays for or that stand in its way, and puts them back,
    each at its cheapest place. What is not worse is kept, so that the search can drift.
    """
    rng = random.Random(seed)
    current, have = list(start), score(instance, start)
    best, best_score = list(start), have
    paid = [pays(instance, i, current) for i in range(instance.count)]
    for _ in range(steps):
        if best_score[0] == 0:
            break
        paying = [i for i, weight in enumerate(paid) if weight and instance.fixed[i] < 0]
        if not paying:
            break
        taken = _around(instance, current, rng.choice(paying), rng)
        trial = _again(instance, current, taken, rng)
        if trial is None:
            continue
        differences = changes(instance, current, trial, taken)
        found = (have[0] + sum(change for _, change in differences) // 2, peak(instance, trial))
        if found[0] <= have[0]:
            current, have = trial, found
            for i, change in differences:
                paid[i] += change
            if found < best_score:
                best, best_score = list(trial), found
    return best


def changes(
    instance: Instance, before: list[int], after: list[int], moved: list[int]
) -> list[tuple[int, int]]:
    """(block, by how much it pays more) for both blocks of each pair that has a moved one in it."""
    done = set[int]()
    out: list[tuple[int, int]] = []
    for i in moved:
        done.add(i)
        for j, change in _of_one(instance, before, after, i):
            if j not in done:
                out += [(i, change), (j, change)]
    return out


def _of_one(instance: Instance, before: list[int], after: list[int], i: int) -> Iterable[tuple[int, int]]:
    """(other, by how much each of the two pays more) of the blocks with which a moved one shares bytes now or did."""
    old, new, mine, size = before[i], after[i], instance.size[i], instance.size
    if len(instance.soft[i]) > MANY:
        import numpy as np  # most blocks have few

        row = row_of(instance, i)
        theirs, was, now = row.size, row.offsets(before), row.offsets(after)
        shared: Any = (old < was + theirs) & (was < old + mine)
        shares: Any = (new < now + theirs) & (now < new + mine)
        change: Any = (shares.astype(np.int64) - shared) * row.weight
        differs: Any = change.nonzero()[0]
        return zip(row.others[differs].tolist(), change[differs].tolist(), strict=True)
    out: list[tuple[int, int]] = []
    for j, weight in instance.soft[i]:
        theirs, was, now = size[j], before[j], after[j]
        change = (new < now + theirs and now < new + mine) - (old < was + theirs and was < old + mine)
        if change:
            out.append((j, change * weight))
    return out


def _around(instance: Instance, at: list[int], block: int, rng: random.Random) -> list[int]:
    """The block, the ones it pays for, and some that could make room."""
    size = instance.size
    near = [
        j for j, _ in instance.soft[block] if at[block] < at[j] + size[j] and at[j] < at[block] + size[block]
    ]
    others = [j for j in instance.hard[block] if j not in near]
    rng.shuffle(others)
    chosen = [block, *near, *others[: rng.randrange(0, 4)]]
    if rng.random() < 0.4:
        extra = rng.sample(range(instance.count), min(instance.count, rng.randrange(1, 5)))
        chosen += [j for j in extra if j not in chosen]
    return [j for j in chosen if instance.fixed[j] < 0]


def _again(instance: Instance, at: list[int], taken: list[int], rng: random.Random) -> list[int] | None:
    trial = list(at)
    for j in taken:
        trial[j] = UNPLACED
    if rng.random() < 0.5:
        rng.shuffle(taken)
    else:
        taken.sort(key=lambda j: (-instance.size[j], j))
    for j in taken:
        found = put(instance, j, trial)
        if found is None:
            return None
        trial[j] = found[1]
    return trial


def squeeze(instance: Instance, order: list[int], steps: int, goal: int, seed: int = 0) -> list[int] | None:
    """A placement that ends at or below ``goal``, found by moving blocks that stick out forward in the order.

    None when it finds none in ``steps`` tries. The instance's own capacity has to leave room to stick out.
    """
    at, best = lowest(instance, order, steps, goal, seed)
    return at if at is not None and best <= goal else None


def lowest(
    instance: Instance, order: list[int], steps: int, goal: int, seed: int = 0
) -> tuple[list[int] | None, int]:
    """(offsets, peak) of the lowest placement found; stops as soon as one ends at or below ``goal``."""
    rng = random.Random(seed)
    current = list(order)
    kept: list[int] | None = None
    best = have = 1 << 62
    best_order = current
    stale = 0
    for _ in range(max(1, steps)):
        at = place_in_order(instance, current)
        if at is None:
            return kept, best
        top = max(at[i] + instance.size[i] for i in range(instance.count))
        if top < best:
            best, kept, best_order, stale = top, at, current, 0
            if best <= goal:
                break
        else:
            stale += 1
        if top > have and rng.random() > 0.1 or stale > 60:
            current = list(best_order) if stale <= 60 else _shaken(best_order, rng)
            stale = 0 if stale > 60 else stale
        else:
            have = top
        current = _forward(instance, current, at, top, rng)
    return kept, best


def _shaken(order: list[int], rng: random.Random) -> list[int]:
    out = list(order)
    for _ in range(max(2, len(out) // 12)):
        a, b = rng.randrange(len(out)), rng.randrange(len(out))
        out[a], out[b] = out[b], out[a]
    return out


def _forward(instance: Instance, order: list[int], at: list[int], top: int, rng: random.Random) -> list[int]:
    """The order with the highest block, or one that it stands on, moved forward."""
    size = instance.size
    guilty = [i for i in order if at[i] + size[i] == top]
    block = rng.choice(guilty)
    while rng.random() < 0.35:
        below = [j for j in instance.hard[block] if at[j] + size[j] == at[block]]
        if not below:
            break
        block = rng.choice(below)
    out = [i for i in order if i != block]
    place = order.index(block)
    out.insert(rng.randrange(0, place + 1) if place else rng.randrange(0, len(out) + 1), block)
    return out


__all__ = ["Score", "changes", "improve_cost", "lowest", "squeeze"]
