"""Builders of scalar expressions: promotion, explicit casts and folding of constants.

Folding keeps to Python's meaning of ``//`` and ``%`` and leaves alone what would not fit the type: a literal
outside its type's range, an operation whose result is outside, and division by zero stay as nodes.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from pypto_core.diagnostics import UNKNOWN_SPAN, OpTypeError, Span
from pypto_core.ir.dtypes import DataType, int_range
from pypto_core.ir.expr import (
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
    Sub,
    UnaryExpr,
    Xor,
)  # fmt: skip
from pypto_core.ir.making import MAKE
from pypto_core.ir.types import ScalarType, scalar_type

BOOL, INDEX, INT64 = DataType.BOOL, DataType.INDEX, DataType.INT64
_BOOL_TYPE = scalar_type(BOOL)

COMPARISONS: tuple[type[BinaryExpr], ...] = (Eq, Ne, Lt, Le, Gt, Ge)
LOGICALS: tuple[type[BinaryExpr], ...] = (And, Or, Xor)
BITWISE: tuple[type[BinaryExpr], ...] = (BitAnd, BitOr, BitXor, BitShiftLeft, BitShiftRight)

_ARITHMETIC: frozenset[type[BinaryExpr]] = frozenset(
    (Add, Sub, Mul, FloorDiv, FloorMod, FloatDiv, Min, Max, Pow)
)

_FOLD: dict[type[BinaryExpr], Callable[[Any, Any], Any]] = {
    Add: operator.add, Sub: operator.sub, Mul: operator.mul, FloorDiv: lambda a, b: a // b,
    FloorMod: operator.mod, Min: min, Max: max,
    Eq: operator.eq, Ne: operator.ne, Lt: operator.lt, Le: operator.le, Gt: operator.gt, Ge: operator.ge,
    BitAnd: lambda a, b: a & b, BitOr: lambda a, b: a | b, BitXor: lambda a, b: a ^ b,
}  # fmt: skip


def as_expr(value: Expr | bool | int | float, span: Span = UNKNOWN_SPAN) -> Expr:
    """A Python number as a constant: bool → BOOL, int → INDEX, float → FP32. Expressions pass."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, bool):
        return ConstBool(value, span=span)
    if isinstance(value, int):
        return ConstInt(value, span=span)
    return ConstFloat(float(value), span=span)


def dtype_of(expr: Expr, what: str = "operand") -> DataType:
    """The element type of a scalar expression; an error for anything else."""
    kind = expr.type
    if not isinstance(kind, ScalarType):
        raise OpTypeError(
            f"this {what} must be a scalar, not {kind!r}",
            span=expr.span,
            remedy="scalar operators work on scalars; for tiles and tensors write pl.add, pl.mul, …",
        )
    return kind.dtype


def cast(expr: Expr, dtype: DataType, span: Span = UNKNOWN_SPAN) -> Expr:
    """``expr`` as ``dtype``; the expression itself when it has that type, a constant when it folds."""
    have = dtype_of(expr)
    if have is dtype:
        return expr
    if isinstance(expr, ConstInt) and dtype.is_int and _fits(expr.value, dtype) and _fits(expr.value, have):
        return ConstInt(expr.value, dtype, span=expr.span)
    return Cast(expr, scalar_type(dtype), span=span)


def _fits(value: int, dtype: DataType) -> bool:
    low, high = int_range(dtype)
    return low <= value <= high


def promote(left: Expr, right: Expr, span: Span = UNKNOWN_SPAN) -> tuple[Expr, Expr, DataType]:
    """Both operands brought to one element type by explicit casts: the wider wins, of equals the left.

    INDEX and INT64 mix without a cast. Integers with floats, and booleans, are an error.
    """
    a, b = dtype_of(left, "left operand"), dtype_of(right, "right operand")
    if a is b and a is not BOOL:
        return left, right, a
    if a is BOOL or b is BOOL:
        raise OpTypeError(
            "arithmetic and comparison don't take booleans",
            span=span,
            facts={"left": a, "right": b},
            remedy="combine booleans with and, or, not",
        )
    if a.is_float != b.is_float:
        raise OpTypeError(
            f"{a} and {b} don't mix",
            span=span,
            facts={"left": a, "right": b},
            remedy="convert one side with pl.cast(x, pl.FP32) or write the constant as pl.const(v, dtype)",
        )
    if {a, b} == {INDEX, INT64}:
        return left, right, a
    if a.bits >= b.bits:
        return left, _cast_node(right, a), a
    return _cast_node(left, b), right, b


def _cast_node(expr: Expr, dtype: DataType) -> Expr:
    return Cast(expr, scalar_type(dtype), span=expr.span)


def make_binary(cls: type[BinaryExpr], left: Expr, right: Expr, span: Span = UNKNOWN_SPAN) -> BinaryExpr:
    """The node ``left cls right`` with operands promoted and nothing folded."""
    kind = left.type
    if kind is right.type and cls in _ARITHMETIC and isinstance(kind, ScalarType) and kind.dtype is not BOOL:
        return MAKE[cls](left, right, kind, span)  # the most frequent case by far
    if cls in LOGICALS:
        for side in (left, right):
            dtype_of(side)
        return cls(left, right, _BOOL_TYPE, span=span)
    left, right, dtype = promote(left, right, span)
    if cls in BITWISE and not dtype.is_int:
        raise OpTypeError(
            f"bit operators need integers, not {dtype}",
            span=span,
            remedy="cast the operands to an integer type first",
        )
    return MAKE[cls](left, right, _BOOL_TYPE if cls in COMPARISONS else scalar_type(dtype), span)


