"""Conversions between two products that the drain of the accumulator can do on its way to Mat."""

from __future__ import annotations

from pypto_core.ir import AssignStmt, Call, CastMode, DataType, MemorySpace, TileType, Var
from pypto_plugin_autotile.emit import Emitter
from pypto_plugin_autotile.hints import CAST_STAYS, Hints
from pypto_plugin_autotile.machine import Machine
from pypto_plugin_autotile.match import is_call, static_2d, tile_type
from pypto_plugin_autotile.placers import scratch_of
from pypto_plugin_autotile.uses import Uses

_NARROW = (DataType.BF16, DataType.FP16)


def drain_can_cast(call: Call, source: DataType) -> bool:
    """Whether the pipe out of the accumulator converts exactly as this cast does: fp32 to half width, ties to even."""
    mode = call.kwargs.get("mode", CastMode.round)
    return source is DataType.FP32 and call.kwargs.get("target_type") in _NARROW and mode is CastMode.rint


def is_chained_cast(original: AssignStmt, current: AssignStmt, uses: Uses, machine: Machine) -> bool:
    """Whether an accumulator that fits L0C is converted for products alone."""
    call = current.value
    if not is_call(call, "tile.cast") or not isinstance(call, Call) or not uses.only_operands(original.var):
        return False
    source = call.args[0]
    if not isinstance(source, Var) or not isinstance(source.type, TileType):
        return False
    if source.type.memory_space is not MemorySpace.Acc or static_2d(source) is None:
        return False
    room = machine.capacity(MemorySpace.Acc)
    return static_2d(current.var) is not None and room > 0 and machine.bytes_of(source.type) <= room


def fold_cast(out: Emitter, call: Call, source: Var) -> Var:
    """Emit one write of the whole accumulator into a tile in Mat, which narrows as it goes."""
    kind = tile_type(source)
    shape = static_2d(source)
    assert shape is not None
    scratch = scratch_of(source, kind, shape, call.kwargs["target_type"])
    return scratch.finish(out, scratch.place(out, source, 0, 0, scratch.begin(out), 0))


def cast_stays(call: Call, stmt: AssignStmt, hints: Hints) -> None:
    """Hint that a cast goes through the vector unit."""
    source, target = tile_type(call.args[0]), call.kwargs.get("target_type")
    mode = call.kwargs.get("mode", CastMode.round)
    hints.add(
        CAST_STAYS,
        f"this cast of an accumulator to {target} stays on the vector unit, a way there and back between two products: "
        "the accumulator's drain only narrows fp32 to bfloat16 or fp16, rounding to nearest with ties to even",
        call,
        stmt,
        facts={"cast": f"{source.dtype} to {target}", "mode": getattr(mode, "name", mode)},
        remedy='write mode="rint" and convert an fp32 accumulator to bfloat16 or fp16',
    )
