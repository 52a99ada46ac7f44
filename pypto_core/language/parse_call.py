"""Calls of operators: arguments are matched to parameters, literals take the type that the parameter asks for.

``pl.tile.add`` names one operator; ``pl.add`` picks the one of the group that its first tile or tensor belongs to.
"""

from __future__ import annotations

import ast
import enum
from typing import Any

from pypto_core.diagnostics import InvalidOperationError, ParserTypeError, UnsupportedFeatureError
from pypto_core.ir import (
    MAKE,
    ArrayType,
    ConstFloat,
    ConstInt,
    DataType,
    Expr,
    Function,
    MakeTuple,
    ScalarType,
    TensorType,
    TileType,
    int_range,
)
from pypto_core.language import vocabulary
from pypto_core.language.context import CallReader, Context
from pypto_core.language.environment import Name, items_of
from pypto_core.language.errors import did_you_mean, int_text, type_text, value_text
from pypto_core.language.notes import notes
from pypto_core.language.parse_expr import expression, scalar, unknown_word
from pypto_core.language.vocabulary import spelling
from pypto_core.ops.kinds import OPERAND_TEXT
from pypto_core.ops.opdef import REQUIRED, Kind, OpDef, Param
from pypto_core.ops.registry import accepts, create_call, describe, wrong_option

ABSENT: Any = object()
EMPTY_DIMS = MakeTuple(())

Named = list[tuple[str, Any, ast.keyword]]
"""Keyword arguments: name, value, syntax node."""


class Plan:
    """How the arguments of a written call map to one operator's parameters; made once per parse."""

    __slots__ = ("by_name", "op", "params", "positional", "second")

    def __init__(self, op: OpDef) -> None:
        self.op = op
        self.params: tuple[Param, ...] = op.params
        self.positional = [i for i, p in enumerate(op.params) if not p.keyword_only]
        self.by_name = {p.name: i for i, p in enumerate(op.params)}
        operands = [i for i, p in enumerate(op.params) if p.is_operand]
        self.second = operands[1] if len(operands) > 1 else -1


def call(ctx: Context, node: ast.Call) -> Any:
    """Any call."""
    path = ctx.path_of(node.func)
    if path is None:
        return ctx.session.calls[""](ctx, node)
    reader = ctx.session.calls.get(path)
    if reader is None:
        reader = ctx.session.calls[path] = operator_reader(ctx, node, path)
    return reader(ctx, node)


def operator_reader(ctx: Context, node: ast.Call, path: str) -> CallReader:
    """The reader for calls of ``pl.<path>``."""
    path = ".".join(part.rstrip("_") or part for part in path.split("."))
    path = vocabulary.ALIASES.get(path, path)
    space, _, name = path.rpartition(".")
    name = vocabulary.RENAMED.get(name, name)
    if name in vocabulary.BY_OPTION:
        option, *names = vocabulary.BY_OPTION[name]
        return _by_option(option, *(_reader_named(ctx, node, space, n, path) for n in names))
    return _reader_named(ctx, node, space, name, path)


def _reader_named(ctx: Context, node: ast.Call, space: str, name: str, path: str) -> CallReader:
    if space:
        op = ctx.session.find_op(f"{space}.{name}")
        if op is None:
            raise unknown_word(ctx, node.func, path)
        return _single(Plan(op))
    plans = _plans(ctx, name)
    if not plans and ctx.session.find_op(f"{vocabulary.OP_NAMESPACES[0]}.{name}") is None:
        plans = _plans(ctx, name)  # with the operators of plugins
    if not plans:
        raise unknown_word(ctx, node.func, path)
    return _single(next(iter(plans.values()))) if len(plans) == 1 else _group(plans)


def _plans(ctx: Context, name: str) -> dict[str, Plan]:
    found = {group: ctx.session.registry.get(f"{group}.{name}") for group in vocabulary.OP_NAMESPACES}
    return {group: Plan(op) for group, op in found.items() if op is not None}


def _by_option(option: str, given: CallReader, missing: CallReader) -> CallReader:
    def read(ctx: Context, node: ast.Call) -> Any:
        chosen = given if any(k.arg == option for k in node.keywords) else missing
        return chosen(ctx, _onto_first(node))

    return read


def _onto_first(node: ast.Call) -> ast.Call:
    """The call with its destination ahead of the source, where it is named behind it."""
    onto = [k for k in node.keywords if k.arg == vocabulary.ONTO]
    if not onto or not node.args:
        return node
    rest = [k for k in node.keywords if k is not onto[0]]
    return ast.copy_location(ast.Call(node.func, [onto[0].value, *node.args], rest), node)