def make_unary(cls: type[UnaryExpr], operand: Expr, span: Span = UNKNOWN_SPAN) -> UnaryExpr:
    """The node ``cls operand``."""
    dtype = dtype_of(operand)
    if cls is BitNot and not dtype.is_int:
        raise OpTypeError(f"~ needs an integer, not {dtype}", span=span, remedy="use 'not' for booleans")
    if cls in (Neg, Abs) and dtype is BOOL:
        raise OpTypeError(
            "arithmetic does not take booleans",
            span=span,
            remedy="cast it to an integer type first, or use not",
        )
    return cls(operand, _BOOL_TYPE if cls is Not else scalar_type(dtype), span=span)


def fold_binary(node: BinaryExpr) -> Expr:
    """The node's value when both operands are constants and the result fits its type, else the node itself."""
    function = _FOLD.get(type(node))
    left, right = node.left, node.right
    if function is None:
        return _fold_logical(node)
    if not (isinstance(left, ConstInt) and isinstance(right, ConstInt)):
        return node
    if type(node) in (FloorDiv, FloorMod) and right.value == 0:
        return node
    if not (_fits(left.value, left.dtype) and _fits(right.value, right.dtype)):
        return node
    value = function(left.value, right.value)
    if isinstance(value, bool):
        return ConstBool(value, span=node.span)
    dtype = dtype_of(node)
    return ConstInt(value, dtype, span=node.span) if _fits(value, dtype) else node


def _fold_logical(node: BinaryExpr) -> Expr:
    left, right = node.left, node.right
    if type(node) not in LOGICALS or not (isinstance(left, ConstBool) or isinstance(right, ConstBool)):
        return node
    if isinstance(left, ConstBool) and isinstance(right, ConstBool):
        a, b = left.value, right.value
        value = (a and b) if type(node) is And else (a or b) if type(node) is Or else a != b
        return ConstBool(value, span=node.span)
    const, other = (left, right) if isinstance(left, ConstBool) else (right, left)
    assert isinstance(const, ConstBool)
    if dtype_of(other) is not BOOL:
        return node
    if type(node) is And:
        return other if const.value else const
    if type(node) is Or:
        return const if const.value else other
    return node


def _binary(cls: type[BinaryExpr]) -> Callable[..., Expr]:
    def build(left: Expr | int | float, right: Expr | int | float, span: Span = UNKNOWN_SPAN) -> Expr:
        left, right = _literal(left, right), _literal(right, left)
        same = _identity(cls, left, right)
        return same if same is not None else fold_binary(make_binary(cls, left, right, span))

    build.__name__ = build.__qualname__ = cls.__name__.lower()
    build.__doc__ = f"``{cls.__name__}`` of two scalars, folded when it is constant."
    return build


def _literal(value: Expr | int | float, other: Expr | int | float) -> Expr:
    """A Python number takes the type of the expression beside it when that is of its category."""
    if isinstance(value, Expr):
        return value
    if isinstance(other, Expr) and not isinstance(value, bool):
        dtype = dtype_of(other)
        if isinstance(value, int) and dtype.is_int and _fits(value, dtype):
            return ConstInt(value, dtype)
        if isinstance(value, float) and dtype.is_float:
            return ConstFloat(value, dtype)
    return as_expr(value)


def _identity(cls: type[BinaryExpr], left: Expr, right: Expr) -> Expr | None:
    """``x + 0``, ``x * 1``, ``min(x, x)`` and the like, when the result has the type the node would have."""
    if cls in (Add, Sub, Mul, FloorDiv) and isinstance(right, ConstInt) and left.type is right.type:
        if right.value == (0 if cls in (Add, Sub) else 1):
            return left
        if cls is Mul and right.value == 0:
            return right
    if cls in (Add, Mul) and isinstance(left, ConstInt) and left.type is right.type:
        if left.value == (0 if cls is Add else 1):
            return right
        if cls is Mul and left.value == 0:
            return left
    if cls in (Min, Max) and left is right:
        return left
    return None


add, sub, mul = _binary(Add), _binary(Sub), _binary(Mul)
floordiv, floormod, truediv, pow_ = _binary(FloorDiv), _binary(FloorMod), _binary(FloatDiv), _binary(Pow)
min_, max_ = _binary(Min), _binary(Max)
eq, ne, lt, le, gt, ge = (_binary(c) for c in COMPARISONS)
and_, or_, xor = (_binary(c) for c in LOGICALS)


def neg(operand: Expr, span: Span = UNKNOWN_SPAN) -> Expr:
    """``-operand``, folded when it is constant and fits its type."""
    if isinstance(operand, ConstInt) and operand.dtype.is_signed:
        if _fits(operand.value, operand.dtype) and _fits(-operand.value, operand.dtype):
            return ConstInt(-operand.value, operand.dtype, span=span)
    if isinstance(operand, ConstFloat):
        return ConstFloat(-operand.value, operand.dtype, span=span)
    return make_unary(Neg, operand, span)


def not_(operand: Expr, span: Span = UNKNOWN_SPAN) -> Expr:
    """``not operand``, folded when it is constant."""
    if isinstance(operand, ConstBool):
        return ConstBool(not operand.value, span=span)
    if isinstance(operand, Not) and dtype_of(operand.operand) is BOOL:
        return operand.operand
    return make_unary(Not, operand, span)
