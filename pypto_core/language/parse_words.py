"""Calls of ``pl`` that are no operators: constants, scalar functions, MemRefs as values, and words misplaced."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from pypto_core.diagnostics import InvalidOperationError, ParserTypeError
from pypto_core.ir import (
    Abs,
    BinaryExpr,
    Cast,
    DataType,
    Expr,
    Max,
    MemorySpace,
    Min,
    TensorType,
    TileType,
    Xor,
    make_binary,
    make_unary,
    scalar_type,
)
from pypto_core.language.annotations import dynamic_var, typed_constant
from pypto_core.language.context import CallReader, Context
from pypto_core.language.errors import type_text, value_text
from pypto_core.language.memrefs import memref
from pypto_core.language.parse_call import operator_reader
from pypto_core.language.parse_expr import scalar


def positional(ctx: Context, node: ast.Call, names: tuple[str, ...], least: int) -> list[ast.expr | None]:
    """The arguments of a call by the given parameter names; None for those left out."""
    word = ctx.path_of(node.func) or getattr(node.func, "id", "this")
    if len(node.args) > len(names):
        count = str(least) if least == len(names) else f"{least} to {len(names)}"
        raise ctx.fail(
            ParserTypeError,
            f"pl.{word} takes {count} arguments, not {len(node.args)}",
            node.args[len(names)],
            "arguments: " + ", ".join(names),
        )
    out: list[ast.expr | None] = [*node.args, *([None] * (len(names) - len(node.args)))]
    for keyword in node.keywords:
        if keyword.arg not in names:
            raise ctx.fail(
                ParserTypeError,
                f"pl.{word} has no argument '{keyword.arg}'",
                keyword,
                "arguments: " + ", ".join(names),
            )
        at = names.index(keyword.arg)
        if out[at] is not None:
            raise ctx.fail(
                ParserTypeError,
                f"argument '{keyword.arg}' of pl.{word} is given twice",
                keyword,
                "give it once: by position or by name",
            )
        out[at] = keyword.value
    for at in range(least):
        if out[at] is None:
            raise ctx.fail(
                ParserTypeError,
                f"pl.{word} needs the argument '{names[at]}'",
                node,
                f"give it by position, or as {names[at]}=…",
            )
    return out


def const(ctx: Context, node: ast.Call) -> Expr:
    """``pl.const(v, dtype)``: a constant that states its type and is not folded."""
    value_node, dtype_node = positional(ctx, node, ("value", "dtype"), 2)
    assert value_node is not None and dtype_node is not None
    value, dtype = ctx.expr(value_node), ctx.expr(dtype_node)
    if not isinstance(dtype, DataType):
        raise ctx.fail(
            ParserTypeError,
            f"an element type is needed here, not {value_text(dtype)}",
            dtype_node,
            "write pl.FP32",
        )
    if dtype is DataType.INDEX and type(value) is int and abs(value) < 1 << 62:
        return ctx.session.index(value)
    try:
        return typed_constant(value, dtype)
    except (ValueError, TypeError):
        raise ctx.fail(
            ParserTypeError,
            f"{value_text(value)} is not a constant of type {dtype}",
            value_node,
            "use pl.cast for a value known only at run time"
            if isinstance(value, Expr)
            else f"write a number that {dtype} can hold",
        ) from None


def _pair(cls: type[BinaryExpr], word: str, tiles: str) -> CallReader:
    def read(ctx: Context, node: ast.Call) -> Expr:
        left_node, right_node = positional(ctx, node, ("a", "b"), 2)
        assert left_node is not None and right_node is not None
        operands: list[Expr] = []
        for part in (left_node, right_node):
            value = ctx.expr(part)
            if isinstance(value, Expr) and isinstance(value.type, TileType | TensorType):
                raise ctx.fail(
                    InvalidOperationError,
                    f"pl.{word} takes two scalars, this is a {type_text(value.type)}",
                    part,
                    tiles,
                )
            operands.append(scalar(ctx, value, part, f"an argument of pl.{word}"))
        return make_binary(cls, operands[0], operands[1], ctx.span(node))

    return read


def _is_shaped(value: Any) -> bool:
    return isinstance(value, Expr) and isinstance(value.type, TileType | TensorType)


def _by_operand(path: str, scalar_reader: Callable[[Context, ast.Call], Expr]) -> CallReader:
    """A word that means the operator when its first argument is a tile or tensor, and a scalar function otherwise."""

    def read(ctx: Context, node: ast.Call) -> Any:
        first = node.args[0] if node.args else node.keywords[0].value if node.keywords else None
        if first is None or not _is_shaped(ctx.expr(first)):
            return scalar_reader(ctx, node)
        key = f"{path}()"
        reader = ctx.session.calls.get(key)
        if reader is None:
            reader = ctx.session.calls[key] = operator_reader(ctx, node, path)
        return reader(ctx, node)

    return read


def _cast(ctx: Context, node: ast.Call) -> Expr:
    value_node, dtype_node = positional(ctx, node, ("value", "target_type"), 2)
    assert value_node is not None and dtype_node is not None
    value = scalar(ctx, ctx.expr(value_node), value_node, "the argument of pl.cast")
    dtype = ctx.expr(dtype_node)
    if not isinstance(dtype, DataType):
        raise ctx.fail(
            ParserTypeError,
            f"an element type is needed here, not {value_text(dtype)}",
            dtype_node,
            "write pl.FP32",
        )
    return Cast(value, scalar_type(dtype), span=ctx.span(node))


def _xor(ctx: Context, node: ast.Call) -> Expr:
    return _pair(Xor, "xor", "write pl.tile.xor(a, b, tmp)")(ctx, node)


def absolute(ctx: Context, node: ast.Call) -> Expr:
    """``abs(x)`` of a scalar."""
    (value_node,) = positional(ctx, node, ("x",), 1)
    assert value_node is not None
    value = ctx.expr(value_node)
    if _is_shaped(value):
        raise ctx.fail(InvalidOperationError, "abs takes a scalar", value_node, "write pl.abs(x)")
    return make_unary(Abs, scalar(ctx, value, value_node, "the argument of abs"), ctx.span(node))


def not_finite(ctx: Context, node: ast.Call) -> float:
    """``float("inf")``, ``float("-inf")``, ``float("nan")``."""
    value = ctx.expr(node.args[0]) if len(node.args) == 1 and not node.keywords else None
    if isinstance(value, str) and value in ("inf", "-inf", "nan"):
        return float(value)
    raise ctx.fail(
        InvalidOperationError,
        'float() only writes infinities: float("inf")',
        node,
        "convert with pl.cast(x, pl.FP32)",
    )


def _memref(ctx: Context, node: ast.Call) -> Any:
    if len(node.args) == 3:
        return memref(ctx, node, MemorySpace.DDR)
    raise ctx.fail(
        InvalidOperationError,
        "allocations are declared outside of kernels",
        node,
        'move buf = pl.MemRef() above the kernel, or write pl.MemRef("buf") in the annotation',
    )


def _dynamic(ctx: Context, node: ast.Call) -> Any:
    name_node, dtype_node = positional(ctx, node, ("name", "dtype"), 1)
    assert name_node is not None
    name = ctx.expr(name_node)
    dtype = DataType.INDEX if dtype_node is None else ctx.expr(dtype_node)
    if not isinstance(name, str) or not name.isidentifier() or not isinstance(dtype, DataType):
        raise ctx.fail(ParserTypeError, "a symbolic extent needs a name", node, 'write M = pl.dynamic("M")')
    return dynamic_var(name, dtype)


def misplaced(word: str, where: str) -> CallReader:
    """The reader of a word that does not stand where it belongs."""

    def refuse(ctx: Context, node: ast.Call) -> Any:
        raise ctx.fail(InvalidOperationError, f"pl.{word} does not belong here", node, where)

    return refuse


_LOOP = "it stands behind 'in': for i in pl.{}(…):"
_SCOPE = "it opens a block: with pl.{}(…):"
_STATEMENT = "it is a statement of its own"

WORDS: dict[str, CallReader] = {
    "const": const,
    "min": _pair(Min, "min", "write pl.minimum(a, b) for tiles"),
    "max": _pair(Max, "max", "write pl.maximum(a, b) for tiles"),
    "cast": _by_operand("cast", _cast),
    "xor": _by_operand("xor", _xor),
    "MemRef": _memref,
    "dynamic": _dynamic,
    "no_dep": misplaced("no_dep", "it stands around an argument of a call: self.f(pl.no_dep(x))"),
    **{
        w: misplaced(w, _LOOP.format(w))
        for w in ("range", "parallel", "unroll", "pipeline", "while_", "split_aiv")
    },
    **{
        w: misplaced(w, _SCOPE.format(w))
        for w in ("at", "cluster", "scope", "manual_scope", "spmd", "comm_domain")
    },
    **{
        w: misplaced(w, _STATEMENT)
        for w in ("static_print", "static_assert", "func_attr", "dump_tag", "inline_stmt")
    },
    "yield_": misplaced("yield_", "it ends the body of a loop or branch: r = pl.yield_(x)"),
    "cond": misplaced("cond", "it is the first line of a pl.while_ loop"),
    "split": misplaced("split", "it stands in optimizations=[…] of pl.at and pl.spmd"),
    "cross_core_slot": misplaced("cross_core_slot", "it stands in optimizations=[…] of pl.at and pl.spmd"),
    "auto_chunk": misplaced("auto_chunk", "it stands in optimizations=[…] of pl.at and pl.spmd"),
    "function": misplaced("function", "it decorates a function"),
    "program": misplaced("program", "it decorates a class"),
    "inline": misplaced("inline", "it decorates a function"),
    "TileView": misplaced("TileView", "it stands in the annotation of a tile"),
    "TensorView": misplaced("TensorView", "it stands in the annotation of a tensor"),
}
"""Readers of the words that may be called, by name."""
