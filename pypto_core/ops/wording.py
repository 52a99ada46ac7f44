"""How the operators' messages write extents: short infix forms with the author's names."""

from __future__ import annotations

import enum
from collections.abc import Iterable

from pypto_core.ir import (
    Add,
    And,
    ArrayType,
    BinaryExpr,
    Call,
    Cast,
    ConstBool,
    ConstFloat,
    ConstInt,
    DataType,
    Eq,
    Expr,
    FloatDiv,
    FloorDiv,
    FloorMod,
    Ge,
    Gt,
    Le,
    Lt,
    Max,
    Min,
    Mul,
    Ne,
    Neg,
    Or,
    Sub,
    Type,
    UnaryExpr,
    Var,
    base_name,
)

_INFIX: dict[type, str] = {
    Add: "+", Sub: "-", Mul: "*", FloorDiv: "//", FloorMod: "%", FloatDiv: "/",
    Eq: "==", Ne: "!=", Lt: "<", Le: "<=", Gt: ">", Ge: ">=", And: "and", Or: "or",
}  # fmt: skip
_PREFIX: dict[type, str] = {Min: "min", Max: "max"}


def extent_text(expr: Expr) -> str:
    """One extent: ``64``, ``n``, ``min(n - i * 64, 64)``."""
    if isinstance(expr, ConstInt | ConstFloat | ConstBool):
        return str(expr.value)
    if isinstance(expr, Var):
        return base_name(expr.name_hint)
    if isinstance(expr, Min | Max):
        return f"{_PREFIX[type(expr)]}({extent_text(expr.left)}, {extent_text(expr.right)})"
    if isinstance(expr, BinaryExpr):
        sign = _INFIX.get(type(expr), type(expr).__name__)
        return f"{_nested(expr.left)} {sign} {_nested(expr.right)}"
    if isinstance(expr, Cast):
        return extent_text(expr.operand)
    if isinstance(expr, UnaryExpr):
        sign = "-" if isinstance(expr, Neg) else type(expr).__name__ + " "
        return f"{sign}{_nested(expr.operand)}"
    if isinstance(expr, Call):
        return f"{expr.op.name}({', '.join(extent_text(a) for a in expr.args)})"
    return repr(expr)


def _nested(expr: Expr) -> str:
    text = extent_text(expr)
    return f"({text})" if isinstance(expr, BinaryExpr) and not isinstance(expr, Min | Max) else text


def dims_text(dims: Iterable[Expr]) -> str:
    """A shape, offset or valid shape: ``[64, n]``."""
    return "[" + ", ".join(extent_text(d) for d in dims) + "]"


def type_text(kind: Type) -> str:
    """A type as messages show it, with the author's names in its extents."""
    shape = getattr(kind, "shape", None)
    if shape is None or isinstance(kind, ArrayType):
        return repr(kind)
    name = type(kind).__name__.removesuffix("Type")
    space = getattr(kind, "memory_space", None)
    where = f", {space.name}" if name == "Tile" and space is not None else ""
    return f"{name}[{dims_text(shape)}, {kind.dtype}{where}]"  # type: ignore[attr-defined]


def value_text(value: object) -> str:
    """A value that is no expression as messages show it."""
    if isinstance(value, enum.Enum):
        return f"pl.{value.name}" if isinstance(value, DataType) else f"{type(value).__name__}.{value.name}"
    if isinstance(value, Expr):
        return f"a {type_text(value.type)}"
    plain = value is None or isinstance(value, str | int | float)
    return repr(value) if plain else f"a {type(value).__name__}"
