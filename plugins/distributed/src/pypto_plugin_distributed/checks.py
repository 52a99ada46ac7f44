"""What the operators ask of their arguments, and how they refuse what does not fit."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from pypto_core.diagnostics import OpError
from pypto_core.ir import (
    COMM_CTX,
    INDEX_ZERO,
    UNKNOWN,
    VOID,
    WINDOW_BUFFER,
    AtomicType,
    CommCtxType,
    ConstInt,
    DataType,
    DistributedTensorType,
    Expr,
    MakeTuple,
    MemorySpace,
    ScalarType,
    TensorType,
    TileType,
    Type,
    WindowBufferType,
    int_range,
    prove_eq,
    prove_le,
    prove_lt,
    scalar_type,
    static_dim,
    static_shape,
)
from pypto_core.ops import builtin_registry, check_offsets, dims_text, extent_text, type_text

Args = tuple[Expr, ...]
Options = Mapping[str, Any]
Dims = tuple[Expr, ...]

INDEX = scalar_type(DataType.INDEX)
ADDABLE = (DataType.FP32, DataType.FP16, DataType.BF16, DataType.INT32, DataType.INT16, DataType.INT8)
"""Element types that memory adds atomically."""


def dims_of(arg: Expr) -> Dims | None:
    """The entries of a list of integers; None for one that is only known at run time."""
    return arg.elements if isinstance(arg, MakeTuple) else None


def given(args: Args, position: int) -> Dims | None:
    """The entries of an optional list; None when it is left out."""
    found = dims_of(args[position]) if position < len(args) else None
    return found or None


def distributed(args: Args, position: int, name: str) -> DistributedTensorType:
    """The type of an operand that every device has a part of."""
    kind = args[position].type
    if isinstance(kind, DistributedTensorType):
        return kind
    raise OpError(
        f"'{name}' lies on this device alone",
        facts={name: type_text(kind)},
        remedy="pass a pld.DistributedTensor parameter, or a window of one",
    )


def tensor(args: Args, position: int) -> TensorType:
    """The type of a tensor operand."""
    kind = args[position].type
    assert isinstance(kind, TensorType)
    return kind


def check_peer(peer: Expr) -> None:
    """Refuse the number of a device that is provably negative."""
    if prove_lt(peer, INDEX_ZERO) is True:
        raise OpError(
            f"there is no device {extent_text(peer)}",
            remedy="devices count from 0 to pld.nranks(ctx) less one; wrap around with % nranks",
        )


def check_region(kind: TensorType, offsets: Dims | None, extents: Dims, name: str) -> None:
    """Refuse a part of a tensor with another number of axes, or one that provably reaches out of it."""
    for given_dims, what in ((offsets, "offsets"), (extents, "extents")):
        if given_dims is not None and len(given_dims) != len(kind.shape):
            raise OpError(
                f"{len(given_dims)} {what} for the {len(kind.shape)} axes of '{name}'",
                facts={what: dims_text(given_dims), name: type_text(kind)},
                remedy="give one per axis",
            )
    if offsets is None:
        offsets = (INDEX_ZERO,) * len(extents)
    check_offsets(offsets)
    for axis, (first, count, have) in enumerate(zip(offsets, extents, kind.shape, strict=True)):
        low, number, extent = static_dim(first), static_dim(count), static_dim(have)
        if low is not None and number is not None and extent is not None and low + number > extent:
            raise OpError(
                f"[{low}, {low + number}) on axis {axis} is outside of the extent {extent} of '{name}'",
                facts={name: type_text(kind)},
                remedy="mend the offset, or take fewer elements",
            )


def check_signal(args: Args, name: str) -> DistributedTensorType:
    """Refuse a signal of other elements than INT32."""
    kind = distributed(args, 0, name)
    if kind.dtype is not DataType.INT32:
        raise OpError(
            f"a signal holds int32, not {kind.dtype}",
            facts={name: type_text(kind)},
            remedy="make a window of its own for signals: pld.window(buf, [n, 1], dtype=pl.INT32)",
        )
    return kind


def check_element(kind: TensorType, args: Args, position: int, name: str) -> None:
    """Refuse indices of an element that provably does not exist."""
    found = dims_of(args[position])
    if found is not None:
        check_region(kind, found, (ConstInt(1),) * len(found), name)


def check_atomic(dtype: DataType, options: Options) -> None:
    """Refuse atomic additions of what memory can't add."""
    if options.get("atomic", AtomicType.None_) is not AtomicType.None_ and dtype not in ADDABLE:
        raise OpError(
            f"memory can't add {dtype} elements atomically",
            facts={"accepted": ", ".join(d.text for d in ADDABLE)},
            remedy="convert the elements first",
        )


