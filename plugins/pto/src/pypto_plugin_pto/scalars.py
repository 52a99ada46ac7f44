"""Scalar expressions as arithmetic.

Every node is computed in the type it has in the program: an operand of another integer type is converted first, as
the numbers of a narrower type wrap. Unsigned integers are held in registers without a sign and differ by the
operations that are applied to them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from pypto_core.contract import Operand
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
    IterArg,
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
    Sub,
    TupleGetItemExpr,
    UnaryExpr,
    Var,
    Xor,
    base_name,
    dtype_of,
)
from pypto_plugin_pto import floor
from pypto_plugin_pto.text import FunctionText
from pypto_plugin_pto.type_text import element, register

BOOL, INDEX, INT64 = DataType.BOOL, DataType.INDEX, DataType.INT64

# (signed or index, unsigned, float)
_ARITHMETIC: dict[type[BinaryExpr], tuple[str, str, str]] = {
    Sub: ("subi", "subi", "subf"),
    Mul: ("muli", "muli", "mulf"),
    Min: ("minsi", "minui", "minimumf"),
    Max: ("maxsi", "maxui", "maximumf"),
    BitAnd: ("andi", "andi", ""),
    BitOr: ("ori", "ori", ""),
    BitXor: ("xori", "xori", ""),
    BitShiftLeft: ("shli", "shli", ""),
    BitShiftRight: ("shrsi", "shrui", ""),
    FloatDiv: ("", "", "divf"),
}
_COMPARISON: dict[type[BinaryExpr], tuple[str, str, str]] = {
    Eq: ("eq", "eq", "oeq"),
    Ne: ("ne", "ne", "une"),
    Lt: ("slt", "ult", "olt"),
    Le: ("sle", "ule", "ole"),
    Gt: ("sgt", "ugt", "ogt"),
    Ge: ("sge", "uge", "oge"),
}
_LOGICAL: dict[type[BinaryExpr], str] = {And: "andi", Or: "ori", Xor: "xori"}


class Scalars:
    """Writes scalar expressions of one function.

    ``env``: what each scalar variable is called. ``starts``: loop variables whose loop begins at a literal.
    """

    def __init__(self, text: FunctionText) -> None:
        self.text = text
        self.env: dict[Var, Operand] = {}
        self.starts: dict[Var, int] = {}
        self._writers: dict[type[Expr], Callable[..., Operand]] = {
            Var: self._var,
            IterArg: self._var,
            ConstInt: self._constant,
            ConstFloat: self._constant,
            ConstBool: self._constant,
            TupleGetItemExpr: self._part,
            Cast: self._cast,
            Neg: self._neg,
            Abs: self._abs,
            Not: self._not,
            BitNot: self._bit_not,
            Add: self._add,
            FloorDiv: partial(floor.floor_div, self),
            FloorMod: partial(floor.floor_mod, self),
            **dict.fromkeys(_ARITHMETIC, self._arithmetic),
            **dict.fromkeys(_COMPARISON, self._compare),
            **dict.fromkeys(_LOGICAL, self._logical),
        }

    # -- entry points

    def value(self, expr: Expr, what: str = "") -> Operand:
        """``expr`` in its own type; ``what``: a name for the last operation."""
        writer = self._writers.get(type(expr))
        if writer is None:
            raise UserError(
                f"a scalar {type(expr).__name__} can't be written as PTO text",
                code="PTO-005",
                span=expr.span,
                remedy="compute it with + - * // % min max, comparisons and bit operators",
            )
        return writer(expr, what)

    def coerced(self, expr: Expr, dtype: DataType, what: str = "") -> Operand:
        """``expr`` as an operand of an operation on ``dtype``: constants directly, else converted."""
        if isinstance(expr, ConstInt):
            if dtype.is_int:
                return self.text.constant(expr.value, dtype)
            if dtype.is_float:
                return self.text.constant(float(expr.value), dtype)
        if isinstance(expr, ConstFloat) and dtype.is_float:
            return self.text.constant(expr.value, dtype)
        have = dtype_of(expr)
        if register(have) == register(dtype):
            return self.value(expr, what)
        return self.converted(self.value(expr), have, dtype, what)

    def converted(self, value: Operand, have: DataType, want: DataType, what: str = "") -> Operand:
        """A register of type ``have`` as one of ``want``, by value."""
        if register(have) == register(want):
            return value
        if want is BOOL:
            return self._truth(value, have, what)
        if INDEX in (have, want):
            return self._indexed(value, have, want, what)
        if have.is_float and want.is_float:
            name = "extf" if want.bits > have.bits else "truncf"
        elif have.is_float:
            name = "fptosi" if want.is_signed else "fptoui"
        elif want.is_float:
            name = "sitofp" if have.is_signed else "uitofp"
        elif want.bits < have.bits:
            name = "trunci"
        else:
            name = "extsi" if have.is_signed else "extui"
        return self.op(f"{name} {value.name} : {register(have)} to {register(want)}", register(want), what)

    def outside(self, value: Operand, dtype: DataType) -> Operand:
        """A register as a value of the type that memory holds: unsigned integers get their sign back."""
        want = element(dtype)
        if value.type == want:
            return value
        return self.text.value(
            f"builtin.unrealized_conversion_cast {value.name} : {value.type} to {want}", want
        )

    def inside(self, value: Operand, dtype: DataType, what: str = "") -> Operand:
        """A value from memory as a register."""
        want = register(dtype)
        if value.type == want:
            return value
        return self.text.value(
            f"builtin.unrealized_conversion_cast {value.name} : {value.type} to {want}", want, what
        )

    def op(self, text: str, type: str, what: str = "") -> Operand:
        """One operation of the arithmetic dialect."""
        return self.text.value("arith." + text, type, what)

    # -- leaves and conversions

    def _var(self, expr: Var, what: str) -> Operand:
        known = self.env.get(expr)
        if known is None:
            raise UserError(
                f"'{base_name(expr.name_hint)}' has no value in PTO text",
                code="PTO-006",
                span=expr.span,
                facts={"type": expr.type},
                remedy="a kernel reads its parameters, the extents of their shapes and what it computes itself",
            )
        return known

    def _constant(self, expr: ConstInt | ConstFloat | ConstBool, what: str) -> Operand:
        return self.text.constant(expr.value, dtype_of(expr))

    def _part(self, expr: TupleGetItemExpr, what: str) -> Operand:
        if isinstance(expr.tuple, MakeTuple):
            return self.value(expr.tuple.elements[expr.index], what)
        raise UserError("a tuple of scalars has no form in PTO text", code="PTO-005", span=expr.span)

    def _cast(self, expr: Cast, what: str) -> Operand:
        have, want = dtype_of(expr.operand), dtype_of(expr)
        return self.converted(self.value(expr.operand), have, want, what)

    def _indexed(self, value: Operand, have: DataType, want: DataType, what: str) -> Operand:
        """To or from INDEX, which converts to signed integers only, and without a name for floats."""
        if (have.is_int and have.is_signed) and (want.is_int and want.is_signed):
            return self.op(
                f"index_cast {value.name} : {register(have)} to {register(want)}", register(want), what
            )
        if want is not INDEX and want.is_int:
            return self.op(f"index_cast {value.name} : index to {register(want)}", register(want), what)
        middle = self.converted(value, have, INT64)
        return self.converted(middle, INT64, want, what)

    def _truth(self, value: Operand, have: DataType, what: str) -> Operand:
        zero = self.text.constant(0, have)
        kind = "cmpf une" if have.is_float else "cmpi ne"
        return self.op(f"{kind}, {value.name}, {zero.name} : {register(have)}", "i1", what)

    # -- operators

    def _class(self, dtype: DataType) -> int:
        return 2 if dtype.is_float else 0 if dtype.is_signed or dtype is BOOL else 1

    def _arithmetic(self, expr: BinaryExpr, what: str) -> Operand:
        dtype = dtype_of(expr)
        name = _ARITHMETIC[type(expr)][self._class(dtype)]
        if not name:
            raise UserError(
                f"{type(expr).__name__} of {dtype} numbers has no instruction",
                code="PTO-005",
                span=expr.span,
                remedy="divide integers with //, or convert both sides with pl.cast first",
            )
        left, right = self.coerced(expr.left, dtype), self.coerced(expr.right, dtype)
        type_ = register(dtype)
        return self.op(f"{name} {left.name}, {right.name} : {type_}", type_, what)

    def _add(self, expr: BinaryExpr, what: str) -> Operand:
        dtype = dtype_of(expr)
        left, right = self.coerced(expr.left, dtype), self.coerced(expr.right, dtype)
        type_ = register(dtype)
        if not dtype.is_float:
            return self.op(f"addi {left.name}, {right.name} : {type_}", type_, what)
        # The assembler writes no C++ for addf.
        opposite = self.op(f"negf {right.name} : {type_}", type_)
        return self.op(f"subf {left.name}, {opposite.name} : {type_}", type_, what)

    def _compare(self, expr: BinaryExpr, what: str) -> Operand:
        dtype = dtype_of(expr.left)
        left, right = self.coerced(expr.left, dtype), self.coerced(expr.right, dtype)
        kind = "cmpf" if dtype.is_float else "cmpi"
        predicate = _COMPARISON[type(expr)][self._class(dtype)]
        return self.op(f"{kind} {predicate}, {left.name}, {right.name} : {register(dtype)}", "i1", what)

    def _logical(self, expr: BinaryExpr, what: str) -> Operand:
        left, right = self.truth(expr.left), self.truth(expr.right)
        return self.op(f"{_LOGICAL[type(expr)]} {left.name}, {right.name} : i1", "i1", what)

    def truth(self, expr: Expr, what: str = "") -> Operand:
        """``expr`` as a truth value: numbers are true when they are not zero."""
        have = dtype_of(expr)
        value = self.value(expr, what if have is BOOL else "")
        return self.converted(value, have, BOOL, what)

    def _not(self, expr: UnaryExpr, what: str) -> Operand:
        value = self.truth(expr.operand)
        one = self.text.constant(True, BOOL)
        return self.op(f"xori {value.name}, {one.name} : i1", "i1", what)

    def _bit_not(self, expr: UnaryExpr, what: str) -> Operand:
        dtype = dtype_of(expr)
        value, ones = self.coerced(expr.operand, dtype), self.text.constant(-1, dtype)
        return self.op(f"xori {value.name}, {ones.name} : {register(dtype)}", register(dtype), what)

    def _neg(self, expr: UnaryExpr, what: str) -> Operand:
        dtype = dtype_of(expr)
        return self._negated(self.coerced(expr.operand, dtype), dtype, what)

    def _negated(self, value: Operand, dtype: DataType, what: str = "") -> Operand:
        type_ = register(dtype)
        if dtype.is_float:
            return self.op(f"negf {value.name} : {type_}", type_, what)
        zero = self.text.constant(0, dtype)
        return self.op(f"subi {zero.name}, {value.name} : {type_}", type_, what)

    def _abs(self, expr: UnaryExpr, what: str) -> Operand:
        dtype = dtype_of(expr)
        value = self.coerced(expr.operand, dtype)
        if dtype.is_int and not dtype.is_signed:
            return value
        type_ = register(dtype)
        opposite, zero = self._negated(value, dtype), self.text.constant(0, dtype)
        kind = "cmpf olt" if dtype.is_float else "cmpi slt"
        below = self.op(f"{kind}, {value.name}, {zero.name} : {type_}", "i1")
        return self.op(f"select {below.name}, {opposite.name}, {value.name} : {type_}", type_, what)
