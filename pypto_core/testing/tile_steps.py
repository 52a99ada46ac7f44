"""Steps of a random program that work on tiles; every access is in bounds and reads only what was written."""

from __future__ import annotations

from pypto_core.ir import (
    AssignStmt,
    CastMode,
    ConstFloat,
    ConstInt,
    DataType,
    Expr,
    MemorySpace,
    PadValue,
    TensorType,
    TileLayout,
    TileType,
    Var,
    add,
    const_index,
    min_,
    mul,
    static_shape,
    types_equal,
)
from pypto_core.ops import create_call
from pypto_core.testing.build import dims
from pypto_core.testing.drawing import Drawing
from pypto_core.testing.features import Feature

_BINARY = ("add", "sub", "mul", "maximum", "minimum")
_UNARY = {DataType.FP32: ("neg", "abs", "relu", "exp", "sqrt"), DataType.INT32: ("neg", "abs")}
_SCALAR = ("adds", "muls", "maximums", "minimums")
_SPREAD = ("add", "sub", "mul")


def tile_of(var: Expr) -> TileType:
    """The tile type of an expression."""
    kind = var.type
    assert isinstance(kind, TileType)
    return kind


def extents(kind: TileType | TensorType) -> tuple[int, int]:
    """The two constant extents of a type."""
    shape = static_shape(kind.shape)
    assert shape is not None and len(shape) == 2
    return shape[0], shape[1]


