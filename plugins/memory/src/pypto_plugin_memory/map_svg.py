"""A memory map as a picture: statements from left to right, addresses from bottom to top."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from pypto_plugin_memory.memory_map import MapBlock, SpaceMap

_WIDTH, _HEIGHT, _LEFT, _TOP, _GAP = 640, 200, 90, 28, 34
_COLOURS = ("#4c78a8", "#f58518", "#54a24b", "#b279a2", "#e45756", "#72b7b2", "#9d755d", "#bab0ac")


def map_svg(*spaces: SpaceMap) -> str:
    """One panel per memory; blocks without an address are stacked. The dashed line is the capacity."""
    height = max(1, len(spaces)) * (_TOP + _HEIGHT + _GAP)
    size = f'width="{_LEFT + _WIDTH + 20}" height="{height}"'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="11">']
    for number, space in enumerate(spaces):
        parts.append(f'<g transform="translate({_LEFT} {number * (_TOP + _HEIGHT + _GAP) + _TOP})">')
        parts += _panel(space)
        parts.append("</g>")
    return "\n".join([*parts, "</svg>"]) + "\n"


def _panel(space: SpaceMap) -> Iterator[str]:
    # A memory that is nearly empty is drawn up to twice what is used, so that its blocks can be seen.
    capacity = space.capacity
    top = max(space.peak, 1) if capacity is None else max(space.peak, min(capacity, 2 * space.peak), 1)
    most = max(1, space.statements)
    limit = "" if capacity is None else f" of {capacity}"
    yield f'<text x="0" y="-10">{escape(space.function)} {space.space.name}: {space.peak}{limit} bytes</text>'
    yield f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="none" stroke="#999"/>'
    base = 0
    for number, block in enumerate(space.blocks):
        address = block.address if block.address is not None else base
        base += block.bytes
        yield from _rectangles(block, address, top, most, _COLOURS[number % len(_COLOURS)])
    if capacity is not None and capacity <= top:
        y = _HEIGHT - capacity * _HEIGHT / top
        yield f'<line x1="0" x2="{_WIDTH}" y1="{y:.1f}" y2="{y:.1f}" stroke="#c00" stroke-dasharray="6 3"/>'
    yield f'<text x="-6" y="{_HEIGHT}" text-anchor="end">0</text>'
    yield f'<text x="-6" y="8" text-anchor="end">{top}</text>'
    yield f'<text x="0" y="{_HEIGHT + 14}">statement 0</text>'
    yield f'<text x="{_WIDTH}" y="{_HEIGHT + 14}" text-anchor="end">{most - 1}</text>'


def _rectangles(block: MapBlock, address: int, top: int, most: int, colour: str) -> Iterator[str]:
    height = block.bytes * _HEIGHT / top
    y = _HEIGHT - address * _HEIGHT / top - height
    where = f" ({block.span})" if block.span.is_valid else ""
    place = "the assembler places it" if block.address is None else f"at {block.address:#x}"
    title = f"{', '.join(block.tiles)}{where}: {block.bytes} bytes, {place}"
    for begin, end in block.live:
        x, width = begin * _WIDTH / most, max(2.0, (end - begin) * _WIDTH / most)
        yield (
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{colour}" '
            f'fill-opacity="0.75" stroke="#fff" stroke-width="0.5"><title>{escape(title)}</title></rect>'
        )
