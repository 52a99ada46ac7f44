"""One function per operator on tiles: what its call becomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import attrs

from pypto_core.ir import (
    PIPELINE_MEMBERSHIP,
    AtomicType,
    Call,
    ConstBool,
    ConstInt,
    DataType,
    Expr,
    IfStmt,
    MakeTuple,
    MemorySpace,
    MemRef,
    ScalarType,
    Stmt,
    TileType,
    Var,
    cast,
    dims_equal,
    seq,
    shapes_equal,
    static_shape,
    types_equal,
)
from pypto_core.ops import create_call, type_text
from pypto_plugin_buffer_ir import ops
from pypto_plugin_buffer_ir.elementwise import RECIPES, Recipe
from pypto_plugin_buffer_ir.lower.descriptors import Dims, is_empty, valid_of, window_descriptor
from pypto_plugin_buffer_ir.lower.roots import handles_of
from pypto_plugin_buffer_ir.lower.writer import Window, Writer
from pypto_plugin_buffer_ir.refusal import broken, refused
from pypto_plugin_buffer_ir.rules import SCALAR_DTYPES

VEC = MemorySpace.Vec
Lower = Callable[[Writer, Call, Var | None], None]
"""(writer, call, the variable it is assigned to)."""


def lower_call(w: Writer, call: Call, result: Var | None) -> None:
    """Write what a call stands for."""
    left = [name for name in call.attrs if name != PIPELINE_MEMBERSHIP]
    if left:
        raise refused(
            "device-call attributes require an explicit conversion contract",
            w.span,
            attributes=", ".join(left),
        )
    recipe = LOWERINGS.get(call.op.name)
    if recipe is None:
        raise refused(f"no conversion recipe for '{call.op.name}'", w.span)
    recipe(w, call, result)


# -- parts


def _needed(w: Writer, call: Call, result: Var | None) -> Var:
    if result is None:
        raise refused(f"the result of {call.op.name} is not assigned to anything", w.span)
    return result


def _elements(w: Writer, arg: Expr, call: Call) -> Dims:
    """Offsets or extents of two axes, written out."""
    if not isinstance(arg, MakeTuple) or len(arg.elements) != 2:
        raise refused(f"{call.op.name} needs two offsets or extents that are written out", w.span)
    return tuple(w.plain(e) for e in arg.elements)


def _only(w: Writer, call: Call, *known: str) -> None:
    """Refuse options that the buffer form has no word for."""
    extra = [name for name in call.kwargs if name not in known]
    if extra:
        raise refused(f"{call.op.name} with {', '.join(extra)} requires a Buffer transfer recipe", w.span)


def _stated(w: Writer, result: Var) -> None:
    """Tell a buffer whose extents are open which of them the coming operator fills."""
    w.state_valid(w.handle(result), valid_of(w.tile(result)))


def _does_nothing(kind: TileType) -> bool:
    """Whether an operator has certainly no element to work on."""
    return is_empty(kind.valid_shape)


# -- definitions


def alloc(w: Writer, call: Call, result: Var | None) -> None:
    """The handles of everything in the allocation; nothing when there is nothing in it."""
    root = w.index.roots[_needed(w, call, result)]
    if not root.members:
        return
    made = handles_of(root, w.index, w.addressed, w.anchored)
    w.handles.update(made.tiles)
    w.products.update(made.products)
    for definition in made.definitions:
        w.emit(definition)
        if root.base in w.index.carried:
            w.carried.add(definition.var)


def create(w: Writer, call: Call, result: Var | None) -> None:
    """Nothing: the buffer is there."""
    if result is not None:
        _stated(w, result)


def query(w: Writer, call: Call, result: Var | None) -> None:
    """The same question of the other family."""
    var = _needed(w, call, result)
    name = f"buffer.{call.op.name.partition('.')[2]}"
    value = ops.written(name, (), None, w.span)
    if not types_equal(var.type, value.type):
        raise refused(f"{call.op.name} must be read as an INDEX", w.span, type=type_text(var.type))
    w.let(var, value)


# -- transfers


def load(w: Writer, call: Call, result: Var | None) -> None:
    """``buffer.load`` of what the tile's type says is valid."""
    out = _needed(w, call, result)
    _only(w, call, "target_memory", "clamp")
    if call.kwargs.get("clamp"):
        raise refused("tile.load that clamps its window requires a Buffer transfer recipe", w.span)
    source, offsets = w.tensor(call.args[0]), _elements(w, call.args[1], call)
    kind = w.tile(out)
    _stated(w, out)
    if _does_nothing(kind):
        return
    with w.guard(kind.valid_shape):
        w.do(ops.LOAD, source, ops.pair(offsets), ops.pair(valid_of(kind)), w.handle(out))


