"""What the operators on buffers compute, on storage that the engine keeps; the numbers are those of the tile forms."""

from __future__ import annotations

from typing import Any

from pypto_core.contract import ArrayValue, ExecContext, OpExecutor, TileStorage, Touch
from pypto_core.ir import (
    RUNTIME_EXTENT,
    BufferType,
    DataType,
    MemorySpace,
    PipeType,
    TileType,
    TileView,
    as_dims,
    scalar_type,
)
from pypto_plugin_buffer_ir import ops
from pypto_plugin_buffer_ir.elementwise import BUFFER_RECIPES, Recipe
from pypto_plugin_buffer_ir.rules import ROW_BYTES

Extents = tuple[int, ...]
_ROOTS = "buffer_ir.roots"


def _kind(ctx: ExecContext) -> BufferType:
    kind = ctx.call.type
    assert isinstance(kind, BufferType)
    return kind


def _filled(kind: BufferType, given: Extents) -> Extents:
    """Valid extents of a descriptor, those that it leaves open from ``given`` in order."""
    rest = iter(given)
    return tuple(next(rest) if extent == RUNTIME_EXTENT else extent for extent in kind.valid_shape)


def _tile(storage: TileStorage, valid: Extents) -> TileType:
    """The tile that a buffer would be."""
    view = None if valid == storage.shape else TileView(valid_shape=as_dims(valid))
    return TileType(as_dims(storage.shape), storage.dtype, None, view, storage.space)


def _agree(ctx: ExecContext, storage: TileStorage, valid: Extents, what: str) -> None:
    """An operator states the extents that the handle's descriptor has, or was given."""
    if storage.valid != valid:
        raise ctx.error(
            f"{what} has other valid extents than {ctx.call.name} works on",
            remedy="set them with buffer.set_validshape before",
            buffer=list(storage.valid),
            operator=list(valid),
        )


# -- handles


def alloc(ctx: ExecContext, valid: Extents, address: int | None = None) -> TileStorage:
    """Storage of its own, or, at an address, another look at what lies there already."""
    kind = _kind(ctx)
    extents = _filled(kind, valid)
    if address is None:
        return ctx.storage(kind, None, extents)
    known: list[tuple[int, BufferType, TileStorage]] = ctx.run_state.setdefault(_ROOTS, [])
    for start, held, root in known:
        covers = start <= address and address + kind.size <= start + held.size
        if held.memory_space is kind.memory_space and covers:
            inner = _inner(root, held, address - start, kind, extents)
            if inner is not None:
                return inner
    made = ctx.storage(kind, address, extents)
    known.append((address, kind, made))
    return made


