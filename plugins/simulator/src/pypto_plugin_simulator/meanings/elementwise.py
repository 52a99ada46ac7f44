"""Operators that work element by element.

Floats narrower than 32 bits are worked on in float32 and rounded once per operator; exp, log, sin and their like are
taken in float64 and rounded to float32 first, so that they don't depend on how an array is cut. A scalar operand
takes the element type of the tile. Integers wrap; their quotients are cut off towards zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pypto_core.contract import ArrayValue, ExecContext
from pypto_core.diagnostics import UserError
from pypto_core.ir import CastMode, DataType
from pypto_plugin_simulator.formats import Array, compute_dtype, scalar_of
from pypto_plugin_simulator.meanings.parts import (
    broadcast_shape,
    for_compute,
    leading,
    part_of,
    result_dtype,
)
from pypto_plugin_simulator.rounding import convert

Meaning = Callable[..., ArrayValue]
Operand = ArrayValue | int | float | bool


def operand_part(operand: Operand, shape: tuple[int, ...], valid: tuple[int, ...], dtype: DataType) -> Array:
    """An operand's part in the computing type of ``dtype``; a scalar is brought to ``dtype`` itself first."""
    if isinstance(operand, ArrayValue):
        return for_compute(part_of(operand, shape, valid), operand.dtype, dtype)
    return np.asarray(scalar_of(operand, dtype)).astype(compute_dtype(dtype))


def apply(
    ctx: ExecContext,
    function: Callable[..., Array],
    *operands: Operand,
    dtype: DataType | None = None,
    work: DataType | None = None,
) -> ArrayValue:
    """``function`` of the operands' elements; the result is valid where the first operand is.

    ``dtype``: element type of the result. ``work``: element type that the operands are brought to, by default the same.
    """
    dtype = dtype or result_dtype(ctx)
    arrays = [op for op in operands if isinstance(op, ArrayValue)]
    shape = broadcast_shape([a.shape for a in arrays])
    valid = leading(arrays[0].valid, len(shape))
    parts = [operand_part(op, shape, valid, work or dtype) for op in operands]
    return ctx.value(ctx.convert(np.broadcast_to(function(*parts), valid), dtype), shape, dtype)


def elementwise(function: Callable[..., Array], operands: int) -> Meaning:
    """The meaning of an operator of that many operands; further ones are scratch and not looked at."""

    def meaning(ctx: ExecContext, *given: Any, **_: Any) -> ArrayValue:
        return apply(ctx, function, *given[:operands])

    return meaning


def _wide(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    def compute(x: Array) -> Array:
        return function(x.astype(np.float64)).astype(x.dtype)

    return compute


def divide(a: Array, b: Array) -> Array:
    """Quotients; of integers cut off towards zero, by zero an error."""
    if a.dtype.kind == "f":
        return a / b
    if not np.all(b):
        raise UserError("an integer is divided by zero", code="SIM-001")
    quotient = a // b
    return quotient + ((quotient * b != a) & ((a < 0) != (b < 0))).astype(a.dtype)


def _remainder(a: Array, b: Array) -> Array:
    if a.dtype.kind != "f" and not np.all(b):
        raise UserError("the remainder of a division by zero is asked for", code="SIM-001")
    return np.remainder(a, b)


def _fmod(a: Array, b: Array) -> Array:
    if a.dtype.kind != "f" and not np.all(b):
        raise UserError("the remainder of a division by zero is asked for", code="SIM-001")
    return np.fmod(a, b)


def _shift_left(a: Array, b: Array) -> Array:
    bits = a.dtype.itemsize * 8
    inside = (b >= 0) & (b < bits)
    return np.where(inside, np.left_shift(a, np.where(inside, b, 0)), 0).astype(a.dtype)


def _shift_right(a: Array, b: Array) -> Array:
    bits = a.dtype.itemsize * 8
    return np.right_shift(a, np.where((b >= 0) & (b < bits), b, bits - 1)).astype(a.dtype)


def _leaky(x: Array, slope: Array) -> Array:
    return np.where(x > 0, x, x * slope)


def _inverse_root(x: Array) -> Array:
    return 1.0 / np.sqrt(x)


def _reciprocal(x: Array) -> Array:
    return divide(np.ones_like(x), x)


def _positive(x: Array) -> Array:
    return np.maximum(x, np.zeros_like(x))


def stretch(target: Array, source: Array) -> Array:
    """``source`` in every element of ``target``."""
    return np.broadcast_to(source, target.shape)


def exp_of_difference(a: Array, b: Array) -> Array:
    """``exp(a - b)``, the difference rounded to the computing type."""
    return _wide(np.exp)(a - b)


add = adds = elementwise(np.add, 2)
sub = subs = elementwise(np.subtract, 2)
mul = muls = elementwise(np.multiply, 2)
div = divs = elementwise(divide, 2)
maximum = maximums = elementwise(np.maximum, 2)
minimum = minimums = elementwise(np.minimum, 2)
rem = rems = elementwise(_remainder, 2)
fmod = fmods = elementwise(_fmod, 2)
and_ = ands = elementwise(np.bitwise_and, 2)
or_ = ors = elementwise(np.bitwise_or, 2)
xor = xors = elementwise(np.bitwise_xor, 2)
shl = shls = elementwise(_shift_left, 2)
shr = shrs = elementwise(_shift_right, 2)
not_ = elementwise(np.invert, 1)
exp = elementwise(_wide(np.exp), 1)
log = elementwise(_wide(np.log), 1)
sin = elementwise(_wide(np.sin), 1)
cos = elementwise(_wide(np.cos), 1)
sqrt = elementwise(np.sqrt, 1)
rsqrt = elementwise(_wide(_inverse_root), 1)
recip = elementwise(_reciprocal, 1)
neg = elementwise(np.negative, 1)
abs_ = elementwise(np.abs, 1)
relu = elementwise(_positive, 1)
lrelu = elementwise(_leaky, 2)


def cast(ctx: ExecContext, value: ArrayValue, *, mode: Any = CastMode.rint, **_: Any) -> ArrayValue:
    """Every element in another format, rounded as ``mode`` says."""
    dtype = result_dtype(ctx)
    mode = mode if isinstance(mode, CastMode) else CastMode[mode] if isinstance(mode, str) else CastMode(mode)
    return ctx.value(convert(value.defined, value.dtype, dtype, mode), value.shape, dtype)


def expands(ctx: ExecContext, target: ArrayValue, scalar: Any, **_: Any) -> ArrayValue:
    """``scalar`` in every valid element of ``target``."""
    return apply(ctx, stretch, target, scalar)


def expand_clone(ctx: ExecContext, source: ArrayValue, target: ArrayValue, **_: Any) -> ArrayValue:
    """``source`` stretched to the extents of ``target``."""
    return apply(ctx, stretch, target, source)
