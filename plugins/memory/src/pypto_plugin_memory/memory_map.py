"""What lies where and when: the memories of a placed function over its statements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import attrs

from pypto_core.contract import Backend
from pypto_core.diagnostics import Span
from pypto_core.ir import Function, MemorySpace, Program, base_name
from pypto_core.run import memory_table
from pypto_plugin_memory.buffers import Buffer, buffers_of
from pypto_plugin_memory.map_svg import map_svg

_WIDTH = 48


@attrs.frozen(kw_only=True)
class MapBlock:
    """One allocation. ``address``: first byte, None where the assembler decides. ``live``: statements, half-open.

    ``tiles``: the author's names of what lies in it, in program order; ``span``: where the first is defined.
    """

    name: str
    address: int | None
    bytes: int
    live: tuple[tuple[int, int], ...]
    tiles: tuple[str, ...]
    span: Span = attrs.field(repr=False)


@attrs.frozen(kw_only=True)
class SpaceMap:
    """One memory of one function. ``capacity``: bytes, None without a bound. ``statements``: how many there are.

    ``peak``: where the highest block ends, or the sum of all sizes while there are no addresses. ``live_peak``: the
    most bytes alive at one time.
    """

    function: str
    space: MemorySpace
    capacity: int | None
    statements: int
    blocks: tuple[MapBlock, ...]

    @property
    def addressed(self) -> bool:
        """Whether every block has its place."""
        return all(block.address is not None for block in self.blocks)

    @property
    def peak(self) -> int:
        """Bytes that the plan takes."""
        ends = [block.address + block.bytes for block in self.blocks if block.address is not None]
        return max(ends) if self.addressed else sum(block.bytes for block in self.blocks)

    @property
    def live_peak(self) -> int:
        """Bytes that no plan can do without."""
        moments = {begin for block in self.blocks for begin, _ in block.live}
        return max(
            (
                sum(b.bytes for b in self.blocks if any(begin <= t < end for begin, end in b.live))
                for t in moments
            ),
            default=0,
        )

    def to_json(self) -> dict[str, Any]:
        """Plain data; spans as text."""
        return {
            "function": self.function,
            "space": self.space.name,
            "capacity": self.capacity,
            "peak": self.peak,
            "live_peak": self.live_peak,
            "statements": self.statements,
            "blocks": [
                {
                    "name": b.name,
                    "address": b.address,
                    "bytes": b.bytes,
                    "live": [list(span) for span in b.live],
                    "tiles": list(b.tiles),
                    "where": str(b.span) if b.span.is_valid else None,
                }
                for b in self.blocks
            ],
        }

    def lines(self) -> Iterator[str]:
        """The map as text: one row per block, its life drawn over the statements, and the capacity line."""
        most = max(1, self.statements)
        limit = f" of {self.capacity}" if self.capacity else ""
        share = f" ({self.peak / self.capacity:.0%})" if self.capacity else ""
        yield (
            f"{self.function} {self.space.name}: {self.peak}{limit} bytes{share}, at least {self.live_peak} needed"
        )
        yield f"  {'address':>21}  {'bytes':>8}  statements 0 to {most - 1}"
        for block in sorted(self.blocks, key=lambda b: (-(b.address or 0), b.name)):
            place = (
                "?" if block.address is None else f"{block.address:#x}..{block.address + block.bytes - 1:#x}"
            )
            where = f"  {block.span}" if block.span.is_valid else ""
            yield f"  {place:>21}  {block.bytes:>8}  |{_bar(block, most)}| {' '.join(block.tiles)}{where}"

    def _repr_svg_(self) -> str:
        return map_svg(self)


def _bar(block: MapBlock, most: int) -> str:
    cells = [" "] * _WIDTH
    for begin, end in block.live:
        first = begin * _WIDTH // most
        last = max(first + 1, -(-end * _WIDTH // most))
        cells[first:last] = "█" * (min(last, _WIDTH) - first)
    return "".join(cells[:_WIDTH])


@attrs.frozen
class MemoryMap:
    """The memories of a program, by function and space."""

    spaces: tuple[SpaceMap, ...] = attrs.field(converter=tuple)

    def to_json(self) -> list[dict[str, Any]]:
        """Plain data."""
        return [space.to_json() for space in self.spaces]

    def render(self) -> str:
        """All maps as text."""
        return "\n\n".join("\n".join(space.lines()) for space in self.spaces)

    def svg(self) -> str:
        """All maps as one picture."""
        return map_svg(*self.spaces)

    def _repr_svg_(self) -> str:
        return self.svg()


def memory_map(program: Program | Function, backend: Backend | None = None, *, addressed: bool) -> MemoryMap:
    """The map of a program with MemRefs; ``addressed``: whether their offsets are addresses."""
    functions: Iterable[Function] = (program,) if isinstance(program, Function) else program
    return MemoryMap([m for f in functions if f.is_incore for m in _function_maps(f, backend, addressed)])


def _function_maps(function: Function, backend: Backend | None, addressed: bool) -> Iterator[SpaceMap]:
    buffers = [b for b in buffers_of(function, None) if b.size > 0]
    last = max((end for b in buffers for _, end in b.live), default=0)
    places = {row.name: row.address for row in memory_table(function, addressed=addressed)}
    for space in MemorySpace:
        blocks = [_block(b, places.get(b.allocation.name)) for b in buffers if b.allocation.space is space]
        if blocks:
            yield SpaceMap(
                function=function.name,
                space=space,
                capacity=(backend.capacity(space) or None) if backend is not None else None,
                statements=-(-last // 2),
                blocks=tuple(sorted(blocks, key=lambda b: (b.address or 0, b.name))),
            )


def _block(buffer: Buffer, address: int | None) -> MapBlock:
    allocation = buffer.allocation
    return MapBlock(
        name=allocation.name,
        address=address,
        bytes=allocation.size,
        live=tuple((begin // 2, -(-end // 2)) for begin, end in buffer.live),
        tiles=tuple(dict.fromkeys(base_name(tile.name_hint) for tile in allocation.tiles)),
        span=allocation.span,
    )
