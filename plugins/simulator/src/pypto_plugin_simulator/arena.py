"""On-chip memory as bytes, each with a mark that says which event wrote it last.

An event is one write by one operator. It belongs to a *root*: the value, or the allocated buffer, whose bytes it sets.
Who reads says which root is meant and up to which event, so that a byte that another value has taken over, or that
nobody has written, is found whatever happens to stand in it.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import numpy as np

from pypto_core.diagnostics import UNKNOWN_SPAN, Span
from pypto_core.ir import DataType, ElementMap, MemorySpace, StridedBlock
from pypto_plugin_simulator.formats import Array, from_nibbles, numpy_dtype, poisoned

Extents = tuple[int, ...]
FILL = 0xA5
ANY_TIME = 1 << 31
NOBODY = 0
"""The mark of a byte that was never written; also the root of scratch, which no one may read."""


@attrs.frozen
class Event:
    """A write: which operator made it, for which variable, where."""

    what: str
    span: Span = UNKNOWN_SPAN

    def __str__(self) -> str:
        return f"{self.what} ({self.span})" if self.span.is_valid else self.what


@attrs.define(eq=False)
class Ledger:
    """All events of a run, and the root of each."""

    events: list[Event] = attrs.field(factory=lambda: [Event("nothing")])
    roots: Array = attrs.field(factory=lambda: np.zeros(1024, np.int32))

    def record(self, event: Event, root: int | None = None) -> int:
        """The number of a new event; it begins a root of its own when None is given."""
        number = len(self.events)
        if number == len(self.roots):
            self.roots = np.concatenate([self.roots, np.zeros_like(self.roots)])
        self.events.append(event)
        self.roots[number] = number if root is None else root
        return number


@attrs.define(eq=False)
class Arena:
    """One memory, or one allocation where memory is not planned. ``size``: bytes it has, None for no bound."""

    space: MemorySpace
    name: str
    size: int | None
    data: Array = attrs.field(factory=lambda: np.full(0, FILL, np.uint8))
    marks: Array = attrs.field(factory=lambda: np.zeros(0, np.int32))

    def reach(self, stop: int) -> None:
        """Have the bytes up to ``stop``."""
        have = len(self.data)
        if stop > have:
            more = max(stop, 2 * have, 4096) - have
            self.data = np.concatenate([self.data, np.full(more, FILL, np.uint8)])
            self.marks = np.concatenate([self.marks, np.zeros(more, np.int32)])


@attrs.frozen(eq=False, kw_only=True)
class Tile:
    """A tile in memory.

    ``start``: address of the map's first position. ``valid``: extents that hold data. ``root``, ``time``: what it
    means by its bytes: those of that root, written up to that event. ``room``: the bytes (start, stop) planned for
    it. ``written``: the tile as it was when its bytes were written, where that was not here or not so.
    """

    arena: Arena
    start: int
    map: ElementMap
    shape: Extents
    valid: Extents
    root: int
    time: int
    room: tuple[int, int]
    name: str
    written: Tile | None = None

    @property
    def dtype(self) -> DataType:
        """Element type."""
        return self.map.dtype

    def span(self, extents: Extents, offset: Extents | None = None) -> tuple[int, int]:
        """The first byte and the one after the last of a part; (0, 0) of an empty one."""
        low, high = 1 << 62, 0
        for block in self.map.blocks(extents, offset):
            first, last = _reach(block)
            low, high = min(low, first), max(high, last + 1)
        bits = bits_of(self.dtype)
        return (self.start + low * bits // 8, self.start - (-high * bits // 8)) if high else (0, 0)

    def runs(self, extents: Extents, offset: Extents | None = None) -> list[tuple[int, int]]:
        """The bytes of a part, as intervals."""
        return [(self.start + a, self.start + b) for a, b in self.map.byte_runs(extents, offset)]


def bits_of(dtype: DataType) -> int:
    """Bits that an element takes in memory."""
    return 4 if dtype.bits == 4 else 8 * dtype.element_bytes


def _reach(block: StridedBlock) -> tuple[int, int]:
    return block.start, block.start + sum((d.count - 1) * d.stride for d in block.digits)


class WrongByte(Exception):
    """A byte that does not belong to the root that is read. ``event``: who wrote it last."""

    def __init__(self, address: int, event: int) -> None:
        super().__init__(address, event)
        self.address, self.event = address, event


def read_part(tile: Tile, extents: Extents, offset: Extents, ledger: Ledger) -> Array:
    """The elements of a part. Raises WrongByte where one holds another value's data."""
    out = poisoned(extents, tile.dtype)
    for block, window, places in _parts(tile, extents, offset):
        _check(places.marks(), tile, block, ledger)
        out[window] = places.values().reshape(block.shape)
    return out


def peek_part(tile: Tile, extents: Extents, offset: Extents, ledger: Ledger) -> tuple[Array, Array]:
    """(elements, which of them hold data of this tile); the others are undefined."""
    out, good = poisoned(extents, tile.dtype), np.zeros(extents, np.bool_)
    for block, window, places in _parts(tile, extents, offset):
        fine = ~_strange(places.marks(), tile, ledger).any(axis=-1).reshape(block.shape)
        out[window][fine] = places.values().reshape(block.shape)[fine]
        good[window] = fine
    return out, good