def store(w: Writer, call: Call, result: Var | None) -> None:
    """``buffer.store``; the result is another name of the tensor."""
    if call.kwargs.get("atomic", AtomicType.None_) is not AtomicType.None_ or call.args[3:]:
        raise refused("atomic and phased stores require a Buffer transfer recipe", w.span)
    _only(w, call, "atomic")
    kind, out = w.tile(call.args[0]), w.tensor(call.args[2])
    offsets = _elements(w, call.args[1], call)
    if result is not None:
        w.tensors[result] = out
    if _does_nothing(kind):
        return
    with w.guard(kind.valid_shape):
        w.do(ops.STORE, w.source(call.args[0]), ops.pair(offsets), ops.pair(valid_of(kind)), out)


def move(w: Writer, call: Call, result: Var | None) -> None:
    """``buffer.copy``, or nothing when source and target are one buffer."""
    out = _needed(w, call, result)
    _only(w, call, "target_memory", "blayout", "slayout")
    kind = w.tile(out)
    if w.handles.get(call.args[0]) is w.handle(out):
        return
    _stated(w, out)
    if _does_nothing(kind):
        return
    with w.guard(kind.valid_shape):
        _copy(w, w.source(call.args[0]), w.handle(out), kind)


def _copy(w: Writer, source: Var, target: Var, kind: TileType) -> None:
    """Copy a rectangle; within Vec both sides have to say the same of it."""
    if w.kind(source).memory_space is VEC and w.kind(target).memory_space is VEC:
        source, target = w.conformed((source, target), kind)
    w.do(ops.COPY, source, target)


def extract(w: Writer, call: Call, result: Var | None) -> None:
    """``buffer.extract``: the size of the part is that of its destination."""
    out = _needed(w, call, result)
    _only(w, call, "target_memory")
    row, col = w.plain(call.args[1]), w.plain(call.args[2])
    _stated(w, out)
    if _does_nothing(w.tile(out)):
        return
    with w.guard(w.tile(out).valid_shape):
        w.do(ops.EXTRACT, w.source(call.args[0]), row, col, w.handle(out))


# -- computation


def elementwise(recipe: Recipe) -> Lower:
    """The operator's row: handles, converted scalars, destination."""
    count = max(position for position, _ in recipe.inputs) + 1
    known = ("high_precision",) if recipe.precision else ("dtype",) if recipe.name == "full" else ()

    def lower(w: Writer, call: Call, result: Var | None) -> None:
        out = _needed(w, call, result)
        _only(w, call, *known)
        if len(call.args) != count:
            raise broken("malformed Tile elementwise recipe operand count", w.span, operator=call.op.name)
        kind = w.tile(out)
        options = {"high_precision": call.kwargs["high_precision"]} if "high_precision" in call.kwargs else {}
        scalars = {at: _element(w, call.args[at], kind.dtype) for at, is_scalar in recipe.inputs if is_scalar}
        _stated(w, out)
        if _does_nothing(kind):
            return
        with w.guard(kind.valid_shape):
            handles = [w.source(call.args[at]) for at, is_scalar in recipe.inputs if not is_scalar]
            *sources, target = w.conformed([*handles, w.handle(out)], kind)
            queue = iter(sources)
            args = [scalars[at] if is_scalar else next(queue) for at, is_scalar in recipe.inputs]
            w.do(recipe.buffer_op, *args, target, **options)

    return lower


def _element(w: Writer, value: Expr, dtype: DataType) -> Expr:
    """A scalar as an element of the destination; an index goes through the integers."""
    kind = value.type
    if not isinstance(kind, ScalarType) or kind.dtype not in SCALAR_DTYPES:
        accepted = ", ".join(sorted(d.name for d in SCALAR_DTYPES))
        raise refused(f"element scalar conversion requires one of {accepted}", w.span, scalar=type_text(kind))
    w.plain(value)
    if kind.dtype is dtype:
        return value
    return cast(cast(value, DataType.INT64) if kind.dtype is DataType.INDEX else value, dtype)


def matmul(w: Writer, call: Call, result: Var | None) -> None:
    """``buffer.matmul``."""
    out = _needed(w, call, result)
    _only(w, call)
    w.do(ops.MATMUL, w.handle(call.args[0]), w.handle(call.args[1]), w.handle(out))


