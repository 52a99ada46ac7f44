"""Parameters of kernels that are read for known arguments.

An argument decides what its parameter is. An array gives a tensor of its extents and element type; numbers, strings,
element types and lists of them become constants of the kernel. What an annotation says has to agree.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping
from functools import partial
from typing import Any

import attrs

from pypto_core.diagnostics import (
    ParserError,
    ParserSyntaxError,
    ParserTypeError,
    UnsupportedFeatureError,
)
from pypto_core.ir import (
    ConstInt,
    DataType,
    DistributedTensorType,
    Expr,
    ParamDirection,
    ScalarType,
    TensorType,
    TileType,
    Type,
    Var,
    int_range,
    replace,
    scalar_type,
)
from pypto_core.language.annotations import dynamic_var
from pypto_core.language.constants import constant_names
from pypto_core.language.context import Context
from pypto_core.language.environment import MISSING, Opaque, captured
from pypto_core.language.errors import type_text, value_text
from pypto_core.language.functions import Entry
from pypto_core.language.parse_types import annotation, complete
from pypto_core.language.specialised import Specialised, is_free
from pypto_core.language.templates import ArrayLike, Template
from pypto_core.language.vocabulary import spelling

_DIRECTIONS = {"Out": ParamDirection.Out, "InOut": ParamDirection.InOut}
_DISTRIBUTED = "pld.DistributedTensor"
_SHAPED = ("Tensor", "Tile", _DISTRIBUTED)


def entry_for(template: Template, session: Any, given: Mapping[str, Any], name: str) -> Entry:
    """A function of the text that reads ``template`` with these arguments and is called ``name``.

    ``given``: an :class:`ArrayLike`, an expression of the caller, or a value as the parser takes it, by parameter; one
    that is absent has to have an annotation that says all.
    """
    entry = Entry(
        template.node, template.source, template.environment(), template.options, session, in_class=False
    )
    entry.name = name
    entry.specialised = Specialised(template.lifetimes)
    entry.read_params = partial(_read_params, template, given)
    return entry


@attrs.define(eq=False)
class _Signature:
    """What reading the parameters has found so far."""

    given: Mapping[str, Any]
    symbols: dict[str, dict[int, Expr]]
    extents: dict[Expr, tuple[int, str]] = attrs.field(factory=lambda: dict[Expr, tuple[int, str]]())


def _read_params(template: Template, given: Mapping[str, Any], entry: Entry, ctx: Context) -> None:
    extra = template.node.args.vararg or template.node.args.kwarg
    if extra is not None:
        raise ctx.fail(
            UnsupportedFeatureError, "a kernel has a fixed number of parameters", extra, "name each parameter"
        )
    values = {arg.arg: _value(ctx, template, given, arg) for arg in template.parameters}
    rows: dict[str, tuple[Var, ParamDirection] | None] = {}
    # Constants first: shapes may be written with parameters that follow.
    for arg in template.parameters:
        if not isinstance(values[arg.arg], ArrayLike | Expr) and values[arg.arg] is not MISSING:
            rows[arg.arg] = _constant(ctx, arg, values[arg.arg])
    assert ctx.specialised is not None
    ctx.specialised.constant_names = constant_names(template.assignments, frozenset(ctx.specialised.fixed))
    signature = _Signature(values, _prelude(ctx, entry, template))
    for arg in template.parameters:
        if arg.arg not in rows:
            rows[arg.arg] = _parameter(ctx, arg, values[arg.arg], signature)
    found = [row for arg in template.parameters if (row := rows[arg.arg]) is not None]
    entry.params = tuple(var for var, _ in found)
    entry.directions = tuple(direction for _, direction in found)


def _value(ctx: Context, template: Template, given: Mapping[str, Any], arg: ast.arg) -> Any:
    if arg.arg in given:
        return given[arg.arg]
    if arg.arg not in template.defaults:
        return MISSING
    value = captured(template.defaults[arg.arg])
    if isinstance(value, Opaque):
        raise ctx.fail(
            ParserTypeError,
            f"the default of '{arg.arg}' is {value.what}, which a kernel can't use",
            arg,
            "use numbers, strings, lists of them, element types or enum members",
        )
    return value


def _split(ctx: Context, arg: ast.arg) -> tuple[ParamDirection, ast.expr | None, str | None]:
    """Direction, the annotation within it, and the word of ``pl`` that this begins with; None for others."""
    note, direction = arg.annotation, ParamDirection.In
    if type(note) is ast.Subscript:
        found = _DIRECTIONS.get(ctx.path_of(note.value) or "")
        if found is not None:
            note, direction = note.slice, found
    return direction, note, ctx.path_of(note.value if type(note) is ast.Subscript else note)


def _constant(ctx: Context, arg: ast.arg, value: Any) -> tuple[Var, ParamDirection] | None:
    """A parameter that stands for a value; a number for a typed scalar of a called kernel stays a parameter."""
    direction, note, word = _split(ctx, arg)
    if word in _SHAPED or direction is not ParamDirection.In:
        raise ctx.fail(
            ParserTypeError,
            f"'{arg.arg}' is an array, and {value_text(value)} is given",
            arg,
            "pass something with shape and dtype",
        )
    dtype = _scalar_dtype(ctx, note, word)
    if dtype is not None:
        value = _fitted(ctx, arg, value, dtype)
        if ctx.specialised is not None and ctx.specialised.called:
            return _declared(ctx, arg, scalar_type(dtype)), ParamDirection.In
    assert ctx.specialised is not None
    ctx.specialised.fixed[arg.arg] = value
    ctx.specialised.define(ctx, arg.arg, value)
    return None


def _scalar_dtype(ctx: Context, note: ast.expr | None, word: str | None) -> DataType | None:
    """The element type of ``pl.Scalar[pl.FP32]`` or of a bare ``pl.FP32``; None for other annotations."""
    if note is None or word is None:
        return None
    if word == "Scalar":
        kind = annotation(ctx, note, local=False).type if type(note) is ast.Subscript else None
        return kind.dtype if isinstance(kind, ScalarType) else None
    found = ctx.expr(note) if type(note) is not ast.Subscript else None
    return found if isinstance(found, DataType) else None


def _fitted(ctx: Context, arg: ast.arg, value: Any, dtype: DataType) -> Any:
    """A number as a scalar of ``dtype`` holds it."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    if dtype is DataType.BOOL and isinstance(value, bool):
        return value
    if dtype.is_float and (whole or isinstance(value, float)):
        return float(value)
    if dtype.is_int and whole and _in_range(value, dtype):
        return value
    raise ctx.fail(
        ParserTypeError,
        f"'{arg.arg}' is of type {dtype}, which has no value {value_text(value)}",
        arg,
        "pass a number that it holds",
    )


