"""Sorting by value, the greatest first. A sorted list holds pairs: a value and the index that came with it.

A pair takes eight bytes: a value of 32 bits and the index, or a value of 16 bits, 16 bits of no meaning, and the index.
Equal values stay in the order in which they came.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pypto_core.contract import ArrayValue, ExecContext
from pypto_plugin_simulator.formats import Array, poisoned
from pypto_plugin_simulator.meanings.parts import whole

RUN = 32
"""Elements that ``sort32`` sorts at a time."""

PAIR_BYTES = 8
RUNS_AT_A_TIME = 4


def _falling(values: Array) -> Array:
    """Positions of the values along the last axis, the greatest value's first."""
    return np.argsort(-values.astype(np.float64), axis=-1, kind="stable")


def sort32(ctx: ExecContext, source: ArrayValue, indices: ArrayValue, **_: Any) -> ArrayValue:
    """Runs of 32 sorted, as pairs."""
    values = source.defined
    columns = values.shape[-1]
    if columns % RUN:
        raise ctx.error(
            f"runs of {RUN} are sorted, which {columns} columns are not",
            remedy=f"pad the rows to a multiple of {RUN} with the least value",
            source=source,
        )
    numbers = np.broadcast_to(whole(indices)[..., :columns], values.shape)
    runs = (*values.shape[:-1], columns // RUN, RUN)
    order = _falling(values.reshape(runs))
    ordered = np.take_along_axis(values.reshape(runs), order, -1)
    named = np.take_along_axis(numbers.reshape(runs), order, -1)
    words = PAIR_BYTES // values.dtype.itemsize
    pairs = np.zeros((*values.shape, words), values.dtype)
    pairs[..., 0] = ordered.reshape(values.shape)
    raw = np.ascontiguousarray(named.reshape(values.shape)).view(np.uint32)
    pairs[..., words // 2 :] = raw[..., None].view(values.dtype).reshape(*values.shape, words // 2)
    shape = (*source.shape[:-1], source.shape[-1] * words)
    return ctx.value(pairs.reshape(*values.shape[:-1], columns * words), shape, source.dtype)


def _pairs(words: Array) -> Array:
    """The words of a list as pairs, along a further axis."""
    width = PAIR_BYTES // words.dtype.itemsize
    return words.reshape(*words.shape[:-1], -1, width)


def _merged(pairs: Array) -> Array:
    """Pairs along the axis before the last, in falling order of their values."""
    order = _falling(pairs[..., 0])
    return np.take_along_axis(pairs, order[..., None], -2)


def mrgsort_format1(ctx: ExecContext, source: ArrayValue, *, block_len: int, **_: Any) -> ArrayValue:
    """Each four neighbouring runs merged into one. ``block_len``: elements of a run, two or four to a pair."""
    words = source.defined
    width = PAIR_BYTES // words.dtype.itemsize
    if block_len % width:
        raise ctx.error(f"a run of {block_len} elements is no number of pairs", source=source)
    length = RUNS_AT_A_TIME * block_len
    parts = [
        _merged(_pairs(words[..., first : first + length])).reshape(*words.shape[:-1], -1)
        for first in range(0, words.shape[-1], length)
    ]
    return ctx.value(np.concatenate(parts, axis=-1), source.shape, source.dtype)


def mrgsort_format2(ctx: ExecContext, *lists: ArrayValue, exhausted: bool = False, **_: Any) -> ArrayValue:
    """Lists merged into one. ``exhausted``: only until one of them is used up; what follows is undefined."""
    sources = lists[:-1] if ctx.call.name.startswith("tile.") else lists
    pairs = [_pairs(value.defined) for value in sources]
    joined = np.concatenate(pairs, axis=-2)
    order = _falling(joined[..., 0])
    out: Array = np.take_along_axis(joined, order[..., None], -2)
    shape = (*sources[0].shape[:-1], sum(value.shape[-1] for value in sources))
    if exhausted:
        ends = np.cumsum([part.shape[-2] for part in pairs]) - 1
        places: Array = np.argsort(order, axis=-1)
        used_up: Array = places[..., ends].min(axis=-1)
        trips = np.arange(out.shape[-2], dtype=np.int64)
        left = trips[None] > used_up.reshape(-1, 1)
        out[left] = poisoned((out.shape[-1],), sources[0].dtype)
    return ctx.value(out.reshape(*out.shape[:-2], -1), shape, sources[0].dtype)
