"""Questions that PyPTO's own tests ask."""

from __future__ import annotations

import enum

from pypto.ir.definitions import definition
from pypto_core.ops import Access, BufferResult


class ExecutionMemoryAccess(enum.Enum):
    """What is known of the tiles that an operator reads and writes when it runs."""

    Unknown = 0
    NoAccess = 1
    Full = 2


def get_execution_memory_access_evidence(op_name: str) -> ExecutionMemoryAccess:
    """Whether an operator reads all of its tiles and writes all of its result, or touches nothing.

    Unknown for one that writes a destination, and for one without rules of memory.
    """
    op = definition(op_name)
    if op.buffer is not None:
        asks = op.buffer.result is BufferResult.VALUE
        return ExecutionMemoryAccess.NoAccess if asks else ExecutionMemoryAccess.Unknown
    if op.memory is None:
        return ExecutionMemoryAccess.Unknown
    return ExecutionMemoryAccess.Full if op.memory.access is Access.FULL else ExecutionMemoryAccess.NoAccess


__all__ = ["ExecutionMemoryAccess", "get_execution_memory_access_evidence"]
