"""The values that Python sees when it evaluates a kernel's annotations.

A decorated function is read from its source, so these objects only have to survive being evaluated: they keep what
they were given and mean nothing by themselves. ``Dim`` is the exception: it carries the expression that a symbolic
extent stands for, as extents are often built outside of the kernel.
"""

from __future__ import annotations

from functools import cache
from typing import Any
from typing import cast as typed

import attrs

from pypto_core.diagnostics import UserError
from pypto_core.ir import (
    INDEX_ZERO,
    Add,
    BinaryExpr,
    ConstBool,
    ConstFloat,
    ConstInt,
    DataType,
    Expr,
    FloorDiv,
    FloorMod,
    Max,
    Min,
    Mul,
    Sub,
    Var,
    as_expr,
    make_binary,
    scalar_type,
)  # fmt: skip
from pypto_core.ir import (
    cast as cast_scalar,
)
from pypto_core.language.vocabulary import spelling


@attrs.frozen(eq=False)
class Form:
    """A piece of an annotation, such as ``pl.Tensor`` or ``pl.Tensor[[64, 64], pl.FP32]``: inert."""

    surface: str
    """The name under ``pl``."""
    args: tuple[Any, ...] = ()
    options: dict[str, Any] = attrs.field(factory=dict)

    def __getitem__(self, item: Any) -> Form:
        parts = typed(tuple[Any, ...], item) if isinstance(item, tuple) else (item,)
        return Form(self.surface, (*self.args, *parts))

    def __call__(self, *args: Any, **options: Any) -> Form:
        """The form with arguments, as in ``pl.TileView(valid_shape=[n, 64])``."""
        return Form(self.surface, args, options)

    def __repr__(self) -> str:
        return spelling(self.surface)


def dynamic_var(name: str, dtype: DataType = DataType.INDEX) -> Var:
    """The variable of a symbolic extent: one per name, so that texts that name the same extent share it."""
    return _dynamic_var(name, dtype)


@cache  # with both arguments given each time: a cache tells an omitted one from its default
def _dynamic_var(name: str, dtype: DataType) -> Var:
    return Var(name, scalar_type(dtype))


@attrs.frozen(eq=False)
class Dim:
    """A symbolic extent or an expression over some, usable wherever a shape is written."""

    expr: Expr

    def __add__(self, other: Any) -> Dim:
        return _combine(Add, self, other)

    def __radd__(self, other: Any) -> Dim:
        return _combine(Add, other, self)

    def __sub__(self, other: Any) -> Dim:
        return _combine(Sub, self, other)

    def __rsub__(self, other: Any) -> Dim:
        return _combine(Sub, other, self)

    def __mul__(self, other: Any) -> Dim:
        return _combine(Mul, self, other)

    def __rmul__(self, other: Any) -> Dim:
        return _combine(Mul, other, self)

    def __floordiv__(self, other: Any) -> Dim:
        return _combine(FloorDiv, self, other)

    def __rfloordiv__(self, other: Any) -> Dim:
        return _combine(FloorDiv, other, self)

    def __mod__(self, other: Any) -> Dim:
        return _combine(FloorMod, self, other)

    def __rmod__(self, other: Any) -> Dim:
        return _combine(FloorMod, other, self)

    def __neg__(self) -> Dim:
        return Dim(make_binary(Sub, INDEX_ZERO, self.expr))

    def __repr__(self) -> str:
        return f"pl.dynamic({self.expr.name_hint!r})" if isinstance(self.expr, Var) else "<symbolic extent>"


def _operand(value: Any) -> Expr:
    if isinstance(value, Dim):
        return value.expr
    if isinstance(value, int | float):
        return as_expr(value)
    raise UserError(
        f"an extent is built from numbers and symbolic extents, not {type(value).__name__}",
        code="PT110",
        remedy="use ints and values of pl.dynamic(...)",
    )


def _combine(cls: type[BinaryExpr], left: Any, right: Any) -> Dim:
    return Dim(make_binary(cls, _operand(left), _operand(right)))


