"""What an operator is: one row that parser, printer, passes, planner, emitter and simulator read.

``params`` lists the parameters in the order of the written form; those that are operands become the call's
``args`` in that order, the options become its ``kwargs``.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from pypto_core.ir import ArgEffect, CoreType, Expr, MemorySpace, Type


class Kind(enum.Enum):
    """What a parameter accepts."""

    TILE = "tile"
    TENSOR = "tensor"
    SCALAR = "scalar"
    INDEX = "index"
    """A scalar integer: literals become INDEX constants."""
    BOOL = "bool"
    DIMS = "dims"
    """A tuple of INDEX scalars: a shape, an offset, valid extents."""
    PTR = "ptr"
    ANY = "any"
    DTYPE = "dtype"
    SPACE = "space"
    INT = "int"
    FLOAT = "float"
    FLAG = "flag"
    TEXT = "text"
    ENUM = "enum"
    """A member of ``Param.enum`` (stored as the member, written as its name)."""


class _Required:
    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED: Any = _Required()
OMIT: Any = None
"""Default of an optional parameter that is left out of the call when it is not given."""

OPERAND_KINDS = frozenset(
    {Kind.TILE, Kind.TENSOR, Kind.SCALAR, Kind.INDEX, Kind.BOOL, Kind.DIMS, Kind.PTR, Kind.ANY}
)


@attrs.frozen
class Param:
    """One parameter of an operator.

    ``default``: REQUIRED, OMIT (left out when not given) or a value that is written into the call.
    ``enum``: the enumeration of an ENUM option; ``as_text``: it is written as its name in quotes (cast modes).
    ``positional``: an option that is printed without its name; ``keyword_only``: never accepted by position.
    ``like``: index of the operand whose element type a numeric literal takes.
    """

    name: str
    kind: Kind
    default: Any = REQUIRED
    enum: type[enum.Enum] | None = None
    as_text: bool = False
    positional: bool = False
    keyword_only: bool = False
    like: int | None = None

    @property
    def is_operand(self) -> bool:
        """Whether it is one of the call's arguments (not an option)."""
        return self.kind in OPERAND_KINDS

    @property
    def required(self) -> bool:
        """Whether a call must give it."""
        return self.default is REQUIRED


@attrs.frozen
class FromOption:
    """The output's space is what this option says; ``default`` when it is absent (None: still to be inferred)."""

    option: str
    default: MemorySpace | None = None


INHERIT = "inherit"
"""Output space: that of the first tile argument."""


class Access(enum.Enum):
    """How execution touches the tiles."""

    FULL = "full"
    """Reads all tile inputs and writes the whole output."""
    NONE = "none"
    """Touches no memory: a view, metadata or a query."""


@attrs.frozen(kw_only=True)
class OpMemory:
    """Memory rules.

    ``inputs``: per operand the spaces it may lie in, the preferred first; None where nothing is demanded.
    ``output``: a space, FromOption, INHERIT, or None when the result is no tile.
    ``reuses``: index of the operand whose buffer the result takes over (in place).
    ``inplace_safe``: whether the result may share a buffer with an operand that dies here.
    ``forbids_alias``: operands that the result may never share a buffer with.
    ``view_of``: index of the operand that the result is a window or reinterpretation of.
    """

    inputs: tuple[tuple[MemorySpace, ...] | None, ...] = ()
    output: MemorySpace | FromOption | str | None = None
    reuses: int | None = None
    inplace_safe: bool = True
    forbids_alias: tuple[int, ...] = ()
    view_of: int | None = None
    access: Access = Access.FULL


Deducer = Callable[[tuple[Expr, ...], Mapping[str, Any]], Type]
"""(args, kwargs) → result type; raises OpError for arguments that don't fit."""

@attrs.frozen(kw_only=True)
class OpDef:
    """An operator.

    ``name``: dotted, e.g. ``tile.matmul``. ``summary``: one line. ``deduce``: the result's type.
    ``memory``: None for operators that handle no tile. ``effects``: what happens to the storage of arguments that
    are not merely read, by index. ``core``: CUBE or VECTOR when the operator fixes it, None when it goes either
    way. ``pure``: no effect beyond the result, may be dropped when unused. ``complete``: fills in operands that were
    left out, from those given (``valid_shape`` from ``shapes``). ``scalar_form``: operator to use instead when
    the second operand is a scalar (``tile.add`` → ``tile.adds``).
    """

    name: str
    params: tuple[Param, ...]
    deduce: Deducer
    summary: str = ""
    memory: OpMemory | None = None
    effects: Mapping[int, ArgEffect] = attrs.field(factory=dict)
    core: CoreType | None = None
    pure: bool = True
    complete: Callable[[list[Expr | None]], None] | None = None
    scalar_form: str | None = None

    operands: tuple[Param, ...] = attrs.field(init=False)
    options: tuple[Param, ...] = attrs.field(init=False)
    option_table: Mapping[str, Param] = attrs.field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        put = object.__setattr__
        put(self, "operands", tuple(p for p in self.params if p.is_operand))
        put(self, "options", tuple(p for p in self.params if not p.is_operand))
        put(self, "option_table", {p.name: p for p in self.options})

    @property
    def namespace(self) -> str:
        """``tile`` of ``tile.matmul``."""
        return self.name.partition(".")[0]

    def effect(self, index: int) -> ArgEffect:
        """What the operator does to the storage of argument ``index``."""
        return self.effects.get(index, ArgEffect.Read)


__all__ = [
    "INHERIT",
    "OMIT",
    "OPERAND_KINDS",
    "REQUIRED",
    "Access",
    "Deducer",
    "FromOption",
    "Kind",
    "OpDef",
    "OpMemory",
    "Param",
]
