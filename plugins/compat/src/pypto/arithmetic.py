"""Scalar expressions from Python operators and functions: nodes as written, nothing folded.

A Python number takes the element type of the expression beside it when it is of the same category, otherwise INT64 or
FP32. The wider operand wins and the other gets an explicit cast, as everywhere in the kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import attrs

from pypto_core.diagnostics import UNKNOWN_SPAN, DiagnosticError, Span
from pypto_core.ir import (
    Abs,
    Add,
    And,
    BinaryExpr,
    BitAnd,
    BitNot,
    BitOr,
    BitShiftLeft,
    BitShiftRight,
    BitXor,
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
    Not,
    Or,
    Pow,
    ScalarType,
    Sub,
    UnaryExpr,
    Xor,
    make_binary,
    make_unary,
    scalar_type,
    structural_equal,
)

Operand = Expr | int | float
INT_DEFAULT, FLOAT_DEFAULT = DataType.INT64, DataType.FP32
COMPARED = Span(*attrs.astuple(UNKNOWN_SPAN, recurse=False))
"""The place, unknown as well, of the nodes that ``==`` and ``!=`` build: what tells them from all others."""


def index(value: Operand) -> Expr:
    """An extent, offset or loop bound: Python integers are INDEX constants."""
    return value if isinstance(value, Expr) else ConstInt(int(value))


def operand(value: Operand, beside: object = None, span: Span = UNKNOWN_SPAN) -> Expr:
    """A value as an expression; a number follows the type of the expression ``beside`` it."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, bool):
        return ConstBool(value, span=span)
    if not isinstance(value, int | float):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be wrong
        raise TypeError(f"an expression or a number is needed, not {type(value).__name__}")
    kind = beside.type if isinstance(beside, Expr) else None
    dtype = kind.dtype if isinstance(kind, ScalarType) else None
    if isinstance(value, int):
        if dtype is not None and dtype.is_float:
            return ConstFloat(float(value), dtype, span=span)
        return ConstInt(value, dtype if dtype is not None and dtype.is_int else INT_DEFAULT, span=span)
    return ConstFloat(value, dtype if dtype is not None and dtype.is_float else FLOAT_DEFAULT, span=span)


def binary(cls: type[BinaryExpr]) -> Callable[..., Expr]:
    """The function ``(left, right, span)`` that builds this node."""

    def build(left: Operand, right: Operand, span: Span = UNKNOWN_SPAN) -> Expr:
        return make_binary(cls, operand(left, right, span), operand(right, left, span), span)

    build.__name__ = build.__qualname__ = cls.__name__
    build.__doc__ = f"``{cls.__name__}`` of two scalars; numbers take the type of the other side."
    return build


def unary(cls: type[UnaryExpr]) -> Callable[..., Expr]:
    """The function ``(operand, span)`` that builds this node."""

    def build(value: Operand, span: Span = UNKNOWN_SPAN) -> Expr:
        return make_unary(cls, operand(value, None, span), span)

    build.__name__ = build.__qualname__ = cls.__name__
    build.__doc__ = f"``{cls.__name__}`` of a scalar."
    return build


def cast(value: Operand, dtype: DataType, span: Span = UNKNOWN_SPAN) -> Expr:
    """``Cast`` of a scalar to an element type, also where it has that type already."""
    return Cast(operand(value, None, span), scalar_type(dtype), span=span)


add, sub, mul, truediv = binary(Add), binary(Sub), binary(Mul), binary(FloatDiv)
floordiv, mod, pow = binary(FloorDiv), binary(FloorMod), binary(Pow)
eq, ne, lt, le, gt, ge = binary(Eq), binary(Ne), binary(Lt), binary(Le), binary(Gt), binary(Ge)
min_, max_, and_, or_, xor = binary(Min), binary(Max), binary(And), binary(Or), binary(Xor)
bit_and, bit_or, bit_xor = binary(BitAnd), binary(BitOr), binary(BitXor)
bit_shift_left, bit_shift_right = binary(BitShiftLeft), binary(BitShiftRight)
neg, not_, bit_not, abs_ = unary(Neg), unary(Not), unary(BitNot), unary(Abs)


def _method(build: Callable[..., Expr], swapped: bool = False) -> Callable[..., Any]:
    def method(left: Expr, right: Any) -> Any:
        if not isinstance(right, Expr | int | float):
            return NotImplemented
        return build(right, left) if swapped else build(left, right)

    return method


def _comparison(cls: type[BinaryExpr]) -> Callable[..., Any]:
    def method(left: Expr, right: Any) -> Any:
        if not isinstance(right, Expr | int | float) or not isinstance(left.type, ScalarType):
            return NotImplemented
        try:
            return make_binary(cls, left, operand(right, left, COMPARED), COMPARED)
        except DiagnosticError:  # not comparable, and so not the same either
            return NotImplemented

    return method


def _is_the_same(node: BinaryExpr) -> bool:
    """Whether both sides are one object; or the constant that was compared with a number is that number."""
    if node.left is node.right:
        return True
    return node.right.span is COMPARED and structural_equal(node.left, node.right)


def _truth_of_eq(node: Eq) -> bool:
    """True, but for a node that ``==`` built: whether both sides are the same."""
    return node.span is not COMPARED or _is_the_same(node)


def _truth_of_ne(node: Ne) -> bool:
    """True, but for a node that ``!=`` built: whether the sides are not the same."""
    return node.span is not COMPARED or not _is_the_same(node)


def _prefix(build: Callable[..., Expr]) -> Callable[[Expr], Expr]:
    def method(value: Expr) -> Expr:
        return build(value)

    return method


_TWO_SIDED = {
    "add": add, "sub": sub, "mul": mul, "truediv": truediv, "floordiv": floordiv, "mod": mod, "pow": pow,
    "and": bit_and, "or": bit_or, "xor": bit_xor, "lshift": bit_shift_left, "rshift": bit_shift_right,
}  # fmt: skip

OPERATORS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        **{f"__{name}__": _method(build) for name, build in _TWO_SIDED.items()},
        **{f"__r{name}__": _method(build, swapped=True) for name, build in _TWO_SIDED.items()},
        **{f"__{b.__name__.lower()}__": _method(b) for b in (lt, le, gt, ge)},
        "__eq__": _comparison(Eq),
        "__ne__": _comparison(Ne),
        "__neg__": _prefix(neg),
        "__invert__": _prefix(bit_not),
    }
)
"""The special methods of expressions.

``==`` and ``!=`` of scalars build nodes that are as true as identity, so that ``x in variables`` and comparisons of
tuples mean what they did, and a constant is as true as its number; anything else compares by identity.
"""

TRUTHS: Mapping[type, Callable[..., bool]] = MappingProxyType({Eq: _truth_of_eq, Ne: _truth_of_ne})
"""What ``bool`` says of the nodes that ``==`` and ``!=`` build."""
