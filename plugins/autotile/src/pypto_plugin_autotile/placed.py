"""Operands that the author placed in L0 by hand, and that L0 is too small for."""

from __future__ import annotations

from pypto_core.diagnostics import Note, UserError
from pypto_core.ir import MemorySpace, Var, base_name, static_shape
from pypto_plugin_autotile.hints import RULE
from pypto_plugin_autotile.machine import Machine
from pypto_plugin_autotile.match import Product, tile_type

_L0 = (
    ("left", MemorySpace.Left, "Left (L0A)"),
    ("right", MemorySpace.Right, "Right (L0B)"),
)


def check_placed_operands(product: Product, machine: Machine) -> None:
    """Raise a UserError (PT610) for an operand in Left or Right that is larger than the memory.

    No reuse of buffers and no planner can help there. An operand that just fits, or whose shape is not static, passes.
    """
    for side, space, title in _L0:
        operand = product.lhs if side == "left" else product.rhs
        kind = tile_type(operand)
        shape = static_shape(kind.shape)
        if kind.memory_space is not space or shape is None or machine.capacity(space) == 0:
            continue
        needed, available = machine.bytes_of(kind), machine.capacity(space)
        if needed > available:
            raise _too_large(product, operand, side, title, shape, needed, available)


def _too_large(
    product: Product,
    operand: Var,
    side: str,
    title: str,
    shape: tuple[int, ...],
    needed: int,
    available: int,
) -> UserError:
    name, op = base_name(operand.name_hint), product.call.name
    space = title.split()[0]
    notes = (
        [Note(message=f"'{name}' is placed in {title} here", span=operand.span)]
        if operand.span.is_valid
        else []
    )
    return UserError(
        f"{op} {side} operand '{name}' is already resident in {title} with physical shape {list(shape)} and dtype "
        f"{tile_type(operand).dtype}, requiring {needed} bytes, but the active backend provides {available} bytes.",
        code="PT610",
        span=product.call.span if product.call.span.is_valid else product.stmt.span,
        facts={
            "operand": name,
            "physical shape": list(shape),
            "dtype": tile_type(operand).dtype.name,
            "needed bytes": needed,
            "available bytes": available,
            "memory": title,
        },
        remedy=f"{RULE} does not retile operands already placed in Left or Right. Keep this operand in Mat and pass it "
        f"directly to {op}, so that it is tiled for you, or manually extract a smaller {space} tile.",
        notes=notes,
    )
