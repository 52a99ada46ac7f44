"""Other looks at tiles and tensors, padding, and tiles put side by side."""

from __future__ import annotations

from attrs import evolve

from pypto_core.ir import (
    LINE_BYTES,
    Call,
    ConstInt,
    MakeTuple,
    MemorySpace,
    TensorType,
    TileLayout,
    TileType,
    Var,
    const_index,
    dims_equal,
    is_const,
    replace,
)
from pypto_core.ops import dims_text
from pypto_plugin_pto.emission import Emission, OwnRecipe
from pypto_plugin_pto.recipes.memory import elements
from pypto_plugin_pto.recipes.writing import check_element, given, instruction, lines_of, tile_type
from pypto_plugin_pto.tensors import TensorHandle, layout_of


def view(ctx: Emission, call: Call, result: Var | None) -> None:
    """The same bytes under another type."""
    if result is not None:
        source = ctx.storage.handle(call.args[0])
        _check_lines(ctx, call, source.kind)
        ctx.storage.view(result, source)


def _check_lines(ctx: Emission, call: Call, source: TileType) -> None:
    """Refuse another shape for lines with gaps behind them: elements would have to move."""
    kind = call.type
    if call.op.name not in ("tile.reshape", "tile.reinterpret_view") or not isinstance(kind, TileType):
        return
    if TileLayout.none_box is not source.view.slayout:
        return
    (length, lines, gaps), (new_length, new_lines, new_gaps) = lines_of(source), lines_of(kind)
    kept = length * source.dtype.bits == new_length * kind.dtype.bits or lines == new_lines == 1
    if (gaps or new_gaps) and not kept:
        raise ctx.error(
            f"the elements would have to move: lines are stored in whole blocks of {LINE_BYTES} bytes",
            remedy="store the tile to a tensor and load it in its new shape, or keep the length of its lines",
            tile=repr(source),
            result=repr(kind),
        )


def window(ctx: Emission, call: Call, result: Var | None) -> None:
    """A part of a tile, without a copy."""
    if result is None:
        return
    source, kind = ctx.storage.handle(call.args[0]), result.type
    assert isinstance(kind, TileType)
    place = elements(ctx, call.args[2])
    row, col = (const_index(0), place[0]) if len(place) == 1 else place
    ctx.storage.handles[result] = ctx.storage.window(result, source, (row, col), kind)


def fillpad(mnemonic: str) -> OwnRecipe:
    """Everything outside of the valid part gets a value."""

    def write(ctx: Emission, call: Call, result: Var | None) -> None:
        source, out = ctx.storage.handle(call.args[0]), ctx.output(result)
        if source.kind.memory_space is MemorySpace.Mat:
            # There both tile types have to be one, padding included.
            kind = replace(source.kind.view, pad=out.kind.view.pad, valid_shape=source.kind.valid_shape)
            source = ctx.storage.reshaped(
                "unfilled", replace(source.kind, tile_view=kind), source, open_extents=True
            )
        instruction(ctx, mnemonic, [source], out)

    return write


def concat(ctx: Emission, call: Call, result: Var | None) -> None:
    """Side by side; the second part begins with a block of its own."""
    check_element(ctx, call)
    length, _, gaps = lines_of(tile_type(call, 0))
    if gaps:
        raise ctx.error(
            f"the second tile would begin within a block of {LINE_BYTES} bytes",
            remedy="store both to one tensor, side by side, and load them from there",
            tile=repr(call.args[0].type),
            line=f"{length} elements, {length * tile_type(call, 0).dtype.element_bytes} bytes",
        )
    ins = [ctx.storage.handle(a) for a in call.args]
    instruction(ctx, "tconcat", ins, ctx.output(result))


