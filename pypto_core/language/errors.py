"""How the parser words what recurs in its errors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pypto_core.ir import ConstInt, Expr, ScalarType, TensorType, TileType, TupleType, Type, Var, base_name


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """A remedy naming what is spelt like ``name``."""
    from difflib import get_close_matches  # costs start-up time and is needed only here

    near = get_close_matches(name, sorted(set(known)), n=2, cutoff=0.6)
    return "did you mean " + " or ".join(f"'{n}'" for n in near) + "?" if near else otherwise


def type_text(kind: Type) -> str:
    """A type as messages show it: ``Tile[[64, n], fp32]``."""
    if isinstance(kind, TensorType | TileType):
        word = "Tensor" if isinstance(kind, TensorType) else "Tile"
        return f"{word}[{shape_text(kind.shape)}, {kind.dtype}]"
    if isinstance(kind, ScalarType):
        return f"Scalar[{kind.dtype}]"
    if isinstance(kind, TupleType):
        return "Tuple[" + ", ".join(type_text(t) for t in kind.types) + "]"
    return type(kind).__name__.removesuffix("Type")


def shape_text(shape: Iterable[Expr]) -> str:
    """A shape as messages show it: ``[64, n]``."""
    return "[" + ", ".join(dim_text(d) for d in shape) + "]"


def dim_text(dim: Expr) -> str:
    """An extent as messages show it."""
    if isinstance(dim, ConstInt):
        return str(dim.value)
    if isinstance(dim, Var):
        return base_name(dim.name_hint)
    return "…"


def int_text(value: int) -> str:
    """An integer as messages show it; one of thousands of digits, which Python refuses to write, by its size."""
    bits = value.bit_length()
    return str(value) if bits <= 256 else f"an integer of {bits} bits"


def value_text(value: Any) -> str:
    """A value of the parser as messages show it."""
    if isinstance(value, Expr):
        return "a " + type_text(value.type)
    if isinstance(value, list):
        return "a list"
    return int_text(value) if type(value) is int else repr(value)
