"""What can be proved about extents: equal, at most, less than, each yes, no or unknown.

An extent is turned into a sum of terms with integer factors; two extents whose difference is a number are thereby
compared. ``min`` and ``max`` are looked through, ``x % c`` is known to lie in ``[0, c)`` and ``x // c`` between the
quotients of the bounds of ``x``. Anything else is unknown, and what unknown means is up to the rule that asks: reads
trust it, writes reject it.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from pypto_core.ir.depth import too_deep
from pypto_core.ir.expr import (
    Add,
    BinaryExpr,
    Cast,
    ConstInt,
    Expr,
    FloorDiv,
    FloorMod,
    Max,
    Min,
    Mul,
    Neg,
    Sub,
    UnaryExpr,
    Var,
)
from pypto_core.ir.scalars import max_, min_
from pypto_core.ir.shaped import dims_equal

Bounds = Mapping[Var, tuple[int | None, int | None]]
"""Least and greatest value (inclusive) of variables, None where unbounded."""

_NO_BOUNDS: Bounds = {}
_MAX_TERMS = 64


def term_key(expr: Expr) -> Hashable:
    """A key that is equal for expressions equal by construction."""
    if isinstance(expr, Var):
        return expr
    if isinstance(expr, ConstInt):
        return expr.value
    if isinstance(expr, BinaryExpr):
        return (type(expr), term_key(expr.left), term_key(expr.right))
    if isinstance(expr, UnaryExpr):
        return (type(expr), id(expr.type), term_key(expr.operand))
    return id(expr)


Linear = tuple[int, dict[Hashable, tuple[int, Expr]]]
"""constant, and key → (factor, term)."""


def linear(expr: Expr) -> Linear:
    """``expr`` as a constant plus terms with integer factors. Raises UserError (PT213) for one nested too deeply."""
    terms: dict[Hashable, tuple[int, Expr]] = {}
    try:
        constant = _collect(expr, 1, terms)
    except RecursionError:
        raise too_deep(expr) from None
    return constant, {k: v for k, v in terms.items() if v[0]}


def _collect(expr: Expr, factor: int, terms: dict[Hashable, tuple[int, Expr]]) -> int:
    if isinstance(expr, ConstInt):
        return factor * expr.value
    if isinstance(expr, Add):
        return _collect(expr.left, factor, terms) + _collect(expr.right, factor, terms)
    if isinstance(expr, Sub):
        return _collect(expr.left, factor, terms) + _collect(expr.right, -factor, terms)
    if isinstance(expr, Neg):
        return _collect(expr.operand, -factor, terms)
    if isinstance(expr, Mul):
        if isinstance(expr.right, ConstInt):
            return _collect(expr.left, factor * expr.right.value, terms)
        if isinstance(expr.left, ConstInt):
            return _collect(expr.right, factor * expr.left.value, terms)
    key = term_key(expr)
    old, _ = terms.get(key, (0, expr))
    terms[key] = (old + factor, expr)
    return 0


def bounds_of(expr: Expr, bounds: Bounds = _NO_BOUNDS) -> tuple[int | None, int | None]:
    """Least and greatest value that ``expr`` can be shown to have."""
    constant, terms = linear(expr)
    low: int | None = constant
    high: int | None = constant
    for factor, term in terms.values():
        least, most = _term_bounds(term, bounds)
        if factor < 0:
            least, most = most, least
        low = None if low is None or least is None else low + factor * least
        high = None if high is None or most is None else high + factor * most
    return low, high


def _term_bounds(term: Expr, bounds: Bounds) -> tuple[int | None, int | None]:
    try:
        return _bounds_of_term(term, bounds)
    except RecursionError:
        raise too_deep(term) from None


def _bounds_of_term(term: Expr, bounds: Bounds) -> tuple[int | None, int | None]:
    if isinstance(term, Var):
        return bounds.get(term, (None, None))
    if isinstance(term, FloorMod | FloorDiv) and isinstance(term.right, ConstInt) and term.right.value > 0:
        return _divided_bounds(term, term.right.value, bounds)
    if isinstance(term, Cast):
        return bounds_of(term.operand, bounds)
    if isinstance(term, Min | Max):
        (a, b), (c, d) = bounds_of(term.left, bounds), bounds_of(term.right, bounds)
        if isinstance(term, Min):
            lows = None if a is None or c is None else min(a, c)
            return lows, min((x for x in (b, d) if x is not None), default=None)
        highs = None if b is None or d is None else max(b, d)
        return max((x for x in (a, c) if x is not None), default=None), highs
    return None, None


def _divided_bounds(term: FloorMod | FloorDiv, divisor: int, bounds: Bounds) -> tuple[int | None, int | None]:
    low, high = bounds_of(term.left, bounds)
    if isinstance(term, FloorDiv):
        return None if low is None else low // divisor, None if high is None else high // divisor
    inside = low is not None and high is not None and low >= 0 and high < divisor
    return (low, high) if inside else (0, divisor - 1)


def prove_le(a: Expr, b: Expr, bounds: Bounds = _NO_BOUNDS) -> bool | None:
    """Whether ``a <= b``: True, False, or None when it can't be told."""
    if isinstance(a, ConstInt) and isinstance(b, ConstInt):
        return a.value <= b.value
    if a is b:
        return True
    return _le(a, b, 0, bounds, 0)


