"""Which loops can count their trips in a slot index, and that index.

The slot of a trip is ``((iv - start) / step) % F`` with those parts left out that change nothing. ``iv`` never goes
below a start that is not negative, and the division is exact, so that every part of it can be computed in the loop's
own type without a correction of signs.
"""

from __future__ import annotations

from pypto_core.ir import (
    ConstInt,
    DataType,
    Expr,
    FloorDiv,
    FloorMod,
    ForStmt,
    Neg,
    Sub,
    base_name,
    dtype_of,
    make_binary,
)
from pypto_plugin_slots.decline import Decline

FEWEST_SLOTS, MOST_SLOTS = 2, 16
"""Slots that a ``multi_tile_buf`` of the assembler can have."""

INT64_MAX = 2**63 - 1


def number(expr: Expr) -> int | None:
    """The value of a literal, negated or not."""
    if isinstance(expr, ConstInt):
        return expr.value
    if isinstance(expr, Neg) and isinstance(expr.operand, ConstInt):
        return -expr.operand.value
    return None


def shape_decline(loop: ForStmt, stages: int) -> Decline | None:
    """What about the stages or the bounds of a loop keeps it from rotating."""
    if not FEWEST_SLOTS <= stages <= MOST_SLOTS:
        return Decline(
            code="PH-LS-001", gate="number of stages",
            because=f"a ring has {FEWEST_SLOTS} to {MOST_SLOTS} slots, and the loop asks for {stages} stages",
            remedy=f"use stage={FEWEST_SLOTS} to stage={MOST_SLOTS}",
        )  # fmt: skip
    return _counter_decline(loop) or _step_decline(loop) or _start_decline(loop) or _stop_decline(loop)


def slot_index(loop: ForStmt, stages: int) -> Expr:
    """The slot of a trip, in the type of the loop variable; for loops that :func:`shape_decline` lets pass."""
    start, step = number(loop.start), number(loop.step)
    assert start is not None and step is not None
    dtype = dtype_of(loop.loop_var)
    index: Expr = loop.loop_var
    if start % stages != 0 or (step > 1 and start != 0):
        index = make_binary(Sub, index, ConstInt(start, dtype))
    if step > 1:
        index = make_binary(FloorDiv, index, ConstInt(step, dtype))
    return make_binary(FloorMod, index, ConstInt(stages, dtype))


def _counter_decline(loop: ForStmt) -> Decline | None:
    dtype = dtype_of(loop.loop_var)
    if dtype in (DataType.INDEX, DataType.INT64):
        return None
    return Decline(
        code="PH-LS-006", gate="type of the counter",
        because=f"it counts in {dtype}, and a slot is selected by an index of 64 bits",
        facts=(("counter", f"{base_name(loop.loop_var.name_hint)}: {dtype}"),),
        remedy="give bounds of type INDEX: plain integers, or pl.cast(n, pl.INDEX)",
    )  # fmt: skip


def _step_decline(loop: ForStmt) -> Decline | None:
    step = number(loop.step)
    if step is not None and 0 < step <= INT64_MAX:
        return None
    return Decline(
        code="PH-LS-003", gate="constant step above 0",
        because="its step is not a constant" if step is None else f"its step is {step}",
        facts=(("step", "known at run time" if step is None else step),),
        remedy="count up by a constant, and compute the other index in the body from that count",
    )  # fmt: skip


def _start_decline(loop: ForStmt) -> Decline | None:
    start = number(loop.start)
    if start is not None and 0 <= start <= INT64_MAX:
        return None
    return Decline(
        code="PH-LS-004", gate="constant start from 0 on",
        because="its start is not a constant" if start is None else f"it starts at {start}",
        facts=(("start", "known at run time" if start is None else start),),
        remedy="start at a constant that is not negative: loop over pl.pipeline(0, stop - start) and add the start "
        "in the body",
    )  # fmt: skip


def _stop_decline(loop: ForStmt) -> Decline | None:
    step, stop = number(loop.step) or 1, number(loop.stop)
    most = INT64_MAX - (step - 1)
    if step == 1 or (stop is not None and stop <= most):
        return None
    return Decline(
        code="PH-LS-005", gate="constant stop of a stepped loop",
        because="it counts in steps, and its stop is not a constant" if stop is None
        else "its counter would leave 64 bits behind the last trip",
        facts=(("stop", "known at run time" if stop is None else stop), ("step", step), ("greatest stop", most)),
        remedy="count the trips with step 1, whose stop may be known at run time, and multiply in the body"
        if stop is None else f"stop at {most} or below",
    )  # fmt: skip