def transpose(ctx: Emission, call: Call, result: Var | None) -> None:
    """Rows and columns exchanged, by a copy that needs a scratch tile."""
    axes = [a.value for a in call.args[1:3] if isinstance(a, ConstInt)]
    rank = len(tile_type(call, 0).shape)
    if rank != 2 or sorted(a % 2 for a in axes) != [0, 1]:
        raise ctx.error("only the two axes of a tile can be exchanged", remedy="flatten the tile to two axes")
    if len(call.args) < 4:
        raise ctx.error(
            "the instruction that transposes a tile needs a scratch tile",
            remedy="create one as large as the input and pass it last: pl.transpose(x, 0, 1, scratch)",
        )
    source, scratch = ctx.storage.handle(call.args[0]), ctx.storage.handle(call.args[3])
    instruction(ctx, "ttrans", [source, scratch], ctx.output(result))


def tensor_slice(ctx: Emission, call: Call, result: Var | None) -> None:
    """A window of a tensor: its offset is added to those of the accesses."""
    handle = ctx.tensors.handle(call.args[0])
    dropped: list[int] = []
    drop = given(call, 4)
    if isinstance(drop, MakeTuple):
        dropped = [e.value for e in drop.elements if isinstance(e, ConstInt)]
    kept = [axis for axis in range(len(handle.axes)) if axis not in dropped]
    ctx.bind_tensor(result, handle.windowed(elements(ctx, call.args[2]), kept))


def tensor_reshape(ctx: Emission, call: Call, result: Var | None) -> None:
    """The same memory under another shape: a view of its own."""
    handle, kind = ctx.tensors.handle(call.args[0]), call.type
    assert isinstance(kind, TensorType)
    if not handle.is_whole:
        raise ctx.error(
            "a window of a tensor can't be reshaped",
            remedy="reshape the tensor first, and take the window of the result",
        )
    layout, stride = layout_of(kind)
    zero = const_index(0)
    made = TensorHandle(
        handle.name, handle.pointer, handle.dtype, kind.shape, stride, layout,
        (zero,) * len(kind.shape), tuple(range(len(kind.shape))),
    )  # fmt: skip
    ctx.tensors.made_here(made)
    ctx.bind_tensor(result, made)


def tensor_view(ctx: Emission, call: Call, result: Var | None) -> None:
    """The same elements under the name of another layout, which is right only where they lie in the same order."""
    handle, kind = ctx.tensors.handle(call.args[0]), call.type
    assert isinstance(kind, TensorType)
    layout, stride = layout_of(kind)
    if not handle.is_whole:
        raise ctx.error(
            "a window of a tensor can't be read in another layout",
            remedy="name the layout of the tensor first, and take the window of the result",
        )
    steps = zip(kind.shape, stride, handle.stride, strict=True)
    if not all(is_const(extent, 1) or dims_equal(new, old) for extent, new, old in steps):
        raise ctx.error(
            f"read as {layout.name}, the elements of this tensor would lie in another order than they do",
            remedy=f"declare the parameter in that layout: pl.TensorView(layout=pl.TensorLayout.{layout.name})",
            strides=dims_text(handle.stride),
            wanted=dims_text(stride),
        )
    ctx.bind_tensor(result, evolve(handle, layout=layout, stride=stride))


def tensor_same(ctx: Emission, call: Call, result: Var | None) -> None:
    """Other valid extents of the same tensor: accesses state their own."""
    ctx.bind_tensor(result, ctx.tensors.handle(call.args[0]))


RECIPES: dict[str, OwnRecipe] = {
    "tile.reshape": view,
    "tile.set_validshape": view,
    "tile.transpose_view": view,
    "tile.reinterpret_view": view,
    "tile.slice": window,
    "tile.fillpad": fillpad("tfillpad"),
    "tile.fillpad_inplace": fillpad("tfillpad_inplace"),
    "tile.fillpad_expand": fillpad("tfillpad_expand"),
    "tile.concat": concat,
    "tile.transpose": transpose,
    "tensor.slice": tensor_slice,
    "tensor.reshape": tensor_reshape,
    "tensor.set_validshape": tensor_same,
    "tensor.view": tensor_view,
}
"""Operator → recipe."""
