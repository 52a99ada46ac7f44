"""Operators as Python functions that build calls: ``ir.op.tile.matmul(lhs, rhs)``."""

from __future__ import annotations

from pypto.ir.calls import OpNamespace

tile, tensor, system, array = (
    OpNamespace("tile"),
    OpNamespace("tensor"),
    OpNamespace("system"),
    OpNamespace("array"),
)

__all__ = ["array", "system", "tensor", "tile"]
