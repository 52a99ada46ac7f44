"""MaterializeTensorStrides: views of tensors say their strides."""

from __future__ import annotations

from typing import Any

from pypto_core.diagnostics import UserError
from pypto_core.ir import (
    INDEX_ONE,
    Expr,
    Mutator,
    Program,
    TensorLayout,
    TensorType,
    Type,
    mul,
    replace,
)
from pypto_core.ops import type_text

Dims = tuple[Expr, ...]
_STRIDED = (TensorLayout.ND, TensorLayout.DN)


def materialize_tensor_strides(program: Program, ctx: Any) -> Program:
    """The program with packed strides in every tensor view that has none; the same object when none lacks them.

    Tensors without a view stay so: they are packed and row-major. Layouts of block scales, which are never strided,
    stay as well. Raises UserError (PT344) for a layout that no tensor can have.
    """
    return _Strider().visit(program)


class _Strider(Mutator):
    def visit_type(self, kind: Type) -> Type:
        """A tensor type with its strides written out."""
        new = super().visit_type(kind)
        if not isinstance(new, TensorType) or new.tensor_view is None:
            return new
        view = new.tensor_view
        if view.layout is TensorLayout.NZ or (view.layout is TensorLayout.DN and len(new.shape) < 2):
            raise UserError(
                f"a tensor can't have the layout {view.layout.name}",
                code="PT344",
                facts={"type": type_text(new)},
                remedy="NZ is a layout of tiles; DN exchanges the last two axes, so it needs two",
            )
        if view.stride or view.layout not in _STRIDED:
            return new
        return self.once(new)

    def __init__(self) -> None:
        super().__init__()
        self.known: dict[int, tuple[TensorType, TensorType]] = {}

    def once(self, kind: TensorType) -> TensorType:
        """The same new type for the same old one, so that variables that shared a type still do."""
        found = self.known.get(id(kind))
        if found is None:
            view = kind.tensor_view
            assert view is not None
            strides = packed_strides(kind.shape, view.layout)
            found = (kind, replace(kind, tensor_view=replace(view, stride=strides)))
            self.known[id(kind)] = found
        return found[1]


def packed_strides(shape: Dims, layout: TensorLayout) -> Dims:
    """Elements from one index to the next, by axis, without gaps: ND row-major, DN with the last two axes exchanged."""
    axes = list(range(len(shape)))
    if layout is TensorLayout.DN:
        axes[-2:] = axes[:-3:-1]
    strides: dict[int, Expr] = {}
    step: Expr = INDEX_ONE
    for axis in reversed(axes):
        strides[axis] = step
        step = mul(shape[axis], step)
    return tuple(strides[axis] for axis in range(len(shape)))