def _single(plan: Plan) -> CallReader:
    def read(ctx: Context, node: ast.Call) -> Any:
        return _build(ctx, plan, node, [ctx.expr(a) for a in node.args], _named(ctx, node))

    return read


def _group(plans: dict[str, Plan]) -> CallReader:
    default = plans.get("tensor") or next(iter(plans.values()))

    def read(ctx: Context, node: ast.Call) -> Any:
        values = [ctx.expr(a) for a in node.args]
        named = _named(ctx, node)
        return _build(ctx, _choice(plans, default, values, named), node, values, named)

    return read


def _choice(plans: dict[str, Plan], default: Plan, values: list[Any], named: Named) -> Plan:
    for value in (*values, *(v for _, v, _ in named)):
        if isinstance(value, Expr):
            kind = value.type
            group = (
                "tile"
                if isinstance(kind, TileType)
                else "tensor"
                if isinstance(kind, TensorType)
                else "array"
                if isinstance(kind, ArrayType)
                else None
            )
            if group is not None:
                return plans.get(group) or default
    return default


def _named(ctx: Context, node: ast.Call) -> Named:
    if not node.keywords:
        return []
    out: Named = []
    for keyword in node.keywords:
        if keyword.arg is None:
            raise ctx.fail(
                UnsupportedFeatureError,
                "** is not part of the kernel language",
                keyword,
                "name the arguments",
            )
        if keyword.arg != "attrs":
            out.append((keyword.arg, ctx.expr(keyword.value), keyword))
    return out


def _build(ctx: Context, plan: Plan, node: ast.Call, values: list[Any], named: Named) -> Expr:
    given, nodes = _matched(ctx, plan, node, values, named)
    second = plan.second
    if second >= 0 and plan.op.scalar_form is not None and _is_scalar(given[second]):
        other = ctx.session.registry.get(plan.op.scalar_form)
        if other is not None:
            plan = Plan(other)
            given, nodes = _matched(ctx, plan, node, values, named)
    op = plan.op
    args: list[Expr | None] = []
    options: dict[str, Any] = {}
    for i, param in enumerate(plan.params):
        value = given[i]
        if param.is_operand:
            if value is not ABSENT and (value is not None or param.default is REQUIRED):
                args.append(_OPERAND[param.kind](ctx, param, value, nodes[i], args, op))
            elif value is ABSENT and param.default is REQUIRED:
                raise _missing(ctx, node, op, param)
            else:
                args.append(None)
        elif value is ABSENT:
            if param.default is not REQUIRED and param.default is not None:
                options[param.name] = param.default
        elif value is not None or param.default is REQUIRED:  # None leaves an option out
            options[param.name] = _option(ctx, param, value, nodes[i], op)
    attrs_ = None
    for keyword in node.keywords:
        if keyword.arg == "attrs":
            attrs_ = notes(ctx, keyword.value)
    return create_call(op.name, _filled(ctx, args, op, node), options, ctx.span(node), attrs_)


def _matched(
    ctx: Context, plan: Plan, node: ast.Call, values: list[Any], named: Named
) -> tuple[list[Any], list[ast.expr]]:
    params = plan.params
    given: list[Any] = [ABSENT] * len(params)
    nodes: list[ast.expr] = [node] * len(params)
    positional = plan.positional
    if len(values) > len(positional):
        raise ctx.fail(
            ParserTypeError,
            f"{spelling(plan.op.name)} takes at most {len(positional)} positional arguments, not {len(values)}",
            node.args[len(positional)],
            "leave the further ones out, or give options by name",
            {"arguments": ", ".join(p.name for p in params)},
        )
    for i, value, part in zip(positional, values, node.args):  # noqa: B905 - later parameters may be left out
        given[i], nodes[i] = value, part
    for name, value, part in named:
        i = plan.by_name.get(name, -1)
        if i < 0:
            i = plan.by_name.get(name.rstrip("_"), -1)
        if i < 0:
            known = [p.name for p in params]
            raise ctx.fail(
                ParserTypeError,
                f"{spelling(plan.op.name)} has no argument '{name}'",
                part,
                did_you_mean(name, known, "arguments: " + ", ".join(known)),
            )
        if given[i] is not ABSENT:
            raise ctx.fail(
                ParserTypeError,
                f"argument '{name}' of {spelling(plan.op.name)} is given twice",
                part,
                "give it once: by position or by name",
            )
        given[i], nodes[i] = value, part.value
    return given, nodes


def _missing(ctx: Context, node: ast.Call, op: OpDef, param: Param) -> Exception:
    return ctx.fail(
        ParserTypeError,
        f"{spelling(op.name)} needs the argument '{param.name}'",
        node,
        f"give it by position, or as {param.name}=…",
        {"arguments": ", ".join(p.name for p in op.params)},
    )


