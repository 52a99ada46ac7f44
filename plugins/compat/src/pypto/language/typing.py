"""The words of annotations."""

from __future__ import annotations

from pypto_core.language import (
    Array,
    DynVar,
    InOut,
    IntLike,
    MemRef,
    MemRefType,
    Out,
    Ptr,
    PtrType,
    Scalar,
    Tensor,
    TensorView,
    Tile,
    TileView,
    Tuple,
    UnknownType,
    dynamic,
)

__all__ = [
    "Array",
    "DynVar",
    "InOut",
    "IntLike",
    "MemRef",
    "MemRefType",
    "Out",
    "Ptr",
    "PtrType",
    "Scalar",
    "Tensor",
    "TensorView",
    "Tile",
    "TileView",
    "Tuple",
    "UnknownType",
    "dynamic",
]
