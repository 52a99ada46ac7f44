"""What one operator reads and writes of tiles in memory, and the errors that come of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs
import numpy as np

from pypto_core.contract import RESULT, ArrayValue, Touch
from pypto_core.diagnostics import Span, UserError
from pypto_core.ir import AccRowAlignment, Call, MemorySpace, round_up
from pypto_core.ops import alias_forbidden
from pypto_plugin_simulator.arena import NOBODY, Ledger, Tile, WrongByte, read_part, strangers
from pypto_plugin_simulator.formats import poison, poisoned
from pypto_plugin_simulator.places import wrong
from pypto_plugin_simulator.storage import first_byte

Extents = tuple[int, ...]
_REMEDY = "the plan is wrong, or the program reads what it never wrote: see the statements below"


@attrs.frozen(eq=False)
class Access:
    """A part of an operand. ``operand``: a :class:`Tile`, or an ArrayValue in global memory.

    ``index``: which operand it is; RESULT for storage that an operator reads itself.
    """

    index: int
    operand: Any
    touch: Touch


def shell(tile: Tile) -> ArrayValue:
    """A tile's extents and type, with undefined elements that take no room."""
    data = np.broadcast_to(poison(tile.dtype), tile.shape)
    return ArrayValue(data, tile.dtype, tile.valid, tile.shape)


def fetch(ledger: Ledger, call: Call, given: tuple[Any, ...], reads: Iterable[Access]) -> tuple[Any, ...]:
    """The operands with the data that is read of them; everything else of a tile is undefined."""
    out = list(given)
    touched: set[int] = set()
    for access in reads:
        tile, touch = access.operand, access.touch
        if not isinstance(tile, Tile):
            continue
        if access.index not in touched:
            touched.add(access.index)
            data = poisoned(tile.shape, tile.dtype)
            out[access.index] = ArrayValue(data, tile.dtype, tile.valid, tile.shape)
        window = tuple(slice(o, o + n) for o, n in zip(touch.offset, touch.extent, strict=True))
        out[access.index].data[window] = read_tile(ledger, call, tile, touch.extent, touch.offset)
    for index, value in enumerate(given):
        if isinstance(value, ArrayValue) and index not in touched and not value.data.flags.writeable:
            out[index] = attrs.evolve(value, data=poisoned(value.shape, value.dtype))
    return tuple(out)


def read_tile(ledger: Ledger, call: Call, tile: Tile, extent: Extents, offset: Extents) -> Any:
    """The elements of a part, an error where they are another value's or lie elsewhere."""
    if tile.written is not None and all(extent):
        raise _elsewhere(ledger, call, tile)
    try:
        return read_part(tile, extent, offset, ledger)
    except WrongByte as error:
        raise _wrong_byte(ledger, call, tile, error) from None


def _elsewhere(ledger: Ledger, call: Call, tile: Tile) -> UserError:
    then = tile.written
    assert then is not None
    if first_byte(then) == first_byte(tile) and then.arena is tile.arena:
        return wrong(
            f"{call.name} reads '{tile.name}' in another layout than it was written in",
            call.span,
            code="SIM-014",
            events=(("written by", ledger.events[then.root]),),
            remedy="rows of a compact accumulator lie at the pitch of its valid rows: give both the same",
        )
    return wrong(
        f"{call.name} reads '{tile.name}' where its value does not lie",
        call.span,
        code="SIM-012",
        events=(("the value was written by", ledger.events[then.root]),),
        remedy="the plan is wrong: a name and its value have different places",
        read=f"{tile.arena.space.name} from {first_byte(tile)}",
        written=f"{then.arena.space.name} from {first_byte(then)}",
    )


def _wrong_byte(ledger: Ledger, call: Call, tile: Tile, error: WrongByte) -> UserError:
    where = f"byte {error.address} of {tile.arena.name or tile.arena.space.name}"
    meant = ("it means the bytes that were written by", ledger.events[tile.root])
    if error.event == NOBODY:
        return wrong(
            f"{call.name} reads '{tile.name}', of which {where} was never written",
            call.span,
            code="SIM-010",
            events=(meant,),
            remedy=_REMEDY,
        )
    return wrong(
        f"{call.name} reads '{tile.name}', of which {where} holds something else",
        call.span,
        code="SIM-010",
        events=(("last written by", ledger.events[error.event]), meant),
        remedy=_REMEDY,
    )


