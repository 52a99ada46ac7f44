"""What the recipes of several operators have in common."""

from __future__ import annotations

from pypto_core.ir import Call, Expr, MakeTuple, TileType, Var
from pypto_plugin_buffer_ir.lower.descriptors import Dims, is_empty, valid_of
from pypto_plugin_buffer_ir.lower.writer import Writer
from pypto_plugin_buffer_ir.refusal import refused


def needed(w: Writer, call: Call, result: Var | None) -> Var:
    """The variable that the result is assigned to."""
    if result is None:
        raise refused(f"the result of {call.op.name} is not assigned to anything", w.span)
    return result


def elements(w: Writer, arg: Expr, call: Call) -> Dims:
    """Offsets or extents of two axes, written out."""
    if not isinstance(arg, MakeTuple) or len(arg.elements) != 2:
        raise refused(f"{call.op.name} needs two offsets or extents that are written out", w.span)
    return tuple(w.plain(e) for e in arg.elements)


def only_options(w: Writer, call: Call, *known: str) -> None:
    """Refuse options that the buffer form has no word for."""
    extra = [name for name in call.kwargs if name not in known]
    if extra:
        raise refused(f"{call.op.name} with {', '.join(extra)} requires a Buffer transfer recipe", w.span)


def stated(w: Writer, result: Var) -> None:
    """Tell a buffer whose extents are open which of them the coming operator fills."""
    w.state_valid(w.handle(result), valid_of(w.tile(result)))


def does_nothing(kind: TileType) -> bool:
    """Whether an operator has certainly no element to work on."""
    return is_empty(kind.valid_shape)
