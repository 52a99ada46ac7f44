"""What an operator of the Buffer stage does to the buffers it is given, and what its result is to them."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from pypto_core.ir import Expr, Type


class BufferAccess(enum.Enum):
    """How one side of a buffer, its data or its metadata, is used."""

    NONE = "none"
    READ = "read"
    WRITE = "write"
    READ_WRITE = "read and write"

    @property
    def reads(self) -> bool:
        """Whether what was there before matters."""
        return self in (BufferAccess.READ, BufferAccess.READ_WRITE)

    @property
    def writes(self) -> bool:
        """Whether something else is there afterwards."""
        return self in (BufferAccess.WRITE, BufferAccess.READ_WRITE)


@attrs.frozen
class BufferEffect:
    """The use of one operand: ``data`` are its elements, ``metadata`` its valid extents."""

    data: BufferAccess = BufferAccess.NONE
    metadata: BufferAccess = BufferAccess.NONE


class BufferResult(enum.Enum):
    """What the result is."""

    NONE = "none"
    """There is none: the operator writes its destination."""
    ALLOCATE = "allocate"
    """A handle of bytes of its own; addresses may still overlap."""
    ALIAS = "alias"
    """Another handle of an operand's bytes."""
    BORROW = "borrow"
    """A handle of an operand's bytes for as long as the operand lives."""
    VALUE = "value"
    """A number."""


TypeCheck = Callable[[tuple[Expr, ...], Mapping[str, Any], Type], None]
"""(args, kwargs, result type): raises OpError when the stated type does not fit."""


@attrs.frozen(kw_only=True)
class BufferUse:
    """The contract of an operator of the Buffer stage.

    ``effects``: per operand its use, None for one that is no memory. ``alias_arg``: the operand that an ALIAS or
    BORROW is of. ``check_type``: for operators whose result type is stated by the call instead of deduced.
    """

    effects: tuple[BufferEffect | None, ...] = attrs.field(default=(), converter=tuple)
    result: BufferResult = BufferResult.NONE
    alias_arg: int | None = None
    check_type: TypeCheck | None = None

    @property
    def states_type(self) -> bool:
        """Whether the call states the type of its result."""
        return self.check_type is not None