def deduce_index(args: Args, options: Options) -> ScalarType:
    """An INDEX scalar."""
    return INDEX


def deduce_buffer(args: Args, options: Options) -> Type:
    """A window buffer of a positive number of bytes."""
    size = static_dim(args[0])
    if size is not None and size <= 0:
        raise OpError(
            f"a window of {size} bytes holds nothing",
            remedy="give the number of bytes that each device has of it",
        )
    return WINDOW_BUFFER if size is None else WindowBufferType(size)


def deduce_window(args: Args, options: Options) -> DistributedTensorType:
    """A buffer seen as a tensor from its first byte on."""
    buffer = args[0].type
    if not isinstance(buffer, WindowBufferType):
        raise OpError(
            f"a window is made of a window buffer, not of a {type_text(args[0].type)}",
            remedy="allocate one in the host function: buf = pld.alloc_window_buffer(nbytes)",
        )
    shape = dims_of(args[1]) or ()
    for extent in shape:
        if prove_le(extent, INDEX_ZERO) is True:
            raise OpError(
                f"an extent of a window must be positive, not {extent_text(extent)}",
                remedy="leave out axes that hold nothing",
            )
    element: DataType = options["dtype"]
    extents = static_shape(shape)
    if extents is not None and buffer.size is not None and element.storage_bytes(prod(extents)) > buffer.size:
        raise OpError(
            f"a window of {list(extents)} {element} takes {element.storage_bytes(prod(extents))} bytes, "
            f"its buffer has {buffer.size}",
            remedy="allocate more, or make a smaller window of it",
        )
    return DistributedTensorType(shape, element)


def deduce_ctx(args: Args, options: Options) -> Type:
    """What a device knows of those it shares the window with."""
    distributed(args, 0, "target")
    return COMM_CTX


def deduce_of_ctx(args: Args, options: Options) -> ScalarType:
    """A number that the context knows."""
    if not isinstance(args[0].type, CommCtxType) and args[0].type is not UNKNOWN:
        raise OpError(
            f"a context is needed here, not a {type_text(args[0].type)}",
            remedy="take it from a distributed tensor: ctx = pld.get_comm_ctx(x)",
        )
    return INDEX


def deduce_notify(args: Args, options: Options) -> Type:
    """Nothing: (target, peer, offsets, value)."""
    kind = check_signal(args, "target")
    check_peer(args[1])
    check_element(kind, args, 2, "target")
    _check_number(args[3], "value")
    return VOID


def _check_number(number: Expr, name: str) -> None:
    """Refuse a constant that no signal holds."""
    low, high = int_range(DataType.INT32)
    if isinstance(number, ConstInt) and not low <= number.value <= high:
        raise OpError(
            f"{name} {number.value} does not fit a signal, which holds int32",
            remedy=f"use a number from {low} to {high}",
        )


def deduce_wait(args: Args, options: Options) -> Type:
    """Nothing: (signal, offsets, expected)."""
    check_element(check_signal(args, "signal"), args, 1, "signal")
    _check_number(args[2], "expected")
    return VOID


def deduce_barrier(args: Args, options: Options) -> Type:
    """Nothing: (signal), one element per device."""
    check_signal(args, "signal")
    return VOID


