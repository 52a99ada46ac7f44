"""Arithmetic on whole tensors: element by element, reductions, expansions, casts and matrix products."""

from __future__ import annotations

from collections.abc import Iterator

from pypto_core.diagnostics import OpError
from pypto_core.ir import (
    INDEX_ONE,
    CastMode,
    DataType,
    TensorLayout,
    TensorType,
    TensorView,
    prove_eq,
    replace,
)
from pypto_core.ops.deduce import (
    Args,
    Dims,
    Options,
    broadcast,
    make_tensor,
    need_cover,
    need_dtype,
    need_equal_extent,
    need_int,
    need_least_rank,
    need_same_dtype,
    need_scalar,
    promoted,
    scalar_of,
    tensor_of,
)
from pypto_core.ops.kinds import Kind
from pypto_core.ops.opdef import OMIT, Deducer, OpDef, Param
from pypto_core.ops.params import dtype, flag, number, scalar, tensor
from pypto_core.ops.tile_matmul import accumulator_dtype
from pypto_core.ops.tile_misc import check_comparison
from pypto_core.ops.tile_reduce import check_column, check_not_empty
from pypto_core.ops.wording import type_text

_ROOTED = (DataType.FP32, DataType.FP16)
_FP32 = (DataType.FP32,)


def tensor_result(source: TensorType, dtype: DataType, shape: Dims | None = None) -> TensorType:
    """A packed tensor with the source's valid extents; the source's own type when that says the same."""
    shape = source.shape if shape is None else shape
    if (
        shape is source.shape
        and dtype is source.dtype
        and source.memref is None
        and source.tensor_view is None
    ):
        return source
    valid = source.valid_shape
    if len(valid) < len(shape):
        valid = (INDEX_ONE,) * (len(shape) - len(valid)) + valid
    return make_tensor(shape, dtype, valid)


def deduce_binary(args: Args, options: Options) -> TensorType:
    """Shapes broadcast, element types promoted; valid extents are those of the left operand."""
    lhs, rhs = tensor_of(args, 0), tensor_of(args, 1)
    return tensor_result(lhs, promoted(lhs, rhs), broadcast(lhs.shape, rhs.shape))


def deduce_bits(args: Args, options: Options) -> TensorType:
    """As :func:`deduce_binary`, for integers."""
    need_int(tensor_of(args, 0), "lhs")
    need_int(tensor_of(args, 1), "rhs")
    return deduce_binary(args, options)


def deduce_scalar(args: Args, options: Options) -> TensorType:
    """The tensor's element type stays."""
    source = tensor_of(args, 0)
    need_scalar(scalar_of(args, 1), source.dtype, "rhs")
    return tensor_result(source, source.dtype)


def deduce_scalar_bits(args: Args, options: Options) -> TensorType:
    """As :func:`deduce_scalar`, for integers."""
    need_int(tensor_of(args, 0), "lhs")
    return deduce_scalar(args, options)


def deduce_unary(args: Args, options: Options) -> TensorType:
    """The operand's shape, element type and valid extents."""
    source = tensor_of(args, 0)
    return tensor_result(source, source.dtype)


def deduce_not(args: Args, options: Options) -> TensorType:
    """As :func:`deduce_unary`, for integers."""
    need_int(tensor_of(args, 0), "tensor")
    return deduce_unary(args, options)


def deduce_rsqrt(args: Args, options: Options) -> TensorType:
    """As :func:`deduce_unary`, for FP32 and FP16."""
    need_dtype(tensor_of(args, 0), _ROOTED, "tensor")
    return deduce_unary(args, options)


def deduce_angle(args: Args, options: Options) -> TensorType:
    """As :func:`deduce_unary`, for FP32."""
    need_dtype(tensor_of(args, 0), _FP32, "tensor")
    return deduce_unary(args, options)


def deduce_cast(args: Args, options: Options) -> TensorType:
    """The same elements in another type."""
    return tensor_result(tensor_of(args, 0), options["target_type"])


def deduce_compared(args: Args, options: Options) -> TensorType:
    """1 where the comparison holds and 0 where it does not, in the element type of what is compared."""
    lhs = tensor_of(args, 0)
    check_comparison(options)
    shape = lhs.shape
    if isinstance(args[1].type, TensorType):
        rhs = tensor_of(args, 1)
        need_same_dtype(lhs, rhs, "lhs", "rhs")
        shape = broadcast(lhs.shape, rhs.shape)
    else:
        need_scalar(scalar_of(args, 1), lhs.dtype, "rhs")
    return tensor_result(lhs, lhs.dtype, shape)


