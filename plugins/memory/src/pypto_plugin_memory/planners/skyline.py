"""Beam search over packings that grow from the ground up; for memories in which hardly a byte is left over.

A packing is built in the order of offsets: each block stands on the highest of what lies under it, and never below
the block before. What a moment in time still has to hold must fit above the present level, which bounds the offset
of the next block by one number per packing. Hundreds of partial packings grow side by side as rows of arrays; of
their continuations the most promising are kept. What is promising is a weighted sum of features, and the weights are
drawn anew for each attempt, more often near those that came far.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import attrs

from pypto_plugin_memory.planners.instance import Instance

Weights = tuple[float, ...]
"""Of: bytes lost, offset, size placed, roughness of the top, tightness, and what tightness is softened by."""

_FIRST: tuple[Weights, ...] = (
    (1.0, 0.5, 0.0, 0.0, 0.0, 0.01),
    (1.0, 0.5, -0.03, 0.0, 0.0, 0.01),
    (1.0, 0.5, 0.0, 0.5, 0.0, 0.01),
    (1.0, 0.5, 0.0, 0.0, 0.005, 0.02),
    (0.0, 1.0, 0.0, 0.0, 0.0, 0.01),
    (1.0, 0.25, 0.0, 0.0, 0.0, 0.01),
)


def _numpy() -> Any:
    """Imported when a search starts, as most problems never come here; untyped, as arrays here have many forms."""
    import numpy

    return numpy


@attrs.define(eq=False)
class Ground:
    """An instance as arrays. ``low`` and ``high``: the first moment of each block and the one after its last.

    ``alive``: moments by blocks, True where a block is alive. ``size``: in units of ``unit`` bytes.
    """

    low: Any
    high: Any
    size: Any
    alive: Any
    unit: int

    @property
    def need(self) -> int:
        """The units alive at the worst moment."""
        return int((self.alive @ self.size).max())


def applies(instance: Instance) -> bool:
    """Whether the search can take an instance: one lifetime per block, and nothing but lifetimes and alignment."""
    if instance.reserved or any(f >= 0 for f in instance.fixed) or any(instance.joint):
        return False
    blocks = instance.blocks
    if any(len(b.live) != 1 for b in blocks) or len(blocks) < 2:
        return False
    if any(size % align for size, align in zip(instance.size, instance.align, strict=True)):
        return False
    if len(set(instance.align)) != 1:
        return False
    return all(
        blocks[i].live[0][0] < blocks[j].live[0][1] and blocks[j].live[0][0] < blocks[i].live[0][1]
        for i, others in enumerate(instance.hard)
        for j in others
    )


def ground_of(instance: Instance) -> Ground:
    """The arrays of an instance that :func:`applies`; moments at which no block is alive that is not alive at a
    neighbouring moment are left out.
    """
    np = _numpy()

    spans = [b.live[0] for b in instance.blocks]
    times = sorted({t for span in spans for t in span})
    at = {t: i for i, t in enumerate(times)}
    alive = np.zeros((len(times) - 1, len(spans)), dtype=bool)
    for i, (begin, end) in enumerate(spans):
        alive[at[begin] : at[end], i] = True
    kept = [t for t in range(len(alive)) if not _dominated(alive, t)]
    alive = alive[kept]
    unit = int(np.gcd.reduce([*instance.size, *instance.align]))
    return Ground(
        low=alive.argmax(axis=0),
        high=len(alive) - alive[::-1].argmax(axis=0),
        size=np.array([s // unit for s in instance.size], dtype=np.int64),
        alive=alive,
        unit=unit,
    )


def _dominated(alive: Any, t: int) -> bool:
    for other in (t - 1, t + 1):
        if 0 <= other < len(alive) and not (alive[t] & ~alive[other]).any():
            same = not (alive[other] & ~alive[t]).any()
            if not same or other < t:
                return True
    return False


@attrs.define(eq=False)
class _Beam:
    """Partial packings, one per row.

    ``sky``: present level per moment. ``rest``: what each moment still has to hold. ``placed``: by block.
    ``floor`` and ``last``: offset and number of the block placed last. ``key``: hash of the set of blocks placed.
    """

    sky: Any
    rest: Any
    placed: Any
    floor: Any
    last: Any
    key: Any


def grow(
    ground: Ground, limit: int, width: int, weights: Weights, seed: int = 0
) -> tuple[list[int] | None, int]:
    """(offsets in units, blocks placed) of one attempt to stay within ``limit`` units; None when it got stuck."""
    np = _numpy()

    count, moments = len(ground.size), len(ground.alive)
    keys = np.random.default_rng(seed).integers(1, 1 << 62, size=count, dtype=np.int64)
    beam = _Beam(
        sky=np.zeros((1, moments), np.int64),
        rest=(ground.alive @ ground.size)[None, :],
        placed=np.zeros((1, count), bool),
        floor=np.zeros(1, np.int64),
        last=np.full(1, -1),
        key=np.zeros(1, np.int64),
    )
    trail: list[tuple[Any, Any, Any]] = []
    for step in range(count):
        found = _advance(ground, beam, limit, width, weights, keys)
        if found is None:
            return None, step
        beam, rows, blocks, offsets = found
        trail.append((rows, blocks, offsets))
    at, row = [0] * count, 0
    for rows, blocks, offsets in reversed(trail):
        at[int(blocks[row])] = int(offsets[row])
        row = int(rows[row])
    return at, count


def _levels(ground: Ground, sky: Any) -> Any:
    """Where each block would stand: the highest level within its life, for blocks by rows."""
    np = _numpy()

    length = ground.high - ground.low
    power = np.floor(np.log2(length)).astype(int)
    tables = [sky.T]
    for k in range(1, int(power.max()) + 1):
        table = tables[-1].copy()
        half = 1 << (k - 1)
        table[:-half] = np.maximum(tables[-1][:-half], tables[-1][half:])
        tables.append(table)
    stack = np.stack(tables)
    return np.maximum(stack[power, ground.low], stack[power, ground.high - (1 << power)])


def _advance(
    ground: Ground, beam: _Beam, limit: int, width: int, weights: Weights, keys: Any
) -> tuple[_Beam, Any, Any, Any] | None:
    np = _numpy()

    size = ground.size
    level = _levels(ground, beam.sky)
    waiting = ~beam.placed.T
    # A block that ends below the next offset could have been put there before.
    ceiling = np.where(waiting, level + size[:, None], 1 << 60).min(axis=0)
    highest = limit - beam.rest.max(axis=1)
    numbers = np.arange(len(size))[:, None]
    later = (level > beam.floor) | ((level == beam.floor) & (numbers > beam.last))
    blocks, rows = np.nonzero(waiting & (level <= highest) & (level < ceiling) & later)
    if not len(blocks):
        return None
    offsets = level[blocks, rows]
    if len(blocks) > 3 * width:
        rough = _rough(ground, beam, weights, blocks, rows, offsets)
        chosen = np.argpartition(rough, 3 * width)[: 3 * width]
        blocks, rows, offsets = blocks[chosen], rows[chosen], offsets[chosen]
    inside = ground.alive.T[blocks]
    rest = beam.rest[rows] - inside * size[blocks][:, None]
    sky = np.where(inside, (offsets + size[blocks])[:, None], beam.sky[rows])
    sky = np.where(rest > 0, np.maximum(sky, offsets[:, None]), sky)
    full = sky + rest
    good = np.flatnonzero(full.max(axis=1) <= limit)
    if not len(good):
        return None
    price = _price(ground, weights, limit, blocks, offsets, sky, full)
    good = good[np.argsort(price[good], kind="stable")]
    key = beam.key[rows] ^ keys[blocks]
    _, first = np.unique(key[good], return_index=True)
    good = good[np.sort(first)][:width]
    placed = beam.placed[rows[good]]
    placed[np.arange(len(good)), blocks[good]] = True
    following = _Beam(sky[good], rest[good], placed, offsets[good], blocks[good], key[good])
    return following, rows[good], blocks[good], offsets[good]


def _rough(ground: Ground, beam: _Beam, weights: Weights, blocks: Any, rows: Any, offsets: Any) -> Any:
    """The price as far as it is known without building the continuation."""
    np = _numpy()

    length = ground.high - ground.low
    sums = np.concatenate([np.zeros((len(beam.sky), 1), np.int64), np.cumsum(beam.sky, axis=1)], axis=1)
    under = sums[rows, ground.high[blocks]] - sums[rows, ground.low[blocks]]
    lost = (beam.sky + beam.rest).sum(axis=1)[rows] + offsets * length[blocks] - under
    moments = len(ground.alive)
    return weights[0] * lost + weights[1] * moments * offsets - weights[2] * (ground.size * length)[blocks]


def _price(
    ground: Ground, weights: Weights, limit: int, blocks: Any, offsets: Any, sky: Any, full: Any
) -> Any:
    np = _numpy()

    length = ground.high - ground.low
    price = weights[0] * full.sum(axis=1) + weights[1] * len(ground.alive) * offsets
    price = price - weights[2] * (ground.size * length)[blocks]
    if weights[3]:
        price = price + weights[3] * np.abs(np.diff(sky, axis=1)).sum(axis=1)
    if weights[4]:
        price = price + weights[4] * limit * (1.0 / ((limit - full) / limit + weights[5])).sum(axis=1)
    return price


def attempt(
    ground: Ground, limit: int, width: int, number: int, seed: int = 0
) -> tuple[list[int] | None, int]:
    """One attempt (see :func:`grow`) with the weights that go with its number."""
    weights = _FIRST[number] if number < len(_FIRST) else _drawn(random.Random(seed * 1_000_003 + number), [])
    return grow(ground, limit, width, weights, seed + number)


def attempts(
    ground: Ground,
    goal: int,
    best: int,
    tries: int,
    width: int,
    seed: int = 0,
    stop: Callable[[], bool] = lambda: False,
) -> tuple[list[int] | None, int]:
    """(offsets in units, peak) of the lowest packing below ``best`` that ``tries`` attempts find.

    Each attempt aims below what was found so far, farther or closer in turn, with ``width`` packings side by side or
    several times that; it ends at ``goal``.
    """
    rng = random.Random(seed)
    kept: list[int] | None = None
    known: list[tuple[float, Weights]] = []
    failures = 0
    for number in range(tries):
        if best <= goal or stop():
            break
        weights = _FIRST[number] if number < len(_FIRST) else _drawn(rng, known)
        gap = best - goal
        limit = max(goal, best - max(1, round(gap * (0.35, 0.2, 0.1, 0.05)[failures % 4])))
        at, reached = grow(ground, limit, width * (1, 3, 10)[number % 3], weights, seed + number)
        known.append((reached / len(ground.size), weights))
        known.sort(key=lambda item: -item[0])
        del known[8:]
        if at is None:
            failures += 1
            continue
        kept, failures = at, 0
        best = max(a + int(s) for a, s in zip(at, ground.size, strict=True))
    return kept, best


def _drawn(rng: random.Random, known: list[tuple[float, Weights]]) -> Weights:
    if known and rng.random() < 0.6:
        near = rng.choice(known)[1]
        return tuple(w * 2 ** rng.uniform(-0.8, 0.8) for w in near)
    return (
        1.0,
        2 ** rng.uniform(-3, 1),
        rng.choice([0.0, -0.01, -0.03, -0.1, 0.01]),
        rng.choice([0.0, 0.1, 0.3, 0.6, 1.0]),
        rng.choice([0.0, 0.0005, 0.002, 0.005, 0.02]),
        rng.choice([0.005, 0.01, 0.02, 0.05]),
    )
