"""Who touched which element of a window, and what orders one device's accesses before another's.

Each device counts the signals that it has given, and knows of each other device up to which of its signals it has heard
(a vector clock). An access is in order when all accesses of others that it could clash with were made before a signal
that its device has heard of, directly or by way of others.
"""

from __future__ import annotations

import enum
from bisect import bisect_right
from collections.abc import Callable
from math import gcd
from operator import attrgetter

import attrs
import numpy as np
from numpy.lib.stride_tricks import as_strided

from pypto_core.diagnostics import UNKNOWN_SPAN, Note, Span, UserError
from pypto_plugin_simulator.formats import Array


class Use(enum.Enum):
    """What an access does. ``ADD`` is an atomic addition."""

    READ = "reads"
    WRITE = "writes"
    ADD = "adds to"


_CLASHES = {
    Use.READ: (Use.WRITE, Use.ADD),
    Use.WRITE: (Use.WRITE, Use.READ, Use.ADD),
    Use.ADD: (Use.WRITE, Use.READ),
}
"""Earlier uses by another device that have to be ordered before a use."""

_PAST = {Use.READ: "read", Use.WRITE: "wrote", Use.ADD: "added to"}


@attrs.define(eq=False)
class Part:
    """One device's bytes of a window, from ``address`` on.

    ``cells``: for each use and device the number of the last such access to each cell of ``width`` bytes.
    """

    name: str
    owner: int
    data: Array
    devices: int
    width: int = 0
    cells: dict[Use, Array] = attrs.field(init=False, factory=dict)
    address: int = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.address = _address(self.data)

    def places(self, view: Array) -> Array:
        """The cells of a view's elements."""
        self._refine(view.dtype.itemsize)
        numbers = np.arange(len(self.data) // self.width)
        first = (_address(view) - self.address) // self.width
        per_element = view.dtype.itemsize // self.width
        strides = tuple(stride // self.width * numbers.itemsize for stride in view.strides)
        found = as_strided(
            numbers[first:], (*view.shape, per_element), (*strides, numbers.itemsize), writeable=False
        )
        return found.reshape(-1)

    def _refine(self, width: int) -> None:
        """Have cells that no element straddles."""
        finer = gcd(self.width, width, len(self.data)) if self.width else gcd(width, len(self.data))
        if finer == self.width:
            return
        for use in Use:
            known = self.cells.get(use)
            self.cells[use] = (
                np.zeros((self.devices, len(self.data) // finer), np.int32)
                if known is None
                else np.repeat(known, self.width // finer, axis=1)
            )
        self.width = finer


_BY_ADDRESS = attrgetter("address")


def _address(data: Array) -> int:
    return int(data.__array_interface__["data"][0])


@attrs.frozen(eq=False)
class Change:
    """A change of a signal: what it is since then, who changed it at which count, what those who see it know."""

    value: int
    rank: int | None
    stamp: int
    clock: Array

    def is_known(self, clock: Array) -> bool:
        """Whether a device of that clock has heard of it."""
        return self.rank is None or self.stamp <= clock[self.rank]


@attrs.define(eq=False)
class Windows:
    """All windows of a run.

    ``parts``: each device's bytes of each, by address. ``signals``: the changes of each signal, by its address.
    ``stamps``: the count of signals at each access, whose place in the source is in ``spans``.
    """

    devices: int
    parts: list[Part] = attrs.field(factory=list)
    signals: dict[int, list[Change]] = attrs.field(factory=dict)
    stamps: Array = attrs.field(factory=lambda: np.zeros(1024, np.int64))
    spans: list[Span] = attrs.field(factory=lambda: [UNKNOWN_SPAN])

    def allocate(self, size: int, name: str) -> tuple[Array, ...]:
        """A new window of ``size`` bytes of zeros."""
        found = [Part(name, rank, np.zeros(size, np.uint8), self.devices) for rank in range(self.devices)]
        self.parts = sorted([*self.parts, *found], key=_BY_ADDRESS)
        return tuple(part.data for part in found)

    def part_of(self, view: Array) -> Part | None:
        """The part that a view looks into; None when it is none of a window."""
        address = _address(view)
        at = bisect_right(self.parts, address, key=_BY_ADDRESS) - 1
        found = self.parts[at] if at >= 0 else None
        return found if found is not None and address < found.address + len(found.data) else None

    def touch(self, view: Array, use: Use, rank: int, clock: Array, span: Span) -> None:
        """Note an access of device ``rank``; raises UserError when an earlier one of another device may clash."""
        part = self.part_of(view)
        if part is None or not view.size:
            return
        places = part.places(view)
        for earlier in _CLASHES[use]:
            events = part.cells[earlier][:, places]
            late = self.stamps[events] > clock[:, None]
            late[rank] = False
            if late.any():
                other, at = np.argwhere(late)[0]
                raise _race(part, use, rank, span, earlier, int(other), self.spans[events[other, at]])
        part.cells[use][rank, places] = self._event(int(clock[rank]), span)

    def _event(self, stamp: int, span: Span) -> int:
        number = len(self.spans)
        if number == len(self.stamps):
            self.stamps = np.concatenate([self.stamps, np.zeros_like(self.stamps)])
        self.stamps[number] = stamp
        self.spans.append(span)
        return number

    def signal(self, cell: Array, value: int, adds: bool, rank: int | None, clock: Array) -> None:
        """Device ``rank``, which knows ``clock``, changes a signal."""
        nothing = np.zeros(self.devices, np.int64)
        changes = self.signals.setdefault(_address(cell), [Change(int(cell), None, 0, nothing)])
        known = np.maximum(changes[-1].clock, clock) if adds else clock.copy()
        changed = int(cell) + value if adds else value
        cell[...] = np.asarray(changed, np.int64).astype(cell.dtype)  # counts wrap as the machine's do
        changes.append(Change(int(cell), rank, 0 if rank is None else int(clock[rank]), known))

    def heard(self, cell: Array, ready: Callable[[int], bool], clock: Array) -> Array:
        """What a device of that clock learns by waiting until ``ready`` holds of a signal.

        Of the changes that may have ended its wait that is the first one: in another run it goes on there. What was
        there at first counts as a change that nobody made.
        """
        changes = self.signals.get(_address(cell), [])
        latest = max((i for i, change in enumerate(changes) if change.is_known(clock)), default=0)
        del changes[:latest]
        first = next((change for change in changes if ready(change.value)), None)
        return np.zeros(self.devices, np.int64) if first is None else first.clock


def _race(part: Part, use: Use, rank: int, span: Span, earlier: Use, other: int, where: Span) -> UserError:
    return UserError(
        f"device {rank} {use.value} elements of a window that device {other} {_PAST[earlier]}, in no order",
        code="SIM-021",
        span=span,
        facts={"window": f"'{part.name}' on device {part.owner}"},
        remedy="let the one notify the other when it is done, and the other wait for that signal; "
        "or put pld.tensor.barrier between them",
        notes=(Note(message=f"device {other} {_PAST[earlier]} them here", span=where),),
    )
