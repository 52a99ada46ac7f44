"""What the operators do when a program runs: windows are arrays of every device, signals elements of them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from math import prod
from typing import Any

import attrs

from pypto_core.contract import RESULT, ArrayValue, DistributedValue, ExecContext, OpExecutor, Touch
from pypto_core.diagnostics import UserError
from pypto_core.ir import AtomicType, DataType, NotifyOp, PipeType, WaitCmp, base_name
from pypto_plugin_distributed import ops

Extents = tuple[int, ...]
_HERE = "pypto_plugin_distributed.meanings"
_COMPARE: dict[WaitCmp, tuple[Callable[[int, int], bool], str]] = {
    WaitCmp.Eq: (operator.eq, "=="),
    WaitCmp.Ne: (operator.ne, "!="),
    WaitCmp.Gt: (operator.gt, ">"),
    WaitCmp.Ge: (operator.ge, ">="),
    WaitCmp.Lt: (operator.lt, "<"),
    WaitCmp.Le: (operator.le, "<="),
}


@attrs.frozen(eq=False)
class WindowMemory:
    """A window buffer: the bytes of each device, by rank."""

    name: str
    parts: tuple[Any, ...]


@attrs.frozen
class CommContext:
    """Which device this is, of how many."""

    rank: int
    count: int


# -- host code


def world_size(ctx: ExecContext) -> int:
    """How many devices take part."""
    return ctx.device.count


def alloc_window_buffer(ctx: ExecContext, size: int, *, name: str | None = None) -> WindowMemory:
    """Zeros on every device."""
    if size <= 0:
        raise ctx.error(
            f"a window of {size} bytes holds nothing",
            remedy="give the number of bytes that each device has of it",
        )
    shown = name or "window"
    return WindowMemory(shown, ctx.device.allocate(size, shown))


def window(ctx: ExecContext, buffer: WindowMemory, shape: Extents, *, dtype: DataType) -> DistributedValue:
    """The first bytes of the buffer under a shape."""
    element = ctx.empty((1,), dtype).dtype
    size, have = prod(shape) * element.itemsize, len(buffer.parts[0])
    if size > have:
        raise ctx.error(
            f"a window of {list(shape)} {dtype} takes {size} bytes, its buffer has {have}",
            remedy="allocate more, or make a smaller window of it"
            + (", or run it on more devices: world_size, --ranks" if ctx.device.count == 1 else ""),
        )
    parts = tuple(part[:size].view(element).reshape(shape) for part in buffer.parts)
    return DistributedValue(parts[0], dtype, tuple(shape), tuple(shape), is_tensor=True, parts=parts)


# -- who is who


def get_comm_ctx(ctx: ExecContext, target: Any) -> CommContext:
    """The devices of the run."""
    return CommContext(_rank(ctx), ctx.device.count)


def rank(ctx: ExecContext, context: CommContext) -> int:
    """The number of this device."""
    return context.rank


def nranks(ctx: ExecContext, context: CommContext) -> int:
    """How many devices there are."""
    return context.count


def _rank(ctx: ExecContext) -> int:
    found = ctx.device.rank
    if found is None:
        raise _absent(ctx, f"{ctx.call.op.name} is asked on the host, which is no device")
    return found


def _absent(ctx: ExecContext, message: str) -> UserError:
    return UserError(
        message,
        code="SIM-022",
        span=ctx.call.span,
        remedy="launch the kernel with device=r, and let peers count from 0 to pld.nranks(ctx) less one",
    )


def _at(ctx: ExecContext, target: Any, peer: int) -> ArrayValue:
    """A distributed tensor as another device has it."""
    if not isinstance(target, DistributedValue):
        raise ctx.error("this tensor lies on this device alone", remedy="pass the distributed tensor itself")
    _rank(ctx)
    if not 0 <= peer < len(target.parts):
        raise _absent(ctx, f"there is no device {peer}: the run has {len(target.parts)}")
    return target.on(peer)


# -- signals


def notify(ctx: ExecContext, target: Any, peer: int, offsets: Extents, value: int, *, op: NotifyOp) -> None:
    """Adds to a signal of ``peer``, or sets it."""
    cell = _cell(ctx, _at(ctx, target, peer), offsets)
    ctx.device.notify(cell, value, adds=op is NotifyOp.AtomicAdd)


def wait(ctx: ExecContext, signal: Any, offsets: Extents, expected: int, *, cmp: WaitCmp) -> None:
    """Lets others run until the signal of this device is as expected."""
    _rank(ctx)
    _wait(ctx, signal, offsets, expected, cmp)


def _wait(ctx: ExecContext, signal: ArrayValue, offsets: Extents, expected: int, cmp: WaitCmp) -> None:
    cell = _cell(ctx, signal, offsets)
    compare, sign = _COMPARE[cmp]
    name = base_name(getattr(ctx.call.args[0], "name_hint", "signal"))
    ctx.device.wait(
        cell,
        lambda value: compare(value, expected),
        lambda: {f"{name}{list(offsets)} {sign}": f"{expected} is waited for, it is {int(cell)}"},
    )


def _cell(ctx: ExecContext, signal: ArrayValue, offsets: Extents) -> Any:
    """One element, as a view without axes."""
    for axis, (at, extent) in enumerate(zip(offsets, signal.shape, strict=True)):
        if not 0 <= at < extent:
            raise ctx.error(
                f"index {at} on axis {axis} is outside of the extent {extent} of the signal",
                remedy="give the window of signals one element per sender",
            )
    return signal.data[(*offsets, ...)]


def barrier(ctx: ExecContext, signal: Any) -> None:
    """Every device counts up its element at each other one, and down what it has waited for."""
    me, count = _rank(ctx), ctx.device.count
    if signal.shape[0] < count or prod(signal.shape[1:]) != 1:
        raise ctx.error(
            f"a barrier of {count} devices needs one signal for each",
            remedy="make a window of shape [nranks, 1] for it",
            signal=signal,
        )
    rest = (0,) * (len(signal.shape) - 1)
    others = [peer for peer in range(count) if peer != me]
    for peer in others:
        notify(ctx, signal, peer, (me, *rest), 1, op=NotifyOp.AtomicAdd)
    for peer in others:
        _wait(ctx, signal, (peer, *rest), 1, WaitCmp.Ge)
        notify(ctx, signal, me, (peer, *rest), -1, op=NotifyOp.AtomicAdd)


# -- transfers


def put(
    ctx: ExecContext,
    dst: Any,
    peer: int,
    src: ArrayValue,
    dst_offsets: Extents | None = None,
    src_offsets: Extents | None = None,
    shape: Extents | None = None,
    *,
    atomic: AtomicType | None = None,
    **_: Any,
) -> None:
    """Copies to ``peer``, or adds to what it has."""
    extents = shape or src.valid
    _copy(ctx, _at(ctx, dst, peer), dst_offsets, src, src_offsets, extents, atomic)


def get(
    ctx: ExecContext,
    dst: ArrayValue,
    peer: int,
    src: Any,
    dst_offsets: Extents | None = None,
    src_offsets: Extents | None = None,
    shape: Extents | None = None,
    **_: Any,
) -> None:
    """Copies from ``peer``."""
    extents = shape or dst.valid
    _copy(ctx, dst, dst_offsets, _at(ctx, src, peer), src_offsets, extents, None)


def _copy(
    ctx: ExecContext,
    dst: ArrayValue,
    dst_offsets: Extents | None,
    src: ArrayValue,
    src_offsets: Extents | None,
    extents: Extents,
    atomic: AtomicType | None,
) -> None:
    source = _part(ctx, src, src_offsets or (0,) * len(extents), extents, "src")
    target = _part(ctx, dst, dst_offsets or (0,) * len(extents), extents, "dst")
    adds = atomic is AtomicType.Add
    ctx.device.reads(source)
    ctx.device.writes(target, atomic=adds)
    target[...] = target + source if adds else source


def _part(ctx: ExecContext, value: ArrayValue, offsets: Extents, extents: Extents, name: str) -> Any:
    for axis, (o, n, have) in enumerate(zip(offsets, extents, value.shape, strict=True)):
        if o < 0 or o + n > have:
            raise ctx.error(
                f"[{o}, {o + n}) on axis {axis} is outside of the extent {have} of '{name}'",
                remedy="mend the offset, or take fewer elements",
            )
    return value.data[tuple(slice(o, o + n) for o, n in zip(offsets, extents, strict=True))]


def tensor_store(
    ctx: ExecContext,
    source: ArrayValue,
    target: Any,
    peer: int,
    offsets: Extents,
    *,
    atomic: AtomicType | None = None,
) -> None:
    """Copies a tensor into a part of one of ``peer``."""
    _copy(ctx, _at(ctx, target, peer), offsets, source, None, source.valid, atomic)


def remote_load(
    ctx: ExecContext,
    target: Any,
    peer: int,
    offsets: Extents,
    shape: Extents,
    valid_shape: Extents | None = None,
) -> Any:
    """A tile of what ``peer`` has."""
    source = _at(ctx, target, peer)
    extents = valid_shape or shape
    ctx.device.reads(_part(ctx, source, offsets, _leading(extents, offsets), "target"))
    return ctx.compute("tile.load", ctx.call.type, source, offsets, shape, extents)


def remote_store(
    ctx: ExecContext,
    tile: ArrayValue,
    target: Any,
    peer: int,
    offsets: Extents,
    shape: Extents | None = None,
    *,
    atomic: AtomicType | None = None,
) -> None:
    """Writes a tile to ``peer``."""
    out = _at(ctx, target, peer)
    part = _part(ctx, out, offsets, _leading(shape or tile.valid, offsets), "target")
    ctx.device.writes(part, atomic=atomic is AtomicType.Add)
    options = {} if atomic is None else {"atomic": atomic}
    ctx.compute("tile.store", ctx.call.args[1].type, tile, offsets, out, shape, **options)


def _leading(extents: Extents, offsets: Extents) -> Extents:
    """The extents of a tile as those of a part of a tensor, which may have more axes or fewer."""
    return ((1,) * (len(offsets) - len(extents)) + extents)[-len(offsets) :]


# -- what is touched of this device's own memory


def no_touches(ctx: ExecContext, *_: Any, **__: Any) -> tuple[Touch, ...]:
    """Nothing that is not told to the device."""
    return ()


def load_touches(
    ctx: ExecContext,
    target: Any,
    peer: int,
    offsets: Extents,
    shape: Extents,
    valid_shape: Extents | None = None,
) -> tuple[Touch, ...]:
    """The tile."""
    extent = valid_shape or shape
    return (Touch(operand=RESULT, offset=(0,) * len(extent), extent=extent, writes=True),)


def store_touches(ctx: ExecContext, tile: ArrayValue, *_: Any, **__: Any) -> tuple[Touch, ...]:
    """The tile."""
    return (Touch(operand=0, offset=(0,) * len(tile.valid), extent=tile.valid),)


def no_cycles(ctx: Any, *_: Any, **__: Any) -> float:
    """Raise the error for a transfer whose time nobody knows."""
    raise UserError(
        f"how long {ctx.call.name} takes is not known",
        code="PT392",
        span=ctx.call.span,
        remedy="time the kernels that compute by themselves",
    )


def _executor(op: str, name: str, touches: str = "no_touches") -> OpExecutor:
    return OpExecutor(op, f"{_HERE}:{name}", f"{_HERE}:{touches}")


def _transfer(op: str, name: str, touches: str, pipe: PipeType) -> OpExecutor:
    return attrs.evolve(_executor(op, name, touches), pipe=pipe, cycles=f"{_HERE}:no_cycles")


EXECUTORS = (
    _executor(ops.WORLD_SIZE, "world_size"),
    _executor(ops.ALLOC, "alloc_window_buffer"),
    _executor(ops.WINDOW, "window"),
    _executor(ops.GET_CTX, "get_comm_ctx"),
    _executor(ops.RANK, "rank"),
    _executor(ops.NRANKS, "nranks"),
    _executor(ops.NOTIFY, "notify"),
    attrs.evolve(_executor(ops.WAIT, "wait"), waits=True),
    attrs.evolve(_executor(ops.BARRIER, "barrier"), waits=True),
    _executor(ops.PUT, "put"),
    _executor(ops.GET, "get"),
    _executor(ops.TENSOR_STORE, "tensor_store"),
    _transfer(ops.REMOTE_LOAD, "remote_load", "load_touches", PipeType.MTE2),
    _transfer(ops.REMOTE_STORE, "remote_store", "store_touches", PipeType.MTE3),
)
"""The meanings of this plugin's operators."""