def _axis_of(options: Options, wanted: int, rank: int) -> None:
    axis = options.get("axis")
    if axis is not None and axis not in (wanted, wanted + rank):
        raise OpError(
            f"this reduction runs along axis {wanted}, not {axis}",
            remedy="row_* reduce the last axis, col_* the one before it",
        )


def deduce_rows(args: Args, options: Options) -> TensorType:
    """``[.., M, N]`` → ``[.., M, 1]``, or ``[.., M]`` with ``keep_dim=False``."""
    source = tensor_of(args, 0)
    need_least_rank(source, 2, "tensor")
    check_not_empty(source)
    _axis_of(options, -1, len(source.shape))
    tail = (INDEX_ONE,) if options.get("keep_dim", True) else ()
    return make_tensor((*source.shape[:-1], *tail), source.dtype, (*source.valid_shape[:-1], *tail))


def deduce_columns(args: Args, options: Options) -> TensorType:
    """``[.., M, N]`` → ``[.., 1, N]``, or ``[.., N]`` with ``keep_dim=False``."""
    source = tensor_of(args, 0)
    need_least_rank(source, 2, "tensor")
    check_not_empty(source)
    _axis_of(options, -2, len(source.shape))
    middle = (INDEX_ONE,) if options.get("keep_dim", True) else ()
    shape = (*source.shape[:-2], *middle, source.shape[-1])
    return make_tensor(shape, source.dtype, (*source.valid_shape[:-2], *middle, source.valid_shape[-1]))


def deduce_row_position(args: Args, options: Options) -> TensorType:
    """As :func:`deduce_rows`, of column numbers."""
    return replace(deduce_rows(args, options), dtype=DataType.INT32)


def deduce_column_position(args: Args, options: Options) -> TensorType:
    """As :func:`deduce_columns`, of row numbers."""
    return replace(deduce_columns(args, options), dtype=DataType.INT32)


def deduce_row_expand(args: Args, options: Options) -> TensorType:
    """The type of the target, for a second operand with one entry per row."""
    target, vector = tensor_of(args, 0), tensor_of(args, 1)
    need_same_dtype(target, vector, "target", "row_vec")
    check_column(target, vector)
    return tensor_result(target, target.dtype)


def deduce_col_expand(args: Args, options: Options) -> TensorType:
    """The type of the target, for a second operand with one entry per column."""
    target, vector = tensor_of(args, 0), tensor_of(args, 1)
    need_same_dtype(target, vector, "target", "col_vec")
    if vector.shape and prove_eq(vector.shape[-1], target.shape[-1]) is False:
        raise OpError(
            "the row has not as many columns as the target",
            facts={"target": type_text(target), "vector": type_text(vector)},
            remedy="give it one entry per column of the target; for one entry per row use row_expand",
        )
    return tensor_result(target, target.dtype)


def deduce_expands(args: Args, options: Options) -> TensorType:
    """The type of the target."""
    target = tensor_of(args, 0)
    need_scalar(scalar_of(args, 1), target.dtype, "scalar")
    return tensor_result(target, target.dtype)


def deduce_expand_clone(args: Args, options: Options) -> TensorType:
    """A copy stretched to the type of the target."""
    source, target = tensor_of(args, 0), tensor_of(args, 1)
    need_same_dtype(source, target, "src", "target")
    if len(broadcast(target.shape, source.shape)) != len(target.shape):
        raise OpError(
            "the source has more axes than the target",
            facts={"src": type_text(source), "target": type_text(target)},
            remedy="reshape the source",
        )
    return tensor_result(target, target.dtype)


def _matrix(kind: TensorType, transposed: bool) -> tuple[Dims, Dims]:
    """(rows, columns) and their valid extents, as the product sees them."""
    shape, valid = kind.shape[-2:], kind.valid_shape[-2:]
    return (shape[::-1], valid[::-1]) if transposed else (shape, valid)