def check_current(ledger: Ledger, call: Call, tile: Tile) -> None:
    """Raise an error where an operator changes a tile whose bytes have become another value already."""
    later = strangers(tile, ledger)
    if later is not None:
        raise wrong(
            f"{call.name} works on '{tile.name}', whose bytes hold a later value",
            call.span,
            code="SIM-010",
            events=(("overwritten by", ledger.events[later]),),
            remedy="the plan is wrong: a copy is missing",
        )


def check_overlap(
    call: Call,
    reads: Iterable[Access],
    tile: Tile,
    touch: Touch,
    *,
    onto: int | None = None,
    in_place: bool = True,
) -> None:
    """Raise an error where what is written overlaps what the operator still reads.

    ``onto``: the operand that the result takes over, which is not looked at. ``in_place``: starting at the same byte is
    fine, for operands that the operator allows it for.
    """
    low, high = tile.span(touch.extent, touch.offset)
    allowed = {RESULT, *range(len(call.args))} - set(alias_forbidden(call)) if in_place else set[int]()
    for access in reads:
        source = access.operand
        if access.index == onto or not isinstance(source, Tile) or source.arena is not tile.arena:
            continue
        part = access.touch
        start, stop = source.span(part.extent, part.offset)
        if stop <= low or high <= start or (start == low and access.index in allowed):
            continue
        if _meet(source.runs(part.extent, part.offset), tile.runs(touch.extent, touch.offset)):
            raise wrong(
                f"{call.name} overwrites its operand '{source.name}' while it reads it",
                call.span,
                code="SIM-013",
                remedy="the plan is wrong: the result may not lie there",
                operand=f"{tile.arena.name or tile.arena.space.name} [{start}, {stop})",
                result=f"[{low}, {high})",
            )


def _meet(a: list[tuple[int, int]], b: list[tuple[int, int]]) -> bool:
    """Whether two sorted lists of intervals share a byte."""
    i = j = 0
    while i < len(a) and j < len(b):
        if a[i][0] < b[j][1] and b[j][0] < a[i][1]:
            return True
        if a[i][1] <= b[j][1]:
            i += 1
        else:
            j += 1
    return False


def check_room(tile: Tile, touch: Touch, span: Span) -> None:
    """Raise an error for a part that lies outside of what was planned for the tile."""
    low, high = tile.span(touch.extent, touch.offset)
    if low < high and (low < tile.room[0] or high > tile.room[1]):
        raise wrong(
            f"'{tile.name}' needs bytes outside of its allocation",
            span,
            code="SIM-011",
            remedy="rows and columns of a boxed tile have to fill whole boxes",
            bytes=f"[{low}, {high})",
            allocation=f"[{tile.room[0]}, {tile.room[1]})",
        )


_CUBE = ("matmul", "gemv")


def check_pitch(call: Call, tile: Tile, extent: Extents, acc_rows: AccRowAlignment) -> None:
    """Raise an error for a product whose rows the cube unit puts at another pitch than the tile's layout says.

    It puts the blocks of columns at the rows of the product, rounded up, whatever rows the tile has.
    """
    if (
        tile.arena.space is not MemorySpace.Acc
        or len(extent) != 2
        or not call.name.startswith(tuple(f"tile.{name}" for name in _CUBE))
    ):
        return
    (m, n), columns = extent, tile.map.axes[-1]
    if len(columns) != 2 or not m or n <= columns[1].count or tile.map.origin:
        return
    block = round_up(m, acc_rows(tile.dtype)) * columns[1].count
    if columns[0].stride != block:
        raise wrong(
            f"{call.name} writes {m} rows at a pitch that is not that of '{tile.name}'",
            call.span,
            code="SIM-014",
            remedy="make the accumulator compact, or all of its rows valid",
            pitch_written=block // columns[1].count,
            pitch_of_the_tile=columns[0].stride // columns[1].count,
        )
