"""The state of one printing: names, cached types, and the tables through which nodes find their printer."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Mapping
from typing import Any, cast

from pypto_core.diagnostics import Span, UserError
from pypto_core.ir import (
    ArgDirection,
    ConstBool,
    ConstFloat,
    ConstInt,
    DataType,
    Expr,
    MakeTuple,
    MemorySpace,
    NotifyOp,
    Op,
    Type,
    WaitCmp,
)
from pypto_core.text.names import Names, identifier

DISTRIBUTED = "pld."
"""What the names of programs over several devices begin with, whatever the prefix of the others."""

_CONSTANTS = (ConstInt, ConstFloat, ConstBool)
_DIRECTIONS = {
    ArgDirection.Input: "input",
    ArgDirection.Output: "output",
    ArgDirection.InOut: "inout",
    ArgDirection.OutputExisting: "output_existing",
    ArgDirection.NoDep: "no_dep",
    ArgDirection.Scalar: "scalar",
}

ExprPrinter = Callable[["Writer", Any, int, bool], str]
TypePrinter = Callable[["Writer", Any], str]


class Writer:
    """Prints expressions and types of one function; statements add their lines to ``lines``.

    ``expr(node, least, typed)``: text of an expression that binds at least as strongly as ``least``; with ``typed``
    every constant in it states its type.
    """

    def __init__(
        self,
        names: Names,
        expressions: Mapping[type, ExprPrinter],
        types: Mapping[type, TypePrinter],
        *,
        prefix: str,
        concise: bool = False,
        explicit_layout: bool = False,
    ) -> None:
        self.names = names
        self.expressions, self.types = expressions, types
        self.pl = prefix + "."
        self.distributed = False
        self.on_host = False
        self.concise, self.explicit_layout = concise, explicit_layout
        self.lines: list[str] = []
        self.callees: dict[str, None] = {}
        self.in_signature = False
        self.plain_ops: dict[str, bool] = {}
        self.defaulted: dict[str, tuple[str, ...]] = {}
        # id → (type, text); keeping the type keeps its id taken.
        self._body_types: dict[int, tuple[Type, str]] = {}
        self._signature_types: dict[int, tuple[Type, str]] = {}

    def expr(self, node: Expr, least: int = 0, typed: bool = False) -> str:
        """The text of an expression."""
        printer = self.expressions.get(type(node))
        if printer is None:
            raise unprintable("expression", node)
        return printer(self, node, least, typed)

    def type(self, kind: Type) -> str:
        """The text of a type."""
        cache = self._signature_types if self.in_signature else self._body_types
        known = cache.get(id(kind))
        if known is not None:
            return known[1]
        printer = self.types.get(type(kind), self.types[Type])
        text = printer(self, kind)
        cache[id(kind)] = (kind, text)
        return text

    def dim(self, node: Expr) -> str:
        """A scalar inside a type: one INDEX constant stands bare, constants in anything larger state their type."""
        if type(node) is ConstInt and node.dtype is DataType.INDEX:
            return str(node.value)
        return self.expr(node, 0, True)

    def dims(self, nodes: tuple[Expr, ...]) -> str:
        """A list of scalars inside a type."""
        return "[" + ", ".join([self.dim(n) for n in nodes]) + "]"

    def word(self, path: str) -> str:
        """A name of the language: ``pl.tile.load``; ``pld.system.wait`` for one of programs over several devices."""
        if path.startswith(DISTRIBUTED):
            self.distributed = True
            return path
        return self.pl + path

    def dtype(self, dtype: DataType) -> str:
        """``pl.FP32``."""
        return self.pl + dtype.name

    def member(self, value: enum.Enum) -> str:
        """An enum member by its public name, e.g. ``pl.Mem.Vec``."""
        if isinstance(value, DataType):
            return self.pl + value.name
        if isinstance(value, ArgDirection):
            return f"{self.pl}adir.{_DIRECTIONS[value]}"
        owner = "Mem" if isinstance(value, MemorySpace) else type(value).__name__
        if isinstance(value, NotifyOp | WaitCmp):
            owner = DISTRIBUTED + owner
        return self.word(f"{owner}.{value.name}")

    def option(self, value: Any, quote: Callable[[str], str] = repr) -> str:
        """The value of an option or of a note of the compiler; refuses what the language has no form for."""
        if isinstance(value, bool) or value is None:
            return str(value)
        if isinstance(value, enum.Enum):
            return self.member(value)
        if isinstance(value, int):
            return str(value)
        if isinstance(value, float):
            return repr(value) if math.isfinite(value) else f'float("{value}")'
        if isinstance(value, str):
            return quote(value)
        if isinstance(value, tuple | list):
            return "[" + ", ".join([self.option(v, quote) for v in cast("tuple[Any, ...]", value)]) + "]"
        if isinstance(value, Expr) and not isinstance(value, MakeTuple | Op):
            return self.expr(value, 0, isinstance(value, _CONSTANTS))
        if isinstance(value, Type):
            return self.type(value)
        raise unprintable("attribute value", value)

    def notes(self, values: Mapping[str, Any], *, without: str = "") -> str:
        """A dictionary of notes, ``{"key": value}``; empty text when there is nothing to say."""
        parts = [
            f"{double_quoted(k)}: {self.option(v, double_quoted)}" for k, v in values.items() if k != without
        ]
        return "{" + ", ".join(parts) + "}" if parts else ""

    def callee(self, name: str) -> str:
        """``self.f`` for a function of the program."""
        self.callees[name] = None
        return "self." + identifier(name)


def double_quoted(text: str) -> str:
    """A string literal in double quotes."""
    literal = repr(text)
    if literal[0] == '"':
        return literal
    return '"' + literal[1:-1].replace("\\'", "'").replace('"', '\\"') + '"'


def unprintable(what: str, value: Any) -> UserError:
    """The error for a value that has no form in the language."""
    span = getattr(value, "span", None)
    return UserError(
        f"{what} {value!r} has no text form",
        code="PT560",
        span=span if isinstance(span, Span) else Span.unknown(),
        facts={"class": f"{type(value).__module__}.{type(value).__qualname__}"},
        remedy="use numbers, strings, enum members, element types, scalar expressions, or tuples of these"
        if what.startswith("attr")
        else "keep the program in the binary form: pypto_core.text.dumps",
    )
