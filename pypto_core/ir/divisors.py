"""By which number integers are divisible for certain.

Divisibility is what shows that a window begins at a multiple of 32 bytes. It is followed through arithmetic,
assignments, loops and branches: a variable is divisible by the greatest common divisor of all that it may be. Wrapped
numbers keep the powers of two among their divisors, and no other divisor is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd

from pypto_core.ir.expr import Add, Cast, ConstInt, Expr, FloorDiv, FloorMod, Max, Min, Mul, Neg, Sub, Var
from pypto_core.ir.function import Function
from pypto_core.ir.stmt import AssignStmt, ForStmt, IfStmt, WhileStmt, last_yield
from pypto_core.ir.types import ScalarType
from pypto_core.ir.visitor import walk_stmts

ANYTHING = 0
"""Divisor of what is divisible by every number: zero, and what nothing is known of yet."""


def divisors_of(function: Function) -> Mapping[Var, int]:
    """By what each integer variable that the body defines is divisible; parameters are not in it."""
    sources = _sources(function)
    found = dict.fromkeys(sources, ANYTHING)
    changed = True
    while changed:
        changed = False
        for var, exprs in sources.items():
            value = found[var]
            for expr in exprs:
                value = gcd(value, divisor(expr, found))
            if value != found[var]:
                found[var], changed = value, True
    return found


def _sources(function: Function) -> dict[Var, list[Expr]]:
    """All that each integer variable may be."""
    out: dict[Var, list[Expr]] = {}

    def note(var: Var, *values: Expr) -> None:
        if _integer(var):
            out.setdefault(var, []).extend(values)

    for stmt in walk_stmts(function.body):
        if isinstance(stmt, AssignStmt):
            note(stmt.var, stmt.value)
        elif isinstance(stmt, ForStmt | WhileStmt):
            if isinstance(stmt, ForStmt):
                note(stmt.loop_var, stmt.start, stmt.step)
            tail = last_yield(stmt.body)
            for slot, (arg, result) in enumerate(zip(stmt.iter_args, stmt.return_vars, strict=True)):
                note(arg, arg.init_value)
                if tail is not None and slot < len(tail.values):
                    note(arg, tail.values[slot])
                note(result, arg)
        elif isinstance(stmt, IfStmt):
            for body in (stmt.then_body, stmt.else_body):
                tail = last_yield(body)
                if tail is not None:
                    for var, value in zip(stmt.return_vars, tail.values, strict=False):
                        note(var, value)
    return out


def _integer(var: Var) -> bool:
    return isinstance(var.type, ScalarType) and var.type.dtype.is_int


def divisor(expr: Expr, known: Mapping[Var, int]) -> int:
    """A number that divides ``expr`` whatever its variables are; ANYTHING when it is zero for certain."""
    if isinstance(expr, ConstInt):
        return abs(expr.value)
    if isinstance(expr, Var):
        return known.get(expr, 1)
    if isinstance(expr, Cast | Neg):
        kind = expr.operand.type
        whole = isinstance(kind, ScalarType) and kind.dtype.is_int
        return divisor(expr.operand, known) if whole else 1
    if isinstance(expr, Mul):
        return divisor(expr.left, known) * divisor(expr.right, known)
    if isinstance(expr, Add | Sub | Min | Max):
        return gcd(divisor(expr.left, known), divisor(expr.right, known))
    if isinstance(expr, FloorMod):
        # Of one sign or the other, a remainder is the number less a multiple of the modulus.
        return gcd(divisor(expr.left, known), divisor(expr.right, known))
    if isinstance(expr, FloorDiv):
        return _quotient(divisor(expr.left, known), divisor(expr.right, known), expr.right)
    return 1


def _quotient(number: int, by: int, right: Expr) -> int:
    if not isinstance(right, ConstInt) or by == 0:
        return 1
    return number // by if number % by == 0 else 1
