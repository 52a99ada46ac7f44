"""Statements of one line: calls for effect, return, break, pass, and what is evaluated while the kernel is read."""

from __future__ import annotations

import ast
import sys
from typing import Any

from pypto_core.diagnostics import InvalidOperationError, ParserError, ParserSyntaxError, ParserTypeError
from pypto_core.ir import (
    VOID,
    BreakStmt,
    Call,
    ConstBool,
    ContinueStmt,
    EvalStmt,
    Expr,
    FunctionType,
    InlineStmt,
    ReturnStmt,
    ScalarType,
    Stmt,
    Submit,
    is_orchestration_like,
)
from pypto_core.language.context import Context
from pypto_core.language.errors import type_text, value_text
from pypto_core.language.parse_call import literal
from pypto_core.language.parse_expr import expression
from pypto_core.language.parse_stmt_assign import read_yield
from pypto_core.language.parse_words import positional
from pypto_core.ops.registry import op_ref

DUMP_TAG = "system.dump_tag"


def expression_statement(ctx: Context, node: ast.Expr, out: list[Stmt]) -> None:
    """A call for its effect, or a word that is a statement."""
    value = node.value
    kind = type(value)
    if kind is ast.Constant and (isinstance(value.value, str) or value.value is ...):  # type: ignore[attr-defined]
        return
    if kind is ast.Call:
        path = ctx.path_of(value.func)  # type: ignore[attr-defined]
        word = _WORDS.get(path) if path is not None else None
        if word is not None:
            word(ctx, value, out)
            return
    found = ctx.expr(value)
    if not isinstance(found, Call | Submit):
        raise ctx.fail(
            ParserSyntaxError, "this expression has no effect", node, "assign its value, or remove it"
        )
    out.append(EvalStmt(found, span=ctx.span(node)))


def _static_print(ctx: Context, node: ast.Call, out: list[Stmt]) -> None:
    sys.stdout.write(" ".join([_shown(ctx, a) for a in node.args]) + "\n")


def _shown(ctx: Context, node: ast.expr) -> str:
    from pypto_core.text import print_expr, print_type  # only for kernels that print

    value = ctx.expr(node)
    if isinstance(value, Expr):
        return f"{print_expr(value)}: {print_type(value.type)}"
    return value if isinstance(value, str) else value_text(value)


def _static_assert(ctx: Context, node: ast.Call, out: list[Stmt]) -> None:
    condition_node, message_node = positional(ctx, node, ("condition", "message"), 1)
    assert condition_node is not None
    condition = ctx.expr(condition_node)
    message = "" if message_node is None else _shown(ctx, message_node)
    if isinstance(condition, ConstBool):
        condition = condition.value
    if isinstance(condition, Expr):
        raise ctx.fail(
            ParserTypeError,
            "pl.static_assert needs a condition that is known when the kernel is read",
            condition_node,
            "use constants and the shapes of tensors and tiles",
        )
    if not condition:
        raise ctx.fail(
            ParserError,
            f"static assertion failed: {message}" if message else "static assertion failed",
            node,
            "the condition is false for the constants and shapes of this kernel: change them, or the condition",
        )


def _func_attr(ctx: Context, node: ast.Call, out: list[Stmt]) -> None:
    raise ctx.fail(
        ParserSyntaxError,
        "pl.func_attr must precede every other statement",
        node,
        "move it to the top of the function",
    )


def _cond(ctx: Context, node: ast.Call, out: list[Stmt]) -> None:
    raise ctx.fail(
        ParserSyntaxError,
        "pl.cond is the first line of a pl.while_ loop",
        node,
        "write for (c,) in pl.while_(init_values=(x,)): and pl.cond(c < n) as the first line of the body",
    )


