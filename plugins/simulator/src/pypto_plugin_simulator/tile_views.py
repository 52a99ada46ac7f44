"""Other looks at the bytes of a tile: windows, transposed and relabelled ones."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import attrs
import numpy as np

from pypto_core.contract import ArrayValue
from pypto_core.ir import AccRowAlignment, ElementMap, TileType
from pypto_plugin_simulator.accesses import shell
from pypto_plugin_simulator.arena import Tile
from pypto_plugin_simulator.context import Context, as_declared
from pypto_plugin_simulator.formats import Array
from pypto_plugin_simulator.places import wrong
from pypto_plugin_simulator.storage import first_byte, map_of

Extents = tuple[int, ...]


def look(context: Context, tile: Tile, operands: tuple[Any, ...], acc_rows: AccRowAlignment) -> Tile:
    """The tile that a view operator gives: extents as its meaning says, bytes of its operand."""
    call = context.call
    given = (shell(tile), *operands[1:])
    found = context.source.meanings.apply(context, given)
    value = as_declared(found, call.type, context.run, context.frame)
    assert isinstance(value, ArrayValue)
    seen = _seen(context, tile, operands, value, acc_rows)
    if tile.written is None:
        return seen
    return attrs.evolve(seen, written=_seen(context, tile.written, operands, value, acc_rows))


def _seen(
    context: Context, tile: Tile, operands: tuple[Any, ...], value: ArrayValue, acc_rows: AccRowAlignment
) -> Tile:
    call = context.call
    assert isinstance(call.type, TileType)
    out = attrs.evolve(tile, shape=value.shape, valid=value.valid)
    match call.name:
        case "tile.slice":
            return attrs.evolve(out, map=_cut(tile.map, operands, value.shape))
        case "tile.transpose_view":
            return attrs.evolve(out, map=tile.map.transposed())
        case "tile.set_validshape":
            return out
        case _:
            layout = map_of(call.type, value.valid, acc_rows)
            if call.name == "tile.reshape" and not _same_order(tile.map, tile.shape, layout, value.shape):
                raise wrong(
                    f"{call.name} gives '{tile.name}' a shape in which its elements would have to move",
                    call.span,
                    code="SIM-014",
                    remedy="move the tile to a layout without gaps and boxes first",
                    shape=list(tile.shape),
                    result=list(value.shape),
                )
            return attrs.evolve(out, start=first_byte(tile), map=layout)


def _cut(layout: ElementMap, operands: tuple[Any, ...], shape: Extents) -> ElementMap:
    offset = operands[2]
    drop = operands[4] if len(operands) > 4 else ()
    window = layout.window(offset)
    return window.without(drop).expanded(len(shape)) if drop else window


@lru_cache(maxsize=256)
def _same_order(old: ElementMap, old_shape: Extents, new: ElementMap, new_shape: Extents) -> bool:
    """Whether counting row by row visits the same positions under both."""
    before, after = _positions(old, old_shape), _positions(new, new_shape)
    before -= before.flat[0]
    return bool(np.array_equal(before.reshape(-1), after.reshape(-1)))


def _positions(layout: ElementMap, shape: Extents) -> Array:
    out = np.zeros(shape, np.int64)
    for block in layout.blocks(shape, (0,) * len(shape)):
        place: Array = np.full((), block.start)
        for digit in block.digits:
            place = np.add.outer(place, digit.stride * np.arange(digit.count))
        window = tuple(slice(i, i + n) for i, n in zip(block.index, block.shape, strict=True))
        out[window] = place.reshape(block.shape)
    return out
