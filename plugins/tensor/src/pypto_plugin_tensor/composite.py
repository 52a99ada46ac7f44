"""LowerCompositeOps: operators without an instruction become instructions: the sine and the cosine.

Both subtract a multiple of pi, in three parts so that nothing is lost, and evaluate an odd polynomial on
[-pi/2, pi/2]; the parity of the multiple gives the sign. The result is right to about 2e-7 for arguments up to a few
thousand.
"""

from __future__ import annotations

import math
from typing import Any

from pypto_core.ir import (
    AssignStmt,
    Call,
    CastMode,
    ConstFloat,
    DataType,
    Expr,
    Function,
    Mutator,
    NameSource,
    SeqStmts,
    Stmt,
    Var,
    base_name,
    seq,
    walk,
)
from pypto_core.ops import create_call

COMPOSITE = frozenset({"tile.sin", "tile.cos"})
"""The operators that this pass knows."""
_PI = (3.140625, 9.67502593994140625e-4, 1.509957990978376432e-7)
"""Pi as a sum; multiples of the first two parts by a few thousand are exact in single precision."""
_POLYNOMIAL = tuple((-1) ** n / math.factorial(2 * n + 1) for n in (5, 4, 3, 2, 1))
"""Factors of r**11 down to r**3."""


def lower_composite_ops(function: Function, ctx: Any) -> Function:
    """The function with composite operators written out; the same object when it has none."""
    if not any(isinstance(node, Call) and node.name in COMPOSITE for node in walk(function.body)):
        return function
    return _Lowering().visit(function)


class _Lowering(Mutator):
    def __init__(self) -> None:
        super().__init__()
        self.names = NameSource()

    def visit_assign_stmt(self, node: AssignStmt) -> Stmt:
        """A composite operator in statements of its own."""
        call = node.value
        if not (isinstance(call, Call) and call.name in COMPOSITE):
            return super().visit_assign_stmt(node)
        steps = _Steps(self.names, node)
        last = steps.wave(self.visit(call.args[0]), cosine=call.name == "tile.cos")
        var = self.visit_def(node.var)
        result = AssignStmt(var, last, span=node.span)
        comments = SeqStmts((), leading_comments=node.leading_comments)
        return seq([comments, *steps.stmts, result], node.span)


class _Steps:
    """The statements of one expansion."""

    def __init__(self, names: NameSource, node: AssignStmt) -> None:
        self.names, self.base, self.span = names, base_name(node.var.name_hint), node.span
        self.stmts: list[Stmt] = []

    def call(self, op: str, *args: Expr | float, **options: Any) -> Call:
        """A tile operator; numbers are single precision."""
        operands = [a if isinstance(a, Expr) else ConstFloat(a, DataType.FP32) for a in args]
        return create_call(f"tile.{op}", operands, options, self.span)

    def tile(self, op: str, *args: Expr | float, **options: Any) -> Var:
        """The operator's result under a name."""
        call = self.call(op, *args, **options)
        var = Var(self.names.fresh(self.base, "tmp"), call.type, span=self.span)
        self.stmts.append(AssignStmt(var, call, span=self.span))
        return var

    def whole(self, value: Var, mode: CastMode) -> Var:
        """The integer next to each element, as a float."""
        number = self.tile("cast", value, target_type=DataType.INT32, mode=mode)
        return self.tile("cast", number, target_type=DataType.FP32, mode=CastMode.none)

    def wave(self, x: Expr, *, cosine: bool) -> Call:
        """``sin(x)``, or ``cos(x)`` as ``-(-1)**k * sin(x - (k + 1/2) * pi)``."""
        turns = self.tile("muls", x, 1.0 / math.pi)
        if cosine:
            turns = self.tile("subs", turns, 0.5)
        count = self.whole(turns, CastMode.rint)
        shift = self.tile("adds", count, 0.5) if cosine else count
        rest: Expr = x
        for part in _PI:
            rest = self.tile("sub", rest, self.tile("muls", shift, part))
        square = self.tile("mul", rest, rest)
        total = self.tile("muls", square, _POLYNOMIAL[0])
        for factor in _POLYNOMIAL[1:]:
            total = self.tile("mul", self.tile("adds", total, factor), square)
        value = self.tile("add", self.tile("mul", total, rest), rest)
        half = self.whole(self.tile("muls", count, 0.5), CastMode.floor)
        odd = self.tile("sub", count, self.tile("muls", half, 2.0))
        sign = self.tile("adds", self.tile("muls", odd, 2.0 if cosine else -2.0), -1.0 if cosine else 1.0)
        return self.call("mul", value, sign)
