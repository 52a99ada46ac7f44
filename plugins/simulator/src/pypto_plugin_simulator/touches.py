"""What operators touch where it is not simply all that is valid: a function per operator, as in its executor."""

from __future__ import annotations

from typing import Any

from pypto_core.contract import RESULT, ArrayValue, ExecContext, Touch
from pypto_plugin_simulator.meanings.memory import loaded
from pypto_plugin_simulator.meanings.parts import leading
from pypto_plugin_simulator.meanings.picking import gathered
from pypto_plugin_simulator.meanings.windows import read_window

Extents = tuple[int, ...]
Touches = tuple[Touch, ...]


def _read(operand: int, extent: Extents, offset: Extents | None = None) -> Touch:
    return Touch(operand=operand, offset=offset or (0,) * len(extent), extent=extent)


def _write(operand: int, extent: Extents, offset: Extents | None = None) -> Touch:
    return Touch(operand=operand, offset=offset or (0,) * len(extent), extent=extent, writes=True)


def load(ctx: ExecContext, *operands: Any, **options: Any) -> Touches:
    """A window of the tensor, as far as it is valid; that much of the result."""
    at = loaded(ctx, *operands, **options)
    return _read(0, at.valid, at.offsets), _write(RESULT, at.kept)


def store(ctx: ExecContext, *operands: Any, **_: Any) -> Touches:
    """The valid part of the tile, and where it goes."""
    tile, offsets, out, *shapes = operands
    rank = len(out.shape)
    part = leading((shapes[0] if shapes else None) or tile.valid, rank)[-rank:] if rank else ()
    return _read(0, tile.valid), _write(2, part, offsets)


def assemble(ctx: ExecContext, target: ArrayValue, source: ArrayValue, offset: Extents, **_: Any) -> Touches:
    """The source, and its window of the target: the rest of the target stays as it is."""
    part = leading(source.valid, len(target.shape)) if target.is_tensor else source.valid
    return _read(1, source.valid), _write(0, part, offset)


def create(ctx: ExecContext, shape: Extents, *, init_value: Any = None, **_: Any) -> Touches:
    """Nothing, unless an initial value is given."""
    return () if init_value is None else (_write(RESULT, shape),)


def spread(ctx: ExecContext, target: ArrayValue, source: Any, **_: Any) -> Touches:
    """What is spread; of the target, which gives its extents alone, nothing is read."""
    of_source = (_read(1, source.valid),) if isinstance(source, ArrayValue) else ()
    return *of_source, _write(RESULT, target.valid)


def extract(
    ctx: ExecContext, src: ArrayValue, index_row: int, index_col: int, shape: Extents, **_: Any
) -> Touches:
    """The window."""
    offset = (index_row, index_col)
    valid = read_window(ctx, src, offset, shape, None, exact=True)
    return _read(0, valid, offset), _write(RESULT, valid)


def read(ctx: ExecContext, source: ArrayValue, indices: Extents, **_: Any) -> Touches:
    """One element."""
    return (_read(0, (1,) * len(indices), indices),)


def write(ctx: ExecContext, target: ArrayValue, indices: Extents, *_: Any, **__: Any) -> Touches:
    """One element."""
    return (_write(0, (1,) * len(indices), indices),)


def _product(lhs: ArrayValue, rhs: ArrayValue, options: Any) -> tuple[int, int, int, Extents, Extents]:
    """(m, n, k) of a product and what of each side it reads, leading axes included."""
    m, k = lhs.valid[-2:] if not options.get("a_trans") else lhs.valid[:-3:-1]
    n = rhs.valid[-1] if not options.get("b_trans") else rhs.valid[-2]
    left = (m, k) if not options.get("a_trans") else (k, m)
    right = (k, n) if not options.get("b_trans") else (n, k)
    return m, n, k, (*lhs.valid[:-2], *left), (*rhs.valid[:-2], *right)


def _batch(lhs: ArrayValue, rhs: ArrayValue) -> Extents:
    more = max(len(lhs.shape), len(rhs.shape)) - 2
    pairs = zip(leading(lhs.shape[:-2], more), leading(rhs.shape[:-2], more), strict=True)
    return tuple(max(a, b) for a, b in pairs)


def matmul(ctx: ExecContext, lhs: ArrayValue, rhs: ArrayValue, *rest: Any, **options: Any) -> Touches:
    """Both sides over the valid K of the left one; the product. A bias over the columns of the product."""
    m, n, _, left, right = _product(lhs, rhs, options)
    bias = rest[0] if rest and isinstance(rest[0], ArrayValue) else None
    also = (_read(2, (*bias.shape[:-2], 1, n)),) if bias is not None else ()
    return _read(0, left), _read(1, right), *also, _write(RESULT, (*_batch(lhs, rhs), m, n))


def matmul_acc(ctx: ExecContext, *operands: Any, **options: Any) -> Touches:
    """Both sides, and the product's part of the accumulator: read too, unless ``init_cond`` is true."""
    acc, lhs, rhs, *init_cond = operands
    m, n, _, left, right = _product(lhs, rhs, options)
    m, n = min(m, acc.valid[-2]), min(n, acc.valid[-1])
    part = (*_batch(lhs, rhs), m, n)[-len(acc.shape) :]
    sides = (_read(1, left), _read(2, right), _write(0, part))
    return sides if any(init_cond) else (_read(0, part), *sides)


def gather_row(ctx: ExecContext, *operands: Any, **_: Any) -> Touches:
    """The indices, and as many rows of the target; which rows of the source, only the indices say."""
    source, indices = operands[1:3]
    return _read(2, indices.valid), _read(1, source.valid), _write(0, gathered(*operands))