def _dump_tag(ctx: Context, node: ast.Call, out: list[Stmt]) -> None:
    if not (is_orchestration_like(ctx.func_type) or ctx.func_type is FunctionType.Inline):
        raise ctx.fail(
            InvalidOperationError,
            "pl.dump_tag only stands in Orchestration and Inline functions",
            node,
            "tag the tensor where the kernel is called",
        )
    args = tuple(expression(ctx, ctx.expr(a), a) for a in node.args)
    if len(args) != 1 or node.keywords:
        raise ctx.fail(ParserTypeError, "pl.dump_tag takes one tensor", node, "write pl.dump_tag(x)")
    span = ctx.span(node)
    out.append(EvalStmt(Call(op_ref(DUMP_TAG), args, type=VOID, span=span), span=span))


def _inline_stmt(ctx: Context, node: ast.Call, out: list[Stmt]) -> None:
    body_node, language_node = positional(ctx, node, ("body", "language"), 1)
    assert body_node is not None
    body = ctx.expr(body_node)
    language = "python" if language_node is None else ctx.expr(language_node)
    if not isinstance(body, str) or not isinstance(language, str):
        raise ctx.fail(ParserTypeError, "pl.inline_stmt takes strings", node, 'write pl.inline_stmt("text")')
    out.append(InlineStmt(body, language, span=ctx.span(node)))


_WORDS: dict[str, Any] = {
    "yield_": read_yield,
    "static_print": _static_print,
    "static_assert": _static_assert,
    "func_attr": _func_attr,
    "cond": _cond,
    "dump_tag": _dump_tag,
    DUMP_TAG: _dump_tag,
    "inline_stmt": _inline_stmt,
}


def return_stmt(ctx: Context, node: ast.Return, out: list[Stmt]) -> None:
    """``return``, ``return a``, ``return a, b``."""
    span = ctx.span(node)
    if node.value is None:
        parts: list[ast.expr] = []
    else:
        parts = node.value.elts if type(node.value) is ast.Tuple else [node.value]
    declared = ctx.entry.return_types if ctx.entry is not None else None
    if declared is not None and len(declared) != len(parts):
        raise ctx.fail(
            ParserTypeError,
            f"{len(parts)} returned values, the annotation says {len(declared)}",
            node,
            "return one value per annotated type",
            {"annotation": ", ".join(type_text(t) for t in declared) or "nothing"},
        )
    values: list[Expr] = []
    for i, part in enumerate(parts):
        value = ctx.expr(part)
        want = declared[i] if declared is not None else None
        if isinstance(want, ScalarType) and isinstance(value, int | float) and not isinstance(value, bool):
            value = literal(ctx, value, want.dtype, part)
        values.append(expression(ctx, value, part))
    ctx.returns.append((tuple(values), span))
    out.append(ReturnStmt(tuple(values), span=span))


def break_stmt(ctx: Context, node: ast.Break, out: list[Stmt]) -> None:
    """``break``."""
    _in_loop(ctx, node, "break")
    out.append(BreakStmt(span=ctx.span(node)))


def continue_stmt(ctx: Context, node: ast.Continue, out: list[Stmt]) -> None:
    """``continue``."""
    _in_loop(ctx, node, "continue")
    out.append(ContinueStmt(span=ctx.span(node)))


def _in_loop(ctx: Context, node: ast.stmt, word: str) -> None:
    if ctx.loops == 0:
        raise ctx.fail(
            ParserSyntaxError, f"{word} stands in no loop", node, f"put {word} into a loop, or remove it"
        )
    if ctx.loop_kind in ("parallel", "unroll"):
        raise ctx.fail(
            InvalidOperationError,
            f"{word} is not supported in pl.{ctx.loop_kind}: all of its iterations run",
            node,
            "write pl.range, or a condition around what is left out",
        )


def pass_stmt(ctx: Context, node: ast.Pass, out: list[Stmt]) -> None:
    """``pass``."""


SIMPLE: dict[type, Any] = {
    ast.Expr: expression_statement,
    ast.Return: return_stmt,
    ast.Break: break_stmt,
    ast.Continue: continue_stmt,
    ast.Pass: pass_stmt,
}