def _product(lhs: TensorType, rhs: TensorType, options: Options) -> tuple[Dims, Dims]:
    need_least_rank(lhs, 2, "lhs")
    need_least_rank(rhs, 2, "rhs")
    need_same_dtype(lhs, rhs, "lhs", "rhs")
    (rows, inner), (valid_rows, valid_inner) = _matrix(lhs, bool(options.get("a_trans")))
    (depth, columns), (valid_depth, valid_columns) = _matrix(rhs, bool(options.get("b_trans")))
    need_equal_extent(
        inner, depth, "K of lhs", "K of rhs",
        "make the inner extents equal; a_trans and b_trans say which operand is stored transposed",
    )  # fmt: skip
    need_cover(
        valid_depth, valid_inner, "valid K of rhs", "valid K of lhs",
        "give rhs at least as many valid rows as lhs has valid columns",
    )  # fmt: skip
    batch = broadcast(lhs.shape[:-2], rhs.shape[:-2])
    return (*batch, rows, columns), (*batch, valid_rows, valid_columns)


def deduce_matmul(args: Args, options: Options) -> TensorType:
    """Transposes as flagged, leading axes broadcast, in ``out_dtype`` or the operands' type."""
    lhs, rhs = tensor_of(args, 0), tensor_of(args, 1)
    accumulator_dtype(lhs.dtype)
    shape, valid = _product(lhs, rhs, options)
    result = make_tensor(shape, options.get("out_dtype") or promoted(lhs, rhs), valid)
    if options.get("c_matrix_nz"):
        view = result.tensor_view or TensorView()
        return replace(result, tensor_view=replace(view, layout=TensorLayout.NZ))
    return result


def deduce_matmul_acc(args: Args, options: Options) -> TensorType:
    """The accumulator's own type."""
    acc, lhs, rhs = tensor_of(args, 0), tensor_of(args, 1), tensor_of(args, 2)
    shape, valid = _product(lhs, rhs, options)
    if len(acc.shape) != len(shape):
        raise OpError(
            f"the accumulator has {len(acc.shape)} axes, the product has {len(shape)}",
            facts={"acc": type_text(acc)},
            remedy="give the accumulator the shape of the product",
        )
    for axis, name in ((-2, "M"), (-1, "N")):
        need_equal_extent(
            acc.shape[axis], shape[axis], f"{name} of acc", f"{name} of the product",
            "give the accumulator the shape of the product",
        )  # fmt: skip
        need_cover(
            acc.valid_shape[axis], valid[axis], f"valid {name} of acc", f"valid {name} of the product",
            "widen the accumulator's valid extents with set_validshape",
        )  # fmt: skip
    wanted = accumulator_dtype(lhs.dtype)
    if acc.dtype is not wanted:
        raise OpError(
            f"products of {lhs.dtype} add up in {wanted}, the accumulator is {acc.dtype}",
            facts={"acc": type_text(acc)},
            remedy=f"create the accumulator with dtype=pl.{wanted.name}",
        )
    return tensor_result(acc, acc.dtype) if acc.tensor_view is None else acc


_LHS, _RHS, _TENSOR = tensor("lhs"), tensor("rhs"), tensor("tensor")
_PRECISE = flag("high_precision")
_TRANSPOSED = (flag("a_trans", default=False), flag("b_trans", default=False))


def _op(name: str, what: str, params: tuple[Param, ...], deduce: Deducer, **rules: str) -> OpDef:
    return OpDef(name=f"tensor.{name}", summary=what, params=params, deduce=deduce, **rules)  # type: ignore[arg-type]


def _elementwise() -> Iterator[OpDef]:
    pair, single = (_LHS, _RHS), (_LHS, scalar("rhs"))
    words = {"add": "sum", "sub": "difference", "mul": "product", "div": "quotient"}
    for name, word in words.items():
        extra = (_PRECISE,) if name == "div" else ()
        what = f"{word} of two tensors, element by element"
        yield _op(name, what, (*pair, *extra), deduce_binary, scalar_form=f"tensor.{name}s")
        yield _op(f"{name}s", f"{word} of each element and one scalar", single, deduce_scalar)
    yield _op("maximum", "greater of two tensors, element by element", pair, deduce_binary)
    yield _op("minimum", "lesser of two tensors, element by element", pair, deduce_binary)
    for name, sign in (("rem", "divisor"), ("fmod", "dividend")):
        what = f"remainder with the {sign}'s sign"
        yield _op(name, what, pair, deduce_binary, scalar_form=f"tensor.{name}s")
        yield _op(f"{name}s", f"{what}, by one scalar", single, deduce_scalar)
    bits = {"and": "bitwise and", "or": "bitwise or", "xor": "bitwise exclusive or", "shl": "shift left",
            "shr": "shift right"}  # fmt: skip
    for name, what in bits.items():
        yield _op(name, f"{what} of two tensors", pair, deduce_bits, scalar_form=f"tensor.{name}s")
        yield _op(f"{name}s", f"{what} with one scalar", single, deduce_scalar_bits)
    yield _op("not", "bitwise complement", (_TENSOR,), deduce_not)
    code = number("cmp_type", default=0)
    what = "1 where a comparison holds, else 0, element by element"
    yield _op("cmp", what, (*pair, code), deduce_compared, scalar_form="tensor.cmps")
    yield _op("cmps", "1 where a comparison with one scalar holds, else 0", (*single, code), deduce_compared)