def prove_lt(a: Expr, b: Expr, bounds: Bounds = _NO_BOUNDS) -> bool | None:
    """Whether ``a < b``."""
    flipped = prove_le(b, a, bounds)
    return None if flipped is None else not flipped


def prove_eq(a: Expr, b: Expr, bounds: Bounds = _NO_BOUNDS) -> bool | None:
    """Whether ``a == b``."""
    if dims_equal(a, b):
        return True
    below, above = prove_le(a, b, bounds), prove_le(b, a, bounds)
    if below is False or above is False:
        return False
    return True if below and above else None


def _le(a: Expr, b: Expr, slack: int, bounds: Bounds, depth: int) -> bool | None:
    """Whether ``a <= b + slack``."""
    constant, terms = linear(Sub(b, a, b.type))
    if not terms:
        return constant + slack >= 0
    low, high = _sum_bounds(constant + slack, terms, bounds)
    if low is not None and low >= 0:
        return True
    if high is not None and high < 0:
        return False
    if depth > 6 or len(terms) > _MAX_TERMS:
        return None
    return _split(a, b, slack, terms, bounds, depth)


def _sum_bounds(
    constant: int, terms: dict[Hashable, tuple[int, Expr]], bounds: Bounds
) -> tuple[int | None, int | None]:
    low: int | None = constant
    high: int | None = constant
    for factor, term in terms.values():
        least, most = _term_bounds(term, bounds)
        if factor < 0:
            least, most = most, least
        low = None if low is None or least is None else low + factor * least
        high = None if high is None or most is None else high + factor * most
    return low, high


def _split(
    a: Expr,
    b: Expr,
    slack: int,
    terms: dict[Hashable, tuple[int, Expr]],
    bounds: Bounds,
    depth: int,
) -> bool | None:
    """Decide by cases on the first min or max that occurs in the difference ``b - a``."""
    for factor, term in terms.values():
        if not isinstance(term, Min | Max):
            continue
        # In b - a, a min with positive factor (or a max with negative) is the smaller of the two cases.
        smaller = isinstance(term, Min) == (factor > 0)
        answers: list[bool | None] = []
        for side in (term.left, term.right):
            difference = Add(
                Sub(b, a, b.type), Mul(ConstInt(factor), Sub(side, term, b.type), b.type), b.type
            )
            answers.append(_le(ConstInt(0), difference, slack, bounds, depth + 1))
        if smaller:
            if all(x is True for x in answers):
                return True
            return False if any(x is False for x in answers) else None
        if any(x is True for x in answers):
            return True
        return False if all(x is False for x in answers) else None
    return None


def least(a: Expr, b: Expr, bounds: Bounds = _NO_BOUNDS) -> Expr:
    """``min(a, b)``, or just the one that is provably not greater."""
    if prove_le(a, b, bounds):
        return a
    if prove_le(b, a, bounds):
        return b
    return min_(a, b)


def greatest(a: Expr, b: Expr, bounds: Bounds = _NO_BOUNDS) -> Expr:
    """``max(a, b)``, or just the one that is provably not less."""
    if prove_le(b, a, bounds):
        return a
    if prove_le(a, b, bounds):
        return b
    return max_(a, b)
