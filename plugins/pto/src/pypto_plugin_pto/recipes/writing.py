"""What the recipes of several families share: the form of an instruction, and checks of its operands."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from pypto_core.contract import Operand
from pypto_core.ir import (
    INDEX_ZERO,
    LINE_BYTES,
    Call,
    ConstInt,
    Expr,
    MakeTuple,
    TileLayout,
    TileType,
    Type,
    Var,
    add,
    is_const,
    mul,
    replace,
    shapes_equal,
    static_dim,
)
from pypto_plugin_pto.emission import Emission
from pypto_plugin_pto.storage import TileHandle
from pypto_plugin_pto.type_text import extents_of, flat_extents


def instruction(
    ctx: Emission, name: str, ins: Sequence[Operand], out: Operand, *, inside: str = "", after: str = ""
) -> None:
    """``pto.name ins(%a, %b : T, U) outs(%c : V)``; attributes go ``inside`` of the inputs or ``after`` all."""
    names, types = ", ".join([i.name for i in ins]), ", ".join([i.type for i in ins])
    ctx.text.line(f"pto.{name} ins({names}{inside} : {types}) outs({out.name} : {out.type}){after}")


def tile_type(call: Call, index: int) -> TileType:
    """The type of an operand that is a tile."""
    kind = call.args[index].type
    assert isinstance(kind, TileType)
    return kind


def given(call: Call, index: int) -> Expr | None:
    """An operand that may have been left out."""
    args = call.args
    return args[index] if index < len(args) else None


def check_element(ctx: Emission, call: Call) -> None:
    """Refuse element types that the machine's instruction does not take."""
    if ctx.backend is None or not call.args:
        return
    kind = call.args[0].type
    accepted = ctx.backend.vector_op_dtypes(call.op.name)
    if not isinstance(kind, TileType) or accepted is None or kind.dtype in accepted:
        return
    raise ctx.error(
        f"the instruction of '{call.op.name}' takes no {kind.dtype} elements on {ctx.backend.title}",
        remedy="convert the operands with pl.cast, for example to pl.FP32",
        accepted=", ".join(d.text for d in accepted),
    )


_SPREAD = {"add": "add", "sub": "sub", "mul": "mul", "div": "div", "maximum": "max", "minimum": "min"}
"""Operators of two tiles that have a form which spreads a row or column, and the name of that form."""


def check_alike(ctx: Emission, call: Call, *positions: int) -> None:
    """Refuse operands of different element types or extents: the instruction reads all of them in step.

    Operators promote and broadcast; the machine's instructions do neither.
    """
    for first, other in pairwise([tile_type(call, at) for at in positions]):
        if other.dtype is not first.dtype:
            raise ctx.error(
                f"the instruction of '{call.op.name}' takes elements of one type, not {first.dtype} and {other.dtype}",
                remedy="convert one of the operands with pl.cast",
                operands=f"{first!r}, {other!r}",
            )
        if _extents(first) != _extents(other):
            raise ctx.error(
                f"the instruction of '{call.op.name}' takes tiles of one shape",
                remedy=_spreading(call, other),
                operands=f"{first!r}, {other!r}",
            )


def _extents(kind: TileType) -> list[int | Expr]:
    return [e.value if isinstance(e, ConstInt) else e for e in kind.shape]


def _spreading(call: Call, vector: TileType) -> str:
    """What to write where the second operand is a row or a column."""
    mix = _SPREAD.get(call.op.name.removeprefix("tile."))
    line = "row" if is_const(vector.shape[-1], 1) else "col" if is_const(vector.shape[0], 1) else None
    if mix is None or line is None:
        return "spread the smaller one first with pl.row_expand or pl.col_expand"
    return f"write pl.{line}_expand_{mix}, which takes a value per {'row' if line == 'row' else 'column'}"


def is_flat_column(kind: TileType) -> bool:
    """Whether a tile is a column that is stored as one, which element-wise instructions don't take."""
    view = kind.view
    return (
        len(kind.shape) == 2
        and is_const(kind.shape[1], 1)
        and view.blayout is TileLayout.col_major
        and view.slayout is TileLayout.none_box
    )


