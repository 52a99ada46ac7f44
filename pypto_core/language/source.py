"""The text a kernel is read from: its tree, its positions and its comments."""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from pypto_core.diagnostics import (
    OpTypeError,
    ParserError,
    ParserSyntaxError,
    SourceText,
    Span,
    UserError,
    in_kernel,
)
from pypto_core.ir import MAKE, collector_paused

MAX_TEXT = 64_000_000
"""Characters that a text may have; a statement of a kernel has about a hundred."""

MAX_EXPRESSION_DEPTH = 200
MAX_BLOCK_DEPTH = 64

_make_span: Callable[..., Span] = MAKE[Span]


class Source:
    """One text and its syntax tree. Positions in the tree are those in the text."""

    __slots__ = ("filename", "is_ascii", "lines", "span", "text", "tree")

    span: Callable[[Any], Span]
    """Where a syntax node stands."""

    def __init__(self, content: str, filename: str, tree: ast.Module) -> None:
        self.filename = filename
        self.text = source_text(content, filename)
        self.lines = self.text.lines
        self.is_ascii = content.isascii()
        self.tree = tree
        self.span = _spans(filename, self.text, self.is_ascii)

    def text_of(self, node: Any) -> str | None:
        """The text of a syntax node; None where it goes over several lines or its columns are not known at once."""
        line: int = node.lineno
        if line != node.end_lineno or not self.is_ascii:
            return None
        return self.lines[line - 1][node.col_offset : node.end_col_offset]

    def check_depth(self, node: ast.AST) -> None:
        """Refuse an expression that is nested deeper than recursion should follow."""
        stack: list[tuple[ast.AST, int]] = [(node, 1)]
        while stack:
            current, depth = stack.pop()
            if depth > MAX_EXPRESSION_DEPTH:
                raise too_deep(self.span(node))
            stack.extend([(child, depth + 1) for child in ast.iter_child_nodes(current)])


def _spans(filename: str, text: SourceText, is_ascii: bool) -> Callable[[Any], Span]:
    """What tells where a node of a text stands; every node that is read asks, so that nothing is looked up twice."""
    make = _make_span

    def of_ascii(node: Any) -> Span:
        return make(
            filename, node.lineno, node.col_offset + 1, node.end_lineno, node.end_col_offset + 1, text
        )

    def column(line: int, offset: int) -> int:
        # The tree counts bytes of UTF-8, people count characters.
        return len(text.lines[line - 1].encode()[:offset].decode(errors="ignore")) + 1

    def of_any(node: Any) -> Span:
        first, last = node.lineno, node.end_lineno
        begin, end = column(first, node.col_offset), column(last, node.end_col_offset)
        return make(filename, first, begin, last, end, text)

    return of_ascii if is_ascii else of_any


_NEWLINE = re.compile(r"\r\n|\r|\n")


def source_text(content: str, filename: str) -> SourceText:
    """The lines of a text as Python counts them: form feeds and the like end none."""
    lines = _NEWLINE.split(content) if "\r" in content else content.split("\n")
    return SourceText(filename, tuple(lines))


def too_deep(span: Span) -> ParserError:
    """The error for an expression nested too deeply."""
    return ParserSyntaxError(
        "this expression is nested too deeply",
        span=span,
        facts={"limit": MAX_EXPRESSION_DEPTH},
        remedy="assign parts of it to variables of their own",
    )


def read(content: str, filename: str) -> Source:
    """Parse a text; raises ParserSyntaxError where Python can't read it."""
    if len(content) > MAX_TEXT:
        raise ParserSyntaxError(
            "the text is too long",
            span=Span(filename, 1, 1),
            facts={"characters": len(content), "limit": MAX_TEXT},
            remedy="split the program into several",
        )
    try:
        tree = ast.parse(content, filename)
    except SyntaxError as error:
        raise _syntax_error(error, content, filename) from None
    except (RecursionError, MemoryError):
        raise ParserSyntaxError(
            "the text is nested too deeply to read",
            span=Span(filename, 1, 1),
            facts={"limit": MAX_EXPRESSION_DEPTH},
            remedy="assign parts of long expressions to variables of their own",
        ) from None
    except ValueError as error:
        raise ParserSyntaxError(
            f"the text can't be read: {error}",
            span=Span(filename, 1, 1),
            remedy="save it as plain UTF-8 text, without null characters",
        ) from None
    return Source(content, filename, tree)


def _syntax_error(error: SyntaxError, content: str, filename: str) -> ParserSyntaxError:
    line, column, remedy = error.lineno, error.offset, "the kernel language keeps to Python's syntax"
    if line is None and "\0" in content:  # Python says that there is one, and not where
        before = _NEWLINE.split(content[: content.index("\0")])
        line, column, remedy = len(before), len(before[-1]) + 1, "remove the null character"
    span = Span(filename, max(line or 1, 1), max(column or 1, 1), source=source_text(content, filename))
    return ParserSyntaxError(f"this is not Python: {error.msg}", span=span, remedy=remedy)


@lru_cache(maxsize=4)
def _read_file(content: str, filename: str) -> Source:
    return read(content, filename)


def source_of(filename: str, module_globals: dict[str, Any] | None) -> Source | None:
    """The source of a file that Python has loaded; None when there is no text (typed at a prompt, say)."""
    linecache.checkcache(filename)
    lines = linecache.getlines(filename, module_globals)
    return _read_file("".join(lines), filename) if lines else None


Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@lru_cache(maxsize=4)
def definitions(source: Source) -> dict[tuple[str, int], Definition]:
    """Functions and classes of a text by name and first line (that of the first decorator and that of ``def``)."""
    found: dict[tuple[str, int], Definition] = {}
    stack: list[ast.AST] = [source.tree]
    while stack:
        for child in ast.iter_child_nodes(stack.pop()):
            if isinstance(child, Definition):
                found[child.name, child.lineno] = child
                if child.decorator_list:
                    found[child.name, child.decorator_list[0].lineno] = child
            if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
                stack.append(child)
    return found


@contextmanager
def guarded(where: Span) -> Generator[None]:
    """Turn errors of operators and running out of stack into errors of the parser; no garbage is collected meanwhile.

    A tree is built without garbage, so that collections only cost time.
    """
    try:
        with collector_paused():
            yield
    except (UserError, OpTypeError) as error:
        raise in_kernel(error) from error.__cause__
    except RecursionError:
        raise too_deep(where) from None
