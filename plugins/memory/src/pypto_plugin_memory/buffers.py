"""The storage that planners place: per allocation when it is alive and what has to keep away from it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs

from pypto_core.diagnostics import UserError
from pypto_core.ir import (
    PIPELINE_MEMBERSHIP,
    SPLIT,
    Function,
    FunctionType,
    SplitMode,
    Var,
    base_name,
)
from pypto_plugin_memory.spans import Interval, meet, merged
from pypto_plugin_memory.storage import Allocation, allocations
from pypto_plugin_memory.values import FOREVER, Origin, Value, Values, values_of

SEMANTIC, PIPELINE, DECLARED, HAZARD = (
    "SemanticNoAlias", "PipelineStage", "DeclaredAllocation", "TargetHazard",
)  # fmt: skip


@attrs.define(eq=False)
class Buffer:
    """One allocation as a planner sees it.

    ``index``: in definition order. ``live``: when any of its bytes is alive. ``apart``: per other buffer (by index)
    why it may share no byte although the lifetimes would allow it; ``exact``: buffers it may share with only from
    the same start. ``stages``: pipeline group to stage.
    """

    index: int
    allocation: Allocation
    live: list[Interval]
    apart: dict[int, list[str]] = attrs.field(factory=dict[int, list[str]])
    exact: set[int] = attrs.field(factory=set[int])
    stages: dict[int, int] = attrs.field(factory=dict[int, int])
    values: list[Value] = attrs.field(factory=list[Value])

    @property
    def begin(self) -> int:
        """When it is written first."""
        return self.live[0][0]

    @property
    def size(self) -> int:
        """Bytes."""
        return self.allocation.size

    def meets(self, other: Buffer) -> bool:
        """Whether both are alive at one time."""
        return meet(self.live, other.live)


def buffers_of(function: Function, ctx: Any, values: Values | None = None) -> list[Buffer]:
    """The buffers of a function in definition order. Raises UserError for a slot that two live tiles claim."""
    values = values if values is not None else values_of(function)
    found = allocations(function)
    out: dict[Var, Buffer] = {}
    for value in values.all:
        base = value.memref.base
        if base not in out:
            out[base] = Buffer(index=len(out), allocation=found[base], live=[])
        out[base].values.append(value)
    for buffer in out.values():
        lives = [(value, value.live()) for value in buffer.values]
        if buffer.allocation.declared:
            _check_slots(lives)
        buffer.live = merged([span for _, spans in lives for span in spans])
        tagged = (stages for stages in map(_stages, buffer.values) if stages)
        buffer.stages = next(tagged, buffer.stages)
    for value in values.all:
        _keep_apart(value, out)
    for value, other in _hazards(function, ctx, values):
        _note(out[value.memref.base], out[other.memref.base], HAZARD)
    return list(out.values())


def _keep_apart(value: Value, out: dict[Var, Buffer]) -> None:
    mine = out[value.memref.base]
    for other in value.apart:
        _note(mine, out[other.memref.base], SEMANTIC)
    for other in value.exact:
        theirs = out[other.memref.base]
        if other.start is None or other.start != value.start:
            _note(mine, theirs, SEMANTIC)
        elif theirs is not mine:
            mine.exact.add(theirs.index)
            theirs.exact.add(mine.index)


def _note(a: Buffer, b: Buffer, reason: str) -> None:
    if a is b:
        return
    for one, other in ((a, b), (b, a)):
        reasons = one.apart.setdefault(other.index, [])
        if reason not in reasons:
            reasons.append(reason)


def _stages(value: Value) -> dict[int, int]:
    """The pipeline groups and stages that a call is tagged with; what is no pair of numbers says nothing."""
    text = value.call.attrs.get(PIPELINE_MEMBERSHIP, "") if value.call is not None else ""
    out: dict[int, int] = {}
    for part in str(text).split(";"):
        group, mark, stage = part.partition(":")
        if mark and group.strip().isdigit() and stage.strip().isdigit():
            out[int(group)] = int(stage)
    return out


def _hazards(function: Function, ctx: Any, values: Values) -> Iterator[tuple[Value, Value]]:
    """A loaded tile and the result of the operator that reads it last together with a popped tile.

    On machines where a pop goes through global memory, such a result must not overwrite the loaded tile.
    """
    backend = ctx.backend if ctx is not None else None
    if backend is None or "isa.split_load_tpop_workaround" not in backend.capabilities:
        return
    if function.func_type is not FunctionType.AIV or function.attrs.get(SPLIT) in (None, SplitMode.NONE, 0):
        return
    for value in values.all:
        if value.call is None or not any(_popped(arg) for arg in value.call.args):
            continue
        for arg in value.call.args:
            source = values.root(arg)
            loaded = source is not None and source.call is not None and source.call.op.name == "tile.load"
            if source is not None and loaded and source is not value:
                yield value, source


def _popped(arg: Any) -> bool:
    kind = arg.type
    return (
        isinstance(arg, Var) and getattr(kind, "memory_space", None) is not None and kind.memref is None  # type: ignore[attr-defined]
    )


def _check_slots(lives: list[tuple[Value, list[Interval]]]) -> None:
    """Two tiles bound to one constant slot may not be alive together."""
    bound = [(v, live) for v, live in lives if v.origin is Origin.OWNER and v.window[1] != FOREVER]
    for at, (value, live) in enumerate(bound):
        for other, theirs in bound[:at]:
            overlap = value.window[0] < other.window[1] and other.window[0] < value.window[1]
            if overlap and meet(live, theirs):
                raise UserError(
                    f"'{base_name(other.var.name_hint)}' and '{base_name(value.var.name_hint)}' are both bound to "
                    f"the same slot of the declared allocation '{value.memref.name}' and live at the same time",
                    code="PT626",
                    span=value.var.span,
                    facts={
                        base_name(
                            v.var.name_hint
                        ): f"statements {spans[0][0] // 2} to {(spans[-1][1] - 1) // 2}"
                        for v, spans in ((other, theirs), (value, live))
                    },
                    remedy="give each a slot of its own, or use the first for the last time before the second",
                )


def pipeline_depths(buffers: list[Buffer]) -> dict[int, list[int]]:
    """The stages of each pipeline group, ascending."""
    found: dict[int, set[int]] = {}
    for buffer in buffers:
        for group, stage in buffer.stages.items():
            found.setdefault(group, set()).add(stage)
    return {group: sorted(stages) for group, stages in sorted(found.items())}
