"""Types without a shape: scalars, tuples, pointers and the singletons."""

from __future__ import annotations

from functools import cache
from typing import ClassVar

from pypto_core.ir.dtypes import DataType
from pypto_core.ir.node import NODES, PLAIN, node_class, use


@node_class
class Type:
    """Base of types. Compared by :func:`pypto_core.ir.types_equal`, never by ``==``."""

    visit_order: ClassVar[tuple[str, ...]] = ()

    def __repr__(self) -> str:
        return type(self).__name__.removesuffix("Type")


@node_class
class ScalarType(Type):
    """A single number."""

    dtype: DataType = use(PLAIN)

    def __repr__(self) -> str:
        return f"Scalar[{self.dtype}]"


@node_class
class TupleType(Type):
    """Several results at once."""

    types: tuple[Type, ...] = use(NODES)

    def __repr__(self) -> str:
        return f"Tuple{list(self.types)}"


@node_class
class PtrType(Type):
    """What ``tile.alloc`` yields: the base that MemRefs refer to."""


@node_class
class MemRefType(Type):
    """The type of a MemRef used as a value."""


@node_class
class UnknownType(Type):
    """Not known yet."""


@node_class
class VoidType(Type):
    """The result of an operation that has none."""


@node_class
class WindowBufferType(Type):
    """Memory on every device that takes part in a run, which all of them may read and write.

    ``size``: bytes that each device has of it, None when that is not a constant.
    """

    size: int | None = use(PLAIN, default=None)


@node_class
class CommCtxType(Type):
    """What a device knows of the devices that share a window: how many they are, and which of them it is."""


PTR = PtrType()
MEMREF = MemRefType()
UNKNOWN = UnknownType()
VOID = VoidType()
WINDOW_BUFFER = WindowBufferType()
COMM_CTX = CommCtxType()


@cache
def scalar_type(dtype: DataType) -> ScalarType:
    """The one ScalarType object of ``dtype``."""
    return ScalarType(dtype)
