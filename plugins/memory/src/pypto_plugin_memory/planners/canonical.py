"""Depth-first search with restarts over canonical packings; for memories in which hardly a byte is left over.

A packing is canonical when its blocks, taken in the order of their offsets, each stand on the highest of what lies
under them. Any packing can be let down into one that is, so nothing is lost by building them in that order: every
waiting block then has one place, and no block is placed below the last one. Three bounds cut the search: a block
whose end would stay below every other start could have gone first; what a moment still has to hold must fit above the
lowest place of the blocks it waits for; and a block with nothing left to go on top of it needs no second try.

Which of the possible blocks comes first is decided by a ranking, and a good ranking leads to a packing almost without
going back, while under a poor one no effort helps. So an attempt gets few nodes, and the next one another ranking. A
ranking weighs a few features of the blocks, and what the attempts before it stumbled over: a block that does not fit
below the limit, or waits at a moment that no longer does, comes earlier from then on. After a number of attempts that
is forgotten, and the features get other weights.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from pypto_plugin_memory.planners.instance import Instance

_NODES = 500
"""Nodes of one attempt."""

_CLASSIC_NODES = 3000
"""Nodes of an attempt under one of the classic rankings."""

_SPELL = 120
"""Attempts that learn from each other."""

_BLAME = 1.2
"""What the logarithm of how often a block was in the way weighs; features weigh up to two."""

_FADES = 0.95
"""What remains of a blame from one attempt to the next."""

_NOISE = 0.03
"""How much rankings of equal weights differ."""

_STEPS = (1.0, 0.35, 0.1, 0.02)
"""How far below the best an attempt aims, as a part of what could be gained; in turn as attempts fail."""

# Weights of: moments alive, size, bytes alive at the worst of these moments, bytes that overlap, begin.
_FIRST: tuple[tuple[float, ...], ...] = (
    (1.001, 1.0, 1000.0, 0.0, 0.0),
    (1.001, 1.0, 0.0, 0.0, 0.0),
    (1001.0, 1.0, 1.0, 0.0, 0.0),
    (1.0, 0.0, 1000.0, 0.0, 0.0),
    (0.0, 1.0, 0.0, 0.0, 0.0),
)


def _numpy() -> Any:
    """Imported when a search starts, as most problems never come here; untyped, as arrays here have many forms."""
    import numpy

    return numpy


@attrs.define(eq=False)
class Ground:
    """An instance as arrays.

    ``size``: of each block, in units of ``unit`` bytes. ``moments``: which each block is alive at. ``members``: the
    blocks of each moment, one moment after the other, and ``starts``, where each moment's begin. ``near``: the blocks
    that overlap each block in time. ``features``: one row for each weight of a ranking.
    """

    size: Any
    moments: list[Any]
    members: Any
    starts: Any
    near: list[Any]
    features: Any
    unit: int

    @property
    def total(self) -> Any:
        """The units alive at each moment."""
        return _numpy().add.reduceat(self.size[self.members], self.starts)

    def at(self, moment: int) -> Any:
        """The blocks that are alive at a moment."""
        end = self.starts[moment + 1] if moment + 1 < len(self.starts) else len(self.members)
        return self.members[self.starts[moment] : end]


def applies(instance: Instance) -> bool:
    """Whether the search can take an instance: nothing but lifetimes and one alignment decides what fits."""
    if instance.reserved or any(f >= 0 for f in instance.fixed) or any(instance.joint):
        return False
    if len(instance.blocks) < 2 or len(set(instance.align)) != 1:
        return False
    if any(size % align for size, align in zip(instance.size, instance.align, strict=True)):
        return False
    return all(
        instance.blocks[i].lives_with(instance.blocks[j])
        for i, others in enumerate(instance.hard)
        for j in others
    )


def ground_of(instance: Instance) -> Ground:
    """The arrays of an instance that :func:`applies`; moments at which no block is alive that is not alive at a
    neighbouring moment are left out.
    """
    np = _numpy()

    times = sorted({t for block in instance.blocks for span in block.live for t in span})
    at = {t: i for i, t in enumerate(times)}
    alive = np.zeros((max(1, len(times) - 1), len(instance.blocks)), dtype=bool)
    for i, block in enumerate(instance.blocks):
        for begin, end in block.live:
            alive[at[begin] : at[end], i] = True
    alive = alive[_telling(alive)]
    unit = int(np.gcd.reduce([*instance.size, *instance.align]))
    size = np.array([s // unit for s in instance.size], dtype=np.int64)
    together = (alive.T.astype(np.float32) @ alive.astype(np.float32)) > 0
    np.fill_diagonal(together, False)
    counts = alive.sum(axis=1)
    return Ground(
        size=size,
        moments=[np.flatnonzero(column) for column in alive.T],
        members=np.nonzero(alive)[1],
        starts=np.concatenate([[0], np.cumsum(counts)[:-1]]),
        near=[np.flatnonzero(row) for row in together],
        features=_features(size, alive, together),
        unit=unit,
    )


def _telling(alive: Any) -> list[int]:
    """The moments whose blocks are not all alive at the kept moment before or at the next."""
    kept: list[int] = []
    for t in range(len(alive)):
        if not alive[t].any():
            continue
        while kept and not (alive[kept[-1]] & ~alive[t]).any():
            kept.pop()
        if not kept or (alive[t] & ~alive[kept[-1]]).any():
            kept.append(t)
    return kept


def _features(size: Any, alive: Any, together: Any) -> Any:
    np = _numpy()

    length = np.maximum(alive.sum(axis=0), 1)
    total = alive @ size
    worst = np.where(alive, total[:, None], 1).max(axis=0)
    begin = alive.argmax(axis=0) / len(alive)
    return np.stack([np.log(length), np.log(size), np.log(worst), np.log(together @ size + 1), begin])


@attrs.define(eq=False)
class _Level:
    """A packing so far. ``low``: the place of each waiting block, ``_AWAY`` for one that is placed.

    ``rest``: what each moment still has to hold. ``floor``, ``last``: offset and rank of the block placed last.
    ``ways``: blocks to try next, the best one last. ``block``: the one being tried; ``hatless``: whether nothing can
    go on top of it.
    """

    low: Any
    rest: Any
    floor: int
    last: int
    ways: list[int] = attrs.Factory(list[int])
    block: int = -1
    hatless: bool = False


_AWAY = 1 << 60


def descend(
    ground: Ground, limit: int, rank: Any, nodes: int, blame: Any = None
) -> tuple[list[int] | None, int]:
    """(offsets in units, blocks placed at the deepest) of one search within ``limit`` units; None when there is none
    among the first ``nodes`` nodes.

    ``rank``: a number from 0 for each block; less is tried earlier. ``blame``: counts for each block how often it is in
    the way.
    """
    np = _numpy()

    count = len(ground.size)
    stack = [_Level(np.zeros(count, np.int64), ground.total, 0, -1)]
    offsets = [0] * count
    blame = np.zeros(count) if blame is None else blame
    deepest = 0
    for _ in range(nodes):
        here = stack[-1]
        deepest = max(deepest, len(stack) - 1)
        if len(stack) > count:
            return offsets, count
        here.ways = _ways(ground, here, limit, rank, blame)
        while not stack[-1].ways:
            stack.pop()
            if not stack:
                return None, deepest
            if stack[-1].hatless:
                stack[-1].ways = []
        here = stack[-1]
        block = here.ways.pop()
        offsets[block] = int(here.low[block])
        stack.append(_placed(ground, here, block, offsets[block], int(rank[block])))
    return None, deepest


def _ways(ground: Ground, here: _Level, limit: int, rank: Any, blame: Any) -> list[int]:
    """The blocks that may come next, best last; none when some block or moment no longer fits below ``limit``."""
    np = _numpy()

    low = np.maximum(here.low, here.floor)
    here.low = low
    top = low + ground.size
    high = (top > limit) & (low < _AWAY)
    if high.any():
        blame[high] += 1
        return []
    ground_level = np.minimum.reduceat(low[ground.members], ground.starts)
    full = (ground_level + here.rest > limit) & (here.rest > 0)
    if full.any():
        waiting = ground.at(int(full.argmax()))
        blame[waiting[low[waiting] < _AWAY]] += 1
        return []
    ways = np.flatnonzero(low < top.min())
    key = low[ways] * len(rank) + rank[ways]
    # Of two neighbours at one offset either may come first: the one of the better rank does.
    allowed = key > here.floor * len(rank) + here.last
    return ways[allowed][np.argsort(-key[allowed])].tolist()


def _placed(ground: Ground, here: _Level, block: int, offset: int, rank: int) -> _Level:
    low, rest = here.low.copy(), here.rest.copy()
    near = ground.near[block]
    low[block] = _AWAY
    lifted = _numpy().maximum(low[near], offset + ground.size[block])
    low[near] = lifted
    rest[ground.moments[block]] -= ground.size[block]
    here.block, here.hatless = block, not (lifted < _AWAY).any()
    return _Level(low, rest, offset, rank)


@attrs.define(eq=False)
class Rankings:
    """A source of rankings: first the classic ones, then spells of drawn ones that learn from each other.

    ``weights``: of the features in this spell. ``blamed``: how much each block was in the way.
    """

    ground: Ground
    random: Any
    blamed: Any
    number: int = 0
    weights: Any = None

    def draw(self) -> tuple[Any, int]:
        """(the rank of each block, nodes that it is worth): the next ranking."""
        np = _numpy()
        number, self.number = self.number, self.number + 1
        features = self.ground.features
        if number < len(_FIRST):
            return _ranks(np.array(_FIRST[number]) @ features), _CLASSIC_NODES
        if (number - len(_FIRST)) % _SPELL == 0:
            self.weights = self._drawn()
            self.blamed[:] = 0
        noise = self.random.normal(0, _NOISE, len(self.blamed))
        return _ranks(self.weights @ _even(features) + _BLAME * np.log1p(self.blamed) + noise), _NODES

    def _drawn(self) -> Any:
        pick = self.random
        return _numpy().array(
            [
                pick.uniform(-0.2, 1.2),
                pick.uniform(-0.2, 1.2),
                pick.choice([0, 1, 2]) * pick.random(),
                pick.choice([0, 1]) * pick.random(),
                pick.choice([0, 0, 1, -1]) * pick.random(),
            ]
        )

    def learn(self, blame: Any) -> None:
        """Take in how often each block was in the way of an attempt."""
        self.blamed *= _FADES
        self.blamed += blame


def _ranks(weight: Any) -> Any:
    """The rank of each block, the heaviest first."""
    np = _numpy()
    order = np.argsort(-weight, kind="stable")
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    return ranks


def _even(features: Any) -> Any:
    """The features with mean 0 and deviation 1, so that weights of all mean the same."""
    centred = features - features.mean(axis=1, keepdims=True)
    return centred / (centred.std(axis=1, keepdims=True) + 1e-9)


def rankings(ground: Ground, seed: int) -> Rankings:
    """Rankings that depend on the instance and the seed alone."""
    np = _numpy()
    return Rankings(ground, np.random.default_rng(seed), np.zeros(len(ground.size)))


def attempt(rankings: Rankings, limit: int) -> list[int] | None:
    """Offsets in units of one attempt to stay within ``limit`` units."""
    rank, nodes = rankings.draw()
    blame = _numpy().zeros(len(rank))
    at, _ = descend(rankings.ground, limit, rank, nodes, blame)
    rankings.learn(blame)
    return at


def lower(
    ground: Ground, goal: int, best: int, tries: int, seed: int = 0, stop: Callable[[], bool] = lambda: False
) -> tuple[list[int] | None, int]:
    """(offsets in units, peak) of the lowest packing below ``best`` that ``tries`` attempts find.

    The first attempts aim at ``goal``, then they aim below what was found so far, farther or closer in turn. It ends
    at ``goal``.
    """
    source = rankings(ground, seed)
    kept: list[int] | None = None
    failures = 0
    for number in range(tries):
        if best <= goal or stop():
            break
        gap = best - goal
        step = gap if number < len(_FIRST) else max(1, round(gap * _STEPS[failures % len(_STEPS)]))
        at = attempt(source, best - step)
        if at is None:
            failures += 1
            continue
        kept, failures = at, 0
        best = max(a + int(s) for a, s in zip(at, ground.size, strict=True))
    return kept, best
