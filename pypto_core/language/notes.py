"""Dictionaries of notes: ``attrs={…}`` of calls, loops and scopes, and ``pl.func_attr({…})``."""

from __future__ import annotations

import ast
import enum
from typing import Any

from pypto_core.diagnostics import ParserTypeError
from pypto_core.ir import Expr
from pypto_core.language.context import Context
from pypto_core.language.environment import items_of
from pypto_core.language.errors import value_text
from pypto_core.language.parse_types import annotation, complete

TYPES = ("Tile", "Tensor", "Scalar", "Array", "Tuple", "Ptr", "UnknownType", "pld.DistributedTensor")
"""Words that begin a type where a value could stand."""


def notes(ctx: Context, node: ast.expr, *, plain: bool = False) -> dict[str, Any]:
    """A literal dictionary with string keys; ``plain``: only numbers, truth values and strings."""
    if type(node) is not ast.Dict:
        raise ctx.fail(ParserTypeError, "a dictionary is needed here", node, 'write {"key": value}')
    out: dict[str, Any] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if not (isinstance(key, ast.Constant) and isinstance(key.value, str)):
            raise ctx.fail(
                ParserTypeError,
                "the keys of this dictionary must be strings",
                key or node,
                'write {"key": value}',
            )
        if key.value in out:
            raise ctx.fail(
                ParserTypeError, f"the key '{key.value}' is given twice", key, "keep one of the two"
            )
        found = note(ctx, value)
        if plain and not (isinstance(found, bool | int | float | str) and not isinstance(found, enum.Enum)):
            raise ctx.fail(
                ParserTypeError,
                f"the value of '{key.value}' must be a number, a truth value or a string, not {value_text(found)}",
                value,
                "write a constant",
            )
        out[key.value] = found
    return out


def note(ctx: Context, node: ast.expr) -> Any:
    """The value of a note; lists become tuples, annotations become types."""
    if type(node) is ast.List or type(node) is ast.Tuple:
        return tuple(note(ctx, e) for e in node.elts)
    inner = node.value if type(node) is ast.Subscript else node
    path = ctx.path_of(inner)
    if path in TYPES:
        return complete(annotation(ctx, node))
    value = ctx.expr(node)
    if isinstance(value, Expr | bool | int | float | str | enum.Enum) or value is None:
        return value
    items = items_of(value)
    if items is not None:
        return tuple(items)
    raise ctx.fail(
        ParserTypeError,
        f"{value_text(value)} can't be kept as a note",
        node,
        "notes hold numbers, strings, truth values, members of the enums of pl, and lists of these",
    )