def _unary() -> Iterator[OpDef]:
    words = {"exp": "exponential", "sqrt": "square root", "neg": "negation", "abs": "absolute value",
             "relu": "x, or 0 where x is negative"}  # fmt: skip
    for name, what in words.items():
        yield _op(name, f"{what} of each element", (_TENSOR,), deduce_unary)
    yield _op("log", "natural logarithm of each element", (_TENSOR, _PRECISE), deduce_unary)
    yield _op("recip", "reciprocal of each element", (_TENSOR, _PRECISE), deduce_unary)
    yield _op("rsqrt", "reciprocal square root of each element", (_TENSOR, _PRECISE), deduce_rsqrt)
    yield _op("sin", "sine of each element", (_TENSOR,), deduce_angle)
    yield _op("cos", "cosine of each element", (_TENSOR,), deduce_angle)
    mode = Param("mode", Kind.ENUM, CastMode.round, CastMode, as_text=True)
    yield _op("cast", "each element in another type", (_TENSOR, dtype("target_type"), mode), deduce_cast)


def _reductions() -> Iterator[OpDef]:
    options = (number("axis", default=OMIT), flag("keep_dim"))
    words = {"max": "greatest", "sum": "sum", "min": "least", "prod": "product"}
    for name, word in words.items():
        yield _op(f"row_{name}", f"{word} of each row", (_TENSOR, *options), deduce_rows)
        yield _op(f"col_{name}", f"{word} of each column", (_TENSOR, *options), deduce_columns)
    for name, word in (("argmax", "greatest"), ("argmin", "least")):
        what = f"where the {word} of each"
        yield _op(f"row_{name}", f"{what} row is", (_TENSOR, *options), deduce_row_position)
        yield _op(f"col_{name}", f"{what} column is", (_TENSOR, *options), deduce_column_position)


def _expansions() -> Iterator[OpDef]:
    row, column = (tensor("target"), tensor("row_vec")), (tensor("target"), tensor("col_vec"))
    yield _op("row_expand", "spread a column over the target's columns", row, deduce_row_expand)
    yield _op("col_expand", "spread a row over the target's rows", column, deduce_col_expand)
    mixes = {"add": "add", "sub": "subtract", "mul": "multiply by", "div": "divide by", "max": "take the greater with",
             "min": "take the lesser with", "expdif": "exponential of the difference from"}  # fmt: skip
    for name, word in mixes.items():
        yield _op(f"row_expand_{name}", f"{word} one value per row", row, deduce_row_expand)
        yield _op(f"col_expand_{name}", f"{word} one value per column", column, deduce_col_expand)
    params = (tensor("target"), scalar("scalar"))
    yield _op("expands", "spread one scalar over the target's shape", params, deduce_expands)
    copy = (tensor("src"), tensor("target"))
    yield _op("expand_clone", "a copy stretched to the target's shape", copy, deduce_expand_clone)


OPS = (
    *_elementwise(),
    *_unary(),
    *_reductions(),
    *_expansions(),
    _op(
        "matmul", "matrix product",
        (_LHS, _RHS, dtype("out_dtype", default=OMIT), *_TRANSPOSED, flag("c_matrix_nz", default=False)),
        deduce_matmul,
    ),
    _op(
        "matmul_acc", "matrix product added to an accumulator",
        (tensor("acc"), _LHS, _RHS, Param("init_cond", Kind.BOOL, OMIT), *_TRANSPOSED),
        deduce_matmul_acc,
    ),
)  # fmt: skip
"""The operators of this module."""

__all__ = ["OPS", "tensor_result"]
