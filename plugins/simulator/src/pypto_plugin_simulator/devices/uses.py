"""What ordinary operators do to windows: a distributed tensor is a tensor to them, and its memory is shared."""

from __future__ import annotations

from typing import Any

from pypto_core.contract import ArrayValue
from pypto_core.ir import ArgEffect, AtomicType
from pypto_core.ops import is_view, op_of
from pypto_plugin_simulator.context import Context, Meanings
from pypto_plugin_simulator.devices.windows import Use


def note_uses(context: Context, meanings: Meanings, operands: tuple[Any, ...]) -> None:
    """Note what the context's call reads and writes of windows; raises UserError for a race."""
    windows = context.run.device.world.windows
    if not windows.parts:
        return
    call = context.call
    shared = {i: v for i, v in enumerate(operands) if _is_shared(v, windows)}
    if not shared or is_view(call):
        return
    context.run.device.span = call.span
    touches = meanings.touches(call)
    if touches is None:
        for index, value in shared.items():
            _note_whole(context, index, value)
        return
    for touch in meanings.guarded(context, touches, operands):
        value = shared.get(touch.operand)
        if value is not None:
            end = tuple(o + n for o, n in zip(touch.offset, touch.extent, strict=True))
            part = value.data[tuple(slice(o, e) for o, e in zip(touch.offset, end, strict=True))]
            context.run.device.touch(part, _writing(context) if touch.writes else Use.READ)


def _is_shared(value: Any, windows: Any) -> bool:
    return isinstance(value, ArrayValue) and value.is_tensor and windows.part_of(value.data) is not None


def _writing(context: Context) -> Use:
    return Use.ADD if context.call.kwargs.get("atomic") is AtomicType.Add else Use.WRITE


def _note_whole(context: Context, index: int, value: ArrayValue) -> None:
    """An operator that does not say what it touches: all that is valid."""
    op = op_of(context.call)
    effect = ArgEffect.Read if op is None else op.effect(index)
    if effect is not ArgEffect.Write:
        context.run.device.touch(value.defined, Use.READ)
    if effect is not ArgEffect.Read:
        context.run.device.touch(value.defined, _writing(context))