def dynamic(name: str, dtype: DataType = DataType.INDEX) -> Dim:
    """A symbolic extent called ``name``; the same name always means the same extent."""
    if not str(name).isidentifier():
        raise UserError(
            f"a symbolic extent needs a name, not {name!r}", code="PT110", remedy='write M = pl.dynamic("M")'
        )
    return Dim(dynamic_var(name, dtype))


_NOT_FINITE = ("inf", "-inf", "nan")


_MOST_BITS = 4096


def typed_constant(value: Any, dtype: DataType) -> Expr:
    """A constant of an element type; raises ValueError when the value is not of its category or range."""
    if dtype is DataType.BOOL:
        if isinstance(value, bool):
            return ConstBool(value)
    elif isinstance(value, bool):
        pass
    elif dtype.is_float:
        if isinstance(value, int | float) or value in _NOT_FINITE:
            return ConstFloat(float(value), dtype)
    elif isinstance(value, int):
        if value.bit_length() > _MOST_BITS:  # Python writes no more than some thousand digits
            raise ValueError(f"an integer of {value.bit_length()} bits is not a constant of type {dtype}")
        return ConstInt(value, dtype)
    raise ValueError(f"{value!r} is not a constant of type {dtype}")


def const(value: Any, dtype: DataType) -> Dim:
    """A constant of a given element type, for extents; kernels write it the same way."""
    try:
        return Dim(typed_constant(value, dtype))
    except ValueError as error:
        raise UserError(
            str(error), code="PT110", remedy="write an integer or a float that the element type holds"
        ) from None


def min_(left: Any, right: Any) -> Dim:
    """The lesser of two extents; kernels write it the same way."""
    return _combine(Min, left, right)


def max_(left: Any, right: Any) -> Dim:
    """The greater of two extents; kernels write it the same way."""
    return _combine(Max, left, right)


def cast(value: Any, target_type: DataType, **options: Any) -> Dim:
    """An extent as another element type; kernels write it the same way."""
    return Dim(cast_scalar(_operand(value), target_type))


@attrs.frozen(eq=False)
class MemRef:
    """An allocation: declared ``MemRef()``, ``MemRef("name", slots=2)``, or resolved ``MemRef(base, offset, size)``.

    A declaration without a name takes the name of the variable it is bound to. ``pinned``: the author asked for the
    place, it is not the planner's to move.
    """

    name: Any = ""
    offset: Any = None
    size: Any = None
    pinned: bool = attrs.field(default=False, kw_only=True)
    slots: int = attrs.field(default=1, kw_only=True)
    index: Any = attrs.field(default=None, kw_only=True)

    def __attrs_post_init__(self) -> None:
        if type(self.slots) is not int or self.slots < 1:
            raise UserError(
                f"a MemRef needs at least one slot, not {self.slots!r}",
                code="PT111",
                remedy="write pl.MemRef(slots=2), or leave slots out",
            )

    @property
    def is_declaration(self) -> bool:
        """Whether offset and size are left to the memory planner."""
        return self.offset is None and self.size is None

    def __getitem__(self, index: Any) -> MemRef:
        if isinstance(index, int) and not 0 <= index < self.slots:
            raise UserError(
                f"slot {index} is out of range",
                code="PT111",
                facts={"slots": self.slots},
                remedy="declare more slots, or use a smaller index",
            )
        return attrs.evolve(self, index=index)


@attrs.frozen(eq=False)
class Word:
    """A word of the language that only has a meaning inside a kernel: an operation, a loop, a scope."""

    surface: str

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Refuse to be called by Python: raises UserError PT112."""
        raise UserError(
            f"{spelling(self.surface)} was called outside of a kernel",
            code="PT112",
            remedy="use it in the body of a function decorated with @pl.function; kernels are read, not executed",
        )

    def __getitem__(self, item: Any) -> Any:
        return self()

    def __repr__(self) -> str:
        return f"<{spelling(self.surface)}>"
