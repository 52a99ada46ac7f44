"""Short builders for the rows of the operator tables."""

from __future__ import annotations

from typing import Any

from pypto_core.ir import MemorySpace
from pypto_core.ops.kinds import Kind
from pypto_core.ops.opdef import OMIT, OpMemory, Param

VEC = (MemorySpace.Vec,)
"""Operand rule: in the vector buffer."""


def tile(name: str, **rules: Any) -> Param:
    """A tile operand."""
    return Param(name, Kind.TILE, **rules)


def tensor(name: str, **rules: Any) -> Param:
    """A tensor operand."""
    return Param(name, Kind.TENSOR, **rules)


def scalar(name: str, like: int | None = 0, **rules: Any) -> Param:
    """A scalar operand; a literal takes the element type of operand ``like``."""
    return Param(name, Kind.SCALAR, like=like, **rules)


def index(name: str, **rules: Any) -> Param:
    """An integer operand."""
    return Param(name, Kind.INDEX, **rules)


def buffer(name: str, **rules: Any) -> Param:
    """The handle of a buffer."""
    return Param(name, Kind.BUFFER, **rules)


def dims(name: str, **rules: Any) -> Param:
    """A shape, offset or valid-extent operand."""
    return Param(name, Kind.DIMS, **rules)


def dtype(name: str = "dtype", **rules: Any) -> Param:
    """An element-type option."""
    return Param(name, Kind.DTYPE, **rules)


def flag(name: str, **rules: Any) -> Param:
    """A yes/no option, left out when it is not given."""
    return Param(name, Kind.FLAG, **{"default": OMIT, **rules})


def number(name: str, **rules: Any) -> Param:
    """An integer option."""
    return Param(name, Kind.INT, **rules)


def on_vec(tiles: int, others: int = 0, **rules: Any) -> OpMemory:
    """Memory rule of an operator of the vector unit: ``tiles`` operands in Vec, then ``others`` without a rule."""
    return OpMemory(inputs=(VEC,) * tiles + (None,) * others, output=MemorySpace.Vec, **rules)
