"""From nodes to plain data: a table of rows in which every node stands once, after all that it refers to."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from typing import Any

import msgpack

from pypto_core.diagnostics import UNKNOWN_SPAN, SourceText, Span, UserError
from pypto_core.ir import Node, Type
from pypto_core.text.schema import ClassTable, FieldShape, Shape, shape_of

BIG_INT = 1
"""msgpack extension code of integers beyond 64 bits: two's complement, big-endian."""

_LEAST, _MOST = -(1 << 63), (1 << 64) - 1

Plan = tuple[int, Callable[[Any], tuple[Any, ...]], list[Callable[[Any], Any]]]


class Encoder:
    """Collects one document: classes, files, spans and rows."""

    def __init__(self, table: ClassTable, spans: bool, sources: bool) -> None:
        self.table, self.sources = table, sources
        self.rows: list[list[Any]] = []
        self.classes: list[list[Any]] = []
        self.files: list[list[Any]] = []
        self.spans: list[list[int]] = []
        self._row_of: dict[int, int] = {}
        self._plans: dict[type, Plan] = {}
        self._span_of: dict[int, int] = {id(UNKNOWN_SPAN): 0}
        self._file_of: dict[tuple[str, int], int] = {}
        self._span = self.span if spans else lambda span: 0

    def document(self, root: Any) -> dict[str, Any]:
        """The whole document for ``root``."""
        try:
            number = self.node(root)
        except RecursionError:
            number = self._without_recursion(root)
        return {
            "classes": self.classes,
            "files": self.files,
            "spans": self.spans,
            "nodes": self.rows,
            "root": number,
        }

    def node(self, node: Any) -> int:
        """The row number of a node, which is written now if it has none."""
        known = self._row_of.get(id(node))
        if known is not None:
            return known
        plan = self._plans.get(type(node)) or self._plan(type(node), node)
        row: list[Any] = [plan[0]]
        row += [encode(value) for encode, value in zip(plan[2], plan[1](node), strict=True)]
        number = self._row_of[id(node)] = len(self.rows)
        self.rows.append(row)
        return number

    def _without_recursion(self, root: Any) -> int:
        """Write what is below first, from a list of work, so that each call of ``node`` goes one level deep."""
        stack = [root]
        while stack:
            node = stack[-1]
            missing = [c for c in _children(node) if id(c) not in self._row_of]
            if missing:
                stack += reversed(missing)
            else:
                self.node(node)
                stack.pop()
        return self._row_of[id(root)]

    def _plan(self, cls: type, node: Any) -> Plan:
        if self.table.nodes.get(cls.__name__) is not cls:
            raise _cant_store(node, f"the class '{cls.__name__}' is not known to the codec")
        shape = shape_of(cls)
        plan = (len(self.classes), shape.get, [self._field(f) for f in shape.fields])
        self.classes.append([cls.__name__, shape.names])
        self._plans[cls] = plan
        return plan

    def _field(self, field: FieldShape) -> Callable[[Any], Any]:
        encode = self._present(field)
        if not field.optional:
            return encode
        return lambda value: None if value is None else encode(value)

    def _present(self, field: FieldShape) -> Callable[[Any], Any]:
        node = self.node
        if field.shape is Shape.NODE:
            return node
        if field.shape is Shape.NODES:
            return lambda values: [node(v) for v in values]
        if field.shape is Shape.FUNCTIONS:
            return lambda functions: [node(f) for f in functions.values()]
        if field.shape is Shape.ENUM:
            return {member: member.value for member in field.classes[0]}.__getitem__  # type: ignore[attr-defined]
        if field.shape is Shape.LIST:
            assert field.item is not None
            item = self._field(field.item)
            return lambda values: [item(v) for v in values]
        return {
            Shape.SPAN: self._span,
            Shape.MAP: self.map,
            Shape.INT: _integer,
            Shape.TAGGED: self.value,
        }.get(field.shape, _same)

    def map(self, values: Mapping[str, Any]) -> list[Any]:
        """An option or note dictionary: keys and values by turns, in stored order."""
        out: list[Any] = []
        for key, value in values.items():
            out += (key, value if type(value) is str or type(value) is bool else self.value(value))
        return out

    def value(self, value: Any) -> Any:
        """An option's value: numbers and strings as they are, everything else as a list with a tag in front."""
        if value is None or isinstance(value, bool | float | str) and not isinstance(value, enum.Enum):
            return value
        if isinstance(value, enum.Enum):
            name = type(value).__name__
            if self.table.enums.get(name) is not type(value):
                raise _cant_store(value, f"the enum '{name}' is not known to the codec")
            return ["e", name, value.value]
        if isinstance(value, int):
            return _integer(value)
        if isinstance(value, Node | Type):
            return ["n", self.node(value)]
        if isinstance(value, tuple | list):
            return ["t", *[self.value(v) for v in value]]
        raise _cant_store(value, "its class has no stored form")

    def span(self, span: Span) -> int:
        """The number of a span, counted from 1; 0 for the unknown one."""
        known = self._span_of.get(id(span))
        if known is not None:
            return known
        number = 0
        if span != UNKNOWN_SPAN:
            file = self._file(span.filename, span.source)
            self.spans.append([file, span.begin_line, span.begin_column, span.end_line, span.end_column])
            number = len(self.spans)
        self._span_of[id(span)] = number
        return number

    def _file(self, filename: str, source: SourceText | None) -> int:
        if not self.sources:
            source = None
        key = (filename, id(source))
        number = self._file_of.get(key)
        if number is None:
            number = self._file_of[key] = len(self.files)
            text = None if source is None else [source.filename, *source.lines]
            self.files.append([filename, text])
        return number


def _children(node: Any) -> list[Any]:
    found: list[Any] = []
    stack: list[Any] = list(shape_of(type(node)).get(node))
    while stack:
        value = stack.pop()
        if isinstance(value, Node | Type):
            found.append(value)
        elif isinstance(value, tuple | list):
            stack += value
        elif isinstance(value, Mapping):
            stack += value.values()
    return found


def _integer(value: int) -> Any:
    if _LEAST <= value <= _MOST:
        return value
    return msgpack.ExtType(BIG_INT, value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True))


def _same(value: Any) -> Any:
    return value


def _cant_store(value: Any, why: str) -> UserError:
    text = repr(value)
    return UserError(
        f"{text if len(text) < 100 else text[:100] + '…'} can't be stored: {why}",
        code="PT507",
        span=getattr(value, "span", UNKNOWN_SPAN),
        facts={"class": f"{type(value).__module__}.{type(value).__qualname__}"},
        remedy="extend the codec with the plugin's classes: Codec.extended(classes)",
    )
