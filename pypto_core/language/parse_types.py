"""Annotations: what they say, and how that is joined with the type of the value they stand on.

An annotation of a local may leave parts out (memory space, view, MemRef); these come from the value. What it does say
replaces the deduced part, on the variable and on the call that makes the value. A MemRef belongs to the variable
alone.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial
from typing import Any

import attrs
from attrs import evolve

from pypto_core.diagnostics import ParserTypeError
from pypto_core.ir import (
    COMM_CTX,
    MAKE,
    MAX_RANK,
    MEMREF,
    PTR,
    UNKNOWN,
    VOID,
    WINDOW_BUFFER,
    ArrayType,
    CommCtxType,
    CompactMode,
    ConstInt,
    DataType,
    DistributedTensorType,
    Expr,
    MemorySpace,
    MemRef,
    PadValue,
    ScalarType,
    TensorLayout,
    TensorType,
    TensorView,
    TileLayout,
    TileType,
    TileView,
    TupleType,
    Type,
    UnknownType,
    VoidType,
    WindowBufferType,
    implicit_layout,
    replace,
    scalar_type,
    shapes_equal,
    too_many_axes,
    types_equal,
)  # fmt: skip
from pypto_core.language import vocabulary
from pypto_core.language.annotations import dynamic_var
from pypto_core.language.buffer_types import BUFFER_FORMS, buffer_type
from pypto_core.language.context import Context
from pypto_core.language.environment import MISSING, items_of
from pypto_core.language.errors import did_you_mean, shape_text, type_text, value_text
from pypto_core.language.memrefs import is_memref, memref
from pypto_core.language.parse_expr import integer


@attrs.frozen(eq=False)
class Spec:
    """What an annotation says. For tiles and tensors ``type`` is None and the parts are kept apart."""

    node: ast.expr
    type: Type | None = None
    tile: bool = False
    shape: tuple[Expr, ...] = ()
    dtype: DataType = DataType.FP32
    memref: MemRef | None = None
    space: MemorySpace | None = None
    view: dict[str, Any] | None = None
    distributed: bool = False


_make_spec = MAKE[Spec]
_NOT_READ: tuple[str, Spec | None] = ("", None)


def annotation(ctx: Context, node: ast.expr, *, local: bool = True) -> Spec:
    """Read an annotation; ``local``: it stands on a variable of the body, not on a parameter.

    A program repeats few annotations very often; one that is made of the language's own names alone is read once.
    """
    text = ctx.source.text_of(node)
    root, said = ctx.annotations.get(text, _NOT_READ) if text else _NOT_READ
    if said is not None and root not in ctx.names:
        return _make_spec(
            node, said.type, said.tile, said.shape, said.dtype, said.memref, said.space, said.view,
            said.distributed,
        )  # fmt: skip
    spec = _annotation(ctx, node, local)
    if text and spec.memref is None:
        names = {part.id for part in ast.walk(node) if type(part) is ast.Name}
        if len(names) == 1 and ctx.is_language(*names):
            ctx.annotations[text] = names.pop(), spec
    return spec


def _annotation(ctx: Context, node: ast.expr, local: bool) -> Spec:
    if type(node) is ast.Subscript:
        path = ctx.path_of(node.value)
        reader = _FORMS.get(path) if path else None
        if reader is not None:
            inner = node.slice
            return reader(ctx, node, inner.elts if type(inner) is ast.Tuple else [inner])
    elif type(node) is ast.Call:
        path = ctx.path_of(node.func)
        if path in BUFFER_FORMS:
            return Spec(node, buffer_type(ctx, node, path))
    else:
        path = ctx.path_of(node)
        if path is not None:
            plain = _PLAIN.get(path)
            if plain is not None:
                if not local and not isinstance(plain, ScalarType | CommCtxType | WindowBufferType):
                    raise _not_a_parameter(ctx, node, path)
                return Spec(node, plain)
    raise _no_annotation(ctx, node, path)


def _not_a_parameter(ctx: Context, node: ast.expr, path: str) -> Exception:
    return ctx.fail(
        ParserTypeError,
        f"a parameter can't be of type {vocabulary.spelling(path)}",
        node,
        "pass a tensor, tile or scalar",
    )


def _no_annotation(ctx: Context, node: ast.expr, path: str | None) -> Exception:
    if path is not None and isinstance(vocabulary.CONSTANTS.get(path), DataType):
        return ctx.fail(
            ParserTypeError, f"pl.{path} is an element type, not a type", node, f"write pl.Scalar[pl.{path}]"
        )
    if path is not None and path in _FORMS:
        word = vocabulary.spelling(path)
        return ctx.fail(
            ParserTypeError,
            f"{word} needs its shape and element type" if path in _SHAPED else f"{word} needs arguments",
            node,
            {"Scalar": "write pl.Scalar[pl.INDEX]", "Array": "write pl.Array[4, pl.INT32]"}.get(
                path, f"write {word}[[64, 64], pl.FP32]"
            ),
        )
    if path is not None:
        return ctx.fail(
            ParserTypeError,
            f"{vocabulary.spelling(path)} is not a type",
            node,
            did_you_mean(path, vocabulary.FORMS, "use pl.Tensor or pl.Tile"),
        )
    return ctx.fail(
        ParserTypeError,
        "this annotation is not a type of the kernel language",
        node,
        "use pl.Tensor[[…], dtype], pl.Tile[[…], dtype] or pl.Scalar[dtype]",
    )


def dims(ctx: Context, node: ast.expr, what: str, least: int = 1) -> tuple[Expr, ...]:
    """A list of extents inside a type."""
    if type(node) is ast.List or type(node) is ast.Tuple:
        if len(node.elts) > MAX_RANK:
            raise too_many_axes(len(node.elts)).located(ctx.span(node))
        index = ctx.session.index
        out: list[Expr] = []
        for part in node.elts:
            if type(part) is ast.Constant and type(part.value) is int and part.value >= least:
                out.append(index(part.value))
            else:
                out.append(_dim(ctx, part, what, least))
        return tuple(out)
    value = ctx.expr(node)
    items = items_of(value)
    if items is not None:
        found = [v if isinstance(v, Expr) else _as_index(ctx, v, node, what) for v in items]
        return tuple([_checked_dim(ctx, dim, node, what, least) for dim in found])
    raise ctx.fail(
        ParserTypeError, f"{what} must be a list of extents, not {value_text(value)}", node, "write [64, 64]"
    )


def _as_index(ctx: Context, value: Any, node: ast.expr, what: str) -> Expr:
    if type(value) is int:
        return ctx.session.index(value)
    raise ctx.fail(
        ParserTypeError,
        f"an extent of {what} must be an integer, not {value_text(value)}",
        node,
        'use integers, a scalar of the kernel, or M = pl.dynamic("M") for an extent known only at run time',
    )


def _dim(ctx: Context, node: ast.expr, what: str, least: int) -> Expr:
    if ctx.auto_dims is not None:
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and part.id not in ctx.names and ctx.env.get(part.id) is MISSING:
                ctx.auto_dims.add(part.id)
                dynamic_var(part.id)
    return _checked_dim(ctx, integer(ctx, node, f"an extent of {what}"), node, what, least)


def _checked_dim(ctx: Context, dim: Expr, node: ast.expr, what: str, least: int) -> Expr:
    if isinstance(dim, ConstInt) and dim.value < least:
        raise ctx.fail(
            ParserTypeError,
            f"an extent of {what} must be {'positive' if least else 'at least 0'}, not {dim.value}",
            node,
            'for an extent known only at run time write M = pl.dynamic("M")',
        )
    return dim


def _dtype(ctx: Context, node: ast.expr) -> DataType:
    value = ctx.expr(node)
    if isinstance(value, DataType):
        return value
    raise ctx.fail(
        ParserTypeError, f"an element type is needed here, not {value_text(value)}", node, "write pl.FP32"
    )


def _shaped(ctx: Context, node: ast.Subscript, args: list[ast.expr], path: str) -> Spec:
    tile = path == "Tile"
    word = "Tile" if tile else "Tensor"
    if len(args) < 2:
        written = vocabulary.spelling(path)
        raise ctx.fail(
            ParserTypeError,
            f"{written} needs a shape and an element type",
            node,
            f"write {written}[[64, 64], pl.FP32]",
        )
    shape = dims(ctx, args[0], f"a {word.lower()}")
    dtype = _dtype(ctx, args[1])
    memory: MemRef | ast.expr | None = None
    space: MemorySpace | None = None
    view: dict[str, Any] | None = None
    for part in args[2:]:
        if is_memref(ctx, part):
            memory = part
        elif type(part) is ast.Call and ctx.path_of(part.func) == ("TileView" if tile else "TensorView"):
            view = _view(ctx, part, tile)
        else:
            value = ctx.expr(part)
            if tile and isinstance(value, MemorySpace):
                space = value
            elif not tile and isinstance(value, TensorLayout):
                view = _layout_slot(ctx, part, value)
            elif isinstance(value, str) and value.startswith("window_buffer="):
                continue
            else:
                raise _bad_part(ctx, part, value, word)
    place = None
    if memory is not None:
        if tile and space is None:
            raise ctx.fail(
                ParserTypeError,
                "a tile with a MemRef needs an explicit memory space",
                memory,
                "add the space: pl.Tile[[64, 64], pl.FP32, buf, pl.Mem.Vec]",
            )
        place = memref(ctx, memory, space or MemorySpace.DDR)
    return Spec(node, None, tile, shape, dtype, place, space, view, path == "pld.DistributedTensor")


def _bad_part(ctx: Context, node: ast.expr, value: Any, word: str) -> Exception:
    if isinstance(value, MemorySpace):
        message, remedy = (
            "a tensor has no memory space: it lies in global memory",
            "use pl.Tile for data on chip",
        )
    elif isinstance(value, TensorLayout):
        message, remedy = (
            "a layout of tensors does not apply to a tile",
            "use pl.TileView(blayout=…, slayout=…)",
        )
    else:
        message = f"{value_text(value)} has no meaning in the annotation of a {word.lower()}"
        remedy = "after shape and element type stand a view, a MemRef and, for tiles, a memory space"
    return ctx.fail(ParserTypeError, message, node, remedy)


def _layout_slot(ctx: Context, node: ast.expr, layout: TensorLayout) -> dict[str, Any]:
    if layout is TensorLayout.DN:
        raise ctx.fail(
            ParserTypeError,
            "layout DN alone does not say how the tensor lies in memory",
            node,
            "write pl.TensorView(stride=[…], layout=pl.TensorLayout.DN)",
        )
    return {"layout": layout}


_TILE_PARTS: dict[str, type] = {
    "blayout": TileLayout, "slayout": TileLayout, "fractal": int, "pad": PadValue, "compact": CompactMode,
}  # fmt: skip
_TENSOR_PARTS: dict[str, type] = {"layout": TensorLayout, "pad": PadValue}
_EXTENTS = ("valid_shape", "stride")


def _view(ctx: Context, node: ast.Call, tile: bool) -> dict[str, Any]:
    word = "TileView" if tile else "TensorView"
    parts: dict[str, Any] = {}
    plain = _TILE_PARTS if tile else _TENSOR_PARTS
    known = [*_EXTENTS, *plain, *(["start_offset"] if tile else [])]
    if node.args:
        raise ctx.fail(
            ParserTypeError,
            f"pl.{word} takes named arguments",
            node.args[0],
            "arguments: " + ", ".join(known),
        )
    for keyword in node.keywords:
        key = keyword.arg
        if key in _EXTENTS:
            parts[key] = dims(ctx, keyword.value, str(key), least=0)
        elif key == "start_offset" and tile:
            parts[key] = integer(ctx, keyword.value, "start_offset")
        elif key in plain:
            value = ctx.expr(keyword.value)
            if not isinstance(value, plain[key]):
                raise ctx.fail(
                    ParserTypeError,
                    f"{key} must be a {plain[key].__name__}, not {value_text(value)}",
                    keyword.value,
                    "write a number of bytes"
                    if plain[key] is int
                    else f"write a member of pl.{plain[key].__name__}",
                )
            parts[key] = value
        else:
            raise ctx.fail(
                ParserTypeError,
                f"pl.{word} has no argument '{key}'",
                keyword,
                did_you_mean(str(key), known, "arguments: " + ", ".join(known)),
            )
    if not tile and parts and "layout" not in parts:
        raise ctx.fail(
            ParserTypeError, "pl.TensorView needs its layout", node, "add layout=pl.TensorLayout.ND"
        )
    return parts


def _scalar(ctx: Context, node: ast.Subscript, args: list[ast.expr]) -> Spec:
    if len(args) != 1:
        raise ctx.fail(ParserTypeError, "pl.Scalar needs one element type", node, "write pl.Scalar[pl.INDEX]")
    return Spec(node, scalar_type(_dtype(ctx, args[0])))


def _array(ctx: Context, node: ast.Subscript, args: list[ast.expr]) -> Spec:
    extent = ctx.expr(args[0]) if len(args) == 2 else None
    if type(extent) is not int:
        raise ctx.fail(
            ParserTypeError,
            "pl.Array needs a constant extent and an element type",
            node,
            "write pl.Array[4, pl.INT32]",
        )
    return Spec(node, ArrayType(_dtype(ctx, args[1]), extent))


def _window_buffer(ctx: Context, node: ast.Subscript, args: list[ast.expr]) -> Spec:
    size = ctx.expr(args[0]) if len(args) == 1 else None
    if type(size) is not int or size < 1:
        raise ctx.fail(
            ParserTypeError,
            "pld.WindowBuffer has one constant, its bytes",
            node,
            "write pld.WindowBuffer[4096], or leave the size out",
        )
    return Spec(node, WindowBufferType(size))


def _tuple(ctx: Context, node: ast.Subscript, args: list[ast.expr]) -> Spec:
    parts = [a for a in args if not (type(a) is ast.Tuple and not a.elts)]
    return Spec(node, TupleType(tuple(complete(annotation(ctx, a)) for a in parts)))


def _misplaced(ctx: Context, node: ast.Subscript, args: list[ast.expr]) -> Spec:
    raise ctx.fail(
        ParserTypeError,
        "pl.Out and pl.InOut only stand around the type of a parameter",
        node,
        "write the type itself here, and pl.Out[…] in the signature",
    )


_SHAPED = ("Tile", "Tensor", "pld.DistributedTensor")
_FORMS: dict[str | None, Callable[[Context, ast.Subscript, list[ast.expr]], Spec]] = {
    **{path: partial(_shaped, path=path) for path in _SHAPED},
    "Scalar": _scalar,
    "Array": _array,
    "Tuple": _tuple,
    "pld.WindowBuffer": _window_buffer,
    "Out": _misplaced,
    "InOut": _misplaced,
}
_PLAIN: dict[str, Type] = {
    "Ptr": PTR,
    "PtrType": PTR,
    "MemRefType": MEMREF,
    "UnknownType": UNKNOWN,
    "VoidType": VOID,
    "TaskId": scalar_type(DataType.TASK_ID),
    "pld.CommCtx": COMM_CTX,
    "pld.WindowBuffer": WINDOW_BUFFER,
}


def complete(spec: Spec) -> Type:
    """The type of an annotation that stands alone."""
    if spec.type is not None:
        return spec.type
    if spec.tile:
        view = None if spec.view is None else _tile_view(spec.view, spec.shape, spec.space)
        return TileType(spec.shape, spec.dtype, spec.memref, view, spec.space)
    view = None if spec.view is None else TensorView(**spec.view)
    return _tensor_class(spec)(spec.shape, spec.dtype, spec.memref, view)


def _tensor_class(spec: Spec) -> type[TensorType]:
    return DistributedTensorType if spec.distributed else TensorType


def _tile_view(parts: dict[str, Any], shape: tuple[Expr, ...], space: MemorySpace | None) -> TileView:
    blayout, slayout, fractal = implicit_layout(shape, space)
    known: dict[str, Any] = {"blayout": blayout, "slayout": slayout, "fractal": fractal, **parts}
    return TileView(**known)


def joined(ctx: Context, spec: Spec, deduced: Type) -> tuple[Type, Type]:
    """The types of the variable and of the value after an annotation has been joined with the deduced type.

    The second one is ``deduced`` itself when the annotation says nothing else.
    """
    if spec.type is not None:
        return _joined_plain(ctx, spec, spec.type, deduced)
    if isinstance(deduced, UnknownType | VoidType):
        return complete(spec), complete(evolve(spec, memref=None))
    if not isinstance(deduced, TileType if spec.tile else _tensor_class(spec)):
        raise conflict(ctx, spec, deduced, "the annotation is of another kind than the value")
    assert isinstance(deduced, TileType | TensorType)
    shape = deduced.shape
    if spec.dtype is not deduced.dtype:
        raise conflict(ctx, spec, deduced, "the annotation's element type is not the value's")
    if spec.shape != shape and not shapes_equal(spec.shape, shape):
        if not _may_be_equal(spec.shape, shape):
            raise conflict(ctx, spec, deduced, "the annotation's shape is not the value's")
        shape = spec.shape
    if isinstance(deduced, TileType):
        return _joined_tile(spec, deduced, shape)
    value = deduced
    if spec.view is not None or shape is not deduced.shape:
        view = deduced.tensor_view if spec.view is None else TensorView(**spec.view)
        said = type(deduced)(shape, spec.dtype, None, view)
        value = deduced if types_equal(said, deduced) else said
    if spec.memref is None and value.memref is None:
        return value, value
    return replace(value, memref=spec.memref), value


def _joined_tile(spec: Spec, deduced: TileType, shape: tuple[Expr, ...]) -> tuple[Type, Type]:
    space = spec.space or deduced.memory_space
    view = deduced.tile_view
    if spec.view is not None:
        view = _tile_view(spec.view, shape, space)
    elif view is not None and space is not deduced.memory_space:
        if view.layout == implicit_layout(deduced.shape, deduced.memory_space):
            blayout, slayout, fractal = implicit_layout(shape, space)
            view = replace(view, blayout=blayout, slayout=slayout, fractal=fractal)
    value = deduced
    if spec.view is not None or space is not deduced.memory_space or shape is not deduced.shape:
        said = TileType(shape, spec.dtype, None, view, space)
        value = deduced if types_equal(said, deduced) else said
    if spec.memref is None and value.memref is None:
        return value, value
    return TileType(value.shape, value.dtype, spec.memref, value.tile_view, space), value


def _may_be_equal(a: tuple[Expr, ...], b: tuple[Expr, ...]) -> bool:
    return len(a) == len(b) and not any(
        isinstance(x, ConstInt) and isinstance(y, ConstInt) and x.value != y.value
        for x, y in zip(a, b, strict=True)
    )


def _joined_plain(ctx: Context, spec: Spec, declared: Type, deduced: Type) -> tuple[Type, Type]:
    if isinstance(deduced, UnknownType | VoidType) or isinstance(declared, UnknownType | VoidType):
        return declared, declared
    if type(declared) is not type(deduced):
        raise conflict(ctx, spec, deduced, "the annotation is of another kind than the value")
    if isinstance(declared, ScalarType) and isinstance(deduced, ScalarType):
        a, b = declared.dtype, deduced.dtype
        if a is not b and (a.is_float != b.is_float or a.is_int != b.is_int):
            raise conflict(ctx, spec, deduced, "the annotation's element type is not the value's")
        return declared, deduced
    if isinstance(declared, TupleType) and isinstance(deduced, TupleType):
        if len(declared.types) != len(deduced.types):
            raise conflict(ctx, spec, deduced, "the annotation has another number of elements than the value")
        return declared, _without_memrefs(declared)
    if isinstance(declared, ArrayType) and isinstance(deduced, ArrayType):
        if (declared.dtype, declared.extent) != (deduced.dtype, deduced.extent):
            raise conflict(ctx, spec, deduced, "the annotation's array is not the value's")
        return declared, deduced
    return declared, deduced


def _without_memrefs(kind: TupleType) -> TupleType:
    parts = tuple(
        replace(t, memref=None) if isinstance(t, TileType | TensorType) and t.memref is not None else t
        for t in kind.types
    )
    return TupleType(parts)


def conflict(ctx: Context, spec: Spec, deduced: Type, message: str) -> Exception:
    """The error for an annotation that contradicts the value, with both sides."""
    declared = spec.type if spec.type is not None else None
    text = (
        type_text(declared)
        if declared is not None
        else (
            f"{'Tile' if spec.tile else _tensor_class(spec).__name__.removesuffix('Type')}"
            f"[{shape_text(spec.shape)}, {spec.dtype}]"
        )
    )
    return ctx.fail(
        ParserTypeError,
        message,
        spec.node,
        "correct the annotation or leave it out",
        {"annotation": text, "value": type_text(deduced)},
    )


def without_pinned(kind: Type) -> Type:
    """A type without its MemRef if that is a declaration: a declaration binds only the tile it is written on."""
    if isinstance(kind, TileType) and kind.memref is not None and kind.memref.is_pinned:
        return replace(kind, memref=None)
    return kind
