"""Windows, and other looks at the bytes of a tile."""

from __future__ import annotations

import attrs

from pypto_core.ir import (
    Call,
    Expr,
    MakeTuple,
    MemorySpace,
    MemRef,
    TileType,
    Var,
    dims_equal,
    shapes_equal,
    static_shape,
)
from pypto_core.ops import create_call
from pypto_plugin_buffer_ir import ops
from pypto_plugin_buffer_ir.lower.descriptors import Dims, valid_of, window_descriptor
from pypto_plugin_buffer_ir.lower.parts import does_nothing, elements, needed, only_options, stated
from pypto_plugin_buffer_ir.lower.writer import Window, Writer
from pypto_plugin_buffer_ir.refusal import broken, refused

VEC = MemorySpace.Vec


def slice_(w: Writer, call: Call, result: Var | None) -> None:
    """A window: a subview here, or where it is used when it may be empty."""
    out = needed(w, call, result)
    only_options(w, call, "pad_value")
    source, kind = call.args[0], w.tile(out)
    if any(not _is_empty_tuple(dropped) for dropped in call.args[4:]):
        raise refused("rank-reducing tile.slice requires a Buffer view recipe", w.span)
    if len(kind.shape) != 2 or len(w.tile(source).shape) != 2:
        raise refused("rank-reducing tile.slice requires a Buffer view recipe", w.span)
    descriptor = window_descriptor(kind, w.span)
    offsets = elements(w, call.args[2], call)
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
    out = needed(w, call, result)
    only_options(w, call)
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
    offsets = elements(w, call.args[2], call)
    _keep_target(w, target, out)
    stated(w, out)
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
    if does_nothing(kind):
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
    out, source = needed(w, call, result), call.args[0]
    only_options(w, call, "dtype")
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
    _check_same_place(w, call.args[0], needed(w, call, result), call)


def set_validshape(w: Writer, call: Call, result: Var | None) -> None:
    """New extents for the handle that both versions share; a constant rectangle has a handle of its own."""
    out = needed(w, call, result)
    if call.args[0] in w.windows:
        raise refused("tile.set_validshape of a window has no form on buffers", w.span)
    a, b = w.tile(call.args[0]).memref, w.tile(out).memref
    if a is None or b is None or not _same_place(a, b):
        raise broken("the result of tile.set_validshape does not lie where its operand does", w.span)
    stated(w, out)
