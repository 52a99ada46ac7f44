"""What a scalar operator on simplified operands amounts to.

Constants fold, neutral elements vanish, and comparisons, ``min``, ``max``, ``//`` and ``%`` are decided where the
ranges of their variables decide them. Reasoning about sums and ranges is for INDEX and INT64 alone, whose values are
taken not to overflow; other integers wrap, and floats round, so for them only rules hold that are exact then.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterable

from pypto_core.ir import (
    Add,
    And,
    BinaryExpr,
    Bounds,
    Cast,
    ConstBool,
    ConstInt,
    DataType,
    Eq,
    Expr,
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
    ScalarType,
    Sub,
    UnaryExpr,
    Var,
    add,
    bounds_of,
    cast,
    fold_binary,
    int_range,
    linear,
    make_binary,
    mul,
    neg,
    not_,
    prove_eq,
    prove_le,
    prove_lt,
    sub,
    term_key,
)  # fmt: skip

_MAX_OPERATORS = 64
"""Larger expressions are left alone, so that each operator costs the same."""
_WIDE = (DataType.INDEX, DataType.INT64)
_RANGED = (Min, Max, FloorDiv, FloorMod)
_SUMS = (Add, Sub)
_JOINED = (Add, Sub, Mul, Neg)
_OPPOSITE: dict[type[Expr], type[BinaryExpr]] = {Lt: Ge, Ge: Lt, Gt: Le, Le: Gt, Eq: Ne, Ne: Eq}
_EXACT = (Add, Sub, Mul, FloorDiv, FloorMod, Min, Max)
_DECIDE: dict[type[Expr], Callable[[Expr, Expr, Bounds], bool | None]] = {
    Lt: prove_lt,
    Le: prove_le,
    Gt: lambda a, b, bounds: prove_lt(b, a, bounds),
    Ge: lambda a, b, bounds: prove_le(b, a, bounds),
    Eq: prove_eq,
    Ne: lambda a, b, bounds: None if (same := prove_eq(a, b, bounds)) is None else not same,
}


def dtype_of_scalar(expr: Expr) -> DataType | None:
    """The element type of a scalar, None for anything else."""
    kind = expr.type
    return kind.dtype if isinstance(kind, ScalarType) else None


def is_exact(expr: Expr) -> bool:
    """Whether the expression is an integer that no operation in it makes wrap."""
    stack = [expr]
    looked_at = 0
    while stack:
        node = stack.pop()
        looked_at += 1
        if looked_at > _MAX_OPERATORS:
            return False
        if isinstance(node, ConstInt):
            low, high = int_range(node.dtype)
            if not low <= node.value <= high:  # a run wraps it
                return False
            continue
        dtype = dtype_of_scalar(node)
        if dtype is None:
            return False
        if isinstance(node, _EXACT):
            if dtype not in _WIDE:
                return False
            binary = typing.cast(BinaryExpr, node)
            stack += [binary.left, binary.right]
        elif isinstance(node, Neg):
            if dtype not in _WIDE:
                return False
            stack.append(node.operand)
        elif isinstance(node, Cast):
            if not _widens(node, dtype):
                return False
            stack.append(node.operand)
        elif not (isinstance(node, Var) and dtype.is_int):
            return False
    return True


def _widens(node: Cast, dtype: DataType) -> bool:
    source = dtype_of_scalar(node.operand)
    if source is None or not (source.is_int and dtype.is_int):
        return False
    (low, high), (least, most) = int_range(source), int_range(dtype)
    return least <= low and high <= most


def simplified_unary(node: UnaryExpr) -> Expr:
    """The operator's value, or ``node`` when nothing is known of it."""
    operand = node.operand
    if isinstance(node, Not):
        if isinstance(operand, ConstBool) or (isinstance(operand, Not) and _is_bool(operand.operand)):
            return not_(operand, node.span)
        opposite = _OPPOSITE.get(type(operand))
        if opposite is not None:
            pair = typing.cast(BinaryExpr, operand)
            dtype = dtype_of_scalar(pair.left)
            # Of floats, not-a-number makes both a comparison and its opposite false.
            if dtype is not None and dtype.is_int:
                return make_binary(opposite, pair.left, pair.right, node.span)
    elif isinstance(node, Neg) and isinstance(operand, ConstInt):
        folded = neg(operand, node.span)
        return folded if isinstance(folded, ConstInt) else node
    elif isinstance(node, Cast) and isinstance(node.type, ScalarType):
        dtype = node.type.dtype
        if dtype_of_scalar(operand) is dtype:
            return operand
        if isinstance(operand, ConstInt) and dtype.is_int:
            folded = cast(operand, dtype, node.span)
            return folded if isinstance(folded, ConstInt) else node
    return node


def _is_bool(expr: Expr) -> bool:
    return dtype_of_scalar(expr) is DataType.BOOL


def simplified_binary(node: BinaryExpr, bounds: Bounds) -> Expr:
    """The operator's value, or ``node`` when nothing is known of it."""
    folded = fold_binary(node)
    if folded is not node:
        return folded
    if isinstance(node, And | Or):
        same = term_key(node.left) == term_key(node.right) and _is_bool(node.left)
        return node.left if same else node
    found = _neutral(node) or _decided(node, bounds)
    return node if found is None else found


