"""Windows of distributed tensors: remote operators are given the tensor itself and where the window begins in it."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from pypto_core.diagnostics import Span, UserError
from pypto_core.ir import (
    INDEX_ZERO,
    Call,
    DistributedTensorType,
    Expr,
    MakeTuple,
    TensorType,
    add,
    static_dim,
)
from pypto_core.ops import create_call
from pypto_plugin_distributed import ops
from pypto_plugin_distributed.checks import dims_of

Dims = tuple[Expr, ...]

_PLACES: Mapping[str, tuple[int, int]] = {
    ops.NOTIFY: (0, 2),
    ops.WAIT: (0, 1),
    ops.REMOTE_LOAD: (0, 2),
    ops.REMOTE_STORE: (1, 3),
    ops.TENSOR_STORE: (1, 3),
}
"""Which operand is distributed, and which says where in it."""


@attrs.frozen(eq=False)
class Part:
    """``base`` from ``offsets`` on; ``axes``: those of ``base`` that the window has, in order."""

    base: Expr
    offsets: Dims
    axes: tuple[int, ...]

    def place(self, at: Dims) -> Dims:
        """Where an element of the window lies in ``base``."""
        out = list(self.offsets)
        for axis, step in zip(self.axes, at, strict=True):
            out[axis] = add(out[axis], step)
        return tuple(out)

    def check(self, span: Span) -> None:
        """Refuse a window whose rows don't lie together, as an axis in between is left out."""
        rank = len(self.offsets)
        if self.axes != tuple(range(rank - len(self.axes), rank)):
            raise UserError(
                "a window without one of the last axes can't be reached remotely",
                code="PT391",
                span=span,
                facts={"axes of the tensor": rank, "axes of the window": ", ".join(map(str, self.axes))},
                remedy="keep the axis: take a range of one, x[:, i : i + 1]",
            )


class Parts:
    """The windows of distributed tensors that a kernel has taken so far."""

    def __init__(self) -> None:
        self.known: dict[Expr, Part] = {}

    def note(self, var: Expr, call: Call) -> None:
        """A variable takes what a call gives."""
        if call.name != "tensor.slice" or not isinstance(call.type, DistributedTensorType):
            return
        inner = self.of(call.args[0])
        offsets, dropped = dims_of(call.args[2]) or (), dims_of(call.args[4]) if len(call.args) > 4 else None
        gone = {static_dim(axis) for axis in dropped or ()}
        axes = tuple(axis for at, axis in enumerate(inner.axes) if at not in gone)
        self.known[var] = Part(inner.base, inner.place(offsets), axes)

    def of(self, tensor: Expr) -> Part:
        """A tensor as a part of one that is no window."""
        known = self.known.get(tensor)
        if known is not None:
            return known
        assert isinstance(tensor.type, TensorType)
        rank = len(tensor.type.shape)
        return Part(tensor, (INDEX_ZERO,) * rank, tuple(range(rank)))

    def resolved(self, call: Call) -> Call:
        """The call on tensors that are no windows; the same object when they are none."""
        if call.name == ops.GET_CTX and call.args[0] in self.known:
            return create_call(call.name, (self.of(call.args[0]).base,), call.kwargs, call.span, call.attrs)
        if call.name not in _PLACES:
            return call
        operand, offsets = _PLACES[call.name]
        if call.args[operand] not in self.known:
            return call
        part = self.of(call.args[operand])
        if call.name not in (ops.NOTIFY, ops.WAIT):
            part.check(call.span)
        args = list(call.args)
        args[operand], args[offsets] = part.base, MakeTuple(part.place(dims_of(args[offsets]) or ()))
        return create_call(call.name, args, call.kwargs, call.span, call.attrs)