def _inner(
    root: TileStorage, held: BufferType, offset: int, kind: BufferType, valid: Extents
) -> TileStorage | None:
    """A look at a part of a root; None where the part begins at no row of whole bytes."""
    if not offset:
        return root.relabel(kind, valid)
    if kind.memory_space is not MemorySpace.Vec or offset % ROW_BYTES or held.size % ROW_BYTES:
        return None
    whole = BufferType((held.size // ROW_BYTES, ROW_BYTES), DataType.UINT8, MemorySpace.Vec)
    rows = -(-kind.size // ROW_BYTES)
    return root.relabel(whole).window((offset // ROW_BYTES, 0), (rows, ROW_BYTES)).relabel(kind, valid)


def subview(
    ctx: ExecContext, src: TileStorage, offsets: Extents, valid: Extents | None = None
) -> TileStorage:
    """The window."""
    kind = _kind(ctx)
    extents = valid if valid is not None else kind.valid_shape
    for at, extent, whole, filled in zip(offsets, kind.shape, src.shape, extents, strict=True):
        if not (0 <= at <= whole - extent and 0 < filled <= extent):
            raise ctx.error(
                "a window lies outside of its buffer, or holds nothing",
                offsets=list(offsets),
                window=list(kind.shape),
                valid=list(extents),
                buffer=list(src.shape),
            )
    return src.window(offsets, kind.shape, extents)


def reshape(ctx: ExecContext, src: TileStorage) -> TileStorage:
    """The same bytes."""
    kind = _kind(ctx)
    return src.relabel(kind, kind.valid_shape)


def set_validshape(ctx: ExecContext, buffer: TileStorage, valid: Extents) -> None:
    """Other extents from here on."""
    if any(not 0 <= n <= whole for n, whole in zip(valid, buffer.shape, strict=True)):
        raise ctx.error(
            "valid extents lie outside of the buffer", valid=list(valid), buffer=list(buffer.shape)
        )
    buffer.set_valid(valid)


# -- transfers


def load(ctx: ExecContext, tensor: ArrayValue, offsets: Extents, valid: Extents, dst: TileStorage) -> None:
    """A window of the tensor, as far as it is valid."""
    _agree(ctx, dst, valid, "the destination")
    made = ctx.compute("tile.load", _tile(dst, valid), tensor, offsets, valid, valid, target_memory=dst.space)
    dst.store(made.defined)


def store(ctx: ExecContext, src: TileStorage, offsets: Extents, valid: Extents, tensor: ArrayValue) -> None:
    """The valid part, into the tensor."""
    _agree(ctx, src, valid, "the source")
    ctx.compute("tile.store", ctx.call.args[3].type, src.load(), offsets, tensor)


def touched_by_load(
    ctx: ExecContext, tensor: ArrayValue, offsets: Extents, valid: Extents, dst: TileStorage
) -> tuple[Touch, ...]:
    """The window of the tensor; storage tells itself what of it is touched."""
    return (Touch(operand=0, offset=offsets, extent=valid),)


def touched_by_store(
    ctx: ExecContext, src: TileStorage, offsets: Extents, valid: Extents, tensor: ArrayValue
) -> tuple[Touch, ...]:
    """The window of the tensor."""
    return (Touch(operand=3, offset=offsets, extent=valid, writes=True),)


def copy(ctx: ExecContext, src: TileStorage, dst: TileStorage) -> None:
    """The valid elements."""
    _agree(ctx, src, dst.valid, "the source")
    dst.store(src.load().defined)


def extract(ctx: ExecContext, src: TileStorage, row: int, col: int, dst: TileStorage) -> None:
    """As many elements as the destination has."""
    rows, cols = dst.shape
    if not (0 <= row <= src.shape[0] - rows and 0 <= col <= src.shape[1] - cols):
        raise ctx.error(
            "a window lies outside of its buffer", window=[row, col, rows, cols], buffer=list(src.shape)
        )
    dst.store(src.window((row, col), dst.shape, dst.valid).load().defined)


# -- computation


def matmul(ctx: ExecContext, lhs: TileStorage, rhs: TileStorage, dst: TileStorage) -> None:
    """The product."""
    made = ctx.compute("tile.matmul", _tile(dst, dst.valid), lhs.load(), rhs.load())
    dst.store(made.defined)


def matmul_acc(ctx: ExecContext, lhs: TileStorage, rhs: TileStorage, dst: TileStorage) -> None:
    """The product, added up."""
    made = ctx.compute("tile.matmul_acc", _tile(dst, dst.valid), dst.load(), lhs.load(), rhs.load())
    dst.store(made.defined)


def elementwise(recipe: Recipe) -> Any:
    """What the operator on tiles computes."""
    count = max(position for position, _ in recipe.inputs) + 1

    def run(ctx: ExecContext, *operands: Any, **options: Any) -> None:
        *given, dst = operands
        args: list[Any] = [None] * count
        for (position, is_scalar), value in zip(recipe.inputs, given, strict=True):
            if not is_scalar:
                _agree(ctx, value, dst.valid, "an operand")
            args[position] = value if is_scalar else value.load()
        if recipe.name == "full":
            args[0], options = dst.valid, {**options, "dtype": dst.dtype}
        made = ctx.compute(recipe.tile_op, _tile(dst, dst.valid), *args, **options)
        dst.store(made.defined)

    return run


def query(name: str) -> Any:
    """The number that the tile form gives."""

    def run(ctx: ExecContext) -> int:
        return ctx.compute(f"tile.{name}", scalar_type(DataType.INDEX))

    return run


EXECUTORS: tuple[OpExecutor, ...] = (
    OpExecutor(ops.ALLOC, alloc),
    OpExecutor(ops.SUBVIEW, subview),
    OpExecutor(ops.RESHAPE, reshape),
    OpExecutor(ops.SET_VALIDSHAPE, set_validshape),
    OpExecutor(ops.LOAD, load, touches=touched_by_load),
    OpExecutor(ops.STORE, store, touches=touched_by_store),
    OpExecutor(ops.COPY, copy),
    OpExecutor(ops.EXTRACT, extract),
    OpExecutor(ops.MATMUL, matmul, pipe=PipeType.M),
    OpExecutor(ops.MATMUL_ACC, matmul_acc, pipe=PipeType.M),
    *(OpExecutor(name, query(name.partition(".")[2])) for name in ops.QUERIES),
    *(OpExecutor(name, elementwise(recipe), pipe=PipeType.V) for name, recipe in BUFFER_RECIPES.items()),
)
"""One per operator."""
