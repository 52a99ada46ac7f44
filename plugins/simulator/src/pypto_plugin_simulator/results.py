"""What a call gives before a variable takes it."""

from __future__ import annotations

from typing import Any

import attrs

from pypto_core.contract import ArrayValue, Touch
from pypto_core.ir import Call, MemorySpace
from pypto_plugin_simulator.accesses import Access
from pypto_plugin_simulator.arena import Tile
from pypto_plugin_simulator.trace import ByteRange


@attrs.frozen(eq=False)
class Allocated:
    """What an alloc statement gives: room of that size."""

    space: MemorySpace
    size: int


@attrs.frozen(eq=False, kw_only=True)
class Pending:
    """A result that waits for the variable which says where it is to lie.

    ``reads``, ``writes``: what it touches; what is written to the operand that it works on in place is the result's.
    ``onto``: that operand, ``onto_index`` its number. ``so_far``: what the journal has of the call.
    """

    call: Call
    value: ArrayValue
    operands: tuple[Any, ...]
    reads: tuple[Access, ...]
    writes: tuple[Touch, ...]
    onto: Tile | None
    onto_index: int | None
    so_far: tuple[list[ByteRange], list[ByteRange]]

    @property
    def renews(self) -> bool:
        """Whether the result holds nothing but what is written: it neither reads nor keeps what it works on."""
        whole = any(t.extent == self.value.valid and not any(t.offset) for t in self.writes)
        return whole and all(access.index != self.onto_index for access in self.reads)
