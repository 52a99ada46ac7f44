"""Operators that ask where they run, look at extents, handle small arrays, or only order others."""

from __future__ import annotations

from typing import Any

import numpy as np

from pypto_core.contract import ArrayValue, ExecContext
from pypto_core.ir import ArrayType
from pypto_plugin_simulator.formats import Array, scalar_of


def get_block_idx(ctx: ExecContext, **_: Any) -> int:
    """Number of the running block."""
    return ctx.block.index


def get_block_num(ctx: ExecContext, **_: Any) -> int:
    """How many blocks run."""
    return ctx.block.count


def get_subblock_idx(ctx: ExecContext, **_: Any) -> int:
    """Number of the vector core within its block."""
    return ctx.block.subblock


def dim(ctx: ExecContext, value: ArrayValue, axis: Any = 0, **_: Any) -> int:
    """An extent of a tensor."""
    return value.shape[int(axis)]


def nothing(ctx: ExecContext, *_: Any, **__: Any) -> Any:
    """Order among operators is that of a single walk already, and hints change nothing."""
    return None


def handle(ctx: ExecContext, *_: Any, base: int = -1, **__: Any) -> int:
    """Where a reserved buffer begins, or what prefetches go by; any number will do where values are logical."""
    return max(base, 0)


NO_TASK = -1


def task(ctx: ExecContext, *_: Any, **__: Any) -> int:
    """A task that has ended: tasks are run where they are submitted."""
    return 0


def no_task(ctx: ExecContext) -> int:
    """The id of no task."""
    return NO_TASK


def is_task(ctx: ExecContext, task_id: int) -> bool:
    """Whether an id is that of a task."""
    return task_id != NO_TASK


def _array_dtype(ctx: ExecContext) -> ArrayType:
    kind = ctx.call.type
    assert isinstance(kind, ArrayType)
    return kind


def array_create(ctx: ExecContext, *_: Any, **__: Any) -> Array:
    """A local array of zeros."""
    return np.zeros(_array_dtype(ctx).extent, object)


def array_get(ctx: ExecContext, array: Array, index: int, **_: Any) -> Any:
    """One element of a local array."""
    return array[_inside(ctx, array, index)]


def array_update(ctx: ExecContext, array: Array, index: int, value: Any, **_: Any) -> Array:
    """The array with one element exchanged."""
    out = array.copy()
    out[_inside(ctx, array, index)] = scalar_of(value, _array_dtype(ctx).dtype)
    return out


def _inside(ctx: ExecContext, array: Array, index: int) -> int:
    if not 0 <= index < len(array):
        raise ctx.error(f"index {index} is outside of an array of {len(array)}")
    return index
