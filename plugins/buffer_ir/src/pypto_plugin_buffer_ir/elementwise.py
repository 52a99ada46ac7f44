"""The element-wise operators that have a buffer form: one row for typing, lowering, emission and meaning."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import attrs

from pypto_core.ir import DataType

ARITHMETIC = frozenset({DataType.FP16, DataType.FP32, DataType.INT32})
SINGLE = frozenset({DataType.FP32})


@attrs.frozen
class Recipe:
    """One operator.

    ``name``: of the operator in both families (``tile.add``, ``buffer.add``). ``native``: the assembler's
    instruction. ``inputs``: per operand of the buffer form without its destination, the position in the tile form
    and whether it is a scalar. ``dtypes``: elements it takes. ``disjoint``: source and destination may share no
    byte; otherwise they are the same bytes or share none. ``precision``: what its option ``high_precision`` is
    about, empty when it has none.
    """

    name: str
    native: str
    inputs: tuple[tuple[int, bool], ...]
    dtypes: frozenset[DataType] = SINGLE
    disjoint: bool = False
    precision: str = ""

    @property
    def tile_op(self) -> str:
        """The operator on tiles."""
        return f"tile.{self.name}"

    @property
    def buffer_op(self) -> str:
        """The operator on buffers."""
        return f"buffer.{self.name}"


_ONE, _TWO, _SCALAR, _VALUE = ((0, False),), ((0, False), (1, False)), ((0, False), (1, True)), ((1, True),)

_ROWS = (
    Recipe("add", "pto.tadd", _TWO, ARITHMETIC),
    Recipe("mul", "pto.tmul", _TWO, ARITHMETIC),
    Recipe("sub", "pto.tsub", _TWO),
    Recipe("div", "pto.tdiv", _TWO, precision="div"),
    Recipe("maximum", "pto.tmax", _TWO),
    Recipe("minimum", "pto.tmin", _TWO),
    Recipe("abs", "pto.tabs", _ONE),
    Recipe("exp", "pto.texp", _ONE),
    Recipe("sqrt", "pto.tsqrt", _ONE),
    Recipe("neg", "pto.tneg", _ONE),
    Recipe("relu", "pto.trelu", _ONE),
    Recipe("log", "pto.tlog", _ONE, precision="log"),
    Recipe("recip", "pto.trecip", _ONE, disjoint=True, precision="recip"),
    Recipe("adds", "pto.tadds", _SCALAR),
    Recipe("subs", "pto.tsubs", _SCALAR),
    Recipe("muls", "pto.tmuls", _SCALAR),
    Recipe("divs", "pto.tdivs", _SCALAR),
    Recipe("maximums", "pto.tmaxs", _SCALAR),
    Recipe("minimums", "pto.tmins", _SCALAR),
    Recipe("lrelu", "pto.tlrelu", _SCALAR),
    Recipe("full", "pto.texpands", _VALUE),
)

RECIPES: Mapping[str, Recipe] = MappingProxyType({row.tile_op: row for row in _ROWS})
"""Rows by the operator on tiles."""

BUFFER_RECIPES: Mapping[str, Recipe] = MappingProxyType({row.buffer_op: row for row in _ROWS})
"""Rows by the operator on buffers."""
