"""``[f(i) for i in range(n)]``: a list that is written out when the kernel is read."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from pypto_core.diagnostics import ParserTypeError, UnsupportedFeatureError
from pypto_core.language.context import Context
from pypto_core.language.environment import items_of

_MOST = 4096
"""Elements that a list may be written out to."""
_FORM = "write [f(i) for i in range(n)] with one variable and a constant n, or the elements one by one"


def comprehension(ctx: Context, node: ast.ListComp) -> list[Any]:
    """The elements in order; the variable is a constant in each and means nothing outside."""
    [first, *more] = node.generators
    if more or first.ifs or first.is_async or type(first.target) is not ast.Name:
        raise ctx.fail(
            UnsupportedFeatureError,
            "comprehensions of this form are not part of the kernel language",
            node,
            _FORM,
        )
    name = first.target.id
    outer = ctx.constants
    out: list[Any] = []
    for value in _values(ctx, first.iter):
        ctx.constants = {**outer, name: value}
        out.append(ctx.expr(node.elt))
    ctx.constants = outer
    return out


def _values(ctx: Context, node: ast.expr) -> Sequence[Any]:
    """What the variable stands for: the numbers of a range, or the elements of a list."""
    if (
        type(node) is ast.Call
        and type(node.func) is ast.Name
        and node.func.id == "range"
        and not node.keywords
    ):
        bounds = [ctx.expr(arg) for arg in node.args]
        if all(type(b) is int for b in bounds) and 1 <= len(bounds) <= 3 and bounds[2:] != [0]:
            numbers = range(*bounds)
            if len(numbers) <= _MOST:
                return numbers
            raise ctx.fail(
                ParserTypeError,
                f"a list of {len(numbers)} elements is too long",
                node,
                "write a loop over pl.range",
                {"most": _MOST},
            )
        raise ctx.fail(ParserTypeError, "the bounds of this range must be constant integers", node, _FORM)
    items = items_of(ctx.expr(node))
    if items is None:
        raise ctx.fail(ParserTypeError, "a comprehension runs over range(…) or a list", node, _FORM)
    return items
