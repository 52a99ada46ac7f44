"""From nodes to plain data: a sequence of rows in which every node stands once, after all that it refers to.

A row is the number of its class; what its fields hold stands in columns, one per class and field, in the order of the
rows. Columns are converted as a whole, which is what makes storing fast.
"""

from __future__ import annotations

import enum
import operator
from collections.abc import Callable, Mapping
from itertools import chain, islice, repeat
from typing import Any, cast

import attrs

from pypto_core.diagnostics import UNKNOWN_SPAN, Span, UserError
from pypto_core.ir import Node, Type
from pypto_core.text.schema import ClassShape, ClassTable, FieldShape, Shape, shape_of
from pypto_core.text.wire import stored_int

_SPAN_PARTS = tuple(map(operator.attrgetter, ("begin_line", "begin_column", "end_line", "end_column")))
Getter = Callable[[Any], Any]


@attrs.define
class ClassRows:
    """The nodes of one class, and the getters of fields that hold other nodes: one, several, or among other values."""

    number: int
    shape: ClassShape
    single: tuple[Getter, ...]
    lists: tuple[Getter, ...]
    loose: tuple[Getter, ...]
    nodes: list[Any]


class Encoder:
    """Collects one document: classes, files, spans and rows."""

    def __init__(self, table: ClassTable, spans: bool, sources: bool) -> None:
        self.table, self.keep_spans, self.keep_sources = table, spans, sources
        self.files: list[list[Any]] = []
        self.spans: list[Span] = []
        self._sequence: list[int] = []
        # None stands for an absent node, so that it needs no test of its own.
        self._row_of: dict[int, int | None] = {id(None): None}
        self._rows: dict[type, ClassRows] = {}
        self._span_of: dict[int, int] = {id(UNKNOWN_SPAN): 0}

    def document(self, root: Any) -> dict[str, Any]:
        """The whole document for ``root``."""
        try:
            self._visit(root)
        except RecursionError:
            self._visit_deep(root)
        classes = [self._class(rows) for rows in self._rows.values()]
        spans = self._span_columns()
        return {
            "classes": classes,
            "files": self.files,
            "spans": spans,
            "rows": self._sequence,
            "root": self._row_of[id(root)],
        }

    def _visit(self, node: Any) -> None:
        """Give a node that has none yet its row, after all that it holds."""
        rows = self._rows.get(node.__class__) or self._class_rows(node.__class__, node)
        known = self._row_of
        for get in rows.single:
            item = get(node)
            if id(item) not in known:
                self._visit(item)
        for get in rows.lists:
            for item in get(node):
                if id(item) not in known:
                    self._visit(item)
        for get in rows.loose:
            if values := get(node):
                for item in held_nodes(values):
                    if id(item) not in known:
                        self._visit(item)
        known[id(node)] = len(self._sequence)
        self._sequence.append(rows.number)
        rows.nodes.append(node)

    def _visit_deep(self, root: Any) -> None:
        """The same from a list of work: each ``_visit`` finds all that its node holds already there."""
        stack = [root]
        while stack:
            node = stack[-1]
            if id(node) in self._row_of:
                stack.pop()
                continue
            held = held_nodes(tuple(f.get(node) for f in shape_of(node.__class__).fields))
            missing = [c for c in held if id(c) not in self._row_of]
            if missing:
                stack += reversed(missing)
            else:
                self._visit(stack.pop())

    def _class_rows(self, cls: type, node: Any) -> ClassRows:
        if self.table.nodes.get(cls.__name__) is not cls:
            raise cant_store(node, f"the class '{cls.__name__}' is not known to the codec")
        shape = shape_of(cls)
        getters: dict[Shape, list[Getter]] = {}
        for field in shape.fields:
            getters.setdefault(field.shape, []).append(field.get)
        rows = self._rows[cls] = ClassRows(
            len(self._rows),
            shape,
            tuple(getters.get(Shape.NODE, ())),
            tuple(getters.get(Shape.NODES, ())),
            tuple(g for s in (Shape.MAP, Shape.FUNCTIONS, Shape.TAGGED) for g in getters.get(s, ())),
            [],
        )
        return rows

    def _class(self, rows: ClassRows) -> list[Any]:
        names: list[str] = []
        columns: list[list[Any]] = []
        for field in rows.shape.fields:
            values = list(map(field.get, rows.nodes))
            # No tuple but the empty one equals it, whatever subclass it is of.
            same = operator.eq if field.default == () else operator.is_
            if not all(map(same, values, repeat(field.default))):
                names.append(field.name)
                columns.append(self._column(field, values))
        return [rows.shape.cls.__name__, names, columns]

    def _column(self, field: FieldShape, values: list[Any]) -> list[Any]:
        row_of = self._row_of
        match field.shape:
            case Shape.NODE:
                return list(map(row_of.__getitem__, map(id, values)))
            case Shape.NODES:
                numbers = map(row_of.__getitem__, map(id, chain.from_iterable(values)))
                return [list(islice(numbers, count)) for count in map(len, values)]
            case Shape.FUNCTIONS:
                return [[row_of[id(f)] for f in functions.values()] for functions in values]
            case Shape.SPAN:
                return self._span_numbers(values) if self.keep_spans else [0] * len(values)
            case Shape.ENUM:
                stored: dict[Any, Any] = {m: m.value for m in field.classes[0]}  # type: ignore[attr-defined]
                stored[None] = None
                return list(map(stored.__getitem__, values))
            case Shape.LIST:
                item = field.item
                assert item is not None
                return [v if v is None else self._column(item, list(v)) if v else [] for v in values]
            case Shape.MAP:
                return [self._map(v) if v else [] for v in values]
            case Shape.INT:
                return [v if v is None else stored_int(v) for v in values]
            case Shape.TAGGED:
                return [self._value(v) for v in values]
            case _:
                return values

    def _map(self, values: Mapping[str, Any]) -> list[Any]:
        """An option or note dictionary: keys and values by turns, in stored order."""
        return [part for key, value in values.items() for part in (key, self._value(value))]

    def _value(self, value: Any) -> Any:
        """An option's value: numbers and strings as they are, everything else as a list with a tag in front."""
        if value is None or isinstance(value, bool | float | str) and not isinstance(value, enum.Enum):
            return value
        if isinstance(value, enum.Enum):
            name = type(value).__name__
            if self.table.enums.get(name) is not type(value):
                raise cant_store(value, f"the enum '{name}' is not known to the codec")
            return ["e", name, value.value]
        if isinstance(value, int):
            return stored_int(value)
        if isinstance(value, Node | Type):
            return ["n", self._row_of[id(value)]]
        if isinstance(value, tuple | list):
            return ["t", *[self._value(v) for v in cast("tuple[Any, ...]", value)]]
        raise cant_store(value, "its class has no stored form")

    def _span_numbers(self, values: list[Span]) -> list[int]:
        """The numbers of spans, counted from 1; 0 for the unknown one."""
        known = self._span_of
        for span in values:
            if id(span) not in known:
                if span.filename or span != UNKNOWN_SPAN:
                    self.spans.append(span)
                    known[id(span)] = len(self.spans)
                else:
                    known[id(span)] = 0
        return list(map(known.__getitem__, map(id, values)))

    def _span_columns(self) -> list[list[int]]:
        sources = [s.source if self.keep_sources else None for s in self.spans]
        keys = list(zip([s.filename for s in self.spans], map(id, sources), strict=True))
        number_of: dict[tuple[str, int], int] = {}
        for key, source in zip(keys, sources, strict=True):
            if key not in number_of:
                number_of[key] = len(self.files)
                self.files.append([key[0], None if source is None else [source.filename, *source.lines]])
        return [[number_of[key] for key in keys], *[list(map(get, self.spans)) for get in _SPAN_PARTS]]


def held_nodes(value: Any) -> list[Any]:
    """The nodes and types in a tuple or dictionary of field values, nested ones too, in order."""
    found: list[Any] = []
    stack = [value]
    while stack:
        current = stack.pop()
        if isinstance(current, Node | Type):
            found.append(current)
        elif isinstance(current, tuple | list):
            stack += reversed(cast("tuple[Any, ...]", current))
        elif isinstance(current, Mapping):
            stack += reversed(list(cast("Mapping[str, Any]", current).values()))
    return found


def cant_store(value: Any, why: str) -> UserError:
    """The error for a value that has no stored form."""
    text = repr(value)
    return UserError(
        f"{text if len(text) < 100 else text[:100] + '…'} can't be stored: {why}",
        code="PT557",
        span=getattr(value, "span", UNKNOWN_SPAN),
        facts={"class": f"{type(value).__module__}.{type(value).__qualname__}"},
        remedy="extend the codec with the plugin's classes: Codec.extended(classes)",
    )
