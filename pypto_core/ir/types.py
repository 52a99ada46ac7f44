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


PTR = PtrType()
MEMREF = MemRefType()
UNKNOWN = UnknownType()
VOID = VoidType()


@cache
def scalar_type(dtype: DataType) -> ScalarType:
    """The one ScalarType object of ``dtype``."""
    return ScalarType(dtype)
