"""Expressions: variables, constants, calls, tuples and scalar operators."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from pypto_core.diagnostics import UserError
from pypto_core.ir.dtypes import DataType
from pypto_core.ir.node import MAP, MAYBE, NODES, PLAIN, Node, ignore, node_class, use
from pypto_core.ir.types import MEMREF, TupleType, Type, scalar_type

if TYPE_CHECKING:
    from pypto_core.ir.types import MemRefType, ScalarType

# Only orders variables that nothing else tells apart; no output depends on the numbers themselves.
_next_id = itertools.count(1).__next__


@node_class
class Expr(Node):
    """Base of expressions; every concrete one has a ``type``."""

    if TYPE_CHECKING:
        # Stored in some classes, derived in others.
        @property
        def type(self) -> Type: ...


@node_class
class Var(Expr):
    """A variable. The object is the identity; ``name_hint`` is cosmetic and need not be unique."""

    name_hint: str = ignore()
    type: Type = use()  # pyright: ignore[reportIncompatibleMethodOverride]
    unique_id: int = ignore(factory=_next_id, init=False)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name_hint}>"


@node_class
class IterArg(Var):
    """A loop-carried variable: bound to ``init_value`` on entry, then to what the body yields."""

    init_value: Expr = use()
    visit_order: ClassVar[tuple[str, ...]] = ("init_value",)


@node_class
class Op(Node):
    """Reference to a registered operator, e.g. ``tile.matmul``."""

    name: str = use(PLAIN)


@node_class
class GlobalVar(Op):
    """Reference to a function of the program."""


@node_class
class Call(Expr):
    """An operator or function applied to arguments.

    ``kwargs`` are the user's options, ``attrs`` are notes of the compiler; both keep their order.
    """

    op: Op = use()
    args: tuple[Expr, ...] = use(NODES)
    kwargs: Mapping[str, Any] = use(MAP, factory=dict)
    attrs: Mapping[str, Any] = use(MAP, factory=dict)
    type: Type = use(kw_only=True)  # pyright: ignore[reportIncompatibleMethodOverride]

    @property
    def name(self) -> str:
        """The operator's or function's name."""
        return self.op.name

    def __repr__(self) -> str:
        return f"<Call {self.op.name}>"


@node_class
class Submit(Expr):
    """A task handed to the runtime: a call with dependencies; yields the callee's results and a task id."""

    op: GlobalVar = use()
    args: tuple[Expr, ...] = use(NODES)
    deps: tuple[Expr, ...] = use(NODES, default=())
    kwargs: Mapping[str, Any] = use(MAP, factory=dict)
    attrs: Mapping[str, Any] = use(MAP, factory=dict)
    core_num: Expr | None = use(MAYBE, default=None)
    sync_start: bool = use(PLAIN, default=False)
    allow_early_resolve: bool = use(PLAIN, default=False)
    predicate: Expr | None = use(MAYBE, default=None)
    type: Type = use(kw_only=True)  # pyright: ignore[reportIncompatibleMethodOverride]


@node_class
class MakeTuple(Expr):
    """Several expressions as one; shapes and offsets are of this kind."""

    elements: tuple[Expr, ...] = use(NODES)

    @property
    def type(self) -> TupleType:
        """The tuple of the elements' types."""
        return TupleType(tuple(e.type for e in self.elements))


@node_class
class TupleGetItemExpr(Expr):
    """One element of a tuple."""

    tuple: Expr = use()
    index: int = use(PLAIN)

    def __attrs_post_init__(self) -> None:
        kind = self.tuple.type
        if not isinstance(kind, TupleType):
            raise UserError(
                f"can't take element {self.index} of a value that is not a tuple",
                span=self.span,
                remedy="only tuples have elements: use the value itself",
            )
        if not 0 <= self.index < len(kind.types):
            raise UserError(
                f"tuple index {self.index} is out of range",
                span=self.span,
                facts={"elements": len(kind.types)},
                remedy=f"use an index from 0 to {len(kind.types) - 1}",
            )

    @property
    def type(self) -> Type:
        """The element's type."""
        kind = self.tuple.type
        assert isinstance(kind, TupleType)
        return kind.types[self.index]


@node_class
class ConstInt(Expr):
    """An integer constant."""

    value: int = use(PLAIN)
    dtype: DataType = use(PLAIN, default=DataType.INDEX)

    @property
    def type(self) -> ScalarType:
        """Scalar of ``dtype``."""
        return scalar_type(self.dtype)


@node_class
class ConstFloat(Expr):
    """A floating-point constant."""

    value: float = use(PLAIN)
    dtype: DataType = use(PLAIN, default=DataType.FP32)

    @property
    def type(self) -> ScalarType:
        """Scalar of ``dtype``."""
        return scalar_type(self.dtype)


@node_class
class ConstBool(Expr):
    """True or False."""

    value: bool = use(PLAIN)

    @property
    def type(self) -> ScalarType:
        """Scalar of BOOL."""
        return scalar_type(DataType.BOOL)