def window(d: Drawing, tensor: Var, shape: tuple[int, int]) -> Expr:
    """Offsets of a window of a tensor, at a place that visible integers decide."""
    kind = tensor.type
    assert isinstance(kind, TensorType)
    rows, cols = extents(kind)
    row: Expr = mul(d.index_below(rows // shape[0]), shape[0])
    if d.chance(0.4) and not isinstance(row, ConstInt):
        row = d.let("off", row)
    col: Expr = mul(d.index_below(cols // shape[1]), shape[1]) if d.chance(0.3) else const_index(0)
    return dims(row, col)


def load(d: Drawing) -> None:
    """Load a window, sometimes of fewer valid rows."""
    tensor = d.pick(d.sources)
    offset = window(d, tensor, d.shape)
    valid = dims(*d.shape)
    if d.has(Feature.VALID) and d.chance(0.25):
        valid = dims(rows_of(d, d.shape[0]), d.shape[1])
    d.add_tile(
        create_call("tile.load", (tensor, offset, dims(*d.shape), valid), {"target_memory": MemorySpace.Vec})
    )


def rows_of(d: Drawing, limit: int) -> Expr:
    """A number of valid rows in [1, limit] that no later assignment changes."""
    fixed = [n for n in d.block.numbers if n.fixed and not n.state and n.low >= 0]
    if not fixed or d.chance(0.3):
        return const_index(d.rng.randrange(1, limit + 1))
    rows = min_(add(d.pick(fixed).var, 1), limit)
    return d.let("rows", rows) if d.chance(0.5) else rows


def literal(d: Drawing, dtype: DataType) -> Expr:
    """A constant of an element type."""
    if dtype.is_float:
        return ConstFloat(d.pick((0.5, 1.5, -0.75, 2.0, -1.0)), dtype)
    return ConstInt(d.pick((1, 2, 3, -1, -2)), dtype)


def derived(d: Drawing, source: Var) -> Expr:
    """A value of the same type, computed from ``source`` and what is visible."""
    kind = tile_of(source)
    value: Expr = source
    choice = d.rng.randrange(4)
    if choice == 0:
        value = create_call(f"tile.{d.pick(_SCALAR)}", (source, literal(d, kind.dtype)))
    elif choice == 1:
        value = unary(d, source)
    elif partners := d.partners(source):
        value = create_call(f"tile.{d.pick(_BINARY)}", (source, d.pick(partners)))
    if not types_equal(value.type, kind):
        value = create_call("tile.adds", (source, literal(d, kind.dtype)))
    return value if types_equal(value.type, kind) else source


def unary(d: Drawing, source: Expr) -> Expr:
    """A unary operator, its argument first brought where the result is finite."""
    kind = tile_of(source)
    name = d.pick(_UNARY.get(kind.dtype, ("neg", "abs", "relu")))
    if name == "exp":
        source = step(d, create_call("tile.minimums", (source, ConstFloat(2.0, kind.dtype))))
    elif name == "sqrt":
        source = step(d, create_call("tile.abs", (source,)))
    return create_call(f"tile.{name}", (source,))


def step(d: Drawing, value: Expr) -> Expr:
    """A value on the way: assigned, or left inside of the call where nesting is wanted."""
    return value if d.has(Feature.NESTED_CALLS) and d.chance(0.6) else d.let("u", value)


def elementwise(d: Drawing) -> None:
    """Compute a tile out of visible ones."""
    source = d.pick(d.block.tiles)
    value: Expr = derived(d, source)
    if value is source:
        value = create_call("tile.adds", (source, literal(d, tile_of(source).dtype)))
    if d.has(Feature.NESTED_CALLS) and d.chance(0.5):
        value = unary(d, value)
    d.add_tile(value)


def reduction(d: Drawing) -> None:
    """Reduce rows or columns and spread the result over the tile again."""
    source = d.pick(d.block.tiles)
    kind = tile_of(source)
    if kind.dtype is not d.dtype:
        return
    if d.chance(0.6):
        scratch = d.let("tmp", created(kind))
        name = d.pick(("row_max", "row_min", "row_sum"))
        vector = d.let("v", create_call(f"tile.{name}", (source, scratch)))
        value = create_call(f"tile.row_expand_{d.pick(('sub', 'mul', 'max', 'min'))}", (source, vector))
    else:
        vector = d.let("v", create_call(f"tile.{d.pick(('col_max', 'col_min'))}", (source,)))
        value = create_call(f"tile.col_expand_{d.pick(_SPREAD)}", (source, vector))
    d.add_tile(value)


def created(kind: TileType) -> Expr:
    """A tile of undefined content with the physical shape of another."""
    options = {"dtype": kind.dtype, "target_memory": MemorySpace.Vec}
    return create_call("tile.create", (dims(*extents(kind)),), options)


def narrowed(d: Drawing) -> None:
    """Narrow a tile, sometimes filling what lies outside again."""
    source = d.pick([t for t in d.block.tiles if tile_of(t).is_fully_valid] or [None])
    if source is None or tile_of(source).view.pad is not PadValue.null:
        return
    rows, cols = extents(tile_of(source))
    part = create_call("tile.set_validshape", (source, rows_of(d, rows), const_index(cols)))
    if d.chance(0.4):
        inner = d.let("n", part)
        d.add_tile(
            create_call("tile.fillpad", (inner,), {"pad_value": d.pick((PadValue.zero, PadValue.min))})
        )
    else:
        d.add_tile(part)


def sliced(d: Drawing) -> None:
    """Cut the upper or lower half out of a tile."""
    whole = [t for t in d.block.tiles if tile_of(t).is_fully_valid and extents(tile_of(t))[0] >= 16]
    if not whole:
        return
    source = d.pick(whole)
    rows, cols = extents(tile_of(source))
    offset = dims(mul(d.index_below(2), rows // 2), 0)
    d.add_tile(create_call("tile.slice", (source, dims(rows // 2, cols), offset)))


def half_width(d: Drawing) -> None:
    """Convert to half width, compute, and convert back."""
    source = d.pick(d.block.tiles)
    if tile_of(source).dtype is not DataType.FP32:
        return
    options = {"target_type": DataType.FP16, "mode": d.pick((CastMode.rint, CastMode.round))}
    half = d.let("h", create_call("tile.cast", (source,), options))
    scaled = d.let("h", create_call("tile.muls", (half, ConstFloat(0.5, DataType.FP16))))
    d.add_tile(create_call("tile.cast", (scaled,), {"target_type": DataType.FP32, "mode": CastMode.round}))


def store(d: Drawing, target: str = "out", source: Expr | None = None) -> None:
    """Write a tile to an output, as an effect or as a value that later stores go on from."""
    if source is None:
        source = d.pick(d.block.tiles)
        if tile_of(source).dtype is not d.dtype:
            return
    out = d.block.outs[target]
    made = create_call("tile.store", (source, window(d, out, extents(tile_of(source))), out))
    if not d.has(Feature.CHAINED_STORES):
        d.do(made)
    elif d.plain:
        d.write(AssignStmt(out, made))
    else:
        d.block.outs[target] = d.let(target, made)


def matmul(d: Drawing) -> None:
    """A product of two windows, accumulated over K in a loop or in a line, written out or gone on with."""
    from pypto_core.testing.flow_steps import accumulate

    lhs, rhs = operands(d, const_index(0), d.index_below(4))
    acc: Expr = d.let("acc", create_call("tile.matmul", (lhs, rhs)))
    if d.chance(0.6):
        acc = accumulate(d, acc)
    if d.block.may_store and d.chance(0.7):
        store(d, "product", acc)
    if d.dtype is DataType.FP32 and d.chance(0.5):
        options = {
            "target_memory": MemorySpace.Vec,
            "blayout": TileLayout.row_major,
            "slayout": TileLayout.none_box,
        }
        d.add_tile(create_call("tile.move", (acc,), options))


K_TILE = 16


def operands(d: Drawing, k: Expr, row: Expr) -> tuple[Var, Var]:
    """Left and right operand of step ``k`` of a product, by way of Mat."""
    a, b = d.factors
    at_k = mul(k, K_TILE)
    mat = {"target_memory": MemorySpace.Mat}
    shape = dims(16, K_TILE)
    left = d.let("am", create_call("tile.load", (a, dims(mul(row, 16), at_k), shape, shape), mat))
    shape = dims(K_TILE, 16)
    right = d.let("bm", create_call("tile.load", (b, dims(at_k, 0), shape, shape), mat))
    return (
        d.let("al", create_call("tile.move", (left,), {"target_memory": MemorySpace.Left})),
        d.let("br", create_call("tile.move", (right,), {"target_memory": MemorySpace.Right})),
    )
