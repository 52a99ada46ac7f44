"""Tensors as a whole: create, fill, slice, assemble, look at under another shape, and access to one element."""

from __future__ import annotations

from pypto_core.diagnostics import OpError
from pypto_core.ir import (
    VOID,
    ArgEffect,
    AtomicType,
    ConstInt,
    DataType,
    PadValue,
    ScalarType,
    TensorLayout,
    TensorType,
    TensorView,
    Type,
    add,
    dims_equal,
    replace,
    scalar_type,
    static_dim,
)
from pypto_core.ops.deduce import (
    INDEX_TYPE,
    Args,
    Options,
    constant_axis,
    dims_of,
    make_tensor,
    need_equal_extent,
    need_rank,
    need_same_dtype,
    need_scalar,
    optional_dims,
    positive_shape,
    scalar_of,
    tensor_of,
    with_valid,
)
from pypto_core.ops.kinds import Kind
from pypto_core.ops.opdef import OMIT, Access, OpDef, OpMemory, Param
from pypto_core.ops.params import dims, dtype, flag, index, scalar, tensor
from pypto_core.ops.reshape import check_count, reshaped_valid
from pypto_core.ops.tile_memory import check_atomic, check_indices
from pypto_core.ops.tile_misc import block_queries, swapped_axes
from pypto_core.ops.tile_view import check_extents, check_narrowing, drop_axes
from pypto_core.ops.valid_shape import window_read, write_union
from pypto_core.ops.wording import type_text

_RAMPS = (DataType.INT32, DataType.INT16, DataType.UINT32, DataType.UINT16)


def deduce_create(args: Args, options: Options) -> TensorType:
    """A tensor of undefined content, or filled with ``init_value``."""
    layout: TensorLayout = options.get("layout", TensorLayout.ND)
    return TensorType(positive_shape(args[0]), options["dtype"], None, TensorView(layout=layout))


def deduce_full(args: Args, options: Options) -> TensorType:
    """A tensor filled with one value."""
    return TensorType(positive_shape(args[0]), options["dtype"])


def deduce_ramp(args: Args, options: Options) -> TensorType:
    """A tensor of consecutive integers."""
    element: DataType = options.get("dtype", DataType.INT32)
    if element not in _RAMPS:
        raise OpError(
            f"an index ramp can't be {element}", remedy="one of " + ", ".join(d.text for d in _RAMPS)
        )
    need_scalar(scalar_of(args, 0), element, "start")
    return TensorType(positive_shape(args[1]), element)


def deduce_slice(args: Args, options: Options) -> TensorType:
    """A window of a tensor, without a copy."""
    source = tensor_of(args, 0)
    window, offset = positive_shape(args[1]), dims_of(args[2])
    request, drop = optional_dims(args, 3), optional_dims(args, 4)
    clamp = bool(options.get("clamp"))
    valid = window_read(source.shape, source.valid_shape, offset, window, request, exact=False, clamp=clamp)
    shape, valid = drop_axes(window, valid, drop)
    pad: PadValue = options.get("pad_value", PadValue.null)
    return make_tensor(shape, source.dtype, valid, pad)


def deduce_assemble(args: Args, options: Options) -> TensorType:
    """The target with the source written at an offset: its own type object unless the valid extents grow."""
    target, source, offset = tensor_of(args, 0), tensor_of(args, 1), dims_of(args[2])
    check_narrowing(source.dtype, target.dtype)
    check_atomic(target.dtype, options)
    if len(source.shape) != len(target.shape):
        return target
    return with_valid(target, write_union(target.shape, target.valid_shape, source.valid_shape, offset))


def deduce_reshape(args: Args, options: Options) -> TensorType:
    """The same elements under another shape."""
    source, shape = tensor_of(args, 0), positive_shape(args[1])
    check_count(source.shape, shape)
    return make_tensor(shape, source.dtype, reshaped_valid(source.shape, source.valid_shape, shape))


def deduce_view(args: Args, options: Options) -> TensorType:
    """The same tensor read in another layout."""
    source = tensor_of(args, 0)
    view = source.tensor_view or TensorView()
    return replace(source, tensor_view=replace(view, layout=options["layout"]))


