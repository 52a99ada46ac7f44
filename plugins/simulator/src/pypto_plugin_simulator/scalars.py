"""Scalar operators on Python numbers, with the width and the wrap-around of their element types."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from pypto_core.diagnostics import UserError
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
    DataType,
    Eq,
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
)
from pypto_plugin_simulator.formats import scalar_of

Number = Any
"""int for integer types, float for floats, bool for BOOL."""

_ops: Any = operator  # its functions are typed for everything, which says nothing about numbers


def _division_by_zero(what: str) -> UserError:
    return UserError(f"{what} by zero", code="SIM-001", remedy="guard the operation with an if")


def _floordiv(a: Number, b: Number, dtype: DataType) -> Number:
    if b == 0:
        if dtype.is_float:
            return _floatdiv(a, b, dtype)
        raise _division_by_zero("division")
    return a // b


def _floormod(a: Number, b: Number, dtype: DataType) -> Number:
    if b == 0:
        if dtype.is_float:
            return math.nan
        raise _division_by_zero("remainder")
    return a % b


def _floatdiv(a: Number, b: Number, dtype: DataType) -> Number:
    """On integers, whose quotient stays an integer, it is cut off towards zero."""
    if not dtype.is_float:
        if b == 0:
            raise _division_by_zero("division")
        quotient = abs(a) // abs(b)
        return quotient if (a < 0) == (b < 0) else -quotient
    return float(np.divide(np.float64(a), np.float64(b)))


def _power(a: Number, b: Number, dtype: DataType) -> Number:
    if dtype.is_float:
        return float(np.power(np.float64(a), np.float64(b)))
    if b < 0:
        raise UserError(f"an integer to the power of {b} is no integer", code="SIM-001")
    return pow(a, b, 1 << 64) if b > 64 else a**b


def _shift(function: Any) -> Callable[[Number, Number, DataType], Number]:
    def shift(a: Number, b: Number, dtype: DataType) -> Number:
        if not 0 <= b < dtype.bits:
            raise UserError(
                f"a shift by {b} is outside of {dtype}",
                code="SIM-001",
                facts={"allowed": f"0 to {dtype.bits - 1}"},
            )
        return function(a, b)

    return shift


def _plain(function: Any) -> Callable[[Number, Number, DataType], Number]:
    def apply(a: Number, b: Number, dtype: DataType) -> Number:
        return function(a, b)

    return apply


BINARY: dict[type[BinaryExpr], Callable[[Number, Number, DataType], Number]] = {
    Add: _plain(_ops.add),
    Sub: _plain(_ops.sub),
    Mul: _plain(_ops.mul),
    FloorDiv: _floordiv,
    FloorMod: _floormod,
    FloatDiv: _floatdiv,
    Min: _plain(min),
    Max: _plain(max),
    Pow: _power,
    Eq: _plain(_ops.eq),
    Ne: _plain(_ops.ne),
    Lt: _plain(_ops.lt),
    Le: _plain(_ops.le),
    Gt: _plain(_ops.gt),
    Ge: _plain(_ops.ge),
    And: lambda a, b, _: bool(a) and bool(b),
    Or: lambda a, b, _: bool(a) or bool(b),
    Xor: lambda a, b, _: bool(a) != bool(b),
    BitAnd: _plain(_ops.and_),
    BitOr: _plain(_ops.or_),
    BitXor: _plain(_ops.xor),
    BitShiftLeft: _shift(_ops.lshift),
    BitShiftRight: _shift(_ops.rshift),
}
"""Operator → (left, right, result's element type) → exact result, not yet brought into the type."""

UNARY: dict[type[UnaryExpr], Callable[[Number], Number]] = {
    Neg: _ops.neg,
    Abs: abs,
    Not: _ops.not_,
    BitNot: lambda a: ~a,
    Cast: lambda a: a,
}


def binary(expr: BinaryExpr, left: Number, right: Number) -> Number:
    """``left expr right`` as the expression's type holds it."""
    kind = expr.type
    assert isinstance(kind, ScalarType)
    return scalar_of(BINARY[type(expr)](left, right, kind.dtype), kind.dtype)


def unary(expr: UnaryExpr, operand: Number) -> Number:
    """``expr operand`` as the expression's type holds it; a cast to an integer cuts off towards zero."""
    kind = expr.type
    assert isinstance(kind, ScalarType)
    return scalar_of(UNARY[type(expr)](operand), kind.dtype)
