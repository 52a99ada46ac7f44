"""Hints to bring a tensor nearer before it is read. They change no value and no order."""

from __future__ import annotations

from pypto_core.diagnostics import OpError
from pypto_core.ir import DataType, MakeTuple, ScalarType, TensorType, Type, scalar_type
from pypto_core.ops.deduce import Args, Options
from pypto_core.ops.opdef import OMIT, OpDef
from pypto_core.ops.params import dims, scalar, tensor
from pypto_core.ops.tile_misc import deduce_void
from pypto_core.ops.wording import type_text

_HANDLE = scalar_type(DataType.INT64)


def deduce_context(args: Args, options: Options) -> ScalarType:
    """A handle, which prefetches name."""
    return _HANDLE


def deduce_prefetch(args: Args, options: Options) -> Type:
    """Nothing; the window, where one is given, has the axes of the tensor."""
    source = args[0].type
    assert isinstance(source, TensorType)
    for arg, name in zip(args[2:], ("offsets", "shapes"), strict=False):
        if isinstance(arg, MakeTuple) and arg.elements and len(arg.elements) != len(source.shape):
            raise OpError(
                f"'{name}' has {len(arg.elements)} entries, the tensor {len(source.shape)} axes",
                facts={"src": type_text(source)},
                remedy="give one entry per axis, or the subscript alone: async_prefetch(x[0:64, :], context)",
            )
    return deduce_void(args, options)


OPS = (
    OpDef(
        name="prefetch.make_context", summary="what prefetches of a kernel go by",
        params=(tensor("workspace", default=OMIT),), deduce=deduce_context, pure=False,
    ),
    OpDef(
        name="prefetch.async_prefetch", summary="a hint that a tensor, or a window of it, will be read soon",
        params=(
            tensor("src"), scalar("context", like=None), dims("offsets", default=OMIT),
            dims("shapes", default=OMIT),
        ),
        deduce=deduce_prefetch, pure=False,
    ),
)  # fmt: skip
"""The operators of this module."""

__all__ = ["OPS"]
