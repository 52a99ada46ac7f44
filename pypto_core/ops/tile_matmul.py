"""Operators of the matrix unit: matmul and its accumulating, biased, batched and vector forms."""

from __future__ import annotations

from collections.abc import Callable

from pypto_core.diagnostics import OpError
from pypto_core.ir import (
    ArgEffect,
    CompactMode,
    CoreType,
    DataType,
    MemorySpace,
    TensorType,
    TileType,
    implicit_layout,
    is_const,
    prove_eq,
)
from pypto_core.ops.deduce import (
    Args,
    Dims,
    Layout,
    Options,
    broadcast,
    make_tile,
    need_cover,
    need_equal_extent,
    need_least_rank,
    need_rank,
    need_same_dtype,
    tile_of,
)
from pypto_core.ops.kinds import Kind
from pypto_core.ops.opdef import OMIT, OpDef, OpMemory, Param
from pypto_core.ops.params import tile
from pypto_core.ops.wording import type_text

_ACC = MemorySpace.Acc
_ACC_LAYOUT: Layout = implicit_layout((), _ACC)
_PHASES = ("unspecified", "partial", "final")


def accumulator_dtype(dtype: DataType) -> DataType:
    """The element type that products of ``dtype`` add up in: FP32, or INT32 for integers."""
    if dtype.is_float:
        return DataType.FP32
    if dtype.is_int and dtype is not DataType.INDEX:
        return DataType.INT32
    raise OpError(
        f"the matrix unit doesn't multiply {dtype}",
        remedy="convert both operands with pl.cast, for example to pl.BF16 or pl.INT8",
    )


def check_product(lhs: TileType | TensorType, rhs: TileType | TensorType) -> None:
    """Refuse operands whose element types or inner extents don't go together."""
    need_same_dtype(lhs, rhs, "lhs", "rhs")
    need_equal_extent(
        lhs.shape[-1],
        rhs.shape[-2],
        "K of lhs",
        "K of rhs",
        "make the columns of lhs equal to the rows of rhs",
    )
    need_cover(
        rhs.valid_shape[-2], lhs.valid_shape[-1], "valid K of rhs", "valid K of lhs",
        "load rhs with at least as many valid rows as lhs has valid columns",
    )  # fmt: skip


def _product(lhs: TileType, rhs: TileType, batch: Dims, valid_batch: Dims) -> TileType:
    check_product(lhs, rhs)
    rows, valid_rows = lhs.shape[-2], lhs.valid_shape[-2]
    shape = (*batch, rows, rhs.shape[-1])
    valid = (*valid_batch, valid_rows, rhs.valid_shape[-1])
    full = valid_rows is rows or prove_eq(valid_rows, rows) is True
    return make_tile(
        shape, accumulator_dtype(lhs.dtype), _ACC,
        valid=valid, layout=_ACC_LAYOUT, compact=CompactMode.null if full else CompactMode.normal,
    )  # fmt: skip


def _plain(args: Args, first: int) -> TileType:
    lhs, rhs = tile_of(args, first), tile_of(args, first + 1)
    need_rank(lhs, 2, "lhs")
    need_rank(rhs, 2, "rhs")
    return _product(lhs, rhs, (), ())


def _batched(args: Args, first: int) -> TileType:
    lhs, rhs = tile_of(args, first), tile_of(args, first + 1)
    need_least_rank(lhs, 2, "lhs")
    need_least_rank(rhs, 2, "rhs")
    batch = broadcast(lhs.shape[:-2], rhs.shape[:-2])
    return _product(lhs, rhs, batch, batch)


def _vector(args: Args, first: int) -> TileType:
    lhs = tile_of(args, first)
    if len(lhs.shape) == 2 and not is_const(lhs.shape[0], 1):
        raise OpError(
            "the left operand of gemv has one row",
            facts={"lhs": type_text(lhs)},
            remedy="use pl.matmul for more rows",
        )
    return _plain(args, first)


def _accumulated(acc: TileType, product: TileType) -> TileType:
    if len(acc.shape) != len(product.shape):
        need_rank(acc, len(product.shape), "acc")
    for axis, name in ((-2, "M"), (-1, "N")):
        need_equal_extent(
            acc.shape[axis], product.shape[axis], f"{name} of acc", f"{name} of the product",
            "give the accumulator the shape of the product",
        )  # fmt: skip
        need_cover(
            acc.valid_shape[axis], product.valid_shape[axis],
            f"valid {name} of acc", f"valid {name} of the product",
            "widen the accumulator's valid extent with pl.tile.set_validshape before adding to it",
        )  # fmt: skip
    if acc.dtype is not product.dtype:
        raise OpError(
            f"products of these operands add up in {product.dtype}, the accumulator is {acc.dtype}",
            facts={"acc": type_text(acc), "product": type_text(product)},
            remedy=f"create the accumulator with dtype=pl.{product.dtype.name}",
        )
    if acc.memory_space is _ACC and acc.memref is None and acc.view.layout == _ACC_LAYOUT:
        return acc
    view = acc.view
    return make_tile(
        acc.shape, acc.dtype, _ACC,
        valid=acc.valid_shape, layout=_ACC_LAYOUT, pad=view.pad, compact=view.compact,
    )  # fmt: skip