def write_part(tile: Tile, part: Array, offset: Extents, mark: int, where: Array | None = None) -> None:
    """Put elements into their places and mark their bytes, or only those that ``where`` says."""
    for block, window, places in _parts(tile, part.shape, offset):
        counts = [d.count for d in block.digits]
        places.put(part[window].reshape(counts))
        places.mark(mark, None if where is None else where[window].reshape(counts))


def strangers(tile: Tile, ledger: Ledger) -> int | None:
    """A later event that has written bytes of this tile's root, if there is one."""
    for _, _, places in _parts(tile, tile.valid, (0,) * len(tile.valid)):
        marks = places.marks()
        later = (ledger.roots[marks] == tile.root) & (marks > tile.time)
        if later.any():
            return int(marks.reshape(-1)[int(np.argmax(later))])
    return None


def holds_any(tile: Tile, ledger: Ledger) -> bool:
    """Whether any byte of a tile's valid part was written as one of its root."""
    parts = _parts(tile, tile.valid, (0,) * len(tile.valid))
    return any((ledger.roots[places.marks()] == tile.root).any() for _, _, places in parts)


def mark_part(tile: Tile, extents: Extents, mark: int) -> None:
    """Mark the bytes of the corner, whose contents nobody is to rely on."""
    for _, _, places in _parts(tile, extents, (0,) * len(extents)):
        places.mark(mark)


def _parts(
    tile: Tile, extents: Extents, offset: Extents
) -> Iterator[tuple[StridedBlock, tuple[slice, ...], _Strided | _Nibbles]]:
    kind = _Nibbles if tile.dtype.bits == 4 else _Strided
    for block in tile.map.blocks(extents, offset):
        window = tuple(
            slice(i - o, i - o + n) for i, o, n in zip(block.index, offset, block.shape, strict=True)
        )
        yield block, window, kind(tile, block)


def _strange(marks: Array, tile: Tile, ledger: Ledger) -> Array:
    """Which marks are not of the tile's root, or too late."""
    return (ledger.roots[marks] != tile.root) | (marks > tile.time) | (marks == NOBODY)


def _check(marks: Array, tile: Tile, block: StridedBlock, ledger: Ledger) -> None:
    first = marks[(0,) * marks.ndim]
    if (marks == first).all():  # one event wrote it all, as a rule
        if not _strange(marks.reshape(-1)[:1], tile, ledger)[0]:
            return
        raise WrongByte(tile.start + block.start * bits_of(tile.dtype) // 8, int(first))
    wrong = _strange(marks, tile, ledger)
    if wrong.any():
        index = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
        steps = zip(index, block.digits, strict=False)
        position = block.start + sum(int(i) * d.stride for i, d in steps)
        raise WrongByte(tile.start + position * bits_of(tile.dtype) // 8, int(marks[index]))


class _Strided:
    """The elements of a block, as a view of the arena."""

    def __init__(self, tile: Tile, block: StridedBlock) -> None:
        self.arena, self.kind = tile.arena, numpy_dtype(tile.dtype)
        self.item = self.kind.itemsize
        self.shape = [d.count for d in block.digits]
        self.strides = [d.stride * self.item for d in block.digits]
        self.first = tile.start + block.start * self.item
        tile.arena.reach(tile.start + (_reach(block)[1] + 1) * self.item)

    def values(self) -> Array:
        """The elements in place."""
        return np.ndarray(self.shape, self.kind, self.arena.data.data, self.first, self.strides)

    def put(self, part: Array) -> None:
        """Overwrite them."""
        self.values()[...] = part

    def marks(self) -> Array:
        """The marks of their bytes, with a further axis for the bytes of one element."""
        strides = [4 * s for s in self.strides]
        return np.ndarray(
            [*self.shape, self.item], np.int32, self.arena.marks.data, 4 * self.first, [*strides, 4]
        )

    def mark(self, mark: int, where: Array | None = None) -> None:
        """Mark their bytes, or those of the elements that ``where`` says."""
        self.marks()[... if where is None else where] = mark


class _Nibbles:
    """The four-bit elements of a block: the first of a byte in its low half."""

    def __init__(self, tile: Tile, block: StridedBlock) -> None:
        self.arena, self.dtype = tile.arena, tile.dtype
        place = np.full((), 2 * tile.start + block.start)
        for digit in block.digits:
            place = np.add.outer(place, digit.stride * np.arange(digit.count))
        self.bytes, self.high = place // 2, place % 2 == 1
        tile.arena.reach(tile.start + _reach(block)[1] // 2 + 1)

    def values(self) -> Array:
        """Copies of the elements."""
        both = self.arena.data[self.bytes]
        nibbles = np.where(self.high, both >> 4, both & 0xF).astype(np.uint8)
        return from_nibbles(nibbles, self.dtype)

    def put(self, part: Array) -> None:
        """Overwrite them; the other element of a byte keeps its half."""
        low = part.view(np.uint8) & 0xF
        for half, keep, shift in ((~self.high, 0xF0, 0), (self.high, 0x0F, 4)):
            where = self.bytes[half]
            self.arena.data[where] = (self.arena.data[where] & keep) | (low[half] << shift)

    def marks(self) -> Array:
        """The marks of their bytes, with a further axis as for wider elements."""
        return self.arena.marks[self.bytes][..., None]

    def mark(self, mark: int, where: Array | None = None) -> None:
        """Mark their bytes, or those of the elements that ``where`` says."""
        self.arena.marks[self.bytes if where is None else self.bytes[where]] = mark