def deduce_reinterpret_view(args: Args, options: Options) -> TensorType:
    """The same bytes read as elements of another type."""
    source = tensor_of(args, 0)
    element: DataType = options["dtype"]
    shape = optional_dims(args, 1)
    if shape is None:
        last = static_dim(source.shape[-1])
        if source.dtype.bits == element.bits:
            shape = source.shape
        elif last is not None and last * source.dtype.bits % element.bits == 0:
            shape = (*source.shape[:-1], ConstInt(last * source.dtype.bits // element.bits))
        else:
            raise OpError(
                f"a row of {type_text(source)} is no whole number of {element}",
                remedy="give the new shape, or make the last extent a multiple of the ratio of the widths",
            )
    return TensorType(shape, element)


def deduce_transpose(args: Args, options: Options) -> TensorType:
    """Two axes exchanged."""
    source = tensor_of(args, 0)
    shape, valid = swapped_axes(source, args)
    return make_tensor(shape, source.dtype, valid)


def deduce_concat(args: Args, options: Options) -> TensorType:
    """Two tensors side by side, declared fully valid."""
    left, right = tensor_of(args, 0), tensor_of(args, 1)
    need_rank(left, 2, "src0")
    need_rank(right, 2, "src1")
    need_same_dtype(left, right, "src0", "src1")
    if not dims_equal(left.shape[0], right.shape[0]):
        need_equal_extent(
            left.shape[0],
            right.shape[0],
            "rows of src0",
            "rows of src1",
            "only equal rows are put side by side",
        )
    return TensorType((left.shape[0], add(left.shape[1], right.shape[1])), left.dtype)


def deduce_set_validshape(args: Args, options: Options) -> TensorType:
    """The same tensor with other valid extents."""
    source = tensor_of(args, 0)
    need_rank(source, 2, "tensor")
    check_extents(source.shape, (args[1], args[2]))
    return with_valid(source, (args[1], args[2]))


def deduce_fillpad(args: Args, options: Options) -> TensorType:
    """The tensor with everything outside the valid part filled, hence fully valid."""
    source = tensor_of(args, 0)
    pad: PadValue = options.get("pad_value", PadValue.zero)
    if pad is PadValue.null:
        raise OpError(
            "pad_value=null fills with nothing", remedy="use PadValue.zero, PadValue.max or PadValue.min"
        )
    return make_tensor(source.shape, source.dtype, (), pad)


def deduce_dim(args: Args, options: Options) -> ScalarType:
    """One extent as an INDEX scalar."""
    constant_axis(args[1], len(tensor_of(args, 0).shape))
    return INDEX_TYPE


def deduce_read(args: Args, options: Options) -> ScalarType:
    """One element of a tensor."""
    source = tensor_of(args, 0)
    check_indices(source, dims_of(args[1]), "tensor")
    return scalar_type(source.dtype)


def deduce_write(args: Args, options: Options) -> Type:
    """Nothing: the tensor itself is changed."""
    target = tensor_of(args, 0)
    check_indices(target, dims_of(args[1]), "tensor")
    need_scalar(scalar_of(args, 2), target.dtype, "value")
    return VOID


_VIEW = OpMemory(view_of=0, access=Access.NONE)
_PAD = Param("pad_value", Kind.ENUM, PadValue.zero, PadValue)
_LAYOUT = Param("layout", Kind.ENUM, TensorLayout.ND, TensorLayout)

OPS = (
    OpDef(
        name="tensor.create",
        summary="a tensor of undefined content, or filled with init_value",
        params=(dims("shape"), dtype(), _LAYOUT, flag("manual_dep"), Param("init_value", Kind.FLOAT, OMIT)),
        deduce=deduce_create,
    ),
    OpDef(
        name="tensor.create_l1",
        summary="a tensor of undefined content that lies in L1",
        params=(dims("shape"), dtype()),
        deduce=deduce_full,
    ),
    OpDef(
        name="tensor.full",
        summary="a tensor filled with one value",
        params=(dims("shape"), dtype(), scalar("value", like=None)),
        deduce=deduce_full,
    ),
    OpDef(
        name="tensor.ci",
        summary="consecutive integers",
        params=(scalar("start", like=None), dims("shape"), dtype(default=DataType.INT32),
                flag("descending", default=False)),
        deduce=deduce_ramp,
    ),
    OpDef(
        name="tensor.slice",
        summary="a window of a tensor",
        params=(tensor("tensor"), dims("shape"), dims("offset"), dims("valid_shape", default=OMIT),
                dims("drop_dims", default=OMIT), Param("pad_value", Kind.ENUM, OMIT, PadValue), flag("clamp")),
        deduce=deduce_slice,
        memory=_VIEW,
    ),
    OpDef(
        name="tensor.assemble",
        summary="write a tensor into a part of another",
        params=(tensor("target"), tensor("source"), dims("offset"),
                Param("atomic", Kind.ENUM, OMIT, AtomicType, keyword_only=True)),
        deduce=deduce_assemble,
        memory=OpMemory(reuses=0),
        effects={0: ArgEffect.ReadWrite},
        pure=False,
    ),
    OpDef(
        name="tensor.reshape",
        summary="the same elements under another shape",
        params=(tensor("tensor"), dims("shape")),
        deduce=deduce_reshape,
        memory=_VIEW,
    ),
    OpDef(
        name="tensor.view",
        summary="the same tensor read in another layout",
        params=(tensor("tensor"), Param("layout", Kind.ENUM, enum=TensorLayout)),
        deduce=deduce_view,
        memory=_VIEW,
    ),
    OpDef(
        name="tensor.reinterpret_view",
        summary="the same bytes as elements of another type",
        params=(tensor("data"), dtype(), dims("shape", default=OMIT, keyword_only=True)),
        deduce=deduce_reinterpret_view,
        memory=_VIEW,
    ),
    OpDef(
        name="tensor.transpose",
        summary="two axes exchanged",
        params=(tensor("tensor"), index("axis1"), index("axis2")),
        deduce=deduce_transpose,
    ),
    OpDef(
        name="tensor.concat",
        summary="two tensors side by side",
        params=(tensor("src0"), tensor("src1")),
        deduce=deduce_concat,
    ),
    OpDef(
        name="tensor.set_validshape",
        summary="the same tensor with other valid extents",
        params=(tensor("tensor"), index("valid_rows"), index("valid_cols")),
        deduce=deduce_set_validshape,
        memory=_VIEW,
    ),
    OpDef(
        name="tensor.fillpad",
        summary="fill what is not valid",
        params=(tensor("tensor"), _PAD),
        deduce=deduce_fillpad,
    ),
    OpDef(
        name="tensor.dim",
        summary="one extent of a tensor",
        params=(tensor("tensor"), index("axis")),
        deduce=deduce_dim,
    ),
    OpDef(
        name="tensor.read",
        summary="one element of a tensor as a scalar",
        params=(tensor("tensor"), dims("indices")),
        deduce=deduce_read,
    ),
    OpDef(
        name="tensor.write",
        summary="set one element of a tensor",
        params=(tensor("tensor"), dims("indices"), scalar("value")),
        deduce=deduce_write,
        effects={0: ArgEffect.Write},
        pure=False,
    ),
    *block_queries("tensor"),
)  # fmt: skip
"""The operators of this module."""

__all__ = ["OPS"]
