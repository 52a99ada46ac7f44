"""What a run touched: one :class:`Step` per operator that reads or writes storage, in program order.

The engine ``bytes`` makes the steps and hands each to the ``recorder`` that it was given. It knows places and
operands; how long a step takes is for whoever records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import attrs

from pypto_core.contract import BlockPosition
from pypto_core.diagnostics import Span
from pypto_core.ir import Call, MemorySpace, PipeType


@attrs.frozen
class ByteRange:
    """Bytes ``start`` to ``stop`` (exclusive) of one storage.

    ``storage``: empty for a whole on-chip memory, whose bytes count from its first address; the allocation's name where
    memory is not planned, and the tensor's in global memory: bytes then count from the start of that.
    Ranges of one storage, one space and one block are the same bytes where they overlap. Global memory is one for
    all blocks, on-chip memory is each block's own.
    """

    space: MemorySpace
    storage: str
    start: int
    stop: int

    def overlaps(self, other: ByteRange) -> bool:
        """Whether they share a byte, in one block."""
        same = self.space is other.space and self.storage == other.storage
        return same and self.start < other.stop and other.start < self.stop


@attrs.frozen(eq=False, kw_only=True)
class Step:
    """One execution of an operator.

    ``index``: counts the steps of the run. ``pipe``: where it runs, None when nobody knows. ``operands`` and
    ``result``: what its meaning was given and gave, an :class:`pypto_core.contract.ArrayValue` for tiles and tensors
    (their shapes and valid extents are the run's). ``spaces``: where each operand lies, None for numbers;
    ``target``: where the result does. ``reads``, ``writes``: bytes, coalesced, of strided windows one range a run
    of bytes. ``kind``: ``"op"``, or ``"sync"`` for operators that only order others. ``launch``: counts the launches of
    the run; all blocks of one share it.
    """

    index: int
    call: Call
    pipe: PipeType | None
    operands: tuple[Any, ...]
    spaces: tuple[MemorySpace | None, ...]
    result: Any
    target: MemorySpace | None
    reads: tuple[ByteRange, ...]
    writes: tuple[ByteRange, ...]
    block: BlockPosition
    span: Span
    kind: str = "op"
    launch: int = 0

    @property
    def op(self) -> str:
        """The operator's name."""
        return self.call.op.name


Recorder = Callable[[Step], None]
"""Takes each step as it is done."""


def byte_ranges(
    space: MemorySpace, storage: str, intervals: Iterable[tuple[int, int]]
) -> tuple[ByteRange, ...]:
    """The ranges of one storage, neighbours joined."""
    joined: list[list[int]] = []
    for start, stop in sorted(intervals):
        if joined and start <= joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], stop)
        elif start < stop:
            joined.append([start, stop])
    return tuple(ByteRange(space, storage, start, stop) for start, stop in joined)