def _in_range(value: int, dtype: DataType) -> bool:
    low, high = int_range(dtype)
    return low <= value <= high


def _declared(ctx: Context, arg: ast.arg, kind: Type) -> Var:
    var = Var(arg.arg, kind, span=ctx.span(arg))
    ctx.names[arg.arg] = var
    return var


def _parameter(ctx: Context, arg: ast.arg, value: Any, signature: _Signature) -> tuple[Var, ParamDirection]:
    direction, note, word = _split(ctx, arg)
    written = type(note) is ast.Subscript or (note is not None and word not in (*_SHAPED, "Scalar"))
    if written:
        assert note is not None
        dtype = _scalar_dtype(ctx, note, word)
        kind = scalar_type(dtype) if dtype is not None else complete(annotation(ctx, note, local=False))
        if isinstance(value, ArrayLike):
            _agree(ctx, arg, kind, value, signature)
    elif isinstance(value, ArrayLike):
        if word not in (None, "Tensor"):
            raise ctx.fail(
                ParserTypeError,
                f"'{arg.arg}' is a {spelling(word)}, and an array is given",
                arg,
                "run a host function that makes it with pld.window"
                if word == _DISTRIBUTED
                else f"pass a scalar, or annotate it: {arg.arg}: pl.Tensor",
            )
        kind = TensorType(tuple(ConstInt(extent) for extent in value.shape), value.dtype)
    elif isinstance(value, Expr):
        if word == _DISTRIBUTED and not isinstance(value.type, DistributedTensorType):
            raise ctx.fail(
                ParserTypeError,
                f"'{arg.arg}' is a {spelling(word)}, and a {type_text(value.type)} is given",
                arg,
                "pass what pld.window gives, or annotate it: pl.Tensor",
            )
        kind = _general(ctx, arg, value.type)
    else:
        raise ctx.fail(
            ParserTypeError,
            f"nothing says what '{arg.arg}' is",
            arg,
            f"pass an argument for it, or annotate it: {arg.arg}: pl.Tensor[[64, 64], pl.FP32]",
        )
    return _declared(ctx, arg, _with_symbols(ctx, arg, kind, value, signature)), direction


