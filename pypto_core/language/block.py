"""Blocks: statements in order, their comments, and the yield that may end a region."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from pypto_core.diagnostics import DiagnosticError, InternalError, ParserSyntaxError, UnsupportedFeatureError
from pypto_core.ir import ReturnStmt, SeqStmts, Stmt, replace
from pypto_core.language.context import Context, Yielded
from pypto_core.language.source import MAX_BLOCK_DEPTH

_LONG = 200
"""Columns from which an expression could be nested beyond the limit: a level takes a character at least."""

_REFUSED: dict[type, tuple[str, str]] = {
    ast.FunctionDef: ("functions inside of functions are", "define it beside this one and call it"),
    ast.AsyncFunctionDef: ("async functions are", "write a plain function beside this one and call it"),
    ast.ClassDef: ("classes are", "define it outside of the kernel"),
    ast.Delete: ("del is", "names need no clearing up"),
    ast.AugAssign: ("augmented assignments are", "write x = x + 1"),
    ast.AsyncFor: ("async for is", "write for"),
    ast.AsyncWith: ("async with is", "write with"),
    ast.Match: ("match is", "write if and elif"),
    ast.Raise: ("raise is", "check values with pl.static_assert"),
    ast.Try: ("try is", "a kernel has no exceptions: remove try, and check values with pl.static_assert"),
    ast.TryStar: ("try is", "a kernel has no exceptions: remove try, and check values with pl.static_assert"),
    ast.Assert: ("assert is", "write pl.static_assert(condition, message)"),
    ast.Import: ("import is", "import above the kernel"),
    ast.ImportFrom: ("import is", "import above the kernel"),
    ast.Global: ("global is", "pass values as parameters"),
    ast.Nonlocal: ("nonlocal is", "pass values as parameters"),
}


def block(ctx: Context, nodes: Sequence[ast.stmt]) -> list[Stmt]:
    """The statements of one block."""
    if ctx.depth >= MAX_BLOCK_DEPTH:
        raise ctx.fail(
            ParserSyntaxError,
            "blocks are nested too deeply",
            nodes[0],
            "move the inner blocks into a function of their own",
            {"limit": MAX_BLOCK_DEPTH},
        )
    ctx.depth += 1
    out: list[Stmt] = []
    readers = ctx.session.statements
    comments = ctx.comments
    specialised = ctx.specialised is not None
    node: ast.stmt = nodes[0]
    try:
        for node in nodes:
            if ctx.yielded is not None:
                raise _after_yield(ctx, node)
            last: int = node.end_lineno  # type: ignore[assignment]
            if last != node.lineno or node.end_col_offset > _LONG:  # type: ignore[operator]
                _check_depth(ctx, node)
            reader = readers.get(type(node))
            if reader is None:
                raise _refused(ctx, node)
            if comments.next_line > last and not ctx.pending_comments:
                reader(ctx, node, out)
            else:
                _with_comments(ctx, node, reader, out)
            if specialised and out and type(out[-1]) is ReturnStmt:
                break  # a branch that was decided leaves the function
    except InternalError:
        raise
    except DiagnosticError as error:
        raise error.located(ctx.span(node)) from None
    ctx.depth -= 1
    if ctx.declared:
        raise _unused_declaration(ctx)
    return out


def _after_yield(ctx: Context, node: ast.stmt) -> Exception:
    return ctx.fail(
        ParserSyntaxError,
        "nothing may follow pl.yield_ in its block",
        node,
        "move pl.yield_ to the end of the block",
    )


def _refused(ctx: Context, node: ast.stmt) -> Exception:
    what, remedy = _REFUSED.get(type(node), (f"{type(node).__name__} is", "leave it out"))
    return ctx.fail(UnsupportedFeatureError, f"{what} not part of the kernel language", node, remedy)


def _unused_declaration(ctx: Context) -> Exception:
    name, annotation = next(iter(ctx.declared.items()))
    return ctx.fail(
        ParserSyntaxError,
        f"'{name}' has a type and no value",
        annotation,
        "assign it, or bind it by a pl.yield_ that follows",
    )


def _heads(node: ast.stmt) -> list[ast.AST]:
    """The expressions in the head of a compound statement; a simple statement itself."""
    if isinstance(node, ast.For):
        return [node.iter]
    if isinstance(node, ast.While | ast.If):
        return [node.test]
    if isinstance(node, ast.With):
        return [item.context_expr for item in node.items]
    return [node]


def _check_depth(ctx: Context, node: ast.stmt) -> None:
    for part in _heads(node):
        ctx.source.check_depth(part)


def _with_comments(ctx: Context, node: ast.stmt, reader: Any, out: list[Stmt]) -> None:
    """Read a statement and give it the comments that stand above it and on its own lines.

    Comments of a statement that leaves nothing behind, such as ``pass``, wait for the next one.
    """
    texts = (*ctx.pending_comments, *ctx.comments.take(_header_end(node)))
    ctx.pending_comments = ()
    at = len(out)
    reader(ctx, node, out)
    if len(out) > at:
        first = out[at]
        out[at] = replace(first, leading_comments=(*texts, *first.leading_comments))
    else:
        ctx.pending_comments = (*texts, *ctx.pending_comments)


def _header_end(node: ast.stmt) -> int:
    """The last line of a compound statement's head, the last line of a simple statement."""
    last: Any = _heads(node)[-1]
    return last.end_lineno or node.lineno


def region(ctx: Context, nodes: Sequence[ast.stmt]) -> tuple[list[Stmt], Yielded | None]:
    """The statements of a loop body or branch, and the yield that ends it."""
    if ctx.specialised is None:
        return yielding(ctx, nodes)
    ctx.specialised.enter(nodes)
    found = yielding(ctx, nodes)
    ctx.specialised.leave()
    return found


def yielding(ctx: Context, nodes: Sequence[ast.stmt]) -> tuple[list[Stmt], Yielded | None]:
    """The statements of a block that may end with a yield, and that yield."""
    outer, ctx.yielded = ctx.yielded, None
    ctx.regions += 1
    stmts = block(ctx, nodes)
    found, ctx.yielded = ctx.yielded, outer
    ctx.regions -= 1
    return stmts, found


def sequence(ctx: Context, stmts: list[Stmt], node: ast.AST) -> Stmt:
    """Statements as the body of something."""
    return stmts[0] if len(stmts) == 1 else SeqStmts(tuple(stmts), span=ctx.span(node))
