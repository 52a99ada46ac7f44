"""LegalizeTileCast: conversions that the machine has no instruction for go through a type between.

The type between has to hold every value of the source exactly, so that rounding happens once, in the last step, and
the result is that of the conversion as it was written.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pypto_core.contract import Backend
from pypto_core.diagnostics import UserError
from pypto_core.ir import (
    AssignStmt,
    Call,
    DataType,
    Expr,
    Function,
    Mutator,
    NameSource,
    Stmt,
    TileType,
    Var,
    base_name,
    int_range,
    replace,
    seq,
)
from pypto_core.ops import create_call

# Bits of the significand, greatest and least exponent of normal numbers.
_FLOATS: dict[DataType, tuple[int, int, int]] = {
    DataType.FP64: (53, 1023, -1022),
    DataType.FP32: (24, 127, -126),
    DataType.BF16: (8, 127, -126),
    DataType.FP16: (11, 15, -14),
    DataType.FP8E5M2: (3, 15, -14),
    DataType.FP8E4M3FN: (4, 8, -6),
    DataType.FP4: (2, 2, 0),
}


def legalize_tile_cast(function: Function, ctx: Any) -> Function:
    """The function with the conversions that the backend has; the same object when it has all of them.

    A conversion to the type that the tile has already becomes another name for it. Without a backend, or one that does
    not say what it converts, only those change. Raises UserError (PT343) for a conversion without a way.
    """
    return _Legalizer(ctx.backend if ctx is not None else None).visit(function)


class _Legalizer(Mutator):
    def __init__(self, backend: Backend | None) -> None:
        super().__init__()
        self.backend = backend
        self.pairs: frozenset[tuple[DataType, DataType]] = frozenset(backend.casts if backend else ())
        self.names = NameSource()

    def visit_assign_stmt(self, node: AssignStmt) -> Stmt:
        """Only whole conversions: nested calls have variables of their own by now."""
        value = node.value
        if not (isinstance(value, Call) and value.name == "tile.cast"):
            return node
        source, kind = value.args[0], value.args[0].type
        assert isinstance(kind, TileType)
        target: DataType = value.kwargs["target_type"]
        if kind.dtype is target:
            return replace(node, value=source)
        way = self.way(kind.dtype, target, value)
        return self.through(node, value, way) if way else node

    def way(self, source: DataType, target: DataType, call: Call) -> tuple[DataType, ...]:
        """The types between; none when the conversion is there as it is."""
        if not self.pairs or (source, target) in self.pairs:
            return ()
        found = [d for d in _between(source, target) if {(source, d), (d, target)} <= self.pairs]
        if found:
            return (found[0],)
        assert self.backend is not None
        raise UserError(
            f"{self.backend.title} doesn't convert {source} to {target}, at once or through a type that keeps {source}",
            code="PT343",
            span=call.span,
            facts={"from here": ", ".join(b.text for a, b in self.backend.casts if a is source) or "none"},
            remedy="convert in two steps yourself, where rounding twice does no harm",
        )

    def through(self, node: AssignStmt, call: Call, way: tuple[DataType, ...]) -> Stmt:
        stmts: list[Stmt] = []
        value: Expr = call.args[0]
        for dtype in way:
            step = create_call("tile.cast", [value], {**call.kwargs, "target_type": dtype}, call.span)
            var = Var(
                self.names.fresh(base_name(node.var.name_hint), "tile", dtype.text), step.type, span=node.span
            )
            stmts.append(AssignStmt(var, step, span=node.span))
            value = var
        last = create_call("tile.cast", [value], call.kwargs, call.span, call.attrs)
        # The type stays the variable's: it may say more than is deduced.
        last = replace(last, type=call.type)
        first = replace(stmts[0], leading_comments=node.leading_comments)
        return seq([first, *stmts[1:], replace(node, value=last, leading_comments=())], node.span)


def _between(source: DataType, target: DataType) -> Iterator[DataType]:
    """Types that hold every value of ``source`` and lead on to ``target``, narrow ones first."""
    candidates = [d for d in DataType if d not in (source, target) and holds(d, source)]
    for dtype in sorted(candidates, key=lambda d: (d.bits, d.value)):
        # Integers lose their high bits on the way down, floats saturate.
        if source.is_int and target.is_int and dtype.is_float and not holds(target, source):
            continue
        yield dtype


def holds(wide: DataType, narrow: DataType) -> bool:
    """Whether every value of ``narrow`` is one of ``wide``; False for formats that are not plain numbers."""
    if narrow.is_int and wide.is_int:
        low, high = int_range(narrow)
        least, most = int_range(wide)
        return least <= low and high <= most
    if wide not in _FLOATS:
        return False
    digits, high, low = _FLOATS[wide]
    if narrow in _FLOATS:
        bits, greatest, least = _FLOATS[narrow]
        return bits <= digits and greatest <= high and least - bits >= low - digits
    if not narrow.is_int:
        return False
    magnitude = narrow.bits - narrow.is_signed
    return magnitude <= digits and magnitude <= high