def _agree(ctx: Context, arg: ast.arg, kind: Type, value: ArrayLike, signature: _Signature) -> None:
    """Refuse an array that its annotation excludes."""
    problem = ""
    if not isinstance(kind, TensorType):
        problem = "is no tensor"
    elif len(kind.shape) != len(value.shape):
        problem = f"has {len(kind.shape)} axes"
    elif kind.dtype is not value.dtype and {kind.dtype, value.dtype} != {DataType.INDEX, DataType.INT64}:
        problem = f"holds {kind.dtype}"
    elif any(isinstance(d, ConstInt) and d.value != n for d, n in zip(kind.shape, value.shape, strict=True)):
        problem = "has other extents"
    if problem:
        raise _disagreement(ctx, arg, f"'{arg.arg}' {problem}", {"annotation": type_text(kind)}, value)
    assert isinstance(kind, TensorType)
    for dim, extent in zip(kind.shape, value.shape, strict=True):
        _note_extent(ctx, arg, dim, extent, value, signature)


def _note_extent(
    ctx: Context, arg: ast.arg, dim: Expr, extent: int, value: ArrayLike, signature: _Signature
) -> None:
    if not isinstance(dim, Var):
        return
    known, owner = signature.extents.setdefault(dim, (extent, arg.arg))
    if known != extent:
        message = f"the extent {dim.name_hint} is {known} in '{owner}' and {extent} in '{arg.arg}'"
        raise _disagreement(ctx, arg, message, {}, value)


def _disagreement(
    ctx: Context, arg: ast.arg, message: str, facts: dict[str, object], value: ArrayLike
) -> ParserError:
    shape = ", ".join(map(str, value.shape))
    return ctx.fail(
        ParserTypeError,
        message,
        arg,
        "pass an array as the annotation says, or leave shape and element type out of it",
        {**facts, "array": f"[{shape}] of {value.dtype}"},
    )


def _with_symbols(ctx: Context, arg: ast.arg, kind: Type, value: Any, signature: _Signature) -> Type:
    """The type with the extents that ``x.bind_dynamic(axis, M)`` leaves open."""
    symbols = signature.symbols.get(arg.arg, {})
    if not symbols:
        return kind
    if not isinstance(kind, TensorType | TileType) or any(axis >= len(kind.shape) for axis in symbols):
        raise ctx.fail(
            ParserTypeError,
            f"'{arg.arg}' has no axis {max(symbols)}",
            arg,
            "pass a tensor with at least that many axes, or name fewer dynamic axes",
        )
    if isinstance(value, ArrayLike):
        for axis, dim in symbols.items():
            _note_extent(ctx, arg, dim, value.shape[axis], value, signature)
    return replace(kind, shape=tuple(symbols.get(i, dim) for i, dim in enumerate(kind.shape)))


