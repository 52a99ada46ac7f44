"""Tiles come and go: loads, stores, moves, windows copied out, single elements."""

from __future__ import annotations

from pypto_core.ir import (
    AtomicType,
    Call,
    ConstInt,
    DataType,
    Expr,
    MakeTuple,
    MemorySpace,
    TensorLayout,
    TensorType,
    TileLayout,
    TileType,
    Var,
    const_index,
    is_const,
    replace,
)
from pypto_plugin_pto.emission import Emission, OwnRecipe
from pypto_plugin_pto.recipes.writing import given, instruction, linear_index, need_inside, tile_type
from pypto_plugin_pto.type_text import element, extents_of

_SCALE_LAYOUTS = (TensorLayout.MX_A_ZZ, TensorLayout.MX_B_NN)


def elements(ctx: Emission, expr: Expr) -> tuple[Expr, ...]:
    """The parts of a shape or offset."""
    if isinstance(expr, MakeTuple):
        return expr.elements
    raise ctx.error("a shape or offset has to be written out where it is used", remedy="write it as a list")


def load(ctx: Emission, call: Call, result: Var | None) -> None:
    """A window of a tensor; only what is valid is read."""
    out = ctx.output(result)
    kind = call.type
    assert isinstance(kind, TileType)
    request = given(call, 3)
    sizes = kind.valid_shape if request is None else elements(ctx, request)
    window = ctx.partition(call.args[0], elements(ctx, call.args[1]), _narrowed(sizes, kind))
    source = call.args[0].type
    assert isinstance(source, TensorType)
    layout = source.tensor_view.layout if source.tensor_view is not None else TensorLayout.ND
    after = f" {{layout = #pto.layout<{layout.name.lower()}>}}" if layout in _SCALE_LAYOUTS else ""
    instruction(ctx, "tload", [window], out, after=after)


def _narrowed(sizes: tuple[Expr, ...], kind: TileType) -> tuple[Expr, ...]:
    """What the tile's type says is valid, which a clamped window narrows, when it has the window's rank."""
    valid = kind.valid_shape
    return valid if len(valid) == len(sizes) else sizes


def _same_bits(held: DataType, written: DataType) -> bool:
    """Whether elements are the same bits as either type: integers of one width, as a store copies bits."""
    return held is written or (held.is_int and written.is_int and held.bits == written.bits)


def store(ctx: Emission, call: Call, result: Var | None) -> None:
    """The valid part of a tile, written at an offset; the result is the tensor itself."""
    source = ctx.storage.handle(call.args[0])
    held, written = tile_type(call, 0), call.args[2].type
    if (
        isinstance(written, TensorType)
        and not _same_bits(held.dtype, written.dtype)
        and held.memory_space in (MemorySpace.Vec, MemorySpace.Mat)
    ):
        raise ctx.error(
            f"{held.dtype} elements can't be stored as {written.dtype}: only what leaves Acc is converted on its way",
            remedy=f"convert the tile with pl.cast(x, pl.{written.dtype.name})",
        )
    valid = held.valid_shape
    partition = given(call, 3)
    sizes = valid if partition is None else elements(ctx, partition)
    target = call.args[2]
    window = ctx.partition(target, elements(ctx, call.args[1]), sizes)
    atomic = call.kwargs.get("atomic", AtomicType.None_) is AtomicType.Add
    after = " {atomicType = #pto<atomic_type atomic_add>}" if atomic else ""
    instruction(ctx, "tstore", [source], window, after=after)
    ctx.bind_tensor(result, ctx.tensors.handle(target))


def move(ctx: Emission, call: Call, result: Var | None) -> None:
    """The same tile in another memory."""
    source, out = ctx.storage.handle(call.args[0]), ctx.output(result)
    origin, target = source.kind.memory_space, out.kind.memory_space
    backend = ctx.backend
    if backend is not None and origin is not None and target is not None and origin is not target:
        if backend.path(origin, target) is None:
            route = backend.route(origin, target)
            raise ctx.error(
                f"{backend.title} can't move a tile from {origin.name} to {target.name}",
                remedy="go through " + ", ".join(p.dst.name for p in route[:-1]) if route else "",
            )
    window = source.window
    if window is not None and window.strided:
        row, col = ctx.index(window.row), ctx.index(window.col)
        instruction(ctx, "textract", [window.parent, row, col], out)
    else:
        instruction(ctx, "tmov", [source], out)


def create(ctx: Emission, call: Call, result: Var | None) -> None:
    """Nothing but the buffer."""
    ctx.output(result)


def alloc(ctx: Emission, call: Call, result: Var | None) -> None:
    """Nothing: each tile declares its buffer itself."""


