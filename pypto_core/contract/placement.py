"""What a planner is asked, what it answers, and the judge of the answer.

A problem is plain data, the same for every planner, so that a plan can be made and judged without any program.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, cast

import attrs

from pypto_core.diagnostics import UserError
from pypto_core.ir.enums import MemorySpace

Interval = tuple[int, int]


def _error(message: str, **facts: object) -> UserError:
    return UserError(message, code="PT510", facts=facts, remedy="correct the placement problem")


def _intervals(value: Iterable[Iterable[int]]) -> tuple[Interval, ...]:
    return tuple(cast(Interval, tuple(pair)) for pair in value)


@attrs.frozen(kw_only=True)
class PlacementBlock:
    """Storage that needs one address.

    ``name``: unique within a problem, the key of the answer. ``size``: bytes, above zero. ``alignment``: its
    address is a multiple of this. ``live``: when it holds something, as half-open intervals of program points,
    ascending and apart. ``fixed``: the address it has to get, None when it is free. ``label``: what to call it in
    messages, with the source line where there is one.
    """

    name: str
    space: MemorySpace
    size: int
    alignment: int = 1
    live: tuple[Interval, ...] = attrs.field(converter=_intervals)
    fixed: int | None = None
    label: str = ""

    def __attrs_post_init__(self) -> None:
        if self.size <= 0 or self.alignment <= 0:
            raise _error("a block needs a positive size and alignment", block=self.name)
        if self.fixed is not None and (self.fixed < 0 or self.fixed % self.alignment):
            raise _error("a fixed address has to be aligned and not negative", block=self.name)
        last: int | None = None
        for begin, end in self.live:
            if begin >= end or (last is not None and begin < last):
                raise _error("lifetimes are ascending and apart", block=self.name, live=self.live)
            last = end

    def lives_with(self, other: PlacementBlock) -> bool:
        """Whether both hold something at one time."""
        return intervals_meet(self.live, other.live)


def intervals_meet(a: tuple[Interval, ...], b: tuple[Interval, ...]) -> bool:
    """Whether two ascending sequences of half-open intervals have a point in common."""
    i = j = 0
    while i < len(a) and j < len(b):
        if a[i][0] < b[j][1] and b[j][0] < a[i][1]:
            return True
        if a[i][1] <= b[j][1]:
            i += 1
        else:
            j += 1
    return False


@attrs.frozen(kw_only=True)
class Separation:
    """Two blocks of one space that may share no byte although their lifetimes would allow it.

    ``reasons``: why, as short words. ``relaxable``: whether a planner that finds no other way may let them share,
    at the price of one active reuse. ``same_start``: they may share after all when both start at one address, as an
    operator may write over the operand that it reads, but not over a shifted part of it.
    """

    a: str
    b: str
    reasons: tuple[str, ...] = attrs.field(default=(), converter=tuple)
    relaxable: bool = False
    same_start: bool = False


@attrs.frozen(kw_only=True)
class ReusePenalty:
    """What it costs when two blocks of one space share a byte (a wait between two pipes, for example)."""

    a: str
    b: str
    weight: int = 1


def _capacities(value: Mapping[MemorySpace, int]) -> Mapping[MemorySpace, int]:
    return MappingProxyType(dict(value))


def _reserved(value: Mapping[MemorySpace, Iterable[Iterable[int]]]) -> Mapping[MemorySpace, Any]:
    return MappingProxyType({space: _intervals(ranges) for space, ranges in value.items()})


@attrs.frozen(kw_only=True)
class PlacementProblem:
    """Blocks, the memories they lie in, and what keeps them apart.

    ``capacities``: bytes per space; a space without an entry has no bound. ``reserved``: byte ranges of a space
    that no block may touch. ``separations`` and ``penalties`` name blocks of one space. ``purpose``: what the
    plan is for, in messages. Raises UserError (PT510) for a problem that contradicts itself.
    """

    blocks: tuple[PlacementBlock, ...] = attrs.field(converter=tuple)
    capacities: Mapping[MemorySpace, int] = attrs.field(factory=dict[MemorySpace, int], converter=_capacities)
    reserved: Mapping[MemorySpace, tuple[Interval, ...]] = attrs.field(
        factory=dict[MemorySpace, tuple[Interval, ...]], converter=_reserved
    )
    separations: tuple[Separation, ...] = attrs.field(default=(), converter=tuple)
    penalties: tuple[ReusePenalty, ...] = attrs.field(default=(), converter=tuple)
    purpose: str = ""

    def __attrs_post_init__(self) -> None:
        by_name = {block.name: block for block in self.blocks}
        if len(by_name) != len(self.blocks):
            raise _error("two blocks have one name")
        for pair in (*self.separations, *self.penalties):
            a, b = by_name.get(pair.a), by_name.get(pair.b)
            if a is None or b is None or a is b:
                raise _error("a pair names two different blocks", pair=f"{pair.a}, {pair.b}")
            if a.space is not b.space:
                raise _error("a pair lies in one space", pair=f"{pair.a}, {pair.b}")

    def block(self, name: str) -> PlacementBlock:
        """The block of that name."""
        return next(b for b in self.blocks if b.name == name)

    def of(self, space: MemorySpace) -> PlacementProblem:
        """The part that concerns one space."""
        blocks = [b for b in self.blocks if b.space is space]
        names = {b.name for b in blocks}
        return attrs.evolve(
            self,
            blocks=blocks,
            separations=[s for s in self.separations if s.a in names],
            penalties=[p for p in self.penalties if p.a in names],
        )

    @property
    def spaces(self) -> tuple[MemorySpace, ...]:
        """The spaces that have blocks, in the order of their numbers."""
        there = {b.space for b in self.blocks}
        return tuple(space for space in MemorySpace if space in there)


def _offsets(value: Mapping[str, int]) -> Mapping[str, int]:
    return MappingProxyType(dict(value))


@attrs.frozen(kw_only=True)
class Placement:
    """An answer.

    ``offsets``: the address of each block in its space, in bytes, by block name. ``relaxed``: pairs whose
    separation was given up, whether or not they share bytes in the end. ``optimal``: whether no plan is cheaper
    (of equal cost: lower). ``notes``: what the planner has to say beyond that, for reports.
    """

    offsets: Mapping[str, int] = attrs.field(converter=_offsets)
    relaxed: tuple[tuple[str, str], ...] = attrs.field(default=(), converter=tuple)
    optimal: bool = False
    notes: tuple[str, ...] = attrs.field(default=(), converter=tuple)


class NoPlacementError(UserError):
    """A planner found no plan.

    ``proven``: whether there is none. ``space``: the memory that can't hold its blocks.
    """

    default_code = "PT630"

    def __init__(
        self, message: str = "", *, proven: bool = False, space: MemorySpace | None = None, **parts: Any
    ) -> None:
        super().__init__(message, **parts)
        self.proven = proven
        self.space = space


@attrs.frozen(kw_only=True)
class Violation:
    """One thing that is wrong with a placement. ``kind``: unknown, missing, range, alignment, fixed, capacity,
    reserved, overlap or separation; ``blocks``: whom it concerns.
    """

    kind: str
    blocks: tuple[str, ...]
    message: str


def check_placement(problem: PlacementProblem, placement: Placement) -> tuple[Violation, ...]:
    """Everything that is wrong with an answer; empty when it may be used.

    Shares nothing with any planner: a sweep over time keeps the live blocks sorted by address, where two that
    overlap must be neighbours.
    """
    known = {block.name for block in problem.blocks}
    found = [
        Violation(kind="unknown", blocks=(name,), message=f"there is no block {name}")
        for name in placement.offsets
        if name not in known
    ]
    placed: list[PlacementBlock] = []
    for block in problem.blocks:
        if block.name in placement.offsets:
            placed.append(block)
        else:
            found.append(
                Violation(kind="missing", blocks=(block.name,), message=f"{block.name} has no address")
            )
    for block in placed:
        found += _check_alone(problem, block, placement.offsets[block.name])
    for space in problem.spaces:
        found += _check_together([b for b in placed if b.space is space], placement.offsets)
    found += _check_separations(problem, placement)
    return tuple(found)


def _check_alone(problem: PlacementProblem, block: PlacementBlock, at: int) -> Iterator[Violation]:
    def wrong(kind: str, what: str) -> Violation:
        return Violation(kind=kind, blocks=(block.name,), message=f"{block.name} at {at}: {what}")

    if at < 0:
        yield wrong("range", "the address is negative")
    if at % block.alignment:
        yield wrong("alignment", f"no multiple of {block.alignment}")
    if block.fixed is not None and at != block.fixed:
        yield wrong("fixed", f"it has to be at {block.fixed}")
    limit = problem.capacities.get(block.space)
    if limit is not None and at + block.size > limit:
        yield wrong("capacity", f"its end {at + block.size} is beyond {limit}")
    for low, high in problem.reserved.get(block.space, ()):
        if at < high and low < at + block.size:
            yield wrong("reserved", f"it reaches into the reserved bytes {low} to {high}")


def _check_together(blocks: list[PlacementBlock], offsets: Mapping[str, int]) -> Iterator[Violation]:
    events: list[tuple[int, int, int]] = []
    for number, block in enumerate(blocks):
        for begin, end in block.live:
            events.append((begin, 1, number))
            events.append((end, 0, number))
    events.sort()
    live: list[tuple[int, int]] = []
    said: set[tuple[int, int]] = set()
    for _, begins, number in events:
        block = blocks[number]
        entry = (offsets[block.name], number)
        if not begins:
            live.remove(entry) if entry in live else None
            continue
        place = bisect.bisect_left(live, entry)
        for low, other in _neighbours(live, place, entry[0] + block.size, blocks):
            if low + blocks[other].size > entry[0] and (min(number, other), max(number, other)) not in said:
                said.add((min(number, other), max(number, other)))
                yield Violation(
                    kind="overlap",
                    blocks=(blocks[other].name, block.name),
                    message=f"{blocks[other].name} at {low} and {block.name} at {entry[0]} share bytes while "
                    "both are live",
                )
        live.insert(place, entry)


def _neighbours(
    live: list[tuple[int, int]], place: int, end: int, blocks: list[PlacementBlock]
) -> Iterator[tuple[int, int]]:
    """Live blocks around a place in address order that may reach into what starts there and stops at ``end``."""
    for entry in live[place:]:
        if entry[0] >= end:
            break
        yield entry
    # Once blocks overlap, a long one may lie behind short ones: look at all of those below.
    yield from live[:place]


def _check_separations(problem: PlacementProblem, placement: Placement) -> Iterator[Violation]:
    given_up = {frozenset(pair) for pair in placement.relaxed}
    sizes = {block.name: block.size for block in problem.blocks}
    for separation in problem.separations:
        if separation.relaxable and frozenset((separation.a, separation.b)) in given_up:
            continue
        both = placement.offsets.get(separation.a), placement.offsets.get(separation.b)
        if separation.same_start and both[0] == both[1]:
            continue
        if _share(sizes, placement.offsets, separation.a, separation.b):
            why = ", ".join(separation.reasons) or "no reason given"
            yield Violation(
                kind="separation",
                blocks=(separation.a, separation.b),
                message=f"{separation.a} and {separation.b} share bytes and must not: {why}",
            )


def shares_bytes(problem: PlacementProblem, placement: Placement, a: str, b: str) -> bool:
    """Whether two blocks of one space have a byte in common, at whatever time."""
    sizes = {block.name: block.size for block in problem.blocks if block.name in (a, b)}
    return _share(sizes, placement.offsets, a, b)


def _share(sizes: Mapping[str, int], offsets: Mapping[str, int], a: str, b: str) -> bool:
    if a not in offsets or b not in offsets:
        return False
    return offsets[a] < offsets[b] + sizes[b] and offsets[b] < offsets[a] + sizes[a]


def reuse_cost(problem: PlacementProblem, placement: Placement) -> int:
    """The summed weight of all penalties whose blocks share bytes; a given-up separation that does counts one."""
    sizes = {block.name: block.size for block in problem.blocks}
    offsets = placement.offsets
    return sum(p.weight for p in problem.penalties if _share(sizes, offsets, p.a, p.b)) + sum(
        _share(sizes, offsets, a, b) for a, b in placement.relaxed
    )


def peak_bytes(problem: PlacementProblem, placement: Placement, space: MemorySpace) -> int:
    """Where the highest block of a space ends."""
    return max((placement.offsets[b.name] + b.size for b in problem.blocks if b.space is space), default=0)


def live_peak(problem: PlacementProblem, space: MemorySpace) -> tuple[int, int]:
    """(bytes, moment) of the greatest sum of sizes live at once: no plan of the space can end lower."""
    events: list[tuple[int, int]] = []
    for block in problem.blocks:
        if block.space is space:
            for begin, end in block.live:
                events += [(begin, block.size), (end, -block.size)]
    level = best = moment = 0
    for when, change in sorted(events, key=lambda e: (e[0], e[1])):
        level += change
        if level > best:
            best, moment = level, when
    return best, moment
