"""Small local arrays of integers, truth values and task ids."""

from __future__ import annotations

from pypto_core.diagnostics import OpError
from pypto_core.ir import (
    ArgEffect,
    ArrayType,
    ConstInt,
    DataType,
    ScalarType,
    prove_lt,
    scalar_type,
    static_dim,
)
from pypto_core.ops.deduce import Args, Options, scalar_of
from pypto_core.ops.kinds import Kind
from pypto_core.ops.opdef import Access, OpDef, OpMemory, Param
from pypto_core.ops.params import dtype, index, scalar
from pypto_core.ops.wording import extent_text, type_text


def deduce_create(args: Args, options: Options) -> ArrayType:
    """An array of undefined content."""
    extent = static_dim(args[0])
    if extent is None:
        raise OpError(
            f"an array has a constant extent, not {extent_text(args[0])}",
            remedy="give the greatest number of entries as a constant",
        )
    return ArrayType(options["dtype"], extent)


def _array(args: Args) -> ArrayType:
    kind = args[0].type
    if not isinstance(kind, ArrayType):
        raise OpError(
            f"'array' must be a local array, not {type_text(kind)}", remedy="make one with pl.array.create"
        )
    if prove_lt(args[1], ConstInt(0)) is True or prove_lt(args[1], ConstInt(kind.extent)) is False:
        raise OpError(
            f"index {extent_text(args[1])} is outside the array of {kind.extent}",
            remedy="indices count from 0 to the extent less one",
        )
    return kind


def deduce_get(args: Args, options: Options) -> ScalarType:
    """One entry."""
    return scalar_type(_array(args).dtype)


def deduce_update(args: Args, options: Options) -> ArrayType:
    """The array with one entry replaced."""
    kind, value = _array(args), scalar_of(args, 2)
    odd = DataType.TASK_ID, DataType.BOOL
    if value is not kind.dtype and (kind.dtype in odd or not value.is_int):
        raise OpError(
            f"an array of {kind.dtype} can't hold a value of type {value}",
            facts={"array": kind.dtype, "value": value},
            remedy=f"convert the value with pl.cast(value, pl.{kind.dtype.name})",
        )
    return kind


_ARRAY = Param("array", Kind.PTR)

OPS = (
    OpDef(
        name="array.create", summary="a local array", params=(index("extent"), dtype()), deduce=deduce_create
    ),
    OpDef(
        name="array.get_element",
        summary="one entry of an array",
        params=(_ARRAY, index("index")),
        deduce=deduce_get,
    ),
    OpDef(
        name="array.update_element",
        summary="an array with one entry replaced",
        params=(_ARRAY, index("index"), scalar("value", like=None)),
        deduce=deduce_update,
        memory=OpMemory(reuses=0, access=Access.NONE),
        effects={0: ArgEffect.ReadWrite},
        pure=False,
    ),
)
"""The operators of this module."""

__all__ = ["OPS"]