def _is_scalar(value: Any) -> bool:
    if isinstance(value, Expr):
        return isinstance(value.type, ScalarType)
    return isinstance(value, int | float)


def _filled(ctx: Context, args: list[Expr | None], op: OpDef, node: ast.Call) -> tuple[Expr, ...]:
    """The arguments with those that the operator works out itself; what stays open in the middle is an empty list."""
    if None not in args:
        return tuple(args)  # type: ignore[arg-type]
    if op.complete is not None:
        op.complete(args)
    while args and args[-1] is None:
        args.pop()
    out: list[Expr] = []
    for arg, param in zip(args, op.operands, strict=False):
        if arg is not None:
            out.append(arg)
        elif param.kind is Kind.DIMS:
            out.append(EMPTY_DIMS)
        else:
            raise _missing(ctx, node, op, param)
    return tuple(out)


def _as_dims(
    ctx: Context, param: Param, value: Any, node: ast.expr, args: list[Expr | None], op: OpDef
) -> Expr:
    items = items_of(value)
    if items is not None:
        index = ctx.session.index
        dims = [index(v) if type(v) is int else _as_index(ctx, param, v, node, args, op) for v in items]
        return MAKE[MakeTuple](tuple(dims), ctx.span(node))
    if isinstance(value, Expr) and not isinstance(value.type, ScalarType | TileType | TensorType):
        return value
    raise ctx.fail(
        ParserTypeError,
        f"argument '{param.name}' of {spelling(op.name)} must be a list of integers, not {value_text(value)}",
        node,
        "write one entry per axis, e.g. [0, 0]",
    )


def _as_index(
    ctx: Context, param: Param, value: Any, node: ast.expr, args: list[Expr | None], op: OpDef
) -> Expr:
    if type(value) is int:
        return ctx.session.index(value)
    if isinstance(value, Expr) and isinstance(value.type, ScalarType) and value.type.dtype.is_int:
        return value
    raise ctx.fail(
        ParserTypeError,
        f"argument '{param.name}' of {spelling(op.name)} must be an integer, not {value_text(value)}",
        node,
        "convert it: pl.cast(x, pl.INDEX)",
    )


def _as_scalar(
    ctx: Context, param: Param, value: Any, node: ast.expr, args: list[Expr | None], op: OpDef
) -> Expr:
    if param.like is None or isinstance(value, Expr | bool) or not isinstance(value, int | float):
        found = scalar(ctx, value, node, f"argument '{param.name}' of {spelling(op.name)}")
        if param.like is not None:
            _check_index(ctx, param, found, node, args, op)
        return found
    model = args[param.like] if param.like < len(args) else None
    dtype = getattr(model.type, "dtype", None) if model is not None else None
    return literal(ctx, value, dtype, node) if isinstance(dtype, DataType) else scalar(ctx, value, node)


def _check_index(
    ctx: Context, param: Param, value: Expr, node: ast.expr, args: list[Expr | None], op: OpDef
) -> None:
    """Refuse an INDEX computed at run time as an operand beside elements of another type."""
    model = args[param.like] if param.like is not None and param.like < len(args) else None
    dtype = getattr(model.type, "dtype", None) if model is not None else None
    kind = value.type
    if (
        isinstance(kind, ScalarType)
        and kind.dtype is DataType.INDEX
        and dtype is not DataType.INDEX
        and not isinstance(value, ConstInt)
    ):
        raise ctx.fail(
            ParserTypeError,
            f"argument '{param.name}' of {spelling(op.name)} is an index, the elements are {dtype}",
            node,
            f"cast it first: pl.cast(x, pl.{dtype.name})" if isinstance(dtype, DataType) else "cast it first",
        )


def literal(ctx: Context, value: int | float, dtype: DataType, node: ast.expr) -> Expr:
    """A Python number as a constant of ``dtype``; an error when it is not of that category or range."""
    if dtype.is_float:
        return ConstFloat(float(value), dtype, span=ctx.span(node))
    if dtype is DataType.INDEX and type(value) is int:
        return ctx.session.index(value)
    if isinstance(value, float):
        raise ctx.fail(
            ParserTypeError,
            f"{value!r} is no value of type {dtype}",
            node,
            "write an integer, or cast the tile",
        )
    if dtype.is_int:
        check_fits(ctx, int(value), dtype, node)
    return ConstInt(int(value), dtype, span=ctx.span(node))


