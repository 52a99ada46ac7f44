"""Element by element: arithmetic, bit operators, their scalar forms, unary functions and casts."""

from __future__ import annotations

from collections.abc import Iterator

from pypto_core.diagnostics import OpError
from pypto_core.ir import (
    CastMode,
    CompactMode,
    CoreType,
    DataType,
    MemorySpace,
    TileType,
    prove_eq,
    shapes_equal,
)
from pypto_core.ops.deduce import (
    Args,
    Options,
    broadcast,
    make_tile,
    need_dtype,
    need_int,
    need_same_dtype,
    need_scalar,
    promoted,
    scalar_of,
    tile_of,
    vector_result,
)
from pypto_core.ops.kinds import Kind
from pypto_core.ops.opdef import OMIT, Deducer, OpDef, OpMemory, Param
from pypto_core.ops.params import VEC, dtype, flag, scalar, tile
from pypto_core.ops.wording import dims_text, type_text

_DIVIDED = (DataType.INT16, DataType.INT32, DataType.FP16, DataType.FP32)
_ROOTED = (DataType.FP32, DataType.FP16)
_FP32 = (DataType.FP32,)


def deduce_binary(args: Args, options: Options) -> TileType:
    """Shapes broadcast, element types promoted; valid extents and layout are those of the left operand."""
    lhs, rhs = tile_of(args, 0), tile_of(args, 1)
    if lhs is rhs:
        return vector_result(lhs, lhs.dtype)
    return vector_result(lhs, promoted(lhs, rhs), broadcast(lhs.shape, rhs.shape))


def deduce_div(args: Args, options: Options) -> TileType:
    """Both operands alike: element type, shape and what is valid."""
    lhs, rhs = tile_of(args, 0), tile_of(args, 1)
    need_same_dtype(lhs, rhs, "lhs", "rhs")
    need_dtype(lhs, _DIVIDED, "lhs")
    if not shapes_equal(lhs.shape, rhs.shape):
        raise OpError(
            f"division needs equal shapes, not {dims_text(lhs.shape)} and {dims_text(rhs.shape)}",
            facts={"lhs": type_text(lhs), "rhs": type_text(rhs)},
            remedy="stretch the divisor with row_expand or col_expand, or use row_expand_div or col_expand_div",
        )
    if not all(prove_eq(a, b) for a, b in zip(lhs.valid_shape, rhs.valid_shape, strict=True)):
        raise OpError(
            "division needs operands whose valid extents are provably equal",
            facts={"valid of lhs": dims_text(lhs.valid_shape), "valid of rhs": dims_text(rhs.valid_shape)},
            remedy="give both the same valid extents with set_validshape: what lies outside must not be divided by",
        )
    return vector_result(lhs, lhs.dtype)


def deduce_bits(args: Args, options: Options) -> TileType:
    """As :func:`deduce_binary`, for integers."""
    need_int(tile_of(args, 0), "lhs")
    need_int(tile_of(args, 1), "rhs")
    return deduce_binary(args, options)


def deduce_scalar(args: Args, options: Options) -> TileType:
    """The tile's element type stays."""
    source = tile_of(args, 0)
    need_scalar(scalar_of(args, 1), source.dtype, "rhs")
    return vector_result(source, source.dtype)


def deduce_scalar_bits(args: Args, options: Options) -> TileType:
    """As :func:`deduce_scalar`, for integers."""
    need_int(tile_of(args, 0), "lhs")
    return deduce_scalar(args, options)


def deduce_unary(args: Args, options: Options) -> TileType:
    """The operand's shape, element type, valid extents and layout."""
    source = tile_of(args, 0)
    return vector_result(source, source.dtype)


def deduce_not(args: Args, options: Options) -> TileType:
    """As :func:`deduce_unary`, for integers."""
    need_int(tile_of(args, 0), "tile")
    return deduce_unary(args, options)


def deduce_rsqrt(args: Args, options: Options) -> TileType:
    """As :func:`deduce_unary`, for FP32 and FP16."""
    source = tile_of(args, 0)
    need_dtype(source, _ROOTED, "tile")
    if len(args) > 1:
        need_same_dtype(source, tile_of(args, 1), "tile", "tmp")
    return vector_result(source, source.dtype)


def deduce_angle(args: Args, options: Options) -> TileType:
    """As :func:`deduce_unary`, for FP32."""
    need_dtype(tile_of(args, 0), _FP32, "tile")
    return deduce_unary(args, options)


def deduce_cast(args: Args, options: Options) -> TileType:
    """The same elements in another type; boxes are 512 bytes again."""
    source = tile_of(args, 0)
    target: DataType = options["target_type"]
    if target is source.dtype:
        raise OpError(
            f"the tile is {target} already",
            facts={"tile": type_text(source)},
            remedy="drop the cast",
        )
    view = source.view
    layout = (view.blayout, view.slayout, 512)
    return make_tile(
        source.shape, target, MemorySpace.Vec,
        valid=source.valid_shape, layout=layout, pad=view.pad, compact=CompactMode.null,
    )  # fmt: skip


