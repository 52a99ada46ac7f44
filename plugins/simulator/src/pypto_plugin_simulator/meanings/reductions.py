"""Reductions over rows or columns, and operators that spread a column or row over a tile.

Sums and products of floats are taken one after the other along the axis, in float32 (float64 for FP64), and rounded
once at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

from pypto_core.contract import ArrayValue, ExecContext
from pypto_plugin_simulator.formats import Array, compute_dtype
from pypto_plugin_simulator.meanings.elementwise import apply, divide, exp_of_difference, stretch
from pypto_plugin_simulator.meanings.parts import result_dtype

ROWS, COLUMNS = -1, -2
"""The axis that goes away: along a row, or along a column."""


def _in_order(ufunc: np.ufunc) -> Callable[[Array, int], Array]:
    def reduce(x: Array, axis: int) -> Array:
        # reduce() adds in pairs, accumulate() strictly one after the other.
        return np.take(ufunc.accumulate(x, axis=axis, dtype=x.dtype), [-1], axis=axis)

    return reduce


def _any_order(ufunc: np.ufunc) -> Callable[[Array, int], Array]:
    return lambda x, axis: ufunc.reduce(x, axis=axis, keepdims=True)


def _reduction(function: Callable[[Array, int], Array], axis: int) -> Callable[..., ArrayValue]:
    def meaning(ctx: ExecContext, value: ArrayValue, *_: Any, **options: Any) -> ArrayValue:
        return _reduce(ctx, value, function, axis, options)

    return meaning


def _reduce(
    ctx: ExecContext, value: ArrayValue, function: Callable[[Array, int], Array], axis: int, options: Any
) -> ArrayValue:
    rank = len(value.shape)
    at = int(options.get("axis", axis))
    at = at if at >= 0 else rank + at
    if value.valid[at] == 0:
        raise ctx.error(
            f"{ctx.call.name} has nothing to reduce",
            remedy="skip the call when the valid extent is zero",
            valid=list(value.valid),
        )
    dtype = result_dtype(ctx)
    part = ctx.convert(function(value.defined.astype(compute_dtype(value.dtype)), at), dtype)
    shape = tuple(1 if i == at else n for i, n in enumerate(value.shape))
    if options.get("keep_dim", True):
        return ctx.value(part, shape, dtype)
    return ctx.value(np.squeeze(part, at), tuple(n for i, n in enumerate(shape) if i != at), dtype)


row_sum, col_sum = (_reduction(_in_order(np.add), axis) for axis in (ROWS, COLUMNS))
row_prod, col_prod = (_reduction(_in_order(np.multiply), axis) for axis in (ROWS, COLUMNS))
row_max, col_max = (_reduction(_any_order(np.maximum), axis) for axis in (ROWS, COLUMNS))
row_min, col_min = (_reduction(_any_order(np.minimum), axis) for axis in (ROWS, COLUMNS))


def _position(function: Callable[..., Array]) -> Callable[[Array, int], Array]:
    """The first place of the extreme element; integers, whatever is searched."""
    return lambda x, axis: function(x, axis=axis, keepdims=True).astype(np.int64)


row_argmax, col_argmax = (_reduction(_position(np.argmax), axis) for axis in (ROWS, COLUMNS))
row_argmin, col_argmin = (_reduction(_position(np.argmin), axis) for axis in (ROWS, COLUMNS))


def _line(value: ArrayValue, axis: int) -> ArrayValue:
    """The first column (or row) of a value, as a value that stretches along the other axis."""
    at = len(value.shape) + axis

    def cut(extents: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(min(n, 1) if i == at else n for i, n in enumerate(extents))

    window = tuple(slice(0, 1) if i == at else slice(None) for i in range(len(value.shape)))
    return attrs.evolve(value, data=value.data[window], valid=cut(value.valid), shape=cut(value.shape))


def _spread(function: Callable[[Array, Array], Array], axis: int) -> Callable[..., ArrayValue]:
    def meaning(ctx: ExecContext, target: ArrayValue, line: ArrayValue, *_: Any, **__: Any) -> ArrayValue:
        return apply(ctx, function, target, _line(line, axis))

    return meaning


row_expand, col_expand = (_spread(stretch, axis) for axis in (ROWS, COLUMNS))
row_expand_add, col_expand_add = (_spread(np.add, axis) for axis in (ROWS, COLUMNS))
row_expand_sub, col_expand_sub = (_spread(np.subtract, axis) for axis in (ROWS, COLUMNS))
row_expand_mul, col_expand_mul = (_spread(np.multiply, axis) for axis in (ROWS, COLUMNS))
row_expand_div, col_expand_div = (_spread(divide, axis) for axis in (ROWS, COLUMNS))
row_expand_max, col_expand_max = (_spread(np.maximum, axis) for axis in (ROWS, COLUMNS))
row_expand_min, col_expand_min = (_spread(np.minimum, axis) for axis in (ROWS, COLUMNS))
row_expand_expdif, col_expand_expdif = (_spread(exp_of_difference, axis) for axis in (ROWS, COLUMNS))
