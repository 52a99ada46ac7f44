"""TensorViewCanonical: views of tensors in global memory say where elements lie, in one way."""

from __future__ import annotations

from collections.abc import Iterator

from pypto_core.diagnostics import Diagnostic, Span
from pypto_core.ir import Expr, Program, TensorLayout, TensorType, const_index, mul, prove_eq, prove_le
from pypto_core.ops import dims_text, extent_text, type_text
from pypto_core.verify.rules import place, rule
from pypto_core.verify.scan import scan

_RULE = rule("TensorViewCanonical")
_LAYOUT, _STRIDE, _EMPTY = 1, 2, 3


def verify_tensor_view_canonical(
    program: Program, backend: object = None, *, require_materialized: bool = True
) -> Iterator[Diagnostic]:
    """Find views of tensors that are not canonical.

    1 a layout that only tiles have (NZ), or DN of fewer than two axes; 2 strides of another rank, that don't run
    contiguously along the innermost axis of the layout, or that provably make rows overlap; 3 a view without strides,
    unless ``require_materialized`` is off. Strides that can't be compared are trusted.
    """
    for function in program:
        for seen in scan(function).types:
            if isinstance(seen.type, TensorType):
                span = place(seen.span, function.span)
                yield from _check(seen.type, seen.name, span, require_materialized)


def _check(kind: TensorType, name: str, span: Span, strict: bool) -> Iterator[Diagnostic]:
    view = kind.tensor_view
    if view is None:
        return
    facts = {"type": type_text(kind), "layout": view.layout.name}
    if view.layout is TensorLayout.NZ or (view.layout is TensorLayout.DN and len(kind.shape) < 2):
        yield _RULE.error(
            _LAYOUT,
            f"tensor '{name}' can't have the layout {view.layout.name}",
            span,
            remedy="use ND, or DN for a tensor whose last two axes are stored transposed",
            facts=facts,
        )
        return
    if not view.stride:
        if strict:
            yield _RULE.error(
                _EMPTY,
                f"the view of tensor '{name}' has no strides",
                span,
                remedy="run MaterializeTensorStrides",
                facts=facts,
            )
        return
    fault = _stride_fault(kind.shape, view.stride, view.layout)
    if fault:
        yield _RULE.error(
            _STRIDE,
            f"the strides of tensor '{name}' are not canonical: {fault}",
            span,
            remedy="strides count elements, 1 along the innermost axis and growing outwards",
            facts={**facts, "stride": dims_text(view.stride)},
        )


def _stride_fault(shape: tuple[Expr, ...], stride: tuple[Expr, ...], layout: TensorLayout) -> str:
    rank = len(shape)
    if len(stride) != rank:
        return f"{len(stride)} strides for {rank} axes"
    if layout not in (TensorLayout.ND, TensorLayout.DN):
        return ""
    # From the innermost axis outwards; DN stores the last two axes transposed.
    order = list(range(rank))[::-1]
    if layout is TensorLayout.DN:
        order[0], order[1] = order[1], order[0]
    inner = order[0]
    if prove_eq(stride[inner], const_index(1)) is False:
        return f"axis {inner} is the innermost of {layout.name} and has stride {extent_text(stride[inner])}"
    for axis, within in zip(order[1:], order, strict=False):
        # An axis of one element is never stepped along.
        if prove_le(shape[axis], const_index(1)):
            continue
        if prove_le(mul(stride[within], shape[within]), stride[axis]) is False:
            return f"axis {axis} steps by {extent_text(stride[axis])}, into the extent of axis {within}"
    return ""
