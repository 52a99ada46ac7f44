"""Where a kernel runs, local arrays, and what orders the pipes of a core and the cores of a chip."""

from __future__ import annotations

from pypto_core.ir import (
    INDEX_ONE,
    INDEX_ZERO,
    ArrayType,
    Call,
    DataType,
    PipeType,
    ScalarType,
    TensorType,
    Var,
)
from pypto_plugin_pto.emission import Emission, OwnRecipe
from pypto_plugin_pto.type_text import element

_PIPES = {
    PipeType.MTE1: "PIPE_MTE1", PipeType.MTE2: "PIPE_MTE2", PipeType.MTE3: "PIPE_MTE3", PipeType.M: "PIPE_M",
    PipeType.V: "PIPE_V", PipeType.S: "PIPE_S", PipeType.FIX: "PIPE_FIX", PipeType.ALL: "PIPE_ALL",
}  # fmt: skip
_EVENTS = 8


def position(name: str) -> OwnRecipe:
    """A number that the runtime passes as a parameter of its own."""

    def write(ctx: Emission, call: Call, result: Var | None) -> None:
        value = ctx.position(name)
        kind = call.type
        assert isinstance(kind, ScalarType)
        if result is not None:
            ctx.scalars.env[result] = ctx.scalars.converted(value, DataType.INDEX, kind.dtype)

    return write


def barrier(pipe: PipeType) -> OwnRecipe:
    """Everything before on a pipe is done before anything after."""

    def write(ctx: Emission, call: Call, result: Var | None) -> None:
        ctx.line(f"pto.barrier <{_PIPES[pipe]}>")

    return write


def event(mnemonic: str) -> OwnRecipe:
    """A flag between two pipes of this core."""

    def write(ctx: Emission, call: Call, result: Var | None) -> None:
        number: int = call.kwargs["event_id"]
        if not 0 <= number < _EVENTS:
            raise ctx.error(f"there is no event {number}", remedy=f"events count from 0 to {_EVENTS - 1}")
        source, target = _PIPES[call.kwargs["set_pipe"]], _PIPES[call.kwargs["wait_pipe"]]
        ctx.line(f"pto.{mnemonic}[<{source}>, <{target}>, <EVENT_ID{number}>]")

    return write


def fence(ctx: Emission, call: Call, result: Var | None) -> None:
    """Order accesses to global memory."""
    ctx.line("pto.fence.barrier_all #pto.fence_scope<gm>")


def invalidate(ctx: Emission, call: Call, result: Var | None) -> None:
    """Drop the cached line that a tensor begins in."""
    kind = call.args[0].type
    assert isinstance(kind, TensorType)
    rank = len(kind.shape)
    window = ctx.partition(call.args[0], [INDEX_ZERO] * rank, [*([INDEX_ONE] * (rank - 1)), kind.shape[-1]])
    ctx.line(f"pto.cmo.cacheinvalid {window.name} single_cache_line : {window.type}")


# -- arrays


def array_create(ctx: Emission, call: Call, result: Var | None) -> None:
    """A local array."""
    kind = ctx.type_of(call.type)
    ctx.bind(
        result,
        ctx.value(f"pto.declare_local_array -> {kind}", kind, result.name_hint if result is not None else ""),
    )


def array_get(ctx: Emission, call: Call, result: Var | None) -> None:
    """One entry."""
    kind = call.args[0].type
    assert isinstance(kind, ArrayType)
    array, at, type_ = ctx.operand(call.args[0]), ctx.index(call.args[1]), element(kind.dtype)
    text = f"pto.local_array_get {array.name}[{at.name}] : {array.type} -> {type_}"
    ctx.bind(result, ctx.value(text, type_, result.name_hint if result is not None else ""))


def array_update(ctx: Emission, call: Call, result: Var | None) -> None:
    """One entry replaced; the result is the array itself."""
    kind = call.args[0].type
    assert isinstance(kind, ArrayType)
    array, at = ctx.operand(call.args[0]), ctx.index(call.args[1])
    value = ctx.scalars.outside(ctx.scalar(call.args[2], kind.dtype), kind.dtype)
    ctx.line(f"pto.local_array_set {array.name}[{at.name}], {value.name} : {array.type}, {value.type}")
    ctx.bind(result, array)


RECIPES: dict[str, OwnRecipe] = {
    **{
        f"{space}.get_{name}": position(name)
        for space in ("tile", "tensor")
        for name in ("block_idx", "block_num", "subblock_idx")
    },
    "system.bar_v": barrier(PipeType.V),
    "system.bar_m": barrier(PipeType.M),
    "system.bar_all": barrier(PipeType.ALL),
    "system.sync_src": event("set_flag"),
    "system.sync_dst": event("wait_flag"),
    "system.fence": fence,
    "system.cacheinvalid": invalidate,
    "array.create": array_create,
    "array.get_element": array_get,
    "array.update_element": array_update,
}
"""Operator → recipe."""
