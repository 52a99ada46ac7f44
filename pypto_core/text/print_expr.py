"""Scalar expressions: operators with as few parentheses as Python's precedences allow, and typed constants.

A bare int reads as INDEX and a bare float as FP32; every other constant prints as ``pl.const(v, dtype)``. The parser
evaluates a tree made of literals alone, so all constants of such a tree print with their type.
"""

from __future__ import annotations

import math
from typing import Any

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
    MakeTuple,
    Max,
    Min,
    Mul,
    Ne,
    Neg,
    Not,
    Or,
    Pow,
    Sub,
    TupleGetItemExpr,
    UnaryExpr,
    Var,
    Xor,
    dtype_of,
)
from pypto_core.text.writer import Writer

ATOM, _POWER, _UNARY, _NOT = 14, 12, 11, 3

# symbol, own precedence, least precedence of the left and of the right operand
INFIX: dict[type, tuple[str, int, int, int]] = {
    Or: ("or", 1, 1, 2),
    And: ("and", 2, 2, 3),
    **{
        cls: (symbol, 4, 5, 5)
        for cls, symbol in ((Eq, "=="), (Ne, "!="), (Lt, "<"), (Le, "<="), (Gt, ">"), (Ge, ">="))
    },
    BitOr: ("|", 5, 5, 6),
    BitXor: ("^", 6, 6, 7),
    BitAnd: ("&", 7, 7, 8),
    BitShiftLeft: ("<<", 8, 8, 9),
    BitShiftRight: (">>", 8, 8, 9),
    Add: ("+", 9, 9, 10),
    Sub: ("-", 9, 9, 10),
    Mul: ("*", 10, 10, 11),
    FloatDiv: ("/", 10, 10, 11),
    FloorDiv: ("//", 10, 10, 11),
    FloorMod: ("%", 10, 10, 11),
    Pow: ("**", _POWER, _POWER + 1, _UNARY),
}
_FUNCTIONS: dict[type, str] = {Min: "min", Max: "max", Xor: "xor"}
_CONSTANTS = (ConstInt, ConstFloat, ConstBool)


def only_constants(node: Expr) -> bool:
    """Whether no leaf of a scalar expression is anything but a constant."""
    stack = [node]
    while stack:
        current = stack.pop()
        if isinstance(current, BinaryExpr):
            stack += (current.left, current.right)
        elif isinstance(current, UnaryExpr):
            stack.append(current.operand)
        elif not isinstance(current, _CONSTANTS):
            return False
    return True


def _var(w: Writer, node: Var, least: int, typed: bool) -> str:
    return w.names[node]


def _const_int(w: Writer, node: ConstInt, least: int, typed: bool) -> str:
    if typed or node.dtype is not DataType.INDEX:
        return f"{w.pl}const({node.value}, {w.pl}{node.dtype.name})"
    return f"({node.value})" if node.value < 0 and least > _UNARY else str(node.value)


def _const_float(w: Writer, node: ConstFloat, least: int, typed: bool) -> str:
    value = float(node.value)
    if not math.isfinite(value):
        return f'{w.pl}const("{value}", {w.pl}{node.dtype.name})'
    if typed or node.dtype is not DataType.FP32:
        return f"{w.pl}const({value!r}, {w.pl}{node.dtype.name})"
    return f"({value!r})" if least > _UNARY and math.copysign(1.0, value) < 0 else repr(value)


def _const_bool(w: Writer, node: ConstBool, least: int, typed: bool) -> str:
    return f"{w.pl}const({node.value}, {w.pl}BOOL)" if typed else str(node.value)


def _infix(w: Writer, node: BinaryExpr, least: int, typed: bool) -> str:
    # Down the left operands in a loop: sums of any length print without recursion.
    spine = [node]
    leaf = node.left
    while isinstance(leaf, BinaryExpr) and type(leaf) in INFIX:
        spine.append(leaf)
        leaf = leaf.left
    spine.reverse()
    constant = len(spine) if typed else _constant_part(leaf, spine)
    precedence = INFIX[type(spine[0])][2]
    parts = [w.expr(leaf, precedence, constant > 0)]
    opened = 0
    precedence = ATOM
    for number, part in enumerate(spine):
        symbol, own, left, right = INFIX[type(part)]
        if precedence < left:
            opened += 1
            parts.append(")")
        parts.append(f" {symbol} {w.expr(part.right, right, typed or number < constant)}")
        precedence = own
    text = "(" * opened + "".join(parts)
    return f"({text})" if precedence < least else text


def _constant_part(leaf: Expr, spine: list[BinaryExpr]) -> int:
    """How many nodes, from the innermost, have constants below them alone."""
    if isinstance(leaf, Var) or not only_constants(leaf):
        return 0
    count = 0
    while count < len(spine) and only_constants(spine[count].right):
        count += 1
    return count


def _function(w: Writer, node: BinaryExpr, least: int, typed: bool) -> str:
    typed = typed or only_constants(node)
    return f"{w.pl}{_FUNCTIONS[type(node)]}({w.expr(node.left, 0, typed)}, {w.expr(node.right, 0, typed)})"


def _prefix(symbol: str, own: int) -> Any:
    def printer(w: Writer, node: UnaryExpr, least: int, typed: bool) -> str:
        text = symbol + w.expr(node.operand, own, typed or only_constants(node.operand))
        return f"({text})" if own < least else text

    return printer


def _abs(w: Writer, node: Abs, least: int, typed: bool) -> str:
    return f"abs({w.expr(node.operand, 0, typed or only_constants(node.operand))})"


def _cast(w: Writer, node: Cast, least: int, typed: bool) -> str:
    operand = w.expr(node.operand, 0, typed or only_constants(node.operand))
    return f"{w.pl}cast({operand}, {w.dtype(dtype_of(node))})"


def _make_tuple(w: Writer, node: MakeTuple, least: int, typed: bool) -> str:
    return "[" + ", ".join([w.expr(e, 0, typed) for e in node.elements]) + "]"


def _get_item(w: Writer, node: TupleGetItemExpr, least: int, typed: bool) -> str:
    return f"{w.expr(node.tuple, ATOM, typed)}[{node.index}]"


SCALARS: dict[type, Any] = {
    Var: _var,
    ConstInt: _const_int,
    ConstFloat: _const_float,
    ConstBool: _const_bool,
    MakeTuple: _make_tuple,
    TupleGetItemExpr: _get_item,
    Neg: _prefix("-", _UNARY),
    BitNot: _prefix("~", _UNARY),
    Not: _prefix("not ", _NOT),
    Abs: _abs,
    Cast: _cast,
    **dict.fromkeys(INFIX, _infix),
    **dict.fromkeys(_FUNCTIONS, _function),
}
