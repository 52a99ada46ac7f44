"""Which arguments of a call share storage with its result, and which it changes."""

from __future__ import annotations

from pypto_core.ir import ArgEffect, AtomicType, Call, MakeTuple, TileLayout, TileType, static_shape
from pypto_core.ops.opdef import Access, OpDef
from pypto_core.ops.registry import op_of


def alias_source(call: Call) -> int | None:
    """The argument whose storage the result is or lies in: that of a view, or of an operator that works in place."""
    op = op_of(call)
    if op is None or op.memory is None:
        return None
    return op.memory.view_of if op.memory.view_of is not None else op.memory.reuses


def is_view(call: Call) -> bool:
    """Whether the result is a window or another look at an argument, without any access to memory."""
    op = op_of(call)
    memory = op.memory if op is not None else None
    return memory is not None and memory.view_of is not None and memory.access is Access.NONE


def effect_of(call: Call, index: int) -> ArgEffect:
    """What the call does to the storage of argument ``index``; an atomic write reads it too."""
    op = op_of(call)
    if op is None:
        return ArgEffect.Read
    effect = op.effect(index)
    atomic = call.kwargs.get("atomic", AtomicType.None_) is not AtomicType.None_
    return ArgEffect.ReadWrite if effect is ArgEffect.Write and atomic else effect


def may_write(call: Call, index: int) -> bool:
    """Whether the call changes the storage of argument ``index``."""
    return effect_of(call, index) is not ArgEffect.Read


def written_arguments(call: Call) -> tuple[int, ...]:
    """The arguments whose storage the call changes."""
    op = op_of(call)
    if op is None:
        return ()
    return tuple(i for i in sorted(op.effects) if i < len(call.args) and may_write(call, i))


def alias_forbidden(call: Call) -> tuple[int, ...]:
    """The tile arguments that the result may share no byte with, although they die here.

    All of them when the operator is not safe in place, the listed ones otherwise, and the argument of a cast to wider
    elements, whose result would overtake what it still has to read. Scratch is nothing special: a sum of columns ends
    in the first row of its own, a choice by a mask may not.
    """
    op = op_of(call)
    if op is None or op.memory is None:
        return ()
    tiles = [i for i, arg in enumerate(call.args) if isinstance(arg.type, TileType)]
    if not op.memory.inplace_safe:
        return tuple(tiles)
    forbidden = {*op.memory.forbids_alias, *((0,) if _widens(op, call) else ())}
    return tuple(i for i in tiles if i in forbidden)


def written_span(call: Call) -> tuple[int, int] | None:
    """The bytes, counted from the result's first, between which a call changes its result.

    None where that is all of it, or where the part is not at a constant place in rows that follow each other. Bytes
    between the rows of the part count as changed.
    """
    op = op_of(call)
    part = op.memory.writes_part if op is not None and op.memory is not None else None
    if part is None:
        return None
    source, whole, offset = call.args[part[0]].type, call.type, call.args[part[1]]
    if (
        not isinstance(source, TileType)
        or not isinstance(whole, TileType)
        or not isinstance(offset, MakeTuple)
    ):
        return None
    rows, extents, at = static_shape(source.shape), static_shape(whole.shape), static_shape(offset.elements)
    packed = whole.view.layout[:2] == (TileLayout.row_major, TileLayout.none_box) and not whole.view.stride
    if rows is None or extents is None or at is None or len(rows) != 2 or len(extents) != 2 or not packed:
        return None
    first = at[0] * extents[1] + at[1]
    last = first + (rows[0] - 1) * extents[1] + rows[1]
    return whole.dtype.storage_bytes(first), whole.dtype.storage_bytes(last)


def _widens(op: OpDef, call: Call) -> bool:
    if op.name != "tile.cast" or not isinstance(call.type, TileType):
        return False
    source = call.args[0].type
    return isinstance(source, TileType) and call.type.dtype.bits > source.dtype.bits


_SCRATCH = ("tmp", "tmp_tile", "scratch")


def scratch_arguments(call: Call) -> tuple[int, ...]:
    """The arguments that only lend their storage: what they hold is neither read nor kept."""
    op = op_of(call)
    if op is None:
        return ()
    names = [p.name for p in op.operands]
    if op.name == "tile.mrgsort_format2":  # lists may be left out before it
        return (len(call.args) - 1,)
    return tuple(i for i in range(min(len(names), len(call.args))) if names[i] in _SCRATCH)


def touches_memory(call: Call) -> bool:
    """Whether executing the call reads or writes tiles."""
    op = op_of(call)
    return op is not None and op.memory is not None and op.memory.access is Access.FULL
