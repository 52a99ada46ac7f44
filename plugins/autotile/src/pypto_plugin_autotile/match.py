"""Recognising the matrix products that can be tiled at all."""

from __future__ import annotations

import enum
from collections.abc import Mapping

import attrs

from pypto_core.ir import (
    AssignStmt,
    Call,
    Expr,
    MakeTuple,
    MemorySpace,
    TileType,
    Var,
    is_const,
    shapes_equal,
    static_shape,
)


class Kind(enum.Enum):
    """How a product begins: by itself, on a caller's accumulator, or on a row of biases."""

    FRESH = "tile.matmul"
    ACC = "tile.matmul_acc"
    BIAS = "tile.matmul_bias"


_BY_NAME: Mapping[str, Kind] = {kind.value: kind for kind in Kind}
_ARITY = {Kind.FRESH: (2,), Kind.ACC: (3, 4), Kind.BIAS: (3,)}


@attrs.frozen(kw_only=True, eq=False)
class Product:
    """One call of the matmul family whose operands are variables.

    ``acc`` and ``init_cond`` of ACC, ``bias`` of BIAS; None elsewhere.
    """

    stmt: AssignStmt
    call: Call
    kind: Kind
    lhs: Var
    rhs: Var
    acc: Var | None = None
    init_cond: Expr | None = None
    bias: Var | None = None

    @property
    def var(self) -> Var:
        """The result."""
        return self.stmt.var

    @property
    def lhs_type(self) -> TileType:
        """Type of the left operand."""
        return tile_type(self.lhs)

    @property
    def rhs_type(self) -> TileType:
        """Type of the right operand."""
        return tile_type(self.rhs)

    @property
    def type(self) -> TileType:
        """Type of the product."""
        kind = self.call.type
        assert isinstance(kind, TileType)
        return kind


def tile_type(expr: Expr) -> TileType:
    """The type of a tile."""
    kind = expr.type
    assert isinstance(kind, TileType)
    return kind


def static_2d(expr: Expr) -> tuple[int, int] | None:
    """The extents of a static two-dimensional tile; None for anything else."""
    kind = expr.type
    if not isinstance(kind, TileType) or len(kind.shape) != 2:
        return None
    shape = static_shape(kind.shape)
    return None if shape is None else (shape[0], shape[1])


def is_call(value: object, name: str, *counts: int) -> bool:
    """Whether ``value`` calls an operator with one of these numbers of arguments (any when none is given)."""
    return isinstance(value, Call) and value.name == name and (not counts or len(value.args) in counts)


def kind_of(value: object) -> Kind | None:
    """Which product a value is, if any, whatever its operands."""
    return _BY_NAME.get(value.name) if isinstance(value, Call) else None


def match_product(stmt: object) -> Product | None:
    """The product that a statement assigns, when its operands are tile variables of the right number."""
    if not isinstance(stmt, AssignStmt) or not isinstance(stmt.value, Call):
        return None
    call = stmt.value
    kind = _BY_NAME.get(call.name)
    if kind is None or len(call.args) not in _ARITY[kind] or not isinstance(call.type, TileType):
        return None
    first = 1 if kind is Kind.ACC else 0
    lhs, rhs = call.args[first], call.args[first + 1]
    if not (isinstance(lhs, Var) and isinstance(rhs, Var)):
        return None
    if not (isinstance(lhs.type, TileType) and isinstance(rhs.type, TileType)):
        return None
    acc = call.args[0] if kind is Kind.ACC else None
    bias = call.args[2] if kind is Kind.BIAS else None
    for extra in (acc, bias):
        if extra is not None and not (
            isinstance(extra, Var) and isinstance(extra.type, TileType) and len(extra.type.shape) == 2
        ):
            return None
    return Product(
        stmt=stmt,
        call=call,
        kind=kind,
        lhs=lhs,
        rhs=rhs,
        acc=acc if isinstance(acc, Var) else None,
        init_cond=call.args[3] if kind is Kind.ACC and len(call.args) == 4 else None,
        bias=bias if isinstance(bias, Var) else None,
    )


def matrix_operands(call: Call) -> tuple[int, ...]:
    """Positions of the matrix operands of a product; none for other calls."""
    kind = _BY_NAME.get(call.name)
    if kind is None:
        return ()
    return (1, 2) if kind is Kind.ACC else (0, 1)


def usable_bias(product: Product) -> bool:
    """Whether the bias is one static row in Mat or in the bias table."""
    bias = product.bias
    if bias is None:
        return False
    shape = static_2d(bias)
    space = tile_type(bias).memory_space
    return shape is not None and shape[0] == 1 and space in (MemorySpace.Mat, MemorySpace.Bias)


def literal_pair(arg: Expr | None) -> tuple[Expr, Expr] | None:
    """The two entries of an offset or shape that is written out."""
    if not isinstance(arg, MakeTuple) or len(arg.elements) != 2:
        return None
    return arg.elements[0], arg.elements[1]


def stores_matrix(value: object) -> bool:
    """Whether a value stores all of a tile: to a tensor of two axes, or to one matrix of a tensor of more."""
    if not isinstance(value, Call) or not is_call(value, "tile.store", 3, 4):
        return False
    if len(value.args) == 3:
        return True
    extents = value.args[3]
    if not isinstance(extents, MakeTuple) or len(extents.elements) < 3:
        return False
    *lead, rows, cols = extents.elements
    return all(is_const(d, 1) for d in lead) and shapes_equal(
        (rows, cols), tile_type(value.args[0]).valid_shape
    )


def store_offsets(call: Call) -> tuple[Expr, ...] | None:
    """Where a store of a matrix begins, when that is written out: its row and column last."""
    offsets = call.args[1]
    if not isinstance(offsets, MakeTuple) or len(offsets.elements) < 2:
        return None
    return offsets.elements if len(call.args) > 3 or len(offsets.elements) == 2 else None


def is_window(arg: Expr, rows: int, cols: int) -> bool:
    """Whether a written-out shape is exactly ``rows`` x ``cols``."""
    pair = literal_pair(arg)
    return pair is not None and is_const(pair[0], rows) and is_const(pair[1], cols)
