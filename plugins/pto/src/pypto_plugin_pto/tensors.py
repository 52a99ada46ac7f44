"""Tensors in global memory: pointers, the views made of them, and windows of the views."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from pypto_core.contract import Operand
from pypto_core.diagnostics import UserError
from pypto_core.ir import (
    INDEX_ONE,
    INDEX_ZERO,
    DataType,
    Expr,
    TensorLayout,
    TensorType,
    Var,
    add,
    base_name,
    is_const,
    mul,
    static_dim,
)
from pypto_plugin_pto.floor import never_negative
from pypto_plugin_pto.scalars import Scalars
from pypto_plugin_pto.text import FunctionText
from pypto_plugin_pto.type_text import TypeWriter

Dims = tuple[Expr, ...]


@attrs.frozen(eq=False)
class TensorHandle:
    """What a tensor variable stands for: a window of a view of a parameter.

    ``shape`` and ``stride`` describe the view. The window begins at ``offset`` of it; ``axes`` are those axes of the
    view that the variable has, in order.
    """

    name: str
    pointer: Operand
    dtype: DataType
    shape: Dims
    stride: Dims
    layout: TensorLayout
    offset: Dims
    axes: tuple[int, ...]

    @property
    def rank(self) -> int:
        """Rank of the view."""
        return len(self.shape)

    def windowed(self, offset: Sequence[Expr], kept: Sequence[int] | None = None) -> TensorHandle:
        """The window that begins ``offset`` further, with those of its axes that are ``kept``."""
        moved = list(self.offset)
        for axis, step in zip(self.axes, offset, strict=True):
            moved[axis] = add(moved[axis], step)
        axes = self.axes if kept is None else tuple(self.axes[k] for k in kept)
        return attrs.evolve(self, offset=tuple(moved), axes=axes)

    @property
    def is_whole(self) -> bool:
        """Whether nothing has been cut off."""
        return self.axes == tuple(range(self.rank)) and all(is_const(o, 0) for o in self.offset)


def packed_strides(shape: Dims, layout: TensorLayout) -> Dims:
    """Strides in elements of a tensor without gaps; of DN the last axis but one is contiguous."""
    order = list(range(len(shape)))[::-1]
    if layout is TensorLayout.DN and len(shape) >= 2:
        order[0], order[1] = order[1], order[0]
    strides: list[Expr] = [INDEX_ONE] * len(shape)
    step: Expr = INDEX_ONE
    for axis in order:
        strides[axis] = step
        step = mul(step, shape[axis])
    return tuple(strides)


def layout_of(kind: TensorType) -> tuple[TensorLayout, Dims]:
    """Layout and strides that a tensor is viewed with: a column is always DN."""
    view = kind.tensor_view
    layout = view.layout if view is not None else TensorLayout.ND
    if layout is TensorLayout.NZ:
        raise UserError(
            "a tensor can't have the layout NZ",
            code="PTO-019",
            facts={"type": repr(kind)},
            remedy="keep the tensor in ND, and load it with target_memory=pl.Mem.Mat: the transfer puts it in boxes",
        )
    stride: Dims = view.stride if view is not None else ()
    if layout is TensorLayout.ND and len(kind.shape) >= 2 and is_const(kind.shape[-1], 1):
        *outer, between, _ = stride or packed_strides(kind.shape, layout)
        if is_const(between, 1):
            return TensorLayout.DN, (*outer, between, kind.shape[-2])
    return layout, stride or packed_strides(kind.shape, layout)


def _key(handle: TensorHandle) -> tuple[object, ...]:
    """Tells views apart, whatever window of them a handle is."""
    return (handle.pointer.name, handle.shape, handle.stride, handle.layout, handle.dtype)


class Tensors:
    """Writes the views and windows of one function."""

    def __init__(self, text: FunctionText, scalars: Scalars, types: TypeWriter) -> None:
        self.text, self.scalars, self.types = text, scalars, types
        self.handles: dict[Var, TensorHandle] = {}
        self._views: dict[tuple[object, ...], Operand] = {}

    def parameter(self, var: Var, kind: TensorType, pointer: Operand) -> None:
        """Take in a parameter; its view is written when it is first used."""
        layout, stride = layout_of(kind)
        nowhere = (INDEX_ZERO,) * len(kind.shape)
        axes = tuple(range(len(kind.shape)))
        self.handles[var] = TensorHandle(
            base_name(var.name_hint), pointer, kind.dtype, kind.shape, stride, layout, nowhere, axes
        )

    def handle(self, expr: Expr) -> TensorHandle:
        """What a tensor expression stands for."""
        known = self.handles.get(expr) if isinstance(expr, Var) else None
        if known is None:
            name = base_name(expr.name_hint) if isinstance(expr, Var) else type(expr).__name__
            raise UserError(
                f"tensor '{name}' is no parameter of the kernel and no view of one",
                code="PTO-008",
                span=expr.span,
                remedy="pass the tensor as a parameter: a kernel allocates no global memory",
            )
        return known

    def view(self, handle: TensorHandle) -> Operand:
        """The view that a handle is a window of."""
        key = _key(handle)
        known = self._views.get(key)
        if known is None:
            with self.text.section(self.text.views):
                known = self._views[key] = self._make_view(handle)
        return known

    def made_here(self, handle: TensorHandle) -> None:
        """Write a handle's view where the current statement stands: its extents are computed in the body."""
        self._views[_key(handle)] = self._make_view(handle)

    def partition(
        self, handle: TensorHandle, offsets: Sequence[Expr], sizes: Sequence[Expr], what: str
    ) -> Operand:
        """``pto.partition_view``. Fewer sizes than axes stand for the last ones; runtime offsets are kept from
        being negative.
        """
        view = self.view(handle)
        extents: list[Expr] = [INDEX_ONE] * handle.rank
        for axis, size in zip(handle.axes, self._fitted(handle, sizes), strict=True):
            extents[axis] = size
        places = [self._offset(o) for o in handle.windowed(offsets).offset]
        counts = [self.scalars.coerced(e, DataType.INDEX) for e in extents]
        type_ = self.types.partition(tuple(static_dim(e) for e in extents), handle.dtype)
        return self.text.value(
            f"pto.partition_view {view.name}, offsets = [{', '.join([p.name for p in places])}], "
            f"sizes = [{', '.join([c.name for c in counts])}] : {view.type} -> {type_}",
            type_,
            what,
        )

    def element(self, handle: TensorHandle, indices: Sequence[Expr]) -> Operand:
        """The number of an element, counted from the pointer."""
        at: Expr = INDEX_ZERO
        for place, stride in zip(handle.windowed(indices).offset, handle.stride, strict=True):
            at = add(at, mul(place, stride))
        return self.scalars.coerced(at, DataType.INDEX)

    # -- parts

    def _make_view(self, handle: TensorHandle) -> Operand:
        shape = [self.scalars.coerced(d, DataType.INDEX).name for d in handle.shape]
        stride = [self.scalars.coerced(d, DataType.INDEX).name for d in handle.stride]
        type_ = self.types.tensor_view(handle.rank, handle.dtype)
        return self.text.value(
            f"pto.make_tensor_view {handle.pointer.name}, shape = [{', '.join(shape)}], "
            f"strides = [{', '.join(stride)}] {{layout = #pto.layout<{handle.layout.name.lower()}>}} : {type_}",
            type_,
            f"{handle.name}_view",
        )

    def _offset(self, expr: Expr) -> Operand:
        value = self.scalars.coerced(expr, DataType.INDEX)
        if never_negative(expr, DataType.INDEX, self.scalars.starts):
            return value
        zero = self.text.constant(0, DataType.INDEX)
        return self.scalars.op(f"maxsi {value.name}, {zero.name} : index", "index")

    def _fitted(self, handle: TensorHandle, sizes: Sequence[Expr]) -> Sequence[Expr]:
        over = len(sizes) - len(handle.axes)
        if over <= 0:
            return (*([INDEX_ONE] * -over), *sizes)
        if all(is_const(s, 1) for s in sizes[:over]):
            return sizes[over:]
        raise UserError(
            f"a window of {len(sizes)} axes does not fit the {len(handle.axes)} axes of '{handle.name}'",
            code="PTO-008",
            remedy="give the window the rank of the tensor",
        )
