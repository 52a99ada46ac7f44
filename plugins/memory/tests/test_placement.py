"""The checker and the search, against brute force."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pypto_core.contract import (
    NoPlacementError,
    Placement,
    PlacementBlock,
    PlacementProblem,
    ReusePenalty,
    Separation,
    check_placement,
    live_peak,
    peak_bytes,
    reuse_cost,
    shares_bytes,
)
from pypto_core.diagnostics import UserError
from pypto_core.ir import MemorySpace
from pypto_plugin_memory.planners import dsa, pack
from pypto_plugin_memory.planners.exact import Outcome, decide
from pypto_plugin_memory.planners.improve import changes, improve_cost
from pypto_plugin_memory.planners.instance import instance_of, put, total_cost
from pypto_plugin_memory.planners.lowest import lowest_peak

VEC, MAT = MemorySpace.Vec, MemorySpace.Mat


def block(name, size, *live, **parts):
    return PlacementBlock(
        name=name, space=parts.pop("space", VEC), size=size, live=live or ((0, 1),), **parts
    )


def problem(*blocks, capacity=100, **parts):
    return PlacementProblem(blocks=blocks, capacities={VEC: capacity, MAT: capacity}, **parts)


def kinds(problem, **offsets):
    return sorted(v.kind for v in check_placement(problem, Placement(offsets=offsets)))


def test_every_rule_is_judged():
    p = problem(
        block("a", 40, (0, 5)),
        block("b", 40, (3, 8)),
        block("c", 32, (5, 6), alignment=16, fixed=64),
        block("m", 40, (0, 5), space=MAT),
        reserved={VEC: [(96, 100)]},
        separations=[Separation(a="a", b="c")],
    )
    good = {"a": 0, "b": 40, "m": 0}
    assert kinds(p, a=0, b=40, c=64, m=0) == ["overlap"]
    assert kinds(attrs_without(p, "c"), **good) == []
    assert kinds(p, a=0, b=40, m=0) == ["missing"]
    assert kinds(p, a=0, b=20, c=64, m=0, zzz=1) == ["overlap", "unknown"]
    assert kinds(p, a=0, b=40, c=72, m=0) == ["alignment", "capacity", "fixed", "overlap", "reserved"]
    assert kinds(p, a=40, b=0, c=64, m=0) == ["separation"]
    assert kinds(p, a=0, b=-1, c=64, m=0) == ["overlap", "range"]
    assert kinds(p, a=0, b=60, c=64, m=61) == ["capacity", "overlap", "reserved"]


def attrs_without(p, name):
    import attrs

    return attrs.evolve(p, blocks=[x for x in p.blocks if x.name != name], separations=())


def test_pairs_that_may_share_from_the_same_start_only():
    p = problem(
        block("a", 40, (0, 5)),
        block("b", 20, (5, 8)),
        separations=[Separation(a="a", b="b", same_start=True)],
    )
    assert kinds(p, a=0, b=0) == [] and kinds(p, a=0, b=40) == []
    assert kinds(p, a=0, b=20) == ["separation"]


def test_a_relaxed_pair_may_share_and_counts():
    p = problem(
        block("a", 60, (0, 1)), block("b", 60, (1, 2)), separations=[Separation(a="a", b="b", relaxable=True)]
    )
    placement = dsa.plan(p)
    assert placement.relaxed == (("a", "b"),) and check_placement(p, placement) == ()
    assert shares_bytes(p, placement, "a", "b") and reuse_cost(p, placement) == 1
    hard = problem(*p.blocks, separations=[Separation(a="a", b="b")])
    with pytest.raises(NoPlacementError) as caught:
        dsa.plan(hard)
    assert caught.value.proven
    assert check_placement(hard, placement)[0].kind == "separation"


@pytest.mark.parametrize(
    "make",
    [
        lambda: block("a", 0),
        lambda: block("a", 1, (2, 2)),
        lambda: block("a", 1, (2, 4), (3, 5)),
        lambda: block("a", 1, fixed=3, alignment=2),
        lambda: problem(block("a", 1), block("a", 1)),
        lambda: problem(block("a", 1), separations=[Separation(a="a", b="b")]),
        lambda: problem(block("a", 1), block("m", 1, space=MAT), penalties=[ReusePenalty(a="a", b="m")]),
    ],
)
def test_problems_that_contradict_themselves(make):
    with pytest.raises(UserError, match="placement|block|lifetimes|pair|fixed"):
        make()


def test_the_greatest_need_is_found_at_its_moment():
    p = problem(block("a", 10, (0, 4), (8, 9)), block("b", 20, (2, 6)), block("c", 5, (6, 9)))
    assert live_peak(p, VEC) == (30, 2)


# -- against brute force


@st.composite
def tiny(draw, blocks=5, penalties=True):
    count = draw(st.integers(1, blocks))
    made = []
    for i in range(count):
        begin = draw(st.integers(0, 5))
        live = [(begin, begin + draw(st.integers(1, 4)))]
        if draw(st.booleans()) and draw(st.booleans()):
            live.append((live[0][1] + draw(st.integers(0, 2)), live[0][1] + draw(st.integers(3, 4))))
        made.append(
            block(f"b{i}", draw(st.integers(1, 4)), *live, alignment=draw(st.sampled_from([1, 1, 1, 2])))
        )
    pairs = list(itertools.combinations([x.name for x in made], 2))
    chosen = draw(st.lists(st.sampled_from(pairs), max_size=3, unique=True)) if pairs else []
    separations = [Separation(a=a, b=c, same_start=draw(st.booleans())) for a, c in chosen]
    costly = draw(st.lists(st.sampled_from(pairs), max_size=4, unique=True)) if pairs and penalties else []
    return problem(
        *made,
        capacity=draw(st.integers(3, 10)),
        separations=separations,
        penalties=[ReusePenalty(a=a, b=c, weight=draw(st.integers(1, 3))) for a, c in costly],
        reserved={VEC: [(1, 2)]} if draw(st.integers(0, 7)) == 0 else {},
    )


def brute_force(p):
    """The least cost of any placement, None when there is none: every offset of every block is tried."""
    limit = p.capacities[VEC]
    best = None
    places = [range(limit - x.size + 1) for x in p.blocks]
    names = [x.name for x in p.blocks]
    for offsets in itertools.product(*places):
        placement = Placement(offsets=dict(zip(names, offsets, strict=True)))
        if (best is None or best > 0) and _right(p, offsets):
            cost = reuse_cost(p, placement)
            best = cost if best is None else min(best, cost)
    return best


def _right(p, offsets):
    """The rules, written down a second time and as plainly as can be."""
    at = dict(zip([x.name for x in p.blocks], offsets, strict=True))

    def bytes_of(x):
        return set(range(at[x.name], at[x.name] + x.size))

    for x in p.blocks:
        if at[x.name] % x.alignment or any(bytes_of(x) & set(range(*r)) for r in p.reserved.get(VEC, ())):
            return False
    apart = {frozenset((s.a, s.b)): s.same_start for s in p.separations}
    for x, y in itertools.combinations(p.blocks, 2):
        if not bytes_of(x) & bytes_of(y):
            continue
        moments = [set(itertools.chain.from_iterable(range(*i) for i in z.live)) for z in (x, y)]
        if moments[0] & moments[1]:
            return False
        rule = apart.get(frozenset((x.name, y.name)))
        if rule is False or (rule is True and at[x.name] != at[y.name]):
            return False
    return True


@settings(max_examples=250)
@given(tiny(blocks=4), st.data())
def test_the_checker_agrees_with_the_plain_rules(p, data):
    limit = p.capacities[VEC]
    offsets = [data.draw(st.integers(0, max(0, limit - x.size))) for x in p.blocks]
    fits = all(at + x.size <= limit for at, x in zip(offsets, p.blocks, strict=True))
    placement = Placement(offsets={x.name: at for x, at in zip(p.blocks, offsets, strict=True)})
    assert (check_placement(p, placement) == ()) is (_right(p, offsets) and fits)


@settings(max_examples=150)
@given(tiny(blocks=4))
def test_the_search_finds_a_placement_exactly_when_there_is_one_and_the_cheapest(p):
    best = brute_force(p)
    try:
        placement = dsa.plan(p)
    except NoPlacementError as error:
        assert best is None and error.proven
        return
    assert check_placement(p, placement) == ()
    assert best is not None and reuse_cost(p, placement) == best


@settings(max_examples=150)
@given(tiny(blocks=4, penalties=False))
def test_the_exact_search_alone_decides(p):
    outcome, at = decide(instance_of(p, VEC), 100_000)
    if brute_force(p) is None:
        assert outcome is Outcome.IMPOSSIBLE and at is None
        return
    assert outcome is Outcome.FOUND and at is not None
    names = [x.name for x in p.blocks]
    assert check_placement(p, Placement(offsets=dict(zip(names, at, strict=True)))) == ()


@settings(max_examples=60)
@given(st.randoms(use_true_random=False), st.integers(2, 60))
def test_a_plan_that_exists_is_found_up_to_sixty_blocks(rng, count):
    # Cut a full memory into pieces: the pieces fit by construction, often without a byte to spare.
    capacity, pieces = 64, [(0, 12, 0, 64)]
    while len(pieces) < count:
        wide = [q for q in pieces if q[1] - q[0] > 1 or q[3] - q[2] > 1]
        if not wide:
            break
        piece = pieces.pop(pieces.index(rng.choice(wide)))
        t0, t1, low, high = piece
        if t1 - t0 > 1 and (high - low < 2 or rng.random() < 0.5):
            cut = rng.randrange(t0 + 1, t1)
            pieces += [(t0, cut, low, high), (cut, t1, low, high)]
        else:
            cut = rng.randrange(low + 1, high)
            pieces += [(t0, t1, low, cut), (t0, t1, cut, high)]
    kept = [q for q in pieces if rng.random() < 0.9] or pieces
    p = problem(*[block(f"b{i}", h - l, (s, e)) for i, (s, e, l, h) in enumerate(kept)], capacity=capacity)
    for plan in (dsa.plan, pack.plan):
        try:
            assert check_placement(p, plan(p)) == ()
        except NoPlacementError as error:
            # Bounded effort may end without an answer, but never with a wrong one.
            assert not error.proven


def cheapest_by_force(size, align, capacity, hard, soft, joint):
    """(cost, offset) over every place there is, one after the other."""
    found = []
    for place in range(0, capacity - size + 1, align):
        meets = [(a, b) for a, b in hard if place < b and a < place + size]
        shifted = [a for a, b in joint if place < b and a < place + size and a != place]
        if not meets and not shifted:
            found.append((sum(w for a, b, w in soft if place < b and a < place + size), place))
    return min(found, default=None)


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False), st.sampled_from([1, 4]), st.integers(1, 40))
def test_a_block_goes_to_its_cheapest_place_however_many_neighbours_it_has(rng, align, many):
    blocks, at, parts = [block("x", rng.randrange(1, 24), (0, 1), alignment=align)], [-1], [[], [], []]
    apart, costs, names = [], [], ("hard", "soft", "joint")
    for i in range(many):
        kind = rng.choice(names) if i % 8 else "soft"
        low, size, name = rng.randrange(120), rng.randrange(1, 20), f"b{i}"
        blocks.append(block(name, size, (2, 3)))
        at.append(low)
        if kind == "soft":
            weight = rng.randrange(1, 4)
            costs.append(ReusePenalty(a="x", b=name, weight=weight))
            parts[1].append((low, low + size, weight))
        else:
            apart.append(Separation(a="x", b=name, same_start=kind == "joint"))
            parts[names.index(kind)].append((low, low + size))
    instance = instance_of(problem(*blocks, capacity=150, separations=apart, penalties=costs), VEC)
    assert put(instance, 0, at) == cheapest_by_force(blocks[0].size, align, 150, *parts)


@settings(max_examples=40, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(2, 45))
def test_what_sharing_costs_is_counted_alike_however_many_pay(rng, count):
    blocks = [block(f"b{i}", rng.randrange(1, 30), (i, i + 1)) for i in range(count)]
    pairs = [(i, j) for j in range(count) for i in range(j) if rng.random() < 0.8]
    weights = {pair: rng.randrange(1, 4) for pair in pairs}
    costs = [ReusePenalty(a=f"b{i}", b=f"b{j}", weight=w) for (i, j), w in weights.items()]
    instance = instance_of(problem(*blocks, capacity=100, penalties=costs), VEC)

    def by_force(at):
        return sum(
            w
            for (i, j), w in weights.items()
            if at[i] < at[j] + blocks[j].size and at[j] < at[i] + blocks[i].size
        )

    start = [rng.randrange(70) for _ in blocks]
    assert total_cost(instance, start) == by_force(start)
    assert by_force(improve_cost(instance, start, 20)) <= by_force(start)
    moved = [i for i in range(count) if rng.random() < 0.3]
    after = [rng.randrange(70) if i in moved else at for i, at in enumerate(start)]
    assert sum(change for _, change in changes(instance, start, after, moved)) == 2 * (
        by_force(after) - by_force(start)
    )


def test_the_same_problem_gets_the_same_answer():
    p = problem(*[block(f"b{i}", 3 + i % 5, (i, i + 4)) for i in range(20)], capacity=24)
    assert dict(dsa.plan(p).offsets) == dict(dsa.plan(p).offsets)


def test_the_planner_pypto_goes_by_name_and_searches_only_on_overflow():
    blocks = [block(f"b{n}", 30, (n, n + 1)) for n in (2, 10, 1)]
    assert dict(pack.plan(problem(*blocks)).offsets) == {"b1": 0, "b10": 30, "b2": 60}
    tight = problem(*blocks, capacity=40)
    assert check_placement(tight, pack.plan(tight)) == ()


def test_the_lowest_peak_of_a_staircase_is_what_is_alive():
    p = problem(*[block(f"b{i}", 10 + 7 * (i % 3), (i, i + 3)) for i in range(12)], capacity=1)
    placement = lowest_peak(p, VEC, seconds=5.0)
    assert peak_bytes(p, placement, VEC) == live_peak(p, VEC)[0]
    assert {v.kind for v in check_placement(p, placement)} == {"capacity"}