def matmul_acc(w: Writer, call: Call, result: Var | None) -> None:
    """Start the accumulator or add to it, by what the condition is known to be; a runtime one decides then."""
    out = _needed(w, call, result)
    _only(w, call)
    if w.handle(call.args[0]) is not w.handle(out):
        raise broken("an accumulating product does not lie where its accumulator does", w.span)
    target = w.products.get(call) or w.handle(out)
    operands = (w.handle(call.args[1]), w.handle(call.args[2]), target)
    condition = call.args[3] if len(call.args) > 3 else None
    if condition is None or isinstance(condition, ConstBool | ConstInt):
        w.do(ops.MATMUL if condition is not None and condition.value else ops.MATMUL_ACC, *operands)
        return
    arms: list[list[Stmt]] = [[], []]
    w.plain(condition)
    for name, arm in zip((ops.MATMUL, ops.MATMUL_ACC), arms, strict=True):
        with w.region(arm):
            w.do(name, *operands)
    w.emit(IfStmt(condition, seq(arms[0]), seq(arms[1]), span=w.span))


# -- windows and other looks


def slice_(w: Writer, call: Call, result: Var | None) -> None:
    """A window: a subview here, or where it is used when it may be empty."""
    out = _needed(w, call, result)
    _only(w, call, "pad_value")
    source, kind = call.args[0], w.tile(out)
    if any(not _is_empty_tuple(dropped) for dropped in call.args[4:]):
        raise refused("rank-reducing tile.slice requires a Buffer view recipe", w.span)
    if len(kind.shape) != 2 or len(w.tile(source).shape) != 2:
        raise refused("rank-reducing tile.slice requires a Buffer view recipe", w.span)
    descriptor = window_descriptor(kind, w.span)
    offsets = _elements(w, call.args[2], call)
    window = Window(out.name_hint, descriptor, valid_of(kind), w.span, w.pitch(source), source, offsets)
    _check_extents(w, window)
    # The handle of a parent is made before anything is cut, so that a missing one is told here.
    parent = w.windows.get(source)
    if descriptor.is_static and (parent is None or parent.handle is not None):
        window = attrs.evolve(window, handle=w.cut(window))
    w.windows[out] = window


def _is_empty_tuple(arg: Expr) -> bool:
    return isinstance(arg, MakeTuple) and not arg.elements


def _check_extents(w: Writer, window: Window) -> None:
    for valid, extent in zip(window.kind.valid_shape, window.kind.shape, strict=True):
        if valid > extent:
            raise refused("a valid extent lies outside of its window", w.span, window=repr(window.kind))


def assemble(w: Writer, call: Call, result: Var | None) -> None:
    """Write the source into a window of the result, after the target when that lies elsewhere."""
    out = _needed(w, call, result)
    _only(w, call)
    target, source = call.args[0], call.args[1]
    spaces = (w.tile(source).memory_space, w.tile(out).memory_space)
    if spaces != (VEC, VEC):
        raise refused(
            "tile.assemble requires a Buffer transfer recipe (only Vec -> Vec is supported)",
            w.span,
            spaces=" -> ".join(s.name if s else "?" for s in spaces),
        )
    if target in w.windows:
        raise refused("tile.assemble into a window requires a Buffer transfer recipe", w.span)
    offsets = _elements(w, call.args[2], call)
    _keep_target(w, target, out)
    _stated(w, out)
    if _is_in_place(w, source, out, offsets):
        return
    kind = w.tile(source)
    descriptor = window_descriptor(kind, w.span)
    with w.guard(kind.valid_shape):
        name = f"{out.name_hint}_window"
        inner = Window(name, descriptor, valid_of(kind), w.span, w.pitch(out), out, offsets)
        place = w.cut(inner)
        w.do(ops.COPY, w.narrowed(w.handle(source), descriptor, valid_of(kind)), place)


def _keep_target(w: Writer, target: Expr, out: Var) -> None:
    """Copy the target into the result's buffer, as far as it was valid, unless it is that buffer."""
    old, new = w.handle(target), w.handle(out)
    if old is new or _same_bytes(w, target, out):
        return
    kind = w.tile(target)
    if _does_nothing(kind):
        return
    wanted = window_descriptor(kind, w.span)
    with w.guard(kind.valid_shape):
        w.do(ops.COPY, w.narrowed(old, wanted, valid_of(kind)), w.narrowed(new, wanted, valid_of(kind)))


