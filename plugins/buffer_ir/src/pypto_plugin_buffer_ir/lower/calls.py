"""One function per operator on tiles: what its call becomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from pypto_core.ir import (
    PIPELINE_MEMBERSHIP,
    AtomicType,
    Call,
    ConstBool,
    ConstInt,
    DataType,
    Expr,
    IfStmt,
    MemorySpace,
    ScalarType,
    Stmt,
    TileType,
    Var,
    cast,
    seq,
    types_equal,
)
from pypto_core.ops import type_text
from pypto_plugin_buffer_ir import ops
from pypto_plugin_buffer_ir.elementwise import RECIPES, Recipe
from pypto_plugin_buffer_ir.lower.descriptors import valid_of
from pypto_plugin_buffer_ir.lower.parts import does_nothing, elements, needed, only_options, stated
from pypto_plugin_buffer_ir.lower.roots import handles_of
from pypto_plugin_buffer_ir.lower.windows import assemble, relabel, set_validshape, slice_, transpose_view
from pypto_plugin_buffer_ir.lower.writer import Writer
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


# -- definitions


def alloc(w: Writer, call: Call, result: Var | None) -> None:
    """The handles of everything in the allocation; nothing when there is nothing in it."""
    root = w.index.roots[needed(w, call, result)]
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
        stated(w, result)


def query(w: Writer, call: Call, result: Var | None) -> None:
    """The same question of the other family."""
    var = needed(w, call, result)
    name = f"buffer.{call.op.name.partition('.')[2]}"
    value = ops.written(name, (), None, w.span)
    if not types_equal(var.type, value.type):
        raise refused(f"{call.op.name} must be read as an INDEX", w.span, type=type_text(var.type))
    w.let(var, value)


# -- transfers


def load(w: Writer, call: Call, result: Var | None) -> None:
    """``buffer.load`` of what the tile's type says is valid."""
    out = needed(w, call, result)
    only_options(w, call, "target_memory", "clamp")
    if call.kwargs.get("clamp"):
        raise refused("tile.load that clamps its window requires a Buffer transfer recipe", w.span)
    source, offsets = w.tensor(call.args[0]), elements(w, call.args[1], call)
    kind = w.tile(out)
    stated(w, out)
    if does_nothing(kind):
        return
    with w.guard(kind.valid_shape):
        w.do(ops.LOAD, source, ops.pair(offsets), ops.pair(valid_of(kind)), w.handle(out))


def store(w: Writer, call: Call, result: Var | None) -> None:
    """``buffer.store``; the result is another name of the tensor."""
    if call.kwargs.get("atomic", AtomicType.None_) is not AtomicType.None_ or call.args[3:]:
        raise refused("atomic and phased stores require a Buffer transfer recipe", w.span)
    only_options(w, call, "atomic")
    kind, out = w.tile(call.args[0]), w.tensor(call.args[2])
    offsets = elements(w, call.args[1], call)
    if result is not None:
        w.tensors[result] = out
    if does_nothing(kind):
        return
    with w.guard(kind.valid_shape):
        w.do(ops.STORE, w.source(call.args[0]), ops.pair(offsets), ops.pair(valid_of(kind)), out)


def move(w: Writer, call: Call, result: Var | None) -> None:
    """``buffer.copy``, or nothing when source and target are one buffer."""
    out = needed(w, call, result)
    only_options(w, call, "target_memory", "blayout", "slayout")
    kind = w.tile(out)
    if w.handles.get(call.args[0]) is w.handle(out):
        return
    stated(w, out)
    if does_nothing(kind):
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
    out = needed(w, call, result)
    only_options(w, call, "target_memory")
    row, col = w.plain(call.args[1]), w.plain(call.args[2])
    stated(w, out)
    if does_nothing(w.tile(out)):
        return
    with w.guard(w.tile(out).valid_shape):
        w.do(ops.EXTRACT, w.source(call.args[0]), row, col, w.handle(out))


# -- computation


def elementwise(recipe: Recipe) -> Lower:
    """The operator's row: handles, converted scalars, destination."""
    count = max(position for position, _ in recipe.inputs) + 1
    known = ("high_precision",) if recipe.precision else ("dtype",) if recipe.name == "full" else ()

    def lower(w: Writer, call: Call, result: Var | None) -> None:
        out = needed(w, call, result)
        only_options(w, call, *known)
        if len(call.args) != count:
            raise broken("malformed Tile elementwise recipe operand count", w.span, operator=call.op.name)
        kind = w.tile(out)
        options = {"high_precision": call.kwargs["high_precision"]} if "high_precision" in call.kwargs else {}
        scalars = {at: _element(w, call.args[at], kind.dtype) for at, is_scalar in recipe.inputs if is_scalar}
        stated(w, out)
        if does_nothing(kind):
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
    out = needed(w, call, result)
    only_options(w, call)
    w.do(ops.MATMUL, w.handle(call.args[0]), w.handle(call.args[1]), w.handle(out))


def matmul_acc(w: Writer, call: Call, result: Var | None) -> None:
    """Start the accumulator or add to it, by what the condition is known to be; a runtime one decides then."""
    out = needed(w, call, result)
    only_options(w, call)
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