def _biased(product: TileType, bias: TileType) -> TileType:
    need_rank(bias, 2, "bias")
    if not is_const(bias.shape[0], 1):
        raise OpError(
            "the bias has one row",
            facts={"bias": type_text(bias)},
            remedy="load it with shape [1, N]",
        )
    need_equal_extent(
        bias.shape[1], product.shape[-1], "columns of bias", "N of the product",
        "give the bias one column per column of rhs",
    )  # fmt: skip
    need_cover(
        bias.valid_shape[1], product.valid_shape[-1], "valid columns of bias", "valid N of the product",
        "load the bias with at least as many valid columns as rhs",
    )  # fmt: skip
    if bias.dtype is not product.dtype:
        raise OpError(
            f"the bias is added in {product.dtype}, it is {bias.dtype}",
            facts={"bias": type_text(bias)},
            remedy=f"keep the bias in pl.{product.dtype.name}",
        )
    return product


def _check_phase(options: Options) -> None:
    phase = options.get("acc_phase")
    if phase is not None and phase not in _PHASES:
        raise OpError(f"there is no acc_phase '{phase}'", remedy="one of " + ", ".join(_PHASES))


Multiply = Callable[[Args, int], TileType]


def _fresh(multiply: Multiply) -> Callable[[Args, Options], TileType]:
    def deduce(args: Args, options: Options) -> TileType:
        _check_phase(options)
        return multiply(args, 0)

    return deduce


def _onto(multiply: Multiply) -> Callable[[Args, Options], TileType]:
    def deduce(args: Args, options: Options) -> TileType:
        _check_phase(options)
        return _accumulated(tile_of(args, 0), multiply(args, 1))

    return deduce


def _with_bias(multiply: Multiply) -> Callable[[Args, Options], TileType]:
    def deduce(args: Args, options: Options) -> TileType:
        _check_phase(options)
        return _biased(multiply(args, 0), tile_of(args, 2))

    return deduce


_LHS, _RHS, _BIAS = (MemorySpace.Left,), (MemorySpace.Right,), (MemorySpace.Bias,)
_OPERANDS = (tile("lhs"), tile("rhs"))
_COND = Param("init_cond", Kind.BOOL, OMIT)
_PHASE = Param("acc_phase", Kind.TEXT, OMIT, keyword_only=True)


def _family(
    name: str, multiply: Multiply, what: str, options: tuple[Param, ...], cond: tuple[Param, ...]
) -> list[OpDef]:
    return [
        OpDef(
            name=f"tile.{name}",
            summary=what,
            params=(*_OPERANDS, *options),
            deduce=_fresh(multiply),
            memory=OpMemory(inputs=(_LHS, _RHS), output=_ACC),
            core=CoreType.CUBE,
        ),
        OpDef(
            name=f"tile.{name}_acc",
            summary=f"{what}, added to an accumulator",
            params=(tile("acc"), *_OPERANDS, *cond, *options),
            deduce=_onto(multiply),
            memory=OpMemory(inputs=((_ACC,), _LHS, _RHS, None)[: 3 + len(cond)], output=_ACC, reuses=0),
            effects={0: ArgEffect.ReadWrite},
            core=CoreType.CUBE,
            pure=False,
        ),
    ]


def _biased_op(name: str, multiply: Multiply, what: str, options: tuple[Param, ...]) -> OpDef:
    return OpDef(
        name=f"tile.{name}_bias",
        summary=f"{what} plus a row of biases",
        params=(*_OPERANDS, tile("bias"), *options),
        deduce=_with_bias(multiply),
        memory=OpMemory(inputs=(_LHS, _RHS, _BIAS), output=_ACC),
        core=CoreType.CUBE,
    )


OPS = (
    *_family("matmul", _plain, "matrix product", (), (_COND,)),
    _biased_op("matmul", _plain, "matrix product", ()),
    *_family("batch_matmul", _batched, "matrix products of a batch", (), ()),
    *_family("gemv", _vector, "product of a row and a matrix", (_PHASE,), ()),
    _biased_op("gemv", _vector, "product of a row and a matrix", (_PHASE,)),
)
"""The operators of this module."""

__all__ = ["OPS", "accumulator_dtype", "check_product"]