def _general(ctx: Context, arg: ast.arg, kind: Type) -> Type:
    """The type of an argument as a parameter has it: extents that only the caller knows get names of their own."""
    if not isinstance(kind, TensorType | TileType):
        return kind
    shape = tuple(
        dim if is_free(dim) else dynamic_var(f"{arg.arg}_dim{i}") for i, dim in enumerate(kind.shape)
    )
    view = kind.tile_view if isinstance(kind, TileType) else kind.tensor_view
    if view is not None and not all(map(is_free, (*view.valid_shape, *view.stride))):
        raise ctx.fail(
            ParserTypeError,
            f"the valid extents of what is passed for '{arg.arg}' are known to the caller alone",
            arg,
            "annotate the parameter with shape and element type, or pass the extent as a scalar",
            {"argument": type_text(kind)},
        )
    return replace(kind, shape=shape, memref=None)


def _prelude(ctx: Context, entry: Entry, template: Template) -> dict[str, dict[int, Expr]]:
    """Take ``M = pl.dynamic("M")`` and ``x.bind_dynamic(0, M)`` out of the body, and bare types out of its head."""
    symbols: dict[str, dict[int, Expr]] = {}
    rest: list[ast.stmt] = []
    names = {arg.arg for arg in template.parameters}
    for stmt in template.node.body:
        if isinstance(stmt, ast.Assign) and (declared := _dynamic(ctx, stmt)) is not None:
            assert ctx.specialised is not None
            ctx.specialised.define(ctx, *declared)
        elif (bound := _bound(stmt, names)) is not None:
            axis, dim = _axis(ctx, bound)
            symbols.setdefault(bound.func.value.id, {})[axis] = dim  # type: ignore[attr-defined]
        else:
            rest.append(stmt)
    incomplete = template.node.returns is not None and _is_bare(ctx, template.node.returns)
    if incomplete or len(rest) != len(template.node.body):
        entry.node = copy.copy(template.node)
        entry.node.body = rest
        entry.node.returns = None if incomplete else template.node.returns
    return symbols


def _dynamic(ctx: Context, stmt: ast.Assign) -> tuple[str, Expr] | None:
    target, value = stmt.targets[0], stmt.value
    if not (isinstance(target, ast.Name) and isinstance(value, ast.Call)):
        return None
    if ctx.path_of(value.func) != "dynamic":
        return None
    [text] = value.args if len(value.args) == 1 else [None]
    if not (isinstance(text, ast.Constant) and isinstance(text.value, str) and text.value.isidentifier()):
        raise ctx.fail(
            ParserTypeError, "a symbolic extent needs a name", value, f'write {target.id} = pl.dynamic("M")'
        )
    return target.id, dynamic_var(text.value)


def _bound(stmt: ast.stmt, names: set[str]) -> ast.Call | None:
    call = stmt.value if isinstance(stmt, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
        owner = call.func.value
        if call.func.attr == "bind_dynamic" and isinstance(owner, ast.Name) and owner.id in names:
            return call
    return None


def _axis(ctx: Context, call: ast.Call) -> tuple[int, Expr]:
    if len(call.args) == 2 and not call.keywords:
        axis, dim = (ctx.expr(part) for part in call.args)
        if type(axis) is int and axis >= 0 and isinstance(dim, Var) and is_free(dim):
            return axis, dim
    raise ctx.fail(
        ParserSyntaxError,
        "bind_dynamic takes an axis and a symbolic extent",
        call,
        'write x.bind_dynamic(0, M) with M = pl.dynamic("M")',
    )


def _is_bare(ctx: Context, note: ast.expr) -> bool:
    """Whether a return annotation has a tensor or tile without shape, so that the body has to tell."""
    inside = {id(part.value) for part in ast.walk(note) if isinstance(part, ast.Subscript)}
    return any(
        isinstance(part, ast.Attribute | ast.Name) and id(part) not in inside and ctx.path_of(part) in _SHAPED
        for part in ast.walk(note)
    )
