"""Types as annotations: shape and element type, then view, MemRef and memory space where there are any."""

from __future__ import annotations

from typing import Any, cast

from pypto_core.ir import (
    MAP,
    ArrayType,
    BufferType,
    Call,
    CommCtxType,
    CompactMode,
    ConstInt,
    DistributedTensorType,
    Expr,
    GlobalVar,
    IterArg,
    MemRef,
    MemRefType,
    MultiBufferType,
    Op,
    PadValue,
    PtrType,
    ScalarType,
    Submit,
    TensorType,
    TensorView,
    TileLayout,
    TileType,
    TileView,
    TupleType,
    Type,
    UnknownType,
    Var,
    VoidType,
    WindowBufferType,
    fields_of,
    implicit_layout,
    is_const,
)
from pypto_core.text.print_call import call, reference, submit
from pypto_core.text.print_expr import SCALARS
from pypto_core.text.writer import Writer, double_quoted


def _scalar(w: Writer, kind: ScalarType) -> str:
    return f"{w.pl}Scalar[{w.pl}{kind.dtype.name}]"


def _tensor(w: Writer, kind: TensorType) -> str:
    parts = [w.dims(kind.shape), w.dtype(kind.dtype)]
    if kind.tensor_view is not None:
        parts.append(_tensor_view(w, kind.tensor_view))
    if kind.memref is not None:
        parts.append(memref(w, kind.memref))
    return f"{w.word(_TENSORS[type(kind)])}[{', '.join(parts)}]"


_TENSORS: dict[type, str] = {TensorType: "Tensor", DistributedTensorType: "pld.DistributedTensor"}


def _tensor_view(w: Writer, view: TensorView) -> str:
    parts = [f"valid_shape={w.dims(view.valid_shape)}"] if view.valid_shape else []
    parts += [f"stride={w.dims(view.stride)}", f"layout={w.member(view.layout)}"]
    if view.pad is not PadValue.null:
        parts.append(f"pad={w.member(view.pad)}")
    return f"{w.pl}TensorView({', '.join(parts)})"


def _tile(w: Writer, kind: TileType) -> str:
    parts = [w.dims(kind.shape), w.dtype(kind.dtype)]
    if kind.memref is not None:
        parts.append(memref(w, kind.memref))
    if kind.memory_space is not None:
        parts.append(w.member(kind.memory_space))
    if kind.tile_view is not None or w.explicit_layout:
        implicit = implicit_layout(kind.shape, kind.memory_space)
        parts.append(_tile_view(w, kind.view, (None, None, None) if w.explicit_layout else implicit))
    return f"{w.pl}Tile[{', '.join(parts)}]"


def _tile_view(w: Writer, view: TileView, implied: tuple[Any, Any, Any]) -> str:
    parts: list[str] = []
    if view.valid_shape:
        parts.append(f"valid_shape={w.dims(view.valid_shape)}")
    if view.stride:
        parts.append(f"stride={w.dims(view.stride)}")
    if view.start_offset is not None:
        parts.append(f"start_offset={w.dim(view.start_offset)}")
    if view.blayout is not implied[0]:
        parts.append(f"blayout={w.member(view.blayout)}")
    if view.slayout is not implied[1]:
        parts.append(f"slayout={w.member(view.slayout)}")
    if view.fractal != implied[2]:
        parts.append(f"fractal={view.fractal}")
    if view.pad is not PadValue.null:
        parts.append(f"pad={w.member(view.pad)}")
    if view.compact is not CompactMode.null:
        parts.append(f"compact={w.member(view.compact)}")
    return f"{w.pl}TileView({', '.join(parts)})"


