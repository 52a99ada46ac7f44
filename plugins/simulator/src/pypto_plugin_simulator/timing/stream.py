"""What one core does, as its scalar unit issues it: work for the pipes, and the flags between them.

A stream is a sequence of items in program order. Each item goes to the queue of one pipe; a pipe takes its queue in
order, one item after the other, and the pipes run beside each other. All else about order is said by flags: a pipe
sets one when it gets to that item, another waits for it.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from pypto_core.diagnostics import UNKNOWN_SPAN, Span
from pypto_core.ir import PipeType

EVENT_IDS = 8
"""Flags that one pipe has for another one: ids 0 to 7."""

PIPES = (
    PipeType.MTE2,
    PipeType.MTE1,
    PipeType.M,
    PipeType.FIX,
    PipeType.V,
    PipeType.MTE3,
    PipeType.S,
)
"""The pipes of a core in the order in which data passes through them; tables and pictures keep to it."""

Extent = tuple[str, int, int]
"""Bytes of one memory, or of one tensor in global memory: the area, the first byte and the one after the last."""


@attrs.frozen(eq=False, kw_only=True)
class Work:
    """One operation on a pipe.

    ``index``: its place in program order, ascending in a stream. ``cycles``: how long the pipe is busy with it.
    ``reads``, ``writes``: the bytes, which it may touch at any time between its start and its end. ``label``: operator
    and result, ``span``: the statement. ``atomic``: it adds to what global memory holds there, in any order with others
    that do.
    """

    index: int
    pipe: PipeType
    cycles: float
    reads: tuple[Extent, ...] = ()
    writes: tuple[Extent, ...] = ()
    label: str = ""
    span: Span = UNKNOWN_SPAN
    atomic: bool = False


@attrs.frozen
class Flag:
    """One event: from the pipe that sets it to the pipe that waits, by number."""

    source: PipeType
    target: PipeType
    id: int

    def __str__(self) -> str:
        return f"{self.source.name}->{self.target.name} #{self.id}"


@attrs.frozen(eq=False)
class SetFlag:
    """In the queue of the flag's source: all work before it is done. ``derived``: by whom it was put there."""

    flag: Flag
    span: Span = UNKNOWN_SPAN
    derived: bool = False

    @property
    def pipe(self) -> PipeType:
        """The queue it stands in."""
        return self.flag.source


@attrs.frozen(eq=False)
class WaitFlag:
    """In the queue of the flag's target: nothing after it begins before the flag is set, which takes the flag back."""

    flag: Flag
    span: Span = UNKNOWN_SPAN
    derived: bool = False

    @property
    def pipe(self) -> PipeType:
        """The queue it stands in."""
        return self.flag.target


@attrs.frozen(eq=False)
class Barrier:
    """The scalar unit waits until every pipe has done what was issued so far, and issues nothing meanwhile."""

    span: Span = UNKNOWN_SPAN
    pipe: PipeType = attrs.field(default=PipeType.S, init=False)


Item = Work | SetFlag | WaitFlag | Barrier
Stream = Sequence[Item]


def works(stream: Stream) -> list[Work]:
    """The operations of a stream, in program order."""
    return [item for item in stream if isinstance(item, Work)]
