"""``//`` and ``%`` with Python's meaning, and the proof that lets the plain instructions stand in for them.

The machine's division truncates. For a dividend that is not negative and a positive constant divisor both agree, and
then the plain instruction is written: the assembler recognises the slot of a ring of buffers only in that form.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pypto_core.contract import Operand
from pypto_core.diagnostics import UserError
from pypto_core.ir import (
    BinaryExpr,
    ConstInt,
    DataType,
    Expr,
    FloorDiv,
    FloorMod,
    ScalarType,
    Sub,
    Var,
    dtype_of,
    int_range,
)
from pypto_plugin_pto.type_text import register

if TYPE_CHECKING:
    from pypto_plugin_pto.scalars import Scalars


def literal(expr: Expr, dtype: DataType) -> int | None:
    """The value of a constant that lies in the range of ``dtype``; None for anything else."""
    if not isinstance(expr, ConstInt):
        return None
    low, high = int_range(dtype)
    return expr.value if low <= expr.value <= high else None


def never_negative(expr: Expr, dtype: DataType, starts: Mapping[Var, int]) -> bool:
    """Whether ``expr``, computed in ``dtype`` throughout, is provably not negative.

    ``starts``: enclosing loops that begin at a literal. Sums and products prove nothing, as they may wrap; neither
    does a node of another type, as its value may have been cut or wrapped before.
    """
    if isinstance(expr, ConstInt):
        value = literal(expr, dtype)
        return value is not None and value >= 0
    kind = expr.type
    if not isinstance(kind, ScalarType) or kind.dtype is not dtype:
        return False
    if isinstance(expr, Var):
        return starts.get(expr, -1) >= 0
    if isinstance(expr, Sub):
        start = starts.get(expr.left, -1) if isinstance(expr.left, Var) else -1
        same = isinstance(expr.left, Var) and dtype_of(expr.left) is dtype
        return same and start >= 0 and literal(expr.right, dtype) == start
    if isinstance(expr, FloorDiv | FloorMod):
        divisor = literal(expr.right, dtype)
        return divisor is not None and divisor > 0 and never_negative(expr.left, dtype, starts)
    return False


def _refuse_zero(expr: BinaryExpr) -> None:
    if isinstance(expr.right, ConstInt) and expr.right.value == 0:
        raise UserError(
            "division by zero", code="PTO-007", span=expr.span, remedy="divide by something else than 0"
        )


def floor_div(scalars: Scalars, expr: BinaryExpr, what: str) -> Operand:
    """The quotient, rounded down."""
    _refuse_zero(expr)
    dtype = dtype_of(expr)
    left, right = scalars.coerced(expr.left, dtype), scalars.coerced(expr.right, dtype)
    if dtype.is_float:
        name = "divf"
    elif not dtype.is_signed:
        name = "divui"
    else:
        name = "divsi" if _agrees(expr, dtype, scalars) else "floordivsi"
    return scalars.op(f"{name} {left.name}, {right.name} : {register(dtype)}", register(dtype), what)


def floor_mod(scalars: Scalars, expr: BinaryExpr, what: str) -> Operand:
    """The remainder, with the divisor's sign."""
    _refuse_zero(expr)
    dtype = dtype_of(expr)
    type_ = register(dtype)
    left, right = scalars.coerced(expr.left, dtype), scalars.coerced(expr.right, dtype)
    if dtype.is_float or not dtype.is_signed:
        name = "remf" if dtype.is_float else "remui"
        return scalars.op(f"{name} {left.name}, {right.name} : {type_}", type_, what)
    if _agrees(expr, dtype, scalars):
        return scalars.op(f"remsi {left.name}, {right.name} : {type_}", type_, what)
    rest = scalars.op(f"remsi {left.name}, {right.name} : {type_}", type_)
    wrong = _wrong_sign(scalars, rest, right, literal(expr.right, dtype), dtype)
    moved = scalars.op(f"addi {rest.name}, {right.name} : {type_}", type_)
    return scalars.op(f"select {wrong.name}, {moved.name}, {rest.name} : {type_}", type_, what)


def _agrees(expr: BinaryExpr, dtype: DataType, scalars: Scalars) -> bool:
    divisor = literal(expr.right, dtype)
    return divisor is not None and divisor > 0 and never_negative(expr.left, dtype, scalars.starts)


def _wrong_sign(
    scalars: Scalars, rest: Operand, right: Operand, divisor: int | None, dtype: DataType
) -> Operand:
    """Whether the remainder is not zero and has not the divisor's sign."""
    type_, zero = register(dtype), scalars.text.constant(0, dtype)
    if divisor is not None:
        sign = "slt" if divisor > 0 else "sgt"
        return scalars.op(f"cmpi {sign}, {rest.name}, {zero.name} : {type_}", "i1")
    there = scalars.op(f"cmpi ne, {rest.name}, {zero.name} : {type_}", "i1")
    low = scalars.op(f"cmpi slt, {rest.name}, {zero.name} : {type_}", "i1")
    below = scalars.op(f"cmpi slt, {right.name}, {zero.name} : {type_}", "i1")
    differ = scalars.op(f"xori {low.name}, {below.name} : i1", "i1")
    return scalars.op(f"andi {there.name}, {differ.name} : i1", "i1")