def check_fits(ctx: Context, value: int, dtype: DataType, node: ast.expr) -> None:
    """Refuse an integer that its element type can't hold."""
    low, high = int_range(dtype)
    if not low <= value <= high:
        raise ctx.fail(
            ParserTypeError,
            f"{int_text(value)} does not fit {dtype}",
            node,
            "use a value in this range, or a wider element type",
            {"least": low, "greatest": high},
        )


def _as_bool(
    ctx: Context, param: Param, value: Any, node: ast.expr, args: list[Expr | None], op: OpDef
) -> Expr:
    return scalar(ctx, value, node, f"argument '{param.name}' of {spelling(op.name)}")


_HELP = {
    Kind.TILE: "load data into a tile first: pl.load(tensor, offsets, shapes)",
    Kind.TENSOR: "pass a tensor parameter, or a value of pl.create_tensor",
}


def _as_expr(
    ctx: Context, param: Param, value: Any, node: ast.expr, args: list[Expr | None], op: OpDef
) -> Expr:
    if isinstance(value, Expr):
        kind = value.type
        wrong = (param.kind is Kind.TILE and not isinstance(kind, TileType)) or (
            param.kind is Kind.TENSOR and not isinstance(kind, TensorType)
        )
        if not wrong:
            return value
        raise ctx.fail(
            InvalidOperationError,
            f"argument '{param.name}' of {spelling(op.name)} must be {OPERAND_TEXT[param.kind]}, "
            f"not a {type_text(kind)}",
            node,
            _wrong_kind_remedy(param.kind, kind, op),
        )
    if param.kind is Kind.ANY:
        wrong = _no_value(value)
        if wrong is None:
            return expression(ctx, value, node)
        [value] = wrong
    raise ctx.fail(
        ParserTypeError,
        f"argument '{param.name}' of {spelling(op.name)} must be {OPERAND_TEXT[param.kind]}, not {value_text(value)}",
        node,
        f"put the {param.kind.value} first and the number behind it"
        if op.scalar_form is not None and param is op.operands[0]
        else _HELP.get(param.kind, ""),
    )


def _no_value(value: Any) -> tuple[Any] | None:
    """What of a value of the parser, or of the lists in it, no expression can hold."""
    items = items_of(value)
    if items is not None:
        return next(filter(None, map(_no_value, items)), None)
    return (
        (value,)
        if value is None or isinstance(value, str | enum.Enum | Name) or _is_function(value)
        else None
    )


def _is_function(value: Any) -> bool:
    return isinstance(value, Function) or getattr(value, "is_kernel_entry", False)


def _wrong_kind_remedy(kind: Kind, have: Any, op: OpDef) -> str:
    if kind is Kind.TILE and isinstance(have, TensorType):
        return (
            "load the tensor into a tile first: pl.load(tensor, offsets, shapes); new tiles are made by pl.tile.full "
            "and pl.create_tile"
        )
    if kind is Kind.TENSOR and isinstance(have, TileType):
        name = op.name.partition(".")[2]
        return f"a tile lives on chip: use pl.{name} or pl.tile.{name}"
    return _HELP.get(kind, "")


_OPERAND: dict[Kind, Any] = {
    Kind.TILE: _as_expr,
    Kind.TENSOR: _as_expr,
    Kind.PTR: _as_expr,
    Kind.BUFFER: _as_expr,
    Kind.ANY: _as_expr,
    Kind.SCALAR: _as_scalar,
    Kind.INDEX: _as_index,
    Kind.BOOL: _as_bool,
    Kind.DIMS: _as_dims,
}


def _option(ctx: Context, param: Param, value: Any, node: ast.expr, op: OpDef) -> Any:
    if isinstance(value, Expr):
        raise ctx.fail(
            ParserTypeError,
            f"option '{param.name}' of {spelling(op.name)} must be a constant, not {value_text(value)}",
            node,
            "options are fixed when the kernel is read",
            {"takes": describe(param)},
        )
    if accepts(param, value):
        return value
    if param.enum is not None:
        return _member(ctx, param, param.enum, value, node, op)
    raise wrong_option(op, param, value_text(value)).located(ctx.span(node))


def _member(ctx: Context, param: Param, owner: type[enum.Enum], value: Any, node: ast.expr, op: OpDef) -> Any:
    members = owner.__members__
    if isinstance(value, str) and param.as_text and value in members:
        return members[value]
    if type(value) is int and value in [m.value for m in members.values()]:
        return owner(value)
    shown = [repr(m) if param.as_text else vocabulary.member_spelling(members[m]) for m in members]
    raise ctx.fail(
        ParserTypeError,
        f"option '{param.name}' of {spelling(op.name)} can't be {value_text(value)}",
        node,
        did_you_mean(value, members, "one of " + ", ".join(shown))
        if isinstance(value, str)
        else "one of " + ", ".join(shown),
    )
