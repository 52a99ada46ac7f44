"""Scalars: what numbers may be computed from."""

from __future__ import annotations

from pypto_core.diagnostics import Span
from pypto_core.ir import (
    BinaryExpr,
    ConstBool,
    ConstFloat,
    ConstInt,
    Expr,
    ScalarType,
    UnaryExpr,
    Var,
)
from pypto_plugin_buffer_ir.select.refusal import OPERATOR, refuse


def check_scalar(expr: Expr, span: Span) -> None:
    """Refuse numbers that are not computed from variables and constants, and arithmetic on unsigned ones."""
    if isinstance(expr, ConstInt | ConstFloat | ConstBool):
        return
    if isinstance(expr, Var):
        if not isinstance(expr.type, ScalarType):
            refuse(OPERATOR, f"{expr.type!r} is used as a number", span)
        return
    if not isinstance(expr, BinaryExpr | UnaryExpr):
        refuse(OPERATOR, f"a number is the result of {_what(expr)}", span)
    operands = (expr.left, expr.right) if isinstance(expr, BinaryExpr) else (expr.operand,)
    for part in (expr, *operands):
        if _unsigned(part):
            refuse(OPERATOR, "arithmetic on unsigned numbers has no form on buffers", span)
    for operand in operands:
        check_scalar(operand, span)


def _what(expr: Expr) -> str:
    name = getattr(expr, "name", "")
    return f"the call {name}" if name else type(expr).__name__


def _unsigned(expr: Expr) -> bool:
    kind = expr.type
    return isinstance(kind, ScalarType) and kind.dtype.is_int and not kind.dtype.is_signed
