"""Placing blocks one after the other in several orders, each at its cheapest place."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

from pypto_plugin_memory.planners.instance import UNPLACED, Instance, peak, put, total_cost

Score = tuple[int, int]
"""(cost of reuse, peak in bytes): less is better."""


def place_in_order(instance: Instance, order: Sequence[int]) -> list[int] | None:
    """Offsets by block; None when some block finds no place."""
    at = [UNPLACED] * instance.count
    for i in _fixed_first(instance, order):
        found = put(instance, i, at)
        if found is None:
            return None
        at[i] = found[1]
    return at


def _fixed_first(instance: Instance, order: Sequence[int]) -> Iterator[int]:
    yield from (i for i in order if instance.fixed[i] >= 0)
    yield from (i for i in order if instance.fixed[i] < 0)


def score(instance: Instance, at: Sequence[int]) -> Score:
    """How good a placement is."""
    return total_cost(instance, at), peak(instance, at)


def orders(instance: Instance, shuffles: int, seed: int = 0) -> Iterator[list[int]]:
    """Orders worth trying, each once: by size, by time, by weight of reuse, by pressure, and shuffles of the last."""
    size, begin = instance.size, instance.begin
    everything = range(instance.count)
    weight = [sum(w for _, w in pairs) for pairs in instance.soft]
    degree = [sum(size[j] for j in instance.hard[i]) for i in everything]
    keys: tuple[Callable[[int], tuple[int, ...]], ...] = (
        lambda i: (-size[i], begin[i], i),
        lambda i: (begin[i], i),
        lambda i: (-weight[i], -size[i], i),
        lambda i: (-(degree[i] + size[i]), -size[i], i),
        lambda i: (-size[i] * (1 + len(instance.hard[i])), i),
    )
    seen: set[tuple[int, ...]] = set()
    last: list[int] = list(everything)
    for key in keys:
        last = sorted(everything, key=key)
        if tuple(last) not in seen:
            seen.add(tuple(last))
            yield last
    mixer = random.Random(seed)
    for _ in range(shuffles):
        mixed = list(last)
        mixer.shuffle(mixed)
        yield mixed


def best_greedy(
    instance: Instance, shuffles: int, seed: int = 0
) -> tuple[Score, list[int], list[int]] | None:
    """(score, offsets, order) of the best order tried; the first that costs nothing ends it."""
    best: tuple[Score, list[int], list[int]] | None = None
    for order in orders(instance, shuffles, seed):
        at = place_in_order(instance, order)
        if at is None:
            continue
        found = score(instance, at)
        if best is None or found < best[0]:
            best = (found, at, order)
        if found[0] == 0 and instance.capacity < 1 << 62:
            break
    return best
