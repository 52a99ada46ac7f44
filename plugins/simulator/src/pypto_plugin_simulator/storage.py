"""Storage that operators hold in their hands: an allocated buffer, its windows, other looks at its bytes."""

from __future__ import annotations

from typing import Any, Protocol

import attrs

from pypto_core.contract import RESULT, ArrayValue, Touch
from pypto_core.diagnostics import Span
from pypto_core.ir import (
    AccRowAlignment,
    DataType,
    ElementMap,
    MemorySpace,
    conservative_acc_rows,
    physical_bytes,
    static_shape,
    tile_map,
)
from pypto_plugin_simulator.arena import (
    ANY_TIME,
    Arena,
    Event,
    Ledger,
    Tile,
    bits_of,
    peek_part,
    write_part,
)
from pypto_plugin_simulator.formats import Array, poisoned
from pypto_plugin_simulator.meanings.windows import corner

Extents = tuple[int, ...]


def extents_of(kind: Any) -> Extents:
    """The extents that a tile type or a descriptor of a buffer states, all constant."""
    shape = static_shape(kind.shape) if hasattr(kind, "view") else tuple(kind.shape)
    if shape is None:
        raise ValueError(f"the extents of {kind!r} are not constant")
    return shape


def map_of(kind: Any, valid: Extents, acc_rows: AccRowAlignment) -> ElementMap:
    """Where the elements of a tile or a buffer of constant extents lie."""
    found = tile_map(kind, valid, acc_rows)
    assert found is not None
    return found


class Keeper(Protocol):
    """What an engine does where stored tiles are read and written."""

    @property
    def ledger(self) -> Ledger:
        """The events of the run."""
        ...

    def load(self, tile: Tile) -> Array:
        """The valid elements of a tile."""
        ...

    def mark(self, tile: Tile, touch: Touch) -> int:
        """The event of a part of a tile being written, once that is found to be in order."""
        ...


@attrs.frozen(eq=False)
class Lenient:
    """Elements that nobody has written are undefined."""

    ledger: Ledger

    def load(self, tile: Tile) -> Array:
        """The valid elements of a tile."""
        return peek_part(tile, tile.valid, (0,) * len(tile.valid), self.ledger)[0]

    def mark(self, tile: Tile, touch: Touch) -> int:
        """The event of a part of a tile being written."""
        return self.ledger.record(Event(f"'{tile.name}' is written"), tile.root)


def root_of(
    keeper: Keeper,
    kind: Any,
    valid: Extents | None,
    name: str,
    span: Span,
    place: tuple[Arena, int] | None = None,
    acc_rows: AccRowAlignment = conservative_acc_rows,
) -> StoredTile:
    """A new root at ``place`` (arena, address), in bytes of its own when None."""
    shape = extents_of(kind)
    layout = map_of(kind, valid or shape, acc_rows)
    size = physical_bytes(kind, acc_rows)
    arena, start = place or (Arena(kind.memory_space or MemorySpace.Vec, name, size), 0)
    root = keeper.ledger.record(Event(f"'{name}' was allocated", span))
    tile = Tile(
        arena=arena, start=start, map=layout, shape=shape, valid=valid or shape, root=root, time=ANY_TIME,
        room=(start, start + size), name=name,
    )  # fmt: skip
    return StoredTile(keeper, tile, acc_rows)


@attrs.define(eq=False)
class StoredTile:
    """A :class:`pypto_core.contract.TileStorage`: a root, or another look at one."""

    keeper: Keeper
    tile: Tile
    acc_rows: AccRowAlignment

    @property
    def shape(self) -> Extents:
        """Its extents."""
        return self.tile.shape

    @property
    def dtype(self) -> DataType:
        """Its element type."""
        return self.tile.dtype

    @property
    def space(self) -> MemorySpace:
        """The memory that it lies in."""
        return self.tile.arena.space

    @property
    def valid(self) -> Extents:
        """Extents that hold data."""
        return self.tile.valid

    def load(self) -> ArrayValue:
        """The elements, undefined outside of the valid extents."""
        tile = self.tile
        data = poisoned(tile.shape, tile.dtype)
        data[corner(tile.valid)] = self.keeper.load(tile)
        return ArrayValue(data, tile.dtype, tile.valid, tile.shape)

    def store(self, part: Any, offset: Extents | None = None) -> None:
        """Put an array into the elements that begin at ``offset``."""
        first: Extents = offset or (0,) * part.ndim
        touch = Touch(operand=RESULT, offset=first, extent=part.shape, writes=True)
        write_part(self.tile, part, first, self.keeper.mark(self.tile, touch))

    def window(self, offset: Extents, shape: Extents, valid: Extents | None = None) -> StoredTile:
        """The elements from ``offset`` on, where they lie."""
        tile = attrs.evolve(self.tile, map=self.tile.map.window(offset), shape=shape, valid=valid or shape)
        return attrs.evolve(self, tile=tile)

    def relabel(self, kind: Any, valid: Extents | None = None) -> StoredTile:
        """The bytes from the first one on, under another descriptor."""
        shape = extents_of(kind)
        layout = map_of(kind, valid or shape, self.acc_rows)
        tile = attrs.evolve(
            self.tile, start=first_byte(self.tile), map=layout, shape=shape, valid=valid or shape
        )
        return attrs.evolve(self, tile=tile)

    def set_valid(self, valid: Extents) -> None:
        """Other extents that hold data."""
        self.tile = attrs.evolve(self.tile, valid=valid)


def first_byte(tile: Tile) -> int:
    """The address of a tile's first element."""
    position = tile.map.position((0,) * len(tile.shape))
    return tile.start + position * bits_of(tile.dtype) // 8
