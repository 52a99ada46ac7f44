"""What lies between a target and its emission recipes.

A target walks a function and calls, for each operator, the recipe that some plugin registered for it: a callable
``(ctx, call, result) -> None``. ``ctx`` is an :class:`EmitContext`, ``call`` the call to write and ``result`` the
variable that it is assigned to, None when its value is not used. The names here are all that a plugin with operators
of its own needs to have them written; it never imports the plugin of the target.

A recipe for an operator of one tile::

    def emit_swish(ctx: EmitContext, call: Call, result: Var | None) -> None:
        source, out = ctx.operand(call.args[0]), ctx.output(result)
        ctx.line(f"pto.tswish ins({source.name} : {source.type}) outs({out.name} : {out.type})")
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import attrs

if TYPE_CHECKING:
    from pypto_core.contract.backend import Backend
    from pypto_core.diagnostics import UserError
    from pypto_core.ir import Call, DataType, Expr, Type, Var


@attrs.frozen
class Operand:
    """A value of the written text: its name with the sigil, and its type as text."""

    name: str
    type: str


class EmitContext(Protocol):
    """What a recipe may ask of the target that runs it.

    Everything that is written lands, in order, where the call stands.
    """

    @property
    def backend(self) -> Backend | None:
        """The machine that is written for; None when none was chosen."""
        ...

    def option(self, name: str, default: Any = None) -> Any:
        """An option of the compilation."""
        ...

    # -- operands

    def operand(self, expr: Expr) -> Operand:
        """A tile, a buffer, a tensor or a scalar, in its own type; scalar operators in ``expr`` are written first.

        Of a buffer it is the very object that was bound to its handle.
        """
        ...

    def scalar(self, expr: Expr, dtype: DataType) -> Operand:
        """A scalar as an element of ``dtype``: constants directly, everything else converted when it differs."""
        ...

    def index(self, expr: Expr) -> Operand:
        """An integer as an index."""
        ...

    def constant(self, value: int | float | bool, dtype: DataType) -> Operand:
        """A constant; equal ones of one type are written once."""
        ...

    def partition(
        self, tensor: Expr, offsets: Sequence[Expr], sizes: Sequence[Expr], what: str = ""
    ) -> Operand:
        """A window of a tensor in global memory; ``what``: a name to call it by."""
        ...

    def position(self, name: str) -> Operand:
        """What the runtime tells a kernel of its place, as an index: ``block_idx``, ``block_num``, ``subblock_idx``."""
        ...

    # -- results

    def output(self, result: Var | None) -> Operand:
        """The storage that the call's result goes to, declared when this is the first that is heard of it."""
        ...

    def output_onto(self, result: Var | None, operand: Expr) -> Operand:
        """The storage of a result that starts as a copy of ``operand``: the operand's own when they share it."""
        ...

    def bind(self, result: Var | None, value: Operand) -> None:
        """Let the result be a value that exists already."""
        ...

    # -- text

    def line(self, text: str) -> None:
        """Write one operation."""
        ...

    def value(self, text: str, type: str, what: str = "") -> Operand:
        """Write one operation with a result and name it; ``what``: a name to call it by."""
        ...

    def type_of(self, kind: Type) -> str:
        """A type as text."""
        ...

    def error(self, message: str, *, remedy: str = "", **facts: object) -> UserError:
        """An error at the call, to be raised."""
        ...


Recipe = Callable[[EmitContext, "Call", "Var | None"], None]
"""How one operator is written; see the module."""


def names_of(operands: Iterable[Operand]) -> str:
    """``%a, %b``."""
    return ", ".join([o.name for o in operands])


def types_of(operands: Iterable[Operand]) -> str:
    """``T, U``."""
    return ", ".join([o.type for o in operands])
