"""Hints in kernels: a prefetch names a tensor in memory, and of it the window that the author took."""

from __future__ import annotations

from pypto_core.diagnostics import UserError
from pypto_core.ir import INDEX_ONE, Call, Expr, MakeTuple
from pypto_core.ops import create_call
from pypto_plugin_tensor.kernel import Kernel, name_of
from pypto_plugin_tensor.values import Global, Window

PREFETCH = "prefetch.async_prefetch"


def prefetch(kernel: Kernel, call: Call) -> Call:
    """The hint on memory.

    Raises UserError (PT376) for a tensor that the kernel computes.
    """
    source, context, *window = call.args
    value = kernel.value(source)
    context = kernel.scalar(context)
    if isinstance(value, Global):
        args: list[Expr] = [value.var, context, *(kernel.scalar(a) for a in window)]
    elif isinstance(value, Window):
        offsets, extents = value.offsets, value.extents
        if window:
            offsets = kernel.place(value, _parts(kernel, window[0]))[1]
            extents = _parts(kernel, window[1]) if len(window) > 1 else tuple(value.kind.shape)
            for axis in value.dropped:
                extents = (*extents[:axis], INDEX_ONE, *extents[axis:])
        args = [value.base, context, MakeTuple(offsets), MakeTuple(extents)]
    else:
        raise UserError(
            f"'{name_of(source)}' is computed on chip, and a prefetch brings what lies in memory",
            code="PT376",
            span=call.span,
            remedy="name a parameter of the kernel, or a window of one",
        )
    return create_call(call.name, args, call.kwargs, call.span, call.attrs)


def _parts(kernel: Kernel, expr: Expr) -> tuple[Expr, ...]:
    assert isinstance(expr, MakeTuple)
    return tuple(kernel.scalar(e) for e in expr.elements)


__all__ = ["PREFETCH", "prefetch"]