@node_class
class BinaryExpr(Expr):
    """Two scalars combined."""

    left: Expr = use()
    right: Expr = use()
    type: Type = use()  # pyright: ignore[reportIncompatibleMethodOverride]


@node_class
class UnaryExpr(Expr):
    """One scalar changed."""

    operand: Expr = use()
    type: Type = use()  # pyright: ignore[reportIncompatibleMethodOverride]


def _subclasses(base: type, names: str) -> list[Any]:
    # Plain subclasses without fields of their own: running attrs on each would double the import time.
    return [type(name, (base,), {"__slots__": (), "__module__": __name__, "__doc__": f"Scalar operator {name}."})
            for name in names.split()]  # fmt: skip


if TYPE_CHECKING:

    class Add(BinaryExpr): ...

    class Sub(BinaryExpr): ...

    class Mul(BinaryExpr): ...

    class FloorDiv(BinaryExpr): ...

    class FloorMod(BinaryExpr): ...

    class FloatDiv(BinaryExpr): ...

    class Min(BinaryExpr): ...

    class Max(BinaryExpr): ...

    class Pow(BinaryExpr): ...

    class Eq(BinaryExpr): ...

    class Ne(BinaryExpr): ...

    class Lt(BinaryExpr): ...

    class Le(BinaryExpr): ...

    class Gt(BinaryExpr): ...

    class Ge(BinaryExpr): ...

    class And(BinaryExpr): ...

    class Or(BinaryExpr): ...

    class Xor(BinaryExpr): ...

    class BitAnd(BinaryExpr): ...

    class BitOr(BinaryExpr): ...

    class BitXor(BinaryExpr): ...

    class BitShiftLeft(BinaryExpr): ...

    class BitShiftRight(BinaryExpr): ...

    class Neg(UnaryExpr): ...

    class Abs(UnaryExpr): ...

    class Not(UnaryExpr): ...

    class BitNot(UnaryExpr): ...

    class Cast(UnaryExpr): ...

else:
    Add, Sub, Mul, FloorDiv, FloorMod, FloatDiv, Min, Max, Pow = _subclasses(
        BinaryExpr, "Add Sub Mul FloorDiv FloorMod FloatDiv Min Max Pow"
    )
    Eq, Ne, Lt, Le, Gt, Ge = _subclasses(BinaryExpr, "Eq Ne Lt Le Gt Ge")
    And, Or, Xor = _subclasses(BinaryExpr, "And Or Xor")
    BitAnd, BitOr, BitXor, BitShiftLeft, BitShiftRight = _subclasses(
        BinaryExpr, "BitAnd BitOr BitXor BitShiftLeft BitShiftRight"
    )
    Neg, Abs, Not, BitNot, Cast = _subclasses(UnaryExpr, "Neg Abs Not BitNot Cast")


@node_class
class MemRef(Expr):
    """A place in memory: ``size`` bytes at ``byte_offset`` from ``base``.

    ``base``: the Ptr-typed variable of the allocation; two MemRefs share an allocation when it is the same object.
    ``is_pinned``: declared by the author, offset and size still to be filled in.
    ``slot_count`` and ``slot_index``: the allocation is a ring of equal slots and this is one of them.
    """

    base: Var = use()
    byte_offset: Expr = use()
    size: int = use(PLAIN, default=0)
    is_pinned: bool = use(PLAIN, default=False)
    slot_count: int = use(PLAIN, default=1)
    slot_index: Expr | None = use(MAYBE, default=None)

    def __attrs_post_init__(self) -> None:
        if self.slot_count < 1:
            raise UserError(
                f"a MemRef needs at least one slot, not {self.slot_count}",
                span=self.span,
                remedy="leave slot_count out, or make it 1 or more",
            )
        index = self.slot_index
        if isinstance(index, ConstInt) and not 0 <= index.value < self.slot_count:
            raise UserError(
                f"slot {index.value} is out of range",
                span=self.span,
                facts={"slots": self.slot_count},
                remedy=f"use an index from 0 to {self.slot_count - 1}, or declare more slots",
            )

    @property
    def type(self) -> MemRefType:
        """The MemRef type."""
        return MEMREF

    @property
    def name(self) -> str:
        """Name of the allocation."""
        return self.base.name_hint

    def same_allocation(self, other: MemRef) -> bool:
        """Whether both lie in one allocation."""
        return self.base is other.base

    def may_alias(self, other: MemRef) -> bool:
        """Whether both may share a byte: one allocation, and ranges that overlap or can't be compared."""
        if self.base is not other.base:
            return False
        if not (isinstance(self.byte_offset, ConstInt) and isinstance(other.byte_offset, ConstInt)):
            return True
        a, b = self.byte_offset.value, other.byte_offset.value
        return a < b + other.size and b < a + self.size


INDEX_ZERO = ConstInt(0)
INDEX_ONE = ConstInt(1)


def const_index(value: int) -> ConstInt:
    """An INDEX constant."""
    return ConstInt(value)


def is_const(expr: Expr | None, value: int | None = None) -> bool:
    """Whether ``expr`` is an integer constant (of that value)."""
    return isinstance(expr, ConstInt) and (value is None or expr.value == value)
