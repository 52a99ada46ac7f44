"""How the parser words what recurs in its errors."""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

import attrs

from pypto_core.diagnostics import ParserSyntaxError
from pypto_core.ir import (
    ConstInt,
    Expr,
    Function,
    ScalarType,
    TensorType,
    TileType,
    TupleType,
    Type,
    Var,
    base_name,
)
from pypto_core.language.vocabulary import member_spelling, spelling
from pypto_core.ops import dims_text

if TYPE_CHECKING:
    from pypto_core.language.context import Context


Extents = tuple[Expr, ...]


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """A remedy naming what is spelt like ``name``."""
    from difflib import get_close_matches  # costs start-up time and is needed only here

    near = get_close_matches(name, sorted(set(known)), n=2, cutoff=0.6)
    return "did you mean " + " or ".join(f"'{n}'" for n in near) + "?" if near else otherwise


def type_text(kind: Type) -> str:
    """A type as messages show it: ``Tile[[64, n], fp32]``."""
    if isinstance(kind, TensorType | TileType):
        word = type(kind).__name__.removesuffix("Type")
        return f"{word}[{shape_text(kind.shape)}, {kind.dtype}]"
    if isinstance(kind, ScalarType):
        return f"Scalar[{kind.dtype}]"
    if isinstance(kind, TupleType):
        return "Tuple[" + ", ".join(type_text(t) for t in kind.types) + "]"
    return repr(kind)


def types_apart(before: Type, now: Type) -> dict[str, str]:
    """Facts that show in what two types differ: in full, where what messages show otherwise is the same for both."""
    short = type_text(before), type_text(now)
    if short[0] != short[1]:
        return dict(zip(("before", "now"), short, strict=True))
    sides = _parts(before), _parts(now)
    names = [n for n in dict.fromkeys([*sides[0], *sides[1]]) if sides[0].get(n) != sides[1].get(n)]
    return {
        word: ", ".join([text, *(f"{n} {side.get(n, 'not set')}" for n in names)])
        for word, text, side in zip(("before", "now"), short, sides, strict=True)
    }


def _parts(kind: Type) -> dict[str, str]:
    """What a shaped type says beside its shape and element type."""
    if not isinstance(kind, TensorType | TileType):
        return {}
    view = kind.view if isinstance(kind, TileType) else kind.tensor_view
    parts = {"valid extents": dims_text(kind.valid_shape)}
    if isinstance(kind, TileType) and kind.memory_space is not None:
        parts["memory space"] = kind.memory_space.name
    for field in attrs.fields(type(view)) if view is not None else ():
        value = getattr(view, field.name)
        if field.name != "valid_shape" and value not in ((), None):
            text = (
                dims_text(cast(Extents, value))
                if isinstance(value, tuple)
                else getattr(value, "name", str(value))
            )
            parts[field.name] = text
    if kind.memref is not None:
        parts["MemRef"] = base_name(kind.memref.base.name_hint)
    return parts


def shape_text(shape: Iterable[Expr]) -> str:
    """A shape as messages show it: ``[64, n]``."""
    return "[" + ", ".join(dim_text(d) for d in shape) + "]"


def dim_text(dim: Expr) -> str:
    """An extent as messages show it."""
    if isinstance(dim, ConstInt):
        return str(dim.value)
    if isinstance(dim, Var):
        return base_name(dim.name_hint)
    return "…"


def int_text(value: int) -> str:
    """An integer as messages show it; one of thousands of digits, which Python refuses to write, by its size."""
    bits = value.bit_length()
    return str(value) if bits <= 256 else f"an integer of {bits} bits"


def value_text(value: Any) -> str:
    """A value of the parser as messages show it."""
    if isinstance(value, Expr):
        return "a " + type_text(value.type)
    if isinstance(value, enum.Enum):
        return member_spelling(value)
    if isinstance(value, Function) or getattr(value, "is_kernel_entry", False):
        return f"the function '{value.name}'"
    path = getattr(value, "path", None)  # of a word of the language
    if isinstance(path, str):
        return spelling(path) if path else "pl"
    if value is None or isinstance(value, str | float | bool):
        return repr(value)
    return int_text(value) if isinstance(value, int) else f"a {type(value).__name__.lower()}"


def check_distinct(ctx: Context, names: Iterable[ast.Name]) -> None:
    """Refuse a name that stands twice among those that get their values at once: only one of them could be meant."""
    seen: set[str] = set()
    for name in names:
        if name.id in seen:
            raise ctx.fail(
                ParserSyntaxError,
                f"'{name.id}' is bound twice here",
                name,
                "give each value a name of its own",
            )
        seen.add(name.id)
