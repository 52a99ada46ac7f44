"""What a parameter may be given, and how each kind is recognised and described."""

from __future__ import annotations

import enum
from collections.abc import Callable

from pypto_core.ir import (
    ArrayType,
    BufferType,
    DataType,
    Expr,
    MakeTuple,
    PtrType,
    ScalarType,
    TensorType,
    TileType,
    TupleType,
    Type,
)


class Kind(enum.Enum):
    """What a parameter accepts."""

    TILE = "tile"
    TENSOR = "tensor"
    SCALAR = "scalar"
    INDEX = "index"
    """A scalar integer: literals become INDEX constants."""
    BOOL = "bool"
    DIMS = "dims"
    """A tuple of INDEX scalars: a shape, an offset, valid extents."""
    PTR = "ptr"
    """A pointer, or a local array."""
    BUFFER = "buffer"
    """The handle of a buffer, in functions of the Buffer stage."""
    ANY = "any"
    DTYPE = "dtype"
    SPACE = "space"
    INT = "int"
    FLOAT = "float"
    FLAG = "flag"
    TEXT = "text"
    ENUM = "enum"
    """A member of ``Param.enum`` (stored as the member, written as its name)."""

    __hash__ = object.__hash__


OPERAND_KINDS = frozenset(
    {Kind.TILE, Kind.TENSOR, Kind.SCALAR, Kind.INDEX, Kind.BOOL, Kind.DIMS, Kind.PTR, Kind.BUFFER, Kind.ANY}
)


def is_tile(arg: Expr) -> bool:
    """Whether ``arg`` is a tile."""
    return isinstance(arg.type, TileType)


def is_tensor(arg: Expr) -> bool:
    """Whether ``arg`` is a tensor."""
    return isinstance(arg.type, TensorType)


def is_scalar(arg: Expr) -> bool:
    """Whether ``arg`` is a scalar of whatever element type."""
    return isinstance(arg.type, ScalarType)


def is_index(arg: Expr) -> bool:
    """Whether ``arg`` is an integer scalar."""
    have = arg.type
    return isinstance(have, ScalarType) and have.dtype.is_int


def is_bool(arg: Expr) -> bool:
    """Whether ``arg`` is a truth value."""
    have = arg.type
    return isinstance(have, ScalarType) and have.dtype is DataType.BOOL


def is_dims(arg: Expr) -> bool:
    """Whether ``arg`` is a tuple of integer scalars; an empty one stands for an option that is not given."""
    if isinstance(arg, MakeTuple):
        return all(map(is_index, arg.elements))
    have = arg.type
    return isinstance(have, TupleType) and all(
        isinstance(t, ScalarType) and t.dtype.is_int for t in have.types
    )


def is_storage(arg: Expr) -> bool:
    """Whether ``arg`` is a pointer or a local array."""
    return isinstance(arg.type, PtrType | ArrayType)


def is_buffer(arg: Expr) -> bool:
    """Whether ``arg`` is the handle of a buffer."""
    return isinstance(arg.type, BufferType)


CHECKS: dict[Kind, Callable[[Expr], bool]] = {
    Kind.TILE: is_tile,
    Kind.TENSOR: is_tensor,
    Kind.SCALAR: is_scalar,
    Kind.INDEX: is_index,
    Kind.BOOL: is_bool,
    Kind.DIMS: is_dims,
    Kind.PTR: is_storage,
    Kind.BUFFER: is_buffer,
    Kind.ANY: lambda arg: True,
}

OPERAND_TEXT: dict[Kind, str] = {
    Kind.TILE: "a tile",
    Kind.TENSOR: "a tensor",
    Kind.SCALAR: "a scalar",
    Kind.INDEX: "an integer scalar",
    Kind.BOOL: "a scalar of type bool",
    Kind.DIMS: "a list of integer scalars",
    Kind.PTR: "a local array or a pointer",
    Kind.BUFFER: "the handle of a buffer",
    Kind.ANY: "a value",
}


def kind_remedy(kind: Kind, have: Type) -> str:
    """How to make an argument of type ``have`` acceptable."""
    if kind is Kind.TILE and isinstance(have, TensorType):
        return "load the tensor into a tile first: pl.load(tensor, offsets, shapes)"
    if kind is Kind.TENSOR and isinstance(have, TileType):
        return "a tile lives on chip: pass the tensor, or use the pl.tile operation of that name"
    if kind in (Kind.INDEX, Kind.DIMS) and isinstance(have, ScalarType | TupleType):
        return "extents, offsets and indices are integers: convert with pl.cast(x, pl.INDEX)"
    if kind is Kind.BOOL and isinstance(have, ScalarType):
        return "compare it with something, e.g. k == 0"
    if kind is Kind.SCALAR and isinstance(have, TileType | TensorType):
        return "read one element with pl.read, or use the form of the operator that takes two of them"
    return f"pass {OPERAND_TEXT[kind]} here"