def _neutral(node: BinaryExpr) -> Expr | None:
    """Neutral and absorbing elements, where the operand has the result's own type: exact whatever wraps."""
    left, right, kind = node.left, node.right, node.type
    if not isinstance(kind, ScalarType) or not kind.dtype.is_int:
        return None
    a = left.value if isinstance(left, ConstInt) else None
    b = right.value if isinstance(right, ConstInt) else None
    found: Expr | None = None
    if isinstance(node, Add):
        found = left if b == 0 else right if a == 0 else None
    elif isinstance(node, Sub):
        found = left if b == 0 else None
    elif isinstance(node, Mul):
        found = left if b == 1 or a == 0 else right if a == 1 or b == 0 else None
    elif isinstance(node, FloorDiv):
        found = left if b == 1 else None
    elif isinstance(node, Min | Max) and term_key(left) == term_key(right):
        found = left
    return found if found is None or found.type is kind else None


def _decided(node: BinaryExpr, bounds: Bounds) -> Expr | None:
    """What ranges and sums decide."""
    left, right = node.left, node.right
    decide = _DECIDE.get(type(node))
    if decide is None and not (isinstance(node, _RANGED) or _may_gather(node)):
        return None
    if not (is_exact(left) and is_exact(right)):
        return None
    if decide is not None:
        answer = decide(left, right, bounds)
        return None if answer is None else ConstBool(answer, span=node.span)
    if dtype_of_scalar(node) not in _WIDE:
        return None
    if isinstance(node, Min | Max):
        return _least(node, bounds)
    if isinstance(node, FloorDiv | FloorMod):
        return _divided(node, bounds)
    return _gathered(node)


def _may_gather(node: BinaryExpr) -> bool:
    """Whether a sum or product holds another one whose terms it could join, or twice the same variable."""
    left, right = node.left, node.right
    if isinstance(node, Mul):
        return isinstance(left, Mul)
    return isinstance(node, _SUMS) and (
        isinstance(left, _JOINED) or isinstance(right, _JOINED) or left is right
    )


def _least(node: BinaryExpr, bounds: Bounds) -> Expr | None:
    left, right = node.left, node.right
    if prove_le(left, right, bounds):
        found = left if isinstance(node, Min) else right
    elif prove_le(right, left, bounds):
        found = right if isinstance(node, Min) else left
    else:
        return None
    return _typed(found, node)


def _typed(expr: Expr, node: BinaryExpr) -> Expr | None:
    """``expr`` when it has the node's type; a constant takes it."""
    kind = node.type
    if expr.type is kind:
        return expr
    if isinstance(expr, ConstInt) and isinstance(kind, ScalarType):
        return ConstInt(expr.value, kind.dtype, span=node.span)
    return None


def _divided(node: BinaryExpr, bounds: Bounds) -> Expr | None:
    """Quotient and remainder by a positive constant: multiples of it come out of the dividend."""
    if not isinstance(node.right, ConstInt) or node.right.value <= 0:
        return None
    divisor = node.right.value
    constant, terms = linear(node.left)
    whole: list[tuple[int, Expr]] = []
    rest: list[tuple[int, Expr]] = []
    for factor, term in terms.values():
        left_over = factor % divisor if abs(factor) >= divisor else factor
        if left_over:
            rest.append((left_over, term))
        if left_over != factor:
            whole.append(((factor - left_over) // divisor, term))
    remainder = _sum(constant % divisor, rest, node)
    low, high = bounds_of(remainder, bounds)
    inside = low is not None and high is not None and low >= 0 and high < divisor
    if isinstance(node, FloorMod):
        if inside:
            return _typed(remainder, node)
        if not whole:
            # ``(i - start) % slots`` stays as it is: that the dividend is not negative shows in this form alone.
            return None
        return make_binary(FloorMod, remainder, node.right, node.span)
    return _typed(_sum(constant // divisor, whole, node), node) if inside else None


def _gathered(node: BinaryExpr) -> Expr | None:
    """A sum whose variables cancel, or whose constants come together: ``x - x``, ``(x + 1) + 2``."""
    left, right = node.left, node.right
    if isinstance(node, Mul):
        inner = left if isinstance(left, Mul) and isinstance(left.right, ConstInt) else None
        if inner is None or not isinstance(right, ConstInt) or not isinstance(inner.right, ConstInt):
            return None
        return _typed(mul(inner.left, ConstInt(inner.right.value * right.value, right.dtype)), node)
    constant, terms = linear(node)
    if not terms:
        return ConstInt(constant, typing.cast(ScalarType, node.type).dtype, span=node.span)
    if len(terms) == 1:
        ((factor, term),) = terms.values()
        size = 1 + (factor != 1) + (constant != 0)
        if size < _operators(node) + 1:
            return _typed(_sum(constant, [(factor, term)], node), node)
    return None


def _operators(expr: Expr) -> int:
    """How many sums and products stand above the terms."""
    if isinstance(expr, Add | Sub):
        binary = typing.cast(BinaryExpr, expr)
        return 1 + _operators(binary.left) + _operators(binary.right)
    if isinstance(expr, Mul) and (isinstance(expr.left, ConstInt) or isinstance(expr.right, ConstInt)):
        return 1 + _operators(expr.left) + _operators(expr.right)
    return 0


def _sum(constant: int, terms: Iterable[tuple[int, Expr]], node: BinaryExpr) -> Expr:
    """A sum of terms with factors, and a constant."""
    dtype = typing.cast(ScalarType, node.type).dtype
    total: Expr | None = None
    for factor, term in terms:
        part = mul(term, ConstInt(factor, typing.cast(ScalarType, term.type).dtype)) if factor != 1 else term
        total = part if total is None else add(total, part)
    if total is None:
        return ConstInt(constant, dtype, span=node.span)
    if constant < 0:
        return sub(total, -constant)
    return add(total, constant) if constant else total