def _same_bytes(w: Writer, one: Expr, other: Expr) -> bool:
    """Whether two tiles lie in one place, whatever their descriptors."""
    a, b = w.tile(one), w.tile(other)
    if a.memref is None or b.memref is None:
        return False
    return _same_place(a.memref, b.memref) and shapes_equal(a.shape, b.shape) and a.dtype is b.dtype


def _same_place(a: MemRef, b: MemRef) -> bool:
    return a.base is b.base and dims_equal(a.byte_offset, b.byte_offset)


def _is_in_place(w: Writer, source: Expr, out: Var, offsets: Dims) -> bool:
    """Whether the source is the very window that it would be written to."""
    window = w.windows.get(source)
    if window is None or window.source is None or not shapes_equal(window.offsets, offsets):
        return False
    parent = window.source
    return parent not in w.windows and (w.handle(parent) is w.handle(out) or _same_bytes(w, parent, out))


def relabel(w: Writer, call: Call, result: Var | None) -> None:
    """Nothing for a tile with storage of its own; a view of a window."""
    out, source = _needed(w, call, result), call.args[0]
    _only(w, call, "dtype")
    again = create_call(call.op.name, call.args, call.kwargs, w.span).type
    assert isinstance(again, TileType)
    kind = w.tile(out)
    known = static_shape(kind.valid_shape)
    if (
        again.dtype is not kind.dtype
        or not shapes_equal(again.shape, kind.shape)
        or (known is not None and static_shape(again.valid_shape) != known)
    ):
        raise broken("a relabelled tile has another type than its operator deduces", w.span, tile=repr(kind))
    if source not in w.windows:
        _check_same_place(w, source, out, call)
        return
    window = w.windows[source]
    if window.handle is None or static_shape(kind.valid_shape) is None:
        raise refused(f"{call.op.name} of a window with runtime valid extents has no form on buffers", w.span)
    if window.kind.shape[1] != window.pitch:
        raise refused(
            f"{call.op.name} of a window whose rows are not adjacent has no form on buffers",
            w.span,
            columns=window.kind.shape[1],
            pitch=window.pitch,
        )
    descriptor = window_descriptor(kind, w.span)
    handle = w.let(
        Var(out.name_hint, descriptor, span=w.span),
        ops.define(ops.RESHAPE, (window.handle,), descriptor, w.span),
    )
    pitch = descriptor.shape[1]
    w.windows[out] = Window(out.name_hint, descriptor, valid_of(kind), w.span, pitch, handle=handle)


def _check_same_place(w: Writer, source: Expr, out: Var, call: Call) -> None:
    a, b = w.tile(source).memref, w.tile(out).memref
    if a is None or b is None or not _same_place(a, b):
        raise broken(f"the result of {call.op.name} does not lie where its operand does", w.span)
    if w.kind(w.handle(source)).size != w.kind(w.handle(out)).size:
        raise broken(f"the result of {call.op.name} has other physical bytes than its operand", w.span)


def transpose_view(w: Writer, call: Call, result: Var | None) -> None:
    """Nothing: the allocation has a handle for either look."""
    _check_same_place(w, call.args[0], _needed(w, call, result), call)


def set_validshape(w: Writer, call: Call, result: Var | None) -> None:
    """New extents for the handle that both versions share; a constant rectangle has a handle of its own."""
    out = _needed(w, call, result)
    if call.args[0] in w.windows:
        raise refused("tile.set_validshape of a window has no form on buffers", w.span)
    a, b = w.tile(call.args[0]).memref, w.tile(out).memref
    if a is None or b is None or not _same_place(a, b):
        raise broken("the result of tile.set_validshape does not lie where its operand does", w.span)
    _stated(w, out)


LOWERINGS: Mapping[str, Lower] = MappingProxyType(
    {
        "tile.alloc": alloc,
        "tile.create": create,
        "tile.load": load,
        "tile.store": store,
        "tile.move": move,
        "tile.extract": extract,
        "tile.slice": slice_,
        "tile.assemble": assemble,
        "tile.reshape": relabel,
        "tile.reinterpret_view": relabel,
        "tile.transpose_view": transpose_view,
        "tile.set_validshape": set_validshape,
        "tile.matmul": matmul,
        "tile.matmul_acc": matmul_acc,
        **{f"tile.get_{name}": query for name in ("block_idx", "block_num", "subblock_idx")},
        **{name: elementwise(recipe) for name, recipe in RECIPES.items()},
    }
)
"""Operator → function. Its keys are those of the rules that selection reads."""
