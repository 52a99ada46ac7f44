"""Programs over several devices: what an engine offers operators that reach from one device to another.

Every device of a run has memories of its own. A *window* is memory of one size on each of them, which all may reach;
a distributed tensor is a device's view of its own part. Devices run beside each other, so that what one of them writes
may only be read by another after a signal: engines keep track of who waited for whom, and refuse what is left to
chance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import attrs

from pypto_core.contract.executor import ArrayValue


@attrs.frozen(eq=False, repr=False)
class DistributedValue(ArrayValue):
    """A distributed tensor while a program runs: the part of one device.

    ``parts``: the storage of every device, by rank, each of the extents of ``data``. Host code, which belongs to no
    device, sees the first part; :meth:`on` gives what a device sees.
    """

    parts: tuple[Any, ...] = ()

    def on(self, rank: int) -> DistributedValue:
        """The same tensor as device ``rank`` sees it."""
        return attrs.evolve(self, data=self.parts[rank])


class Device(Protocol):
    """The device that a call runs on, and what it knows of the others."""

    @property
    def rank(self) -> int | None:
        """Its number, None for the host."""
        ...

    @property
    def count(self) -> int:
        """How many devices take part in the run."""
        ...

    def allocate(self, size: int, name: str) -> tuple[Any, ...]:
        """A window: ``size`` bytes of zeros on every device, as arrays of bytes by rank. Host code only."""
        ...

    def reads(self, part: Any) -> None:
        """``part``, a numpy view into a window of any device, is about to be read. Raises UserError for a race."""
        ...

    def writes(self, part: Any, *, atomic: bool = False) -> None:
        """The same for writing; ``atomic``: it adds to what is there, in one step with others that do."""
        ...

    def notify(self, cell: Any, value: int, *, adds: bool) -> None:
        """Change ``cell``, a view of one element of a window, as a signal: add ``value``, or put it there.

        Whoever waits for the signal afterwards is ordered behind all that this device has done so far, and, if it is
        added, behind what others who changed it had done.
        """
        ...

    def wait(self, cell: Any, ready: Callable[[int], bool], told: Callable[[], Mapping[str, object]]) -> None:
        """Let the other devices run until ``ready`` holds of the number in ``cell``.

        What follows is ordered behind whoever made it hold first, as far as that can be known. ``told``: what to say of
        the wait when nothing can end it. Raises UserError then, for all that wait.
        """
        ...
