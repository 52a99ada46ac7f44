"""What an operator is: one row that parser, printer, passes, planner, emitter and simulator read.

``params`` lists the parameters in the order of the written form; those that are operands become the call's
``args`` in that order, the options become its ``kwargs``.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from pypto_core.ir import EMPTY_MAP, ArgEffect, CoreType, Expr, MemorySpace, Op, Type
from pypto_core.ops.buffers import BufferUse
from pypto_core.ops.kinds import CHECKS, OPERAND_KINDS, Kind


class _Required:
    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED: Any = _Required()
OMIT: Any = None
"""Default of an optional parameter that is left out of the call when it is not given."""


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
    ``writes_part``: (source, offset) operands of one that changes no more of the result than the source covers there.
    """

    inputs: tuple[tuple[MemorySpace, ...] | None, ...] = ()
    output: MemorySpace | FromOption | str | None = None
    reuses: int | None = None
    inplace_safe: bool = True
    forbids_alias: tuple[int, ...] = ()
    view_of: int | None = None
    access: Access = Access.FULL
    writes_part: tuple[int, int] | None = None


Deducer = Callable[[tuple[Expr, ...], Mapping[str, Any]], Type]
"""(args, kwargs) → result type; raises OpError for arguments that don't fit."""

Completer = Callable[[list[Expr | None]], None]
"""Fills in operands that were left out (None), from those given, in the list itself."""


# Rows are compared by identity: generated comparisons would only cost import time.
@attrs.frozen(kw_only=True, eq=False)
class OpDef:
    """An operator.

    ``name``: dotted, e.g. ``tile.matmul``. ``summary``: one line. ``deduce``: the result's type.
    ``memory``: None for operators that handle no tile and share no storage. ``effects``: what happens to the storage
    of arguments that are not merely read, by index. ``core``: CUBE or VECTOR when the operator fixes it, None when it
    goes either way. ``pure``: no effect beyond the result, may be dropped when unused. ``complete``: fills in
    operands that were left out, from those given (``valid_shape`` from ``shapes``). ``scalar_form``: operator to use
    instead when the second operand is a scalar (``tile.add`` → ``tile.adds``). ``tile_form``: operator with the same
    parameters for a first operand that is a tile where this one takes a tensor, for kernels on tiles. ``buffer``: what
    it does to buffers, for operators of the Buffer stage; None for all others.

    Derived: ``operands`` and ``options`` split ``params``; ``least`` and ``most`` bound the number of arguments;
    ``checks`` recognise each operand; ``needed`` are the options a call must give; ``ref`` is the node that calls
    refer to the operator by.
    """

    name: str
    params: tuple[Param, ...]
    deduce: Deducer
    summary: str = ""
    memory: OpMemory | None = None
    effects: Mapping[int, ArgEffect] = EMPTY_MAP  # type: ignore[assignment]
    core: CoreType | None = None
    pure: bool = True
    complete: Completer | None = None
    scalar_form: str | None = None
    tile_form: str | None = None
    buffer: BufferUse | None = None

    operands: tuple[Param, ...] = attrs.field(init=False, repr=False)
    options: tuple[Param, ...] = attrs.field(init=False, repr=False)
    option_table: Mapping[str, Param] = attrs.field(init=False, repr=False)
    least: int = attrs.field(init=False, repr=False)
    most: int = attrs.field(init=False, repr=False)
    checks: tuple[Callable[[Expr], bool], ...] = attrs.field(init=False, repr=False)
    needed: tuple[Param, ...] = attrs.field(init=False, repr=False)
    ref: Op = attrs.field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        put = object.__setattr__
        operands = tuple([p for p in self.params if p.kind in OPERAND_KINDS])
        options = tuple([p for p in self.params if p.kind not in OPERAND_KINDS])
        put(self, "operands", operands)
        put(self, "options", options)
        put(self, "option_table", {p.name: p for p in options})
        put(self, "least", sum([p.default is REQUIRED for p in operands]))
        put(self, "most", len(operands))
        put(self, "checks", tuple([CHECKS[p.kind] for p in operands]))
        put(self, "needed", tuple([p for p in options if p.default is REQUIRED]))
        put(self, "ref", Op(self.name))

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
    "Completer",
    "Deducer",
    "FromOption",
    "Kind",
    "OpDef",
    "OpMemory",
    "Param",
]
