"""Where the elements of a tile lie in its storage: the one place where that is decided.

Each axis of a tile is cut into digits: an index is split into a box number and a place within the box, and each digit
moves by a stride of its own. An element's position is the sum over all digits of all axes. Positions count in elements
from the first one of the storage; :attr:`DataType.bits` turns them into bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod

import attrs

from pypto_core.ir.buffers import BufferType
from pypto_core.ir.dtypes import DataType
from pypto_core.ir.enums import CompactMode, MemorySpace, TileLayout
from pypto_core.ir.footprint import AccRowAlignment, conservative_acc_rows, round_up, stored_extents
from pypto_core.ir.shaped import TileType, TileView, box_shape, static_dim, static_shape

_NONE, _COL = TileLayout.none_box, TileLayout.col_major
Extents = tuple[int, ...]


@attrs.frozen
class Digit:
    """``count`` steps of ``stride`` elements each."""

    count: int
    stride: int


Axis = tuple[Digit, ...]
"""The digits of one index, the most significant first. All but the first have a fixed count."""


@attrs.frozen
class StridedBlock:
    """A part of a tile that one set of strides reaches.

    ``index``: its first element; ``shape``: its extents; ``start``: the position of its first element;
    ``digits``: those of all axes in order, whose counts multiply to the extents.
    """

    index: Extents
    shape: Extents
    start: int
    digits: tuple[Digit, ...]


@attrs.frozen
class ElementMap:
    """The positions of a tile's elements.

    ``origin``: the index at which the tile's first element stands, empty for the first of all. ``start``: position of
    the index of zeros.
    """

    axes: tuple[Axis, ...]
    dtype: DataType
    origin: Extents = ()
    start: int = 0

    def position(self, index: Sequence[int]) -> int:
        """The position of one element."""
        digits = zip(self.axes, index, self._origin(), strict=True)
        return self.start + sum(_along(axis, i + o) for axis, i, o in digits)

    def _origin(self) -> Extents:
        return self.origin or (0,) * len(self.axes)

    def window(self, offset: Sequence[int]) -> ElementMap:
        """The same storage seen from the element at ``offset``."""
        moved = tuple(o + d for o, d in zip(self._origin(), offset, strict=True))
        return attrs.evolve(self, origin=moved if any(moved) else ())

    def transposed(self) -> ElementMap:
        """The last two axes exchanged."""
        *lead, rows, cols = self.axes
        origin = self._origin()
        swapped = (*origin[:-2], origin[-1], origin[-2]) if self.origin else ()
        return attrs.evolve(self, axes=(*lead, cols, rows), origin=swapped)

    def without(self, axes: Sequence[int]) -> ElementMap:
        """Without axes, of which the tile has one index each."""
        gone = {a % len(self.axes) for a in axes}
        origin = self._origin()
        left = [a for a in range(len(self.axes)) if a not in gone]
        return attrs.evolve(
            self,
            axes=tuple(self.axes[a] for a in left),
            origin=tuple(origin[a] for a in left),
            start=self.start + sum(_along(self.axes[a], origin[a]) for a in gone),
        )

    def expanded(self, rank: int) -> ElementMap:
        """With axes of extent 1 in front, to a rank of ``rank``."""
        more = rank - len(self.axes)
        if more <= 0:
            return self
        one = (Digit(1, 0),)
        return attrs.evolve(self, axes=(one,) * more + self.axes, origin=(0,) * more + self._origin())

    def blocks(self, shape: Extents, offset: Extents | None = None) -> Iterator[StridedBlock]:
        """The elements from ``offset`` to ``offset + shape`` as parts with one set of strides each."""
        if not all(shape):
            return
        offset = offset or (0,) * len(shape)
        origin = self._origin()
        cuts = [
            tuple(_cut(axis, o + first, o + first + n))
            for axis, o, first, n in zip(self.axes, origin, offset, shape, strict=True)
        ]
        for parts in product(*cuts):
            yield StridedBlock(
                index=tuple(first - o for (first, _, _), o in zip(parts, origin, strict=True)),
                shape=tuple(prod(d.count for d in digits) for _, _, digits in parts),
                start=self.start + sum(start for _, start, _ in parts),
                digits=tuple(digit for _, _, digits in parts for digit in digits),
            )

    def byte_runs(self, shape: Extents, offset: Extents | None = None) -> list[tuple[int, int]]:
        """The bytes (start, stop) of those elements, from the storage's first; runs that meet are joined."""
        runs: list[tuple[int, int]] = []
        bits = self.dtype.bits if self.dtype.bits == 4 else 8 * self.dtype.element_bytes
        for block in self.blocks(shape, offset):
            length, outer = _joined(block.digits)
            for steps in product(*(range(0, d.count * d.stride, d.stride) for d in outer)):
                first = block.start + sum(steps)
                runs.append((first * bits // 8, -(-(first + length) * bits // 8)))
        return _merged(runs)


def _along(axis: Axis, index: int) -> int:
    out = 0
    for digit in reversed(axis[1:]):
        index, rest = divmod(index, digit.count)
        out += rest * digit.stride
    return out + index * axis[0].stride


def _cut(axis: Axis, first: int, stop: int) -> Iterator[tuple[int, int, tuple[Digit, ...]]]:
    """(index, position, digits) of the parts of an interval: whole boxes together, the boxes at its ends apart."""
    if len(axis) == 1:
        yield first, first * axis[0].stride, (Digit(stop - first, axis[0].stride),)
        return
    outer, inner = axis
    size = inner.count
    at = first
    if at % size:
        end = min(stop, round_up(at, size))
        yield at, _along(axis, at), (Digit(end - at, inner.stride),)
        at = end
    whole = (stop - at) // size
    if whole > 0:
        yield at, _along(axis, at), (Digit(whole, outer.stride), Digit(size, inner.stride))
        at += whole * size
    if at < stop:
        yield at, _along(axis, at), (Digit(stop - at, inner.stride),)


def _joined(digits: Sequence[Digit]) -> tuple[int, list[Digit]]:
    """(elements in a row, the digits beyond them)."""
    length = 1
    outer: list[Digit] = []
    for digit in sorted((d for d in digits if d.count > 1), key=lambda d: d.stride):
        if not outer and digit.stride == length:
            length *= digit.count
        else:
            outer.append(digit)
    return length, outer[::-1]


def _merged(runs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    for start, stop in sorted(runs):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(stop, out[-1][1]))
        else:
            out.append((start, stop))
    return out


def element_map(shape: Extents, dtype: DataType, view: TileView, rows: int | None = None) -> ElementMap:
    """The map of a tile of ``shape`` under a layout.

    ``view``: has the blayout, slayout and fractal, and perhaps strides. ``rows``: rows that the storage has, where
    they are not the shape's: padded ones, or fewer where rows lie at the pitch of the valid ones.
    """
    strides = static_shape(view.stride)
    if strides:
        return ElementMap(tuple((Digit(n, s),) for n, s in zip(shape, strides, strict=True)), dtype)
    if len(shape) < 2:
        return ElementMap(tuple((Digit(n, 1),) for n in shape), dtype)
    *lead, height, width = shape
    height = height if rows is None else rows
    column, row = stored_extents((height, width), dtype, view)
    axes: list[Axis] = []
    step = column * row
    for extent in reversed(lead):
        axes.insert(0, (Digit(extent, step),))
        step *= extent
    if view.slayout is _NONE:
        by_column = view.blayout is _COL
        axes += [(Digit(height, 1 if by_column else row),), (Digit(width, column if by_column else 1),)]
        return ElementMap(tuple(axes), dtype)
    tall, wide = box_shape(view, dtype)
    down, across = (tall * wide, height * wide) if view.blayout is _COL else (width * tall, tall * wide)
    inner = (1, tall) if view.slayout is _COL else (wide, 1)
    axes.append((Digit(-(-height // tall), down), Digit(tall, inner[0])))
    axes.append((Digit(-(-width // wide), across), Digit(wide, inner[1])))
    return ElementMap(tuple(axes), dtype)


def storage_rows(
    shape: Extents,
    dtype: DataType,
    space: MemorySpace | None,
    compact: CompactMode,
    valid: Extents,
    acc_rows: AccRowAlignment = conservative_acc_rows,
) -> int | None:
    """Rows of a tile's storage, None where they are those of its shape.

    Accumulators are padded to ``acc_rows``; compact ones lie at the pitch of their valid rows, padded alike.
    """
    if space is not MemorySpace.Acc or len(shape) < 2:
        return None
    rows = valid[-2] if compact is not CompactMode.null else shape[-2]
    return round_up(max(rows, 1), acc_rows(dtype))


def _view_of(kind: BufferType) -> TileView:
    return TileView(blayout=kind.blayout, slayout=kind.slayout, fractal=kind.fractal, compact=kind.compact)


def tile_map(
    kind: TileType | BufferType,
    valid: Extents | None = None,
    acc_rows: AccRowAlignment = conservative_acc_rows,
) -> ElementMap | None:
    """The map of a tile that owns its storage; None when an extent is not a constant.

    ``valid``: its valid extents at run time, on which that of a compact accumulator depends; its shape when None.
    """
    if isinstance(kind, BufferType):
        shape, view = kind.shape, _view_of(kind)
    else:
        shape, view = static_shape(kind.shape), kind.view
    if shape is None:
        return None
    rows = storage_rows(shape, kind.dtype, kind.memory_space, view.compact, valid or shape, acc_rows)
    out = element_map(shape, kind.dtype, view, rows)
    start = static_dim(view.start_offset) if view.start_offset is not None else 0
    return attrs.evolve(out, start=start) if start else out