def extract(ctx: Emission, call: Call, result: Var | None) -> None:
    """A window copied into a tile of its own."""
    source, out = ctx.storage.handle(call.args[0]), ctx.output(result)
    if out.kind.view.slayout is TileLayout.none_box:
        need_inside(ctx, out.kind, source.kind, call.args[2])
    row, col = ctx.index(call.args[1]), ctx.index(call.args[2])
    instruction(ctx, "textract", [source, row, col], out)


def read(ctx: Emission, call: Call, result: Var | None) -> None:
    """One element of a tile."""
    source, at = ctx.storage.handle(call.args[0]), linear_index(ctx, call, 1)
    type_ = element(tile_type(call, 0).dtype)
    name = result.name_hint if result is not None else ""
    value = ctx.value(
        f"pto.tgetval ins({source.name}, {at.name} : {source.type}, {at.type}) outs : {type_}", type_, name
    )
    ctx.bind(result, value)


def write(ctx: Emission, call: Call, result: Var | None) -> None:
    """Set one element of a tile."""
    target, at = ctx.storage.handle(call.args[0]), linear_index(ctx, call, 1)
    dtype = tile_type(call, 0).dtype
    value = ctx.scalars.outside(ctx.scalar(call.args[2], dtype), dtype)
    ctx.line(
        f"pto.tsetval ins({at.name}, {value.name} : {at.type}, {value.type}) outs({target.name} : {target.type})"
    )


def read_tensor(ctx: Emission, call: Call, result: Var | None) -> None:
    """One element of global memory."""
    handle = ctx.tensors.handle(call.args[0])
    at = ctx.tensors.element(handle, elements(ctx, call.args[1]))
    type_ = element(handle.dtype)
    pointer = handle.pointer
    name = result.name_hint if result is not None else ""
    ctx.bind(
        result,
        ctx.value(f"pto.load_scalar {pointer.name}[{at.name}] : {pointer.type} -> {type_}", type_, name),
    )


def write_tensor(ctx: Emission, call: Call, result: Var | None) -> None:
    """Set one element of global memory."""
    handle = ctx.tensors.handle(call.args[0])
    at = ctx.tensors.element(handle, elements(ctx, call.args[1]))
    value = ctx.scalars.outside(ctx.scalar(call.args[2], handle.dtype), handle.dtype)
    pointer = handle.pointer
    ctx.line(f"pto.store_scalar {value.name}, {pointer.name}[{at.name}] : {pointer.type}, {value.type}")


def extent(ctx: Emission, call: Call, result: Var | None) -> None:
    """``tensor.dim``."""
    kind, axis = call.args[0].type, call.args[1]
    assert isinstance(kind, TensorType)
    if not isinstance(axis, ConstInt):
        raise ctx.error("the axis of pl.tensor.dim is a constant", remedy="write the number of the axis")
    if result is not None:
        ctx.scalars.env[result] = ctx.index(kind.shape[axis.value])


def assemble(ctx: Emission, call: Call, result: Var | None) -> None:
    """Write a tile into a part of another: rows as they stand, columns and accumulators by an insertion."""
    source, out = ctx.storage.handle(call.args[1]), ctx.output_onto(result, call.args[0])
    place = elements(ctx, call.args[2])
    row, col = (const_index(0), place[0]) if len(place) == 1 else place
    fills_rows = _same_columns(source.kind, out.kind) and is_const(col, 0)
    if source.kind.memory_space is MemorySpace.Acc or not fills_rows:
        if source.kind.view.slayout is TileLayout.none_box:
            need_inside(ctx, source.kind, out.kind, col)
        instruction(ctx, "tinsert", [source, ctx.index(row), ctx.index(col)], out)
    else:
        # What lies around the part is the target's affair.
        kind = replace(source.kind, tile_view=replace(source.kind.view, pad=out.kind.view.pad))
        window = ctx.storage.window(Var("window", kind, span=call.span), out, (row, col), kind)
        instruction(ctx, "tmov", [source], window)


def _same_columns(source: TileType, target: TileType) -> bool:
    return extents_of(source).cols == extents_of(target).cols and source.dtype is target.dtype


RECIPES: dict[str, OwnRecipe] = {
    "tile.alloc": alloc,
    "tile.load": load,
    "tile.store": store,
    "tile.move": move,
    "tile.create": create,
    "tile.extract": extract,
    "tile.assemble": assemble,
    "tile.read": read,
    "tile.write": write,
    "tensor.read": read_tensor,
    "tensor.write": write_tensor,
    "tensor.dim": extent,
}
"""Operator → recipe."""
