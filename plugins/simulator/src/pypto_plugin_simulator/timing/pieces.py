"""Who touched a byte last, for streams of byte ranges.

The ends of all ranges cut each memory into pieces that are always touched as a whole. What is known of the last
accesses is one table for each memory, with a column for each piece, so that an access costs as much as it has pieces.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

from pypto_plugin_simulator.timing.stream import Extent, Work

Ints = NDArray[np.int64]
Pieces = slice | Ints
"""What picks the pieces of an access out of a table: a slice when they are adjacent, else their numbers."""


@attrs.frozen(eq=False)
class Access:
    """Pieces of one memory that a work touches."""

    area: str
    pieces: Pieces

    def numbers(self) -> list[int]:
        """The pieces by number, ascending."""
        if isinstance(self.pieces, slice):
            return list(range(self.pieces.start, self.pieces.stop))
        return self.pieces.tolist()


@attrs.frozen(eq=False)
class Pieced:
    """The ranges of some works by pieces.

    ``starts``: for each memory the first byte of each piece, and the end of the last one. ``reads``, ``writes``: the
    accesses of each work, in the works' order.
    """

    starts: dict[str, Ints]
    reads: tuple[tuple[Access, ...], ...]
    writes: tuple[tuple[Access, ...], ...]

    def count(self, area: str) -> int:
        """How many pieces a memory has."""
        return len(self.starts[area])


def cut(works: Sequence[Work]) -> Pieced:
    """Cut every memory at the ends of all ranges."""
    ends: dict[str, list[int]] = {}
    for work in works:
        for area, start, stop in (*work.reads, *work.writes):
            ends.setdefault(area, []).extend((start, stop))
    starts = {area: np.unique(np.array(points, np.int64)) for area, points in ends.items()}
    known: dict[tuple[Extent, ...], tuple[Access, ...]] = {}

    def pieces_of(extents: tuple[Extent, ...]) -> tuple[Access, ...]:
        if extents not in known:  # loops touch the same bytes again and again
            known[extents] = tuple(_accesses(extents, starts))
        return known[extents]

    return Pieced(
        starts,
        tuple(pieces_of(work.reads) for work in works),
        tuple(pieces_of(work.writes) for work in works),
    )


def _accesses(extents: tuple[Extent, ...], starts: dict[str, Ints]) -> list[Access]:
    by_area: dict[str, list[tuple[int, int]]] = {}
    for area, start, stop in extents:
        if start < stop:
            by_area.setdefault(area, []).append((start, stop))
    return [Access(area, _pieces(np.array(pairs, np.int64), starts[area])) for area, pairs in by_area.items()]


def _pieces(pairs: Ints, starts: Ints) -> Pieces:
    first, last = np.searchsorted(starts, pairs[:, 0]), np.searchsorted(starts, pairs[:, 1])
    if len(pairs) == 1:
        return slice(int(first[0]), int(last[0]))
    numbers = {
        n for start, stop in zip(first.tolist(), last.tolist(), strict=True) for n in range(start, stop)
    }
    return np.array(sorted(numbers), np.int64)
