"""Turns the accesses of operators into steps for whoever records them; idle when nobody does."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from pypto_core.contract import ArrayValue, Backend, OpExecutor, Touch
from pypto_core.ir import Call, MemorySpace, PipeType
from pypto_plugin_simulator.arena import Tile
from pypto_plugin_simulator.catalogue import ORDER_ONLY
from pypto_plugin_simulator.context import Context
from pypto_plugin_simulator.formats import Array
from pypto_plugin_simulator.trace import ByteRange, Recorder, Step, byte_ranges

Extents = tuple[int, ...]
_LAUNCH = "launch of the journal"
"""Under which a core keeps the number of the launch that it is part of."""


@attrs.define(eq=False)
class Journal:
    """The steps of a run.

    ``tensors``: names of the storage in global memory, by its first byte. ``launch``, ``block``: the last launch that
    began, and the last of its blocks that did; each block of each launch has a core of its own, and those of one launch
    begin in order.
    """

    recorder: Recorder | None = None
    call: Call | None = None
    count: int = 0
    reads: list[ByteRange] = attrs.field(factory=list)
    writes: list[ByteRange] = attrs.field(factory=list)
    tensors: dict[int, tuple[str, Any]] = attrs.field(factory=dict)
    launch: int = 0
    block: int = -1

    def begin(
        self, call: Call, reads: list[ByteRange] | None = None, writes: list[ByteRange] | None = None
    ) -> None:
        """An operator begins, or goes on with what it has touched so far."""
        self.call, self.reads, self.writes = call, reads or [], writes or []

    def name_tensor(self, value: ArrayValue, name: str) -> None:
        """What a tensor's storage is called."""
        root = _root(value.data)
        names = {known for known, _ in self.tensors.values()}
        while name in names:
            name += "'"
        self.tensors.setdefault(_address(root), (name, root))

    def read(self, operand: Any, touch: Touch) -> None:
        """A part of an operand was read."""
        self.reads += self._ranges(operand, touch.extent, touch.offset)

    def write(self, operand: Any, touch: Touch) -> None:
        """A part of an operand was written."""
        self.writes += self._ranges(operand, touch.extent, touch.offset)

    def _ranges(self, operand: Any, extent: Extents, offset: Extents) -> tuple[ByteRange, ...]:
        if self.recorder is None:
            return ()
        if isinstance(operand, Tile):
            return byte_ranges(operand.arena.space, operand.arena.name, operand.runs(extent, offset))
        if isinstance(operand, ArrayValue) and operand.is_tensor:
            part = operand.data[tuple(slice(o, o + n) for o, n in zip(offset, extent, strict=True))]
            root = _root(operand.data)
            if _address(root) not in self.tensors:
                self.name_tensor(operand, f"tensor{len(self.tensors)}")
            name, _ = self.tensors[_address(root)]
            return byte_ranges(MemorySpace.DDR, name, _runs(part, _address(root)))
        return ()

    def end(
        self,
        context: Context,
        executor: OpExecutor,
        backend: Backend | None,
        operands: tuple[Any, ...],
        result: Any,
        target: MemorySpace | None = None,
    ) -> None:
        """The operator is done. ``target``: where its result lies."""
        orders = context.call.name in ORDER_ONLY
        if self.recorder is None or not (self.reads or self.writes or orders):
            return
        spaces = tuple(_space(operand) for operand in operands)
        if target is None and self.writes:
            target = self.writes[-1].space
        self.count += 1
        self.recorder(
            Step(
                index=self.count - 1,
                call=context.call,
                pipe=executor.pipe or self._pipe(context.call, backend, target),
                operands=tuple(_described(operand) for operand in operands),
                spaces=spaces,
                result=result,
                target=target,
                reads=tuple(self.reads),
                writes=tuple(self.writes),
                block=context.block,
                span=context.call.span,
                kind="sync" if orders else "op",
                launch=self._enter(context),
            )
        )

    def _enter(self, context: Context) -> int:
        """The launch that the step belongs to; blocks that wait for each other come here in turns."""
        core, block = context.frame.core, context.block.index
        if _LAUNCH not in core:
            if block <= self.block:
                self.launch += 1
            self.block = block
            core[_LAUNCH] = self.launch
        return core[_LAUNCH]

    def _pipe(self, call: Call, backend: Backend | None, target: MemorySpace | None) -> PipeType | None:
        if backend is None:
            return None
        source = self.reads[0].space if self.reads else None
        return backend.pipe_of(call.name, source, target)


def _space(operand: Any) -> MemorySpace | None:
    if isinstance(operand, Tile):
        return operand.arena.space
    if isinstance(operand, ArrayValue):
        return MemorySpace.DDR if operand.is_tensor else None
    return getattr(operand, "space", None)


def _described(operand: Any) -> Any:
    """What a recorder is told of an operand: a tile's extents, without its data."""
    from pypto_plugin_simulator.accesses import shell

    return shell(operand) if isinstance(operand, Tile) else operand


def _root(data: Array) -> Array:
    while isinstance(data.base, np.ndarray):
        data = data.base
    return data


def _address(data: Array) -> int:
    return int(data.__array_interface__["data"][0])


def _runs(part: Array, origin: int) -> list[tuple[int, int]]:
    """The bytes of an array, counted from ``origin``."""
    if not part.size:
        return []
    length = part.itemsize
    outer: list[tuple[int, int]] = []
    for count, stride in sorted(zip(part.shape, part.strides, strict=True), key=lambda pair: pair[1]):
        if count == 1:
            continue
        if not outer and stride == length:
            length *= count
        else:
            outer.append((count, stride))
    starts = np.full((), _address(part) - origin)
    for count, stride in outer:
        starts = np.add.outer(starts, stride * np.arange(count))
    return [(int(start), int(start) + length) for start in starts.reshape(-1)]