_LHS, _RHS, _TILE, _TMP = tile("lhs"), tile("rhs"), tile("tile"), tile("tmp")
_PRECISE = flag("high_precision")


def _op(
    name: str, what: str, params: tuple[Param, ...], deduce: Deducer, safe: bool = True, **rules: str
) -> OpDef:
    """A row of the vector unit: its tiles and its result lie in Vec; ``safe``: the result may overwrite an operand.

    Never its scratch, which takes what the result is still to be made of.
    """
    operands = [p for p in params if p.is_operand]
    inputs = tuple(VEC if p.kind is Kind.TILE else None for p in operands)
    scratch = tuple(i for i, p in enumerate(operands) if p is _TMP) if safe else ()
    return OpDef(
        name=f"tile.{name}",
        summary=what,
        params=params,
        deduce=deduce,
        memory=OpMemory(inputs=inputs, output=MemorySpace.Vec, inplace_safe=safe, forbids_alias=scratch),
        core=CoreType.VECTOR,
        **rules,  # type: ignore[arg-type]
    )


def _arithmetic() -> Iterator[OpDef]:
    words = {
        "add": "sum", "sub": "difference", "mul": "product", "maximum": "greater", "minimum": "lesser",
        "rem": "remainder with the divisor's sign", "fmod": "remainder with the dividend's sign",
    }  # fmt: skip
    for name in ("add", "sub", "mul", "maximum", "minimum"):
        what = f"{words[name]} of two tiles, element by element"
        yield _op(name, what, (_LHS, _RHS), deduce_binary, scalar_form=f"tile.{name}s")
    yield _op("div", "quotient of two tiles, element by element", (_LHS, _RHS, _PRECISE), deduce_div,
              scalar_form="tile.divs")  # fmt: skip
    yield _op("rem", words["rem"], (_LHS, _RHS, _TMP), deduce_binary, scalar_form="tile.rems")
    yield _op("fmod", words["fmod"], (_LHS, _RHS), deduce_binary, False, scalar_form="tile.fmods")
    for name in ("add", "sub", "mul", "div", "maximum", "minimum"):
        what = f"{words.get(name, 'quotient')} of each element and one scalar"
        yield _op(f"{name}s", what, (_LHS, scalar("rhs")), deduce_scalar)
    yield _op("rems", f"{words['rem']}, by one scalar", (_LHS, scalar("rhs"), _TMP), deduce_scalar)
    yield _op("fmods", f"{words['fmod']}, by one scalar", (_LHS, scalar("rhs")), deduce_scalar, False)
    yield _op("lrelu", "x, or slope * x where x is negative", (_TILE, scalar("slope")), deduce_scalar)


def _bits() -> Iterator[OpDef]:
    words = {"and": "bitwise and", "or": "bitwise or", "xor": "bitwise exclusive or", "shl": "shift left",
             "shr": "shift right"}  # fmt: skip
    for name, what in words.items():
        shift = name.startswith("sh")
        scratch = (_TMP,) if name == "xor" else ()
        yield _op(
            name, f"{what} of two tiles", (_LHS, _RHS, *scratch), deduce_bits, scalar_form=f"tile.{name}s"
        )
        operands = (_LHS, scalar("rhs"), *scratch)
        yield _op(f"{name}s", f"{what} with one scalar", operands, deduce_scalar_bits, shift)
    yield _op("not", "bitwise complement", (_TILE,), deduce_not)


def _unary() -> Iterator[OpDef]:
    words = {"exp": "exponential", "sqrt": "square root", "neg": "negation", "abs": "absolute value",
             "relu": "x, or 0 where x is negative"}  # fmt: skip
    for name, what in words.items():
        yield _op(name, f"{what} of each element", (_TILE,), deduce_unary)
    yield _op("log", "natural logarithm of each element", (_TILE, _PRECISE), deduce_unary)
    yield _op("recip", "reciprocal of each element", (_TILE, _PRECISE), deduce_unary, False)
    tmp = tile("tmp", default=OMIT)
    yield _op("rsqrt", "reciprocal square root of each element", (_TILE, tmp, _PRECISE), deduce_rsqrt, False)
    yield _op("sin", "sine of each element", (_TILE,), deduce_angle)
    yield _op("cos", "cosine of each element", (_TILE,), deduce_angle)
    mode = Param("mode", Kind.ENUM, CastMode.round, CastMode, as_text=True)
    yield _op("cast", "each element in another type", (_TILE, dtype("target_type"), mode), deduce_cast)


OPS = (*_arithmetic(), *_bits(), *_unary())
"""The operators of this module."""

__all__ = ["OPS"]
