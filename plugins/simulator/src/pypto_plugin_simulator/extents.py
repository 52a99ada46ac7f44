"""Symbolic extents that no parameter has for itself: what a sum or a product of them says when its value is known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pypto_core.ir import Add, BinaryExpr, ConstInt, Expr, Mul, Sub, Var


def learn(known: Iterable[tuple[Expr, int, str]], env: dict[Var, Any]) -> list[tuple[Expr, int, str]]:
    """Give the variables of ``known`` extents, such as ``2 * M + 1`` and 15, their values in ``env``.

    An extent says what a variable is when all else in it is known and it stands in sums, differences and products
    only. A value that does not divide is rounded down: whoever compares the extent afterwards sees that it differs.
    Returns the extents that leave a variable open. The third part of each is the owner's name, which is handed through.
    """
    waiting = list(known)
    while waiting:
        left = [item for item in waiting if not _learned(item[0], item[1], env)]
        if len(left) == len(waiting):
            break
        waiting = left
    return waiting


def _learned(expr: Expr, value: int, env: dict[Var, Any]) -> bool:
    """Whether the extent has nothing more to say."""
    while not isinstance(expr, Var):
        if not isinstance(expr, Add | Sub | Mul):
            return _value(expr, env) is not None
        left, right = _value(expr.left, env), _value(expr.right, env)
        if (left is None) == (right is None):
            return left is not None
        known = left if right is None else right
        assert known is not None
        if isinstance(expr, Mul):
            if known == 0:
                return False
            value //= known
        elif isinstance(expr, Sub):
            value = known - value if right is None else value + known
        else:
            value -= known
        expr = expr.right if right is None else expr.left
    env.setdefault(expr, value)
    return True


def _value(expr: Expr, env: Mapping[Var, Any]) -> int | None:
    if isinstance(expr, Var):
        return env.get(expr)
    if isinstance(expr, ConstInt):
        return expr.value
    if not isinstance(expr, BinaryExpr):
        return None
    left, right = _value(expr.left, env), _value(expr.right, env)
    if left is None or right is None:
        return None
    if isinstance(expr, Add):
        return left + right
    if isinstance(expr, Sub):
        return left - right
    return left * right if isinstance(expr, Mul) else None