def memref(w: Writer, ref: MemRef) -> str:
    """A MemRef: ``pl.MemRef("name", slots=F)[i]`` when declared, ``pl.MemRef(base, offset, size)`` when resolved."""
    name = w.names.base(ref.base)
    quoted = w.in_signature or ref.base in w.names.quoted
    parts = [double_quoted(name) if quoted else name]
    declared = ref.is_pinned and ref.size == 0 and is_const(ref.byte_offset, 0)
    if not declared:
        # A bare number reads as INT64 here, so every constant offset states its type.
        parts += [w.expr(ref.byte_offset, 0, type(ref.byte_offset) is ConstInt), str(ref.size)]
        if ref.is_pinned:
            parts.append("pinned=True")
    elif not quoted:
        # Only a string declares; a bare name with nothing after it would read as one too.
        parts[0] = double_quoted(name)
    if ref.slot_count != 1 or ref.slot_index is not None:
        parts.append(f"slots={ref.slot_count}")
    text = f"{w.pl}MemRef({', '.join(parts)})"
    return text if ref.slot_index is None else f"{text}[{w.expr(ref.slot_index)}]"


def _memref_expr(w: Writer, node: MemRef, least: int, typed: bool) -> str:
    return memref(w, node)


def _tuple(w: Writer, kind: TupleType) -> str:
    return f"{w.pl}Tuple[{', '.join([w.type(t) for t in kind.types]) or '()'}]"


def _array(w: Writer, kind: ArrayType) -> str:
    return f"{w.pl}Array[{kind.extent}, {w.dtype(kind.dtype)}]"


def _buffer(w: Writer, kind: BufferType) -> str:
    parts = [str(list(kind.shape)), w.dtype(kind.dtype), w.member(kind.memory_space)]
    if not kind.is_fully_valid:
        parts.append(f"valid_shape={list(kind.valid_shape)}")
    if kind.blayout is not TileLayout.row_major:
        parts.append(f"blayout={w.member(kind.blayout)}")
    if kind.slayout is not TileLayout.none_box:
        parts.append(f"slayout={w.member(kind.slayout)}")
    if kind.fractal != 512:
        parts.append(f"fractal={kind.fractal}")
    if kind.pad is not PadValue.null:
        parts.append(f"pad={w.member(kind.pad)}")
    if kind.compact is not CompactMode.null:
        parts.append(f"compact={w.member(kind.compact)}")
    return f"{w.pl}BufferType({', '.join(parts)})"


def _multi_buffer(w: Writer, kind: MultiBufferType) -> str:
    return f"{w.pl}MultiBufferType({w.type(kind.element_type)}, {kind.slot_count})"


def _named(name: str) -> Any:
    def printer(w: Writer, kind: Type) -> str:
        return w.word(name)

    return printer


def _window_buffer(w: Writer, kind: WindowBufferType) -> str:
    size = "" if kind.size is None else f"[{kind.size}]"
    return w.word("pld.WindowBuffer") + size


def _bare_view(w: Writer, view: TileView) -> str:
    return _tile_view(w, view, (None, None, None))


def _other(w: Writer, kind: Type) -> str:
    """A type of a plugin: its fields by name; readable, though the parser does not know it."""
    parts = [f"{f.name}={_field(w, f.kind, f.get(kind))}" for f in fields_of(type(kind))]
    return f"{w.pl}{type(kind).__name__}({', '.join(parts)})"


def _field(w: Writer, kind: str, value: Any) -> str:
    if kind == MAP:
        return w.notes(value) or "{}"
    if isinstance(value, Expr):
        return w.dim(value)
    if isinstance(value, tuple):
        items = cast("tuple[Any, ...]", value)
        return w.dims(items) if all(isinstance(v, Expr) for v in items) else w.option(items)
    return w.option(value)


TYPES: dict[type, Any] = {
    ScalarType: _scalar,
    TensorType: _tensor,
    DistributedTensorType: _tensor,
    TileType: _tile,
    TensorView: _tensor_view,
    TileView: _bare_view,
    TupleType: _tuple,
    ArrayType: _array,
    BufferType: _buffer,
    MultiBufferType: _multi_buffer,
    PtrType: _named("Ptr"),
    MemRefType: _named("MemRefType"),
    UnknownType: _named("UnknownType"),
    VoidType: _named("VoidType"),
    CommCtxType: _named("pld.CommCtx"),
    WindowBufferType: _window_buffer,
    Type: _other,
}
EXPRESSIONS: dict[type, Any] = {
    **SCALARS,
    IterArg: SCALARS[Var],
    MemRef: _memref_expr,
    Call: call,
    Submit: submit,
    Op: reference,
    GlobalVar: reference,
}