def as_row(ctx: Emission, handle: Operand) -> Operand:
    """A column seen as the row of the same elements; everything else as it is."""
    if not isinstance(handle, TileHandle) or not is_flat_column(handle.kind):
        return handle
    kind = handle.kind
    view = replace(kind.view, blayout=TileLayout.row_major, valid_shape=kind.valid_shape[::-1])
    return ctx.storage.reshaped("row", replace(kind, shape=kind.shape[::-1], tile_view=view), handle)


def as_rows(ctx: Emission, call: Call) -> list[Operand]:
    """All operands of a call, which are tiles, by :func:`as_row`; one that occurs twice is viewed once.

    Windows that are like the result have its valid extents.
    """
    seen: dict[Expr, Operand] = {}
    for arg in call.args:
        if arg not in seen:
            seen[arg] = as_row(ctx, _narrowed(ctx, arg, call.type))
    return [seen[arg] for arg in call.args]


def _narrowed(ctx: Emission, arg: Expr, result: Type) -> TileHandle:
    handle = ctx.storage.handle(arg)
    if not isinstance(result, TileType) or handle.kind.dtype is not result.dtype:
        return handle
    if not shapes_equal(handle.kind.shape, result.shape):
        return handle
    return ctx.storage.narrowed(arg.name_hint if isinstance(arg, Var) else "part", handle, result.valid_shape)


def lines_of(kind: TileType) -> tuple[int, int, bool]:
    """(elements of a line, lines, whether storage has a gap behind each) of a flat tile of constant extents."""
    rows, cols = (static_dim(d) or 0 for d in flat_extents(kind)[0])
    stored = extents_of(kind)
    if kind.view.blayout is TileLayout.col_major:
        return rows, cols, stored.rows != rows
    return cols, rows, stored.cols != cols


def need_gapless(ctx: Emission, *operands: TileType) -> None:
    """Refuse tiles whose elements an instruction counts through, where lines are stored with gaps between them."""
    for kind in operands:
        length, lines, gaps = lines_of(kind)
        if gaps and lines > 1:
            raise ctx.error(
                "an instruction that counts elements takes no tile with gaps between its lines",
                remedy=f"make lines of a multiple of {LINE_BYTES} bytes",
                tile=repr(kind),
                line=f"{length} elements, {length * kind.dtype.element_bytes} bytes",
            )


def need_inside(ctx: Emission, part: TileType, whole: TileType, column: Expr) -> None:
    """Refuse a part whose last block of storage may lie outside of the tile that it is copied from or into."""
    length, _, gaps = lines_of(part)
    if not gaps or part.view.blayout is not TileLayout.row_major:
        return
    stored, room = extents_of(part).cols, extents_of(whole).cols
    if isinstance(column, ConstInt) and column.value + stored <= room:
        return
    raise ctx.error(
        f"a part of {length} columns takes {stored} in storage, which reach beyond the tile",
        remedy=f"make the part a multiple of {LINE_BYTES} bytes wide, or begin at a column that is one",
        part=repr(part),
        tile=repr(whole),
        column=column.value if isinstance(column, ConstInt) else "known at run time",
    )


def linear_index(ctx: Emission, call: Call, position: int) -> Operand:
    """The number of one element of the tile that is operand 0."""
    kind, indices = tile_type(call, 0), call.args[position]
    if not isinstance(indices, MakeTuple) or kind.view.slayout is not TileLayout.none_box:
        raise ctx.error(
            "single elements can be read and written in flat tiles only",
            remedy="move the tile to Vec first, and give the indices in place",
            tile=repr(kind),
        )
    row, col = indices.elements if len(indices.elements) == 2 else (INDEX_ZERO, indices.elements[0])
    extents = extents_of(kind)
    if kind.view.blayout is TileLayout.col_major and len(kind.shape) == 2:
        return ctx.index(add(mul(col, extents.rows), row))
    return ctx.index(add(mul(row, extents.cols), col))
