"""Bounds of counted loops as numbers."""

from __future__ import annotations

from pypto_core.diagnostics import UserError
from pypto_core.ir import (
    Add,
    ConstInt,
    DataType,
    Expr,
    ForStmt,
    Neg,
    base_name,
    dtype_of,
    make_binary,
)


def number(expr: Expr) -> int | None:
    """The value of a literal, negated or not."""
    if isinstance(expr, ConstInt):
        return expr.value
    if isinstance(expr, Neg) and isinstance(expr.operand, ConstInt):
        return -expr.operand.value
    return None


def trip_count(start: int, stop: int, step: int) -> int:
    """How often a loop with these bounds runs; ``step`` is not 0."""
    span = stop - start if step > 0 else start - stop
    return max(0, -(-span // abs(step)))


def constant_step(loop: ForStmt) -> int:
    """The step as a number. Raises UserError PT350 when it is none, or 0."""
    step = number(loop.step)
    if not step:
        name = base_name(loop.loop_var.name_hint)
        fault = "is 0" if step == 0 else "is not a constant"
        raise UserError(
            f"the step of the pipelined loop over '{name}' {fault}",
            code="PT350",
            span=loop.span,
            remedy="give a constant step, or write pl.range for a loop whose trips need not overlap",
        )
    return step


def counter_dtype(loop: ForStmt) -> DataType:
    """The element type that the loop counts in."""
    return dtype_of(loop.loop_var)


def shifted(base: Expr, amount: int, dtype: DataType) -> Expr:
    """``base + amount``: the base itself for 0, a literal for a literal, else an addition."""
    if amount == 0:
        return base
    if isinstance(base, ConstInt):
        return ConstInt(base.value + amount, dtype)
    return make_binary(Add, base, ConstInt(amount, dtype))
