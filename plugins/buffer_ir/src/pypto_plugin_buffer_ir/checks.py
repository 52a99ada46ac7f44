"""What the operators on buffers accept: one check each, raising OpError."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from pypto_core.diagnostics import OpError
from pypto_core.ir import (
    RUNTIME_EXTENT,
    VOID,
    BufferType,
    DataType,
    Expr,
    MakeTuple,
    MemorySpace,
    ScalarType,
    TensorType,
    Type,
    static_dim,
    types_equal,
)
from pypto_core.ops import dims_text, type_text
from pypto_plugin_buffer_ir.elementwise import Recipe
from pypto_plugin_buffer_ir.rules import CUBE_DTYPES, RELABEL_DTYPES, ROW_BYTES, STORED_ACC, TRANSFER_DTYPES

Args = tuple[Expr, ...]
Options = Mapping[str, Any]
VEC, MAT, LEFT, RIGHT, ACC = (
    MemorySpace.Vec,
    MemorySpace.Mat,
    MemorySpace.Left,
    MemorySpace.Right,
    MemorySpace.Acc,
)
OPERANDS = (LEFT, RIGHT)
AXES = ("row", "column")
_ORDER = (DataType.FP16, DataType.BF16, DataType.FP32, DataType.INT32, DataType.INT8)


def buffer_of(arg: Expr) -> BufferType:
    """The descriptor of an operand that is known to be a handle."""
    assert isinstance(arg.type, BufferType)
    return arg.type


def accumulator_of(dtype: DataType) -> DataType:
    """The element type in which products of ``dtype`` are summed up."""
    return DataType.INT32 if dtype is DataType.INT8 else DataType.FP32


# -- parts


def _pair(arg: Expr, what: str, count: int = 2) -> tuple[Expr, ...]:
    """The elements of a tuple that is written out."""
    if not isinstance(arg, MakeTuple):
        raise OpError(f"{what} must be a MakeTuple, written out where it is used")
    if len(arg.elements) != count:
        said = f"a rank-{count} MakeTuple" if count else "an empty MakeTuple"
        raise OpError(f"{what} must be {said}, not one of {len(arg.elements)} elements")
    return arg.elements


def _rank2(kind: BufferType, what: str) -> None:
    if len(kind.shape) != 2:
        raise OpError(f"{what} must be a rank-2 buffer, not {kind!r}")


def _dense_vec(kind: BufferType, what: str) -> None:
    if len(kind.shape) != 2 or kind.memory_space is not VEC or not kind.is_dense:
        raise OpError(f"{what} must be a dense rank-2 row-major Vec buffer, not {kind!r}")


def _same_descriptor(kind: BufferType, other: BufferType, what: str) -> None:
    if not types_equal(kind, other):
        raise OpError(
            f"{what} must have identical physical descriptors",
            facts={"one": repr(kind), "the other": repr(other)},
        )


def _valid_extents(kind: BufferType, extents: Sequence[Expr], operator: str) -> None:
    """Extents that an operand states fit the descriptor, and repeat what is constant in it."""
    for axis, (have, limit, extent) in enumerate(zip(kind.valid_shape, kind.shape, extents, strict=True)):
        value = static_dim(extent)
        if value is not None and not 0 <= value <= limit:
            raise OpError(
                f"the valid extent for dimension {axis} of {operator} must be between 0 and {limit}, not {value}"
            )
        if have != RUNTIME_EXTENT and value != have:
            raise OpError(
                f"{operator} cannot change static valid dimension {axis}, which is {have}: the descriptor must already "
                "mark changing dimensions dynamic"
            )


def _inside(offset: Expr, window: int, extent: int, axis: int, what: str) -> None:
    if window > extent:
        raise OpError(f"{what} exceeds the source on dimension {axis}: {window} of {extent} elements")
    value = static_dim(offset)
    if value is not None and not 0 <= value <= extent - window:
        raise OpError(
            f"{what} exceeds source capacity on dimension {axis}: the {AXES[axis]} window "
            f"[{value}, {value + window}) exceeds the source extent {extent}"
        )


# -- definitions of handles


def alloc(args: Args, options: Options, kind: Type) -> None:
    """(valid extents that the descriptor leaves open[, address])."""
    if not isinstance(kind, BufferType):
        raise OpError(f"an allocation is a buffer, not {type_text(kind)}")
    if not args or not isinstance(args[0], MakeTuple):
        raise OpError("buffer.alloc requires a runtime-valid tuple: its first operand must be a MakeTuple")
    open_axes = [a for a, v in enumerate(kind.valid_shape) if v == RUNTIME_EXTENT]
    if len(args[0].elements) != len(open_axes):
        raise OpError(
            f"buffer.alloc takes {len(open_axes)} runtime valid extent(s), one per dynamic descriptor dimension, "
            f"not {len(args[0].elements)}"
        )
    for axis, extent in zip(open_axes, args[0].elements, strict=True):
        value = static_dim(extent)
        if value is not None and not 0 <= value <= kind.shape[axis]:
            raise OpError(
                f"a valid extent of buffer.alloc must be between 0 and {kind.shape[axis]}, not {value}"
            )
    address = static_dim(args[1]) if len(args) > 1 else None
    if address is not None and address < 0:
        raise OpError(f"the address of buffer.alloc must be nonnegative, not {address}")


def subview(args: Args, options: Options, kind: Type) -> None:
    """(source, offsets[, valid extents]): a window that keeps the pitch of its source."""
    source = buffer_of(args[0])
    if not isinstance(kind, BufferType):
        raise OpError(f"a window is a buffer, not {type_text(kind)}")
    _dense_vec(source, "the source of buffer.subview")
    _dense_vec(kind, "the result of buffer.subview")
    if source.dtype is not kind.dtype:
        raise OpError(f"buffer.subview must keep the element type: {source.dtype} is not {kind.dtype}")
    offsets = _pair(args[1], "the offsets of buffer.subview")
    for axis, offset in enumerate(offsets):
        _inside(offset, kind.shape[axis], source.shape[axis], axis, "the window of buffer.subview")
    if len(args) < 3:
        if not kind.is_static:
            raise OpError(
                "buffer.subview requires a valid-extents tuple for a descriptor with runtime extents"
            )
        return
    extents = _pair(args[2], "the valid extents of buffer.subview")
    for axis, (have, extent) in enumerate(zip(kind.valid_shape, extents, strict=True)):
        value = static_dim(extent)
        if have != RUNTIME_EXTENT and value != have:
            raise OpError(
                f"the valid extent {axis} of buffer.subview must equal the static descriptor dimension {have}"
            )
        if have == RUNTIME_EXTENT and value is not None:
            raise OpError(
                f"the valid extent {axis} of buffer.subview is the constant {value}: the descriptor should state it"
            )


def reshape(args: Args, options: Options, kind: Type) -> None:
    """(source): the same bytes under another descriptor."""
    source = buffer_of(args[0])
    if not isinstance(kind, BufferType):
        raise OpError(f"another look at a buffer is a buffer, not {type_text(kind)}")
    if source.memory_space is not kind.memory_space:
        raise OpError("buffer.reshape must stay in the same memory space")
    if not (source.is_static and kind.is_static):
        raise OpError("buffer.reshape requires static valid extents on both sides")
    if source.size != kind.size:
        raise OpError(f"buffer.reshape requires equal physical byte sizes: {source.size} is not {kind.size}")
    for side, what in ((source, "the source of buffer.reshape"), (kind, "the result of buffer.reshape")):
        _rank2(side, what)
        if source.memory_space is VEC:
            _dense_vec(side, what)
            if side.dtype not in RELABEL_DTYPES:
                raise OpError(f"{what} can't have {side.dtype} elements", facts=_dtypes(RELABEL_DTYPES))
            if side.shape[1] * side.dtype.element_bytes % ROW_BYTES:
                raise OpError(f"{what} needs physical rows aligned to {ROW_BYTES} bytes, not {side!r}")
    if source.memory_space is not VEC and source.dtype is not kind.dtype:
        raise OpError(f"buffer.reshape must keep the same element type in {source.memory_space.name}")


def _dtypes(accepted: frozenset[DataType]) -> dict[str, str]:
    return {"accepted": ", ".join(sorted(d.text for d in accepted))}


# -- transfers


def set_validshape(args: Args, options: Options) -> Type:
    """(buffer, valid extents)."""
    kind = buffer_of(args[0])
    if not isinstance(args[1], MakeTuple):
        raise OpError("the valid extents must be a MakeTuple")
    if len(args[1].elements) != len(kind.shape):
        raise OpError(
            f"buffer.set_validshape takes one valid extent per physical dimension: {len(kind.shape)}, "
            f"not {len(args[1].elements)}"
        )
    _valid_extents(kind, args[1].elements, "buffer.set_validshape")
    return VOID


def load(args: Args, options: Options) -> Type:
    """(tensor, offsets, valid extents, destination)."""
    tensor, kind = args[0].type, buffer_of(args[3])
    assert isinstance(tensor, TensorType)
    accepted = {VEC: TRANSFER_DTYPES, MAT: CUBE_DTYPES}.get(kind.memory_space)
    if accepted is None:
        raise OpError(f"buffer.load does not support {kind.memory_space.name} buffers")
    if tensor.dtype is not kind.dtype or kind.dtype not in accepted:
        raise OpError(
            _transfer_text("buffer.load", kind, accepted),
            facts={"tensor": tensor.dtype, "buffer": kind.dtype},
        )
    _window(tensor, kind, args[1], args[2], "buffer.load")
    return VOID


def store(args: Args, options: Options) -> Type:
    """(source, offsets, valid extents, tensor)."""
    kind, tensor = buffer_of(args[0]), args[3].type
    assert isinstance(tensor, TensorType)
    if kind.memory_space is ACC:
        accepted = STORED_ACC.get(kind.dtype)
        if accepted is None:
            raise OpError(f"buffer.store does not support {kind.dtype} Acc buffers")
        if tensor.dtype not in accepted:
            raise OpError(f"buffer.store cannot convert {kind.dtype} to {tensor.dtype} without a scale")
    elif kind.memory_space is not VEC:
        raise OpError(f"buffer.store does not support {kind.memory_space.name} buffers")
    elif tensor.dtype is not kind.dtype or kind.dtype not in TRANSFER_DTYPES:
        text = _transfer_text("buffer.store", kind, TRANSFER_DTYPES)
        raise OpError(text, facts={"tensor": tensor.dtype, "buffer": kind.dtype})
    _window(tensor, kind, args[1], args[2], "buffer.store")
    return VOID


def _transfer_text(operator: str, kind: BufferType, accepted: frozenset[DataType]) -> str:
    names = "/".join(d.name for d in _ORDER if d in accepted)
    return f"{operator} needs matching {names} elements in the tensor and the {kind.memory_space.name} buffer"


def _window(tensor: TensorType, kind: BufferType, at: Expr, extents: Expr, operator: str) -> None:
    if len(tensor.shape) != 2 or len(kind.shape) != 2:
        raise OpError(
            f"{operator} takes a rank-2 tensor and a rank-2 buffer, not {type_text(tensor)} and {kind!r}"
        )
    offsets = _pair(at, f"the offsets of {operator}")
    valid = _pair(extents, f"the valid extents of {operator}")
    for axis, offset in enumerate(offsets):
        value = static_dim(offset)
        if value is not None and value < 0:
            raise OpError(f"the offset {axis} of {operator} must be nonnegative, not {value}")
    _valid_extents(kind, valid, operator)
    for axis, (offset, extent) in enumerate(zip(offsets, valid, strict=True)):
        start, count = static_dim(offset), static_dim(extent)
        for dims in (tensor.shape, tensor.valid_shape):
            bound = static_dim(dims[axis])
            if start is None or count is None or bound is None or start + count <= bound:
                continue
            raise OpError(
                f"the window of {operator} exceeds GM tensor physical or valid dimension {axis}: "
                f"[{start}, {start + count}) of {bound}",
                facts={"tensor": dims_text(tensor.shape), "valid": dims_text(tensor.valid_shape)},
            )


def copy(args: Args, options: Options) -> Type:
    """(source, destination)."""
    source, out = buffer_of(args[0]), buffer_of(args[1])
    spaces = (source.memory_space, out.memory_space)
    if spaces == (VEC, VEC):
        _same_descriptor(source, out, "source and destination of buffer.copy")
    elif spaces[0] is MAT and spaces[1] in OPERANDS:
        kept = (source.dtype, source.shape, source.valid_shape) == (out.dtype, out.shape, out.valid_shape)
        if not kept:
            raise OpError(
                "buffer.copy from Mat must keep the element type and the physical and valid extents",
                facts={"source": repr(source), "destination": repr(out)},
            )
    elif spaces[0] is spaces[1]:
        raise OpError(f"operands of buffer.copy must be in Vec memory, not both in {spaces[0].name}")
    else:
        raise OpError(
            f"buffer.copy goes from Vec to Vec and from Mat to Left or Right, got {spaces[0].name} -> {spaces[1].name}"
        )
    return VOID


def extract(args: Args, options: Options) -> Type:
    """(source, row, column, destination)."""
    source, out = buffer_of(args[0]), buffer_of(args[3])
    _rank2(source, "the source of buffer.extract")
    _rank2(out, "the destination of buffer.extract")
    spaces = (source.memory_space, out.memory_space)
    if spaces != (VEC, VEC) and not (spaces[0] is MAT and spaces[1] in OPERANDS):
        raise OpError(
            "buffer.extract supports Mat -> Left/Right and Vec -> Vec, "
            f"got {spaces[0].name} -> {spaces[1].name}"
        )
    if source.dtype is not out.dtype:
        raise OpError(f"buffer.extract needs matching element types: {source.dtype} is not {out.dtype}")
    for axis, offset in enumerate(args[1:3]):
        _inside(offset, out.shape[axis], source.shape[axis], axis, "the window of buffer.extract")
    return VOID


# -- computation


def product(operator: str) -> Callable[[Args, Options], Type]:
    """(left, right, destination)."""

    def check(args: Args, options: Options) -> Type:
        lhs, rhs, out = (buffer_of(a) for a in args)
        for kind, space, accepted in (
            (lhs, LEFT, CUBE_DTYPES),
            (rhs, RIGHT, CUBE_DTYPES),
            (out, ACC, frozenset(STORED_ACC)),
        ):
            if kind.memory_space is not space or len(kind.shape) != 2:
                raise OpError(f"an operand of {operator} must be a rank-2 {space.name} buffer, not {kind!r}")
            if kind.dtype not in accepted:
                raise OpError(f"{operator} does not support {kind.dtype} {space.name} buffers")
        if lhs.dtype is not rhs.dtype:
            raise OpError(f"{operator} needs factors of one element type: {lhs.dtype} is not {rhs.dtype}")
        wanted = accumulator_of(lhs.dtype)
        if out.dtype is not wanted:
            raise OpError(
                f"{operator} requires a {wanted} accumulator for {lhs.dtype} factors, not {out.dtype}"
            )
        if lhs.shape[1] != rhs.shape[0] or out.shape != (lhs.shape[0], rhs.shape[1]):
            raise OpError(
                f"{operator} takes [M, K] x [K, N] -> [M, N]",
                facts={"left": list(lhs.shape), "right": list(rhs.shape), "destination": list(out.shape)},
            )
        if RUNTIME_EXTENT not in (lhs.valid_shape[1], rhs.valid_shape[0]) and (
            rhs.valid_shape[0] < lhs.valid_shape[1]
        ):
            raise OpError(
                f"{operator} needs rhs valid K to cover lhs valid K: {rhs.valid_shape[0]} is less than "
                f"{lhs.valid_shape[1]}"
            )
        for axis, extent in enumerate((lhs.valid_shape[0], rhs.valid_shape[1])):
            if RUNTIME_EXTENT not in (extent, out.valid_shape[axis]) and extent != out.valid_shape[axis]:
                raise OpError(
                    f"destination valid extent {axis} of {operator} must equal the product valid extent {extent}, "
                    f"not {out.valid_shape[axis]}"
                )
        return VOID

    return check


def elementwise(recipe: Recipe) -> Callable[[Args, Options], Type]:
    """(inputs…, destination), by the operator's row."""

    def check(args: Args, options: Options) -> Type:
        name, out = recipe.buffer_op, buffer_of(args[-1])
        _dense_vec(out, f"the destination of {name}, which must be in Vec memory,")
        if out.dtype not in recipe.dtypes:
            raise OpError(f"{name} takes no {out.dtype} elements", facts=_dtypes(recipe.dtypes))
        for arg, (_, is_scalar) in zip_longest(args[:-1], recipe.inputs):
            if is_scalar:
                if not isinstance(arg.type, ScalarType) or arg.type.dtype is not out.dtype:
                    raise OpError(
                        f"{name} requires a scalar matching the destination dtype {out.dtype}, "
                        f"not {type_text(arg.type)}"
                    )
                continue
            if buffer_of(arg).memory_space is not MemorySpace.Vec:
                raise OpError(f"the operands of {name} must be in Vec memory, not {type_text(arg.type)}")
            _same_descriptor(buffer_of(arg), out, f"the operands of {name}")
            if recipe.disjoint and arg is args[-1]:
                raise OpError(f"{name} requires a distinct destination")
        return VOID

    return check
