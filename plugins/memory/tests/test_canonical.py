"""The search for the lowest packing, against all orders of placing and against known perfect packings."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pypto_core.contract import PlacementBlock, PlacementProblem, check_placement, live_peak, peak_bytes
from pypto_core.ir import MemorySpace
from pypto_plugin_memory.planners import canonical
from pypto_plugin_memory.planners.instance import instance_of
from pypto_plugin_memory.planners.lowest import lowest_peak

SPACE = MemorySpace.Vec
UNIT = 32


def problem_of(blocks: list[tuple[int, tuple[tuple[int, int], ...]]]) -> PlacementProblem:
    return PlacementProblem(
        blocks=[
            PlacementBlock(name=f"b{i}", space=SPACE, size=size * UNIT, alignment=UNIT, live=live)
            for i, (size, live) in enumerate(blocks)
        ],
        capacities={SPACE: 1 << 40},
    )


def lowest_by_all_orders(problem: PlacementProblem) -> int:
    """Placing each block as low as it can go, in the order of a best packing's offsets, gives a best packing."""
    best = 1 << 60
    for order in itertools.permutations(problem.blocks):
        placed: list[tuple[int, PlacementBlock]] = []
        for block in order:
            taken = sorted((at, at + other.size) for at, other in placed if other.lives_with(block))
            at = 0
            for low, high in taken:
                if low >= at + block.size:
                    break
                at = max(at, high)
            placed.append((at, block))
        best = min(best, max(at + block.size for at, block in placed))
    return best


def lifetimes() -> st.SearchStrategy[tuple[tuple[int, int], ...]]:
    """One or two half-open intervals."""
    return st.lists(st.integers(0, 7), min_size=2, max_size=4, unique=True).map(
        lambda ends: tuple(itertools.pairwise(sorted(ends)))[::2]
    )


@settings(max_examples=150)
@given(st.lists(st.tuples(st.integers(1, 6), lifetimes()), min_size=2, max_size=6))
def test_the_lowest_packing_is_found_and_none_below_it(
    blocks: list[tuple[int, tuple[tuple[int, int], ...]]],
) -> None:
    problem = problem_of(blocks)
    best = lowest_by_all_orders(problem) // UNIT
    ground = canonical.ground_of(instance_of(problem, SPACE))
    best_units = best * UNIT // ground.unit
    source = canonical.rankings(ground, 0)
    for _ in range(8):
        ranks, _ = source.draw()
        at, count = canonical.descend(ground, best_units, ranks, 1 << 20)
        assert at is not None and count == len(blocks)
        assert max(a + int(s) for a, s in zip(at, ground.size, strict=True)) == best_units
        assert canonical.descend(ground, best_units - 1, ranks, 1 << 20)[0] is None


def test_the_blocks_that_do_not_fit_are_blamed_and_come_earlier() -> None:
    """Two of three blocks are alive together and take 7 of 6 units; the third is of another time."""
    problem = problem_of([(1, ((5, 6),)), (3, ((0, 2),)), (4, ((1, 3),))])
    ground = canonical.ground_of(instance_of(problem, SPACE))
    blame = [0, 0, 0] + ground.size * 0
    assert canonical.descend(ground, 6 * UNIT // ground.unit, [0, 1, 2] + ground.size * 0, 100, blame) == (
        None,
        0,
    )
    assert blame.tolist() == [0, 1, 1]
    source = canonical.rankings(ground, 0)
    for _ in range(6):
        source.draw()
    source.learn(blame * 1000)
    ranks, _ = source.draw()
    assert ranks[0] == 2


def shelves(
    rng: random.Random, height: int, width: int, cuts: int
) -> list[tuple[int, tuple[tuple[int, int], ...]]]:
    """Blocks that fill a rectangle of ``height`` units and ``width`` moments without a gap."""
    pieces = [(0, width, 0, height)]
    for _ in range(cuts):
        left, right, low, high = pieces.pop(rng.randrange(len(pieces)))
        if rng.random() < 0.5 and right - left > 1:
            middle = rng.randrange(left + 1, right)
            pieces += [(left, middle, low, high), (middle, right, low, high)]
        elif high - low > 1:
            middle = rng.randrange(low + 1, high)
            pieces += [(left, right, low, middle), (left, right, middle, high)]
        else:
            pieces.append((left, right, low, high))
    rng.shuffle(pieces)
    return [(high - low, ((left, right),)) for left, right, low, high in pieces]


@pytest.mark.parametrize("seed", range(6))
def test_a_memory_with_no_byte_to_spare_is_filled(seed: int) -> None:
    problem = problem_of(shelves(random.Random(seed), 64, 24, 60))
    placement = lowest_peak(problem, SPACE, seconds=20.0)
    assert not check_placement(problem, placement)
    assert peak_bytes(problem, placement, SPACE) == live_peak(problem, SPACE)[0] == 64 * UNIT


def test_the_same_seed_gives_the_same_packing() -> None:
    problem = problem_of(shelves(random.Random(9), 64, 24, 80))
    ground = canonical.ground_of(instance_of(problem, SPACE))
    first = canonical.lower(ground, 64, 200, 40, seed=3)
    assert canonical.lower(ground, 64, 200, 40, seed=3) == first
    assert first[0] is not None
