"""Which atoms a search has to try next, so that no completion is missed and few are met twice.

Most atoms commute: their order changes nothing. So it is enough to try the atoms of a *stubborn set* that can
run now. Such a set holds an atom that every completion contains, with each of its atoms that can run now all
those whose order with it matters, and with each that can't all makers of one thing that it lacks. The first
atom of a completion that is in the set can run now (what it lacks would have been made by an atom of the set
before it), and commutes with everything before it, so it can be moved to the front.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import attrs

from pypto_core.solver.model import bits

if TYPE_CHECKING:
    from pypto_core.solver.search import Search


@attrs.frozen(eq=False)
class State:
    """What holds, what ran, and the unrun optional atoms that every completion contains."""

    held: int
    ran: int
    chosen: int


def branches(search: Search, state: State, choices: list[int], slack: int) -> Iterator[int]:
    """The atoms to try next, most promising first.

    Optional ones count when they make something that is or may be needed; with nothing to spare (``slack``),
    only when an open choice asks for them.
    """
    held, ran = state.held, state.ran
    demanded = (search.must | state.chosen) & ~ran
    wanted = 0
    for able in choices:
        wanted |= able
    if slack > 0:
        wanted |= _useful(search, state)
    active = demanded | (wanted | search.free) & search.usable(ran)
    ready = 0
    for i in bits(active & (search.touchy_mask | wanted)):
        if search.runnable(i, held, ran, state.chosen):
            if demanded >> i & 1 or search.model.makes[i] & ~held:
                ready |= 1 << i
    ready &= _smallest(search, state, active, ready, choices)
    ranked = [(_harm(search, i, held, demanded), i) for i in bits(ready) if not search.hopeless(i, held, ran)]
    for _, i in sorted(ranked):
        yield i


def _smallest(search: Search, state: State, active: int, ready: int, choices: list[int]) -> int:
    """The stubborn set with the fewest ready atoms among those that grow from one seed; -1 for all atoms."""
    best, fewest = -1, ready.bit_count()
    demanded = (search.must | state.chosen) & ~state.ran
    seeds = [1 << i for i in bits(ready & demanded)]
    seeds += [able for able in choices if not able & ~active]
    for seed in seeds:
        if fewest <= 1:
            break
        found = _grow(search, seed, state, active, ready, fewest)
        count = (found & ready).bit_count()
        if found and count < fewest:
            best, fewest = found, count
    return best


def _grow(search: Search, seed: int, state: State, active: int, ready: int, limit: int) -> int:
    """The stubborn set of a seed; 0 when it holds at least ``limit`` ready atoms."""
    found, todo = 0, seed
    while todo:
        low = todo & -todo
        i = low.bit_length() - 1
        found |= low
        lacking = search.model.requires[i] & ~state.held
        behind = (search.waits[i] | search.pred[i] & state.chosen) & ~state.ran
        if behind:
            more = 0 if behind & found else behind & -behind
        elif lacking:
            sets = [search.makers[b] & active for b in bits(lacking)]
            more = min(sets, key=lambda able: ((able & ~found).bit_count(), able))
        else:
            more = search.clash[i] & active
            if (found & ready).bit_count() >= limit:
                return 0
        todo = (todo | more) & ~found
    return found


def _harm(search: Search, i: int, held: int, demanded: int) -> int:
    """How many uses still to come atom i would spoil, and a little when it makes nothing new."""
    lost = sum((search.users[b] & demanded).bit_count() for b in bits(search.model.kills[i] & held))
    return 2 * lost + (0 if search.model.makes[i] & ~held else 1)


def _useful(search: Search, state: State) -> int:
    """Optional atoms that can serve something: makers, backwards, of what may be needed now or again."""
    usable = search.usable(state.ran)
    demanded = (search.must | state.chosen) & ~state.ran
    want, secure = search.model.goal, state.held
    for b in range(len(search.users)):
        if search.users[b] & demanded:
            want |= 1 << b
        if search.killers[b] & usable:
            secure &= ~(1 << b)
    keep, seen = 0, secure
    while want & ~seen:
        fresh = want & ~seen
        seen |= fresh
        for b in bits(fresh):
            for i in bits(search.makers[b] & usable & ~keep & ~demanded):
                keep |= 1 << i
                want |= search.model.requires[i]
    return keep