def _check_transfer(far: TensorType, near: TensorType, args: Args, options: Options, put: bool) -> None:
    """A copy between a remote and a local tensor: (dst, peer, src, dst_offsets, src_offsets, shape)."""
    check_peer(args[1])
    if far.dtype is not near.dtype:
        raise OpError(
            "a transfer does not convert elements",
            facts={"dst": type_text(tensor(args, 0)), "src": type_text(tensor(args, 2))},
            remedy="use tensors of one element type, and convert before or after",
        )
    shape = given(args, 5)
    for key in ("chunk_rows", "chunk_cols"):
        if options.get(key) is not None and options[key] <= 0:
            raise OpError(
                f"{key} must be positive, not {options[key]}", remedy="leave it out to have it chosen"
            )
    check_atomic(far.dtype, options)
    if shape is None:
        same = len(far.shape) == len(near.shape) and not any(
            prove_eq(a, b) is False for a, b in zip(far.shape, near.shape, strict=True)
        )
        if not same and given(args, 3) is None and given(args, 4) is None:
            raise OpError(
                "dst and src have different shapes",
                facts={"dst": type_text(tensor(args, 0)), "src": type_text(tensor(args, 2))},
                remedy="say what is copied: dst_offsets=[…], src_offsets=[…], shape=[…]",
            )
        shape = tensor(args, 2).shape if put else tensor(args, 0).shape
    check_region(tensor(args, 0), given(args, 3), shape, "dst")
    check_region(tensor(args, 2), given(args, 4), shape, "src")


def deduce_put(args: Args, options: Options) -> Type:
    """Nothing: (dst, peer, src, dst_offsets, src_offsets, shape)."""
    _check_transfer(distributed(args, 0, "dst"), tensor(args, 2), args, options, put=True)
    return VOID


def deduce_get(args: Args, options: Options) -> Type:
    """Nothing: (dst, peer, src, dst_offsets, src_offsets, shape)."""
    _check_transfer(distributed(args, 2, "src"), tensor(args, 0), args, options, put=False)
    return VOID


def deduce_remote_store(args: Args, options: Options) -> Type:
    """Nothing: (source, target, peer, offsets), and the extents in the target's axes for a tile."""
    source, target = args[0].type, distributed(args, 1, "target")
    assert isinstance(source, TensorType | TileType)
    check_peer(args[2])
    if source.dtype is not target.dtype:
        raise OpError(
            "a transfer does not convert elements",
            facts={"source": type_text(source), "target": type_text(target)},
            remedy="convert with pl.cast before",
        )
    if isinstance(source, TileType):
        builtin_registry()["tile.store"].deduce((args[0], args[3], args[1], *args[4:]), options)
    else:
        builtin_registry()["tensor.assemble"].deduce((args[1], args[0], args[3]), options)
    return VOID


def fill_shape(operands: list[Expr | None]) -> None:
    """Say what a tile of other than two axes covers of the target, as it becomes a matrix in the passes."""
    tile, target = operands[0], operands[1]
    kind = None if tile is None else tile.type
    if operands[4] is not None or target is None or not isinstance(kind, TileType) or len(kind.shape) == 2:
        return
    have = target.type
    if isinstance(have, TensorType) and len(have.shape) >= len(kind.shape):
        ones = (ConstInt(1),) * (len(have.shape) - len(kind.shape))
        operands[4] = MakeTuple((*ones, *kind.valid_shape))


def deduce_remote_load(args: Args, options: Options) -> Type:
    """A tile in Vec, as of a load: (target, peer, offsets, shape, valid_shape)."""
    kind = distributed(args, 0, "target")
    check_peer(args[1])
    valid = args[4] if given(args, 4) is not None else args[3]
    offsets, extents = dims_of(args[2]), dims_of(valid)
    if offsets is not None and extents is not None and len(extents) == len(offsets):
        check_region(kind, offsets, extents, "target")
    return builtin_registry()["tile.load"].deduce(
        (args[0], args[2], args[3], valid), {"target_memory": MemorySpace.Vec}
    )
