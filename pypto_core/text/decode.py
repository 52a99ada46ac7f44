"""From plain data back to nodes. Nothing in the data is trusted: every reference, count and value is checked.

Columns are checked and converted as a whole. What refers to other rows is looked up when its own row's turn comes,
among the rows made so far: rows refer only to rows before them, so that one pass builds everything and no nesting in
the data becomes recursion.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import chain, repeat
from typing import Any, cast

import attrs

from pypto_core.diagnostics import UNKNOWN_SPAN, SourceText, Span, UserError
from pypto_core.ir import (
    EMPTY_MAP,
    MAKE,
    MEMREF,
    PTR,
    UNKNOWN,
    VOID,
    MemRefType,
    PtrType,
    ScalarType,
    TensorType,
    TileType,
    TupleGetItemExpr,
    UnknownType,
    Var,
    VoidType,
    freeze_map,
    scalar_type,
)
from pypto_core.text.schema import NO_DEFAULT, ClassTable, FieldShape, Shape, shape_of
from pypto_core.text.wire import EXTENSION, bad, is_bad, listed, read_int, refusal

_PARTS = {"classes", "files", "spans", "rows", "root"}
MAX_VALUE_DEPTH = 16
# Nodes that anything stored may have if it is written out without sharing, and all types together: they compare extents
# while they are built, which costs as much.
WORK_PER_ROW, WORK_BASE = 100, 100_000
_REFERENCES = (Shape.NODE, Shape.NODES, Shape.FUNCTIONS)
_AS_THEY_ARE = {bool, int, float, str}
_NONE_TYPE: type = type(None)

# Classes with one object for equal contents.
_INTERNED: dict[type, Callable[..., Any]] = {
    ScalarType: scalar_type,
    PtrType: lambda: PTR,
    MemRefType: lambda: MEMREF,
    UnknownType: lambda: UNKNOWN,
    VoidType: lambda: VOID,
}
_SIMPLE: dict[Shape, set[type]] = {Shape.BOOL: {bool}, Shape.FLOAT: {float, int}, Shape.TEXT: {str}}


@attrs.frozen(kw_only=True)
class Rows:
    """The nodes of one class, each made when it is asked for, and the numbers, and lists of numbers, of what they hold.

    ``works``: making one compares or counts all that it holds. ``leaf``: where such a node is held, what it holds
    itself is not followed.
    """

    nodes: Iterator[Any]
    references: Iterator[tuple[int | list[int] | None, ...]]
    works: bool
    leaf: bool


class Decoder:
    """Reads one document."""

    def __init__(self, table: ClassTable, document: Any) -> None:
        if not isinstance(document, dict):
            bad("it is not a document of this format")
        parts = cast("dict[Any, Any]", document)
        if set(parts) != _PARTS:
            bad("it is not a document of this format")
        self.table = table
        self.files = [_file(row) for row in listed(parts["files"], "the list of files")]
        self.spans = [UNKNOWN_SPAN, *_spans(parts["spans"], self.files)]
        self.sequence: list[int] = listed(parts["rows"], "the list of rows")
        self.nodes: list[Any] = []
        self.limit = WORK_BASE + WORK_PER_ROW * len(self.sequence)
        self._weights: list[int] = []
        self._held = 0
        self._classes = [listed(row, "a class", 3) for row in listed(parts["classes"], "the list of classes")]
        self._root: Any = parts["root"]
        self._kinds: list[type] = []
        self._members: dict[type, dict[Any, Any]] = {}
        self._resolvers: dict[Shape, Callable[[Any], Any]] = {
            Shape.NODE: self._maybe,
            Shape.NODES: self._several,
            Shape.FUNCTIONS: self._several,
            Shape.MAP: self._map,
            Shape.TAGGED: self._value,
        }

    def root(self) -> Any:
        """The node that was stored."""
        self._kinds = [self._class_of(row[0]) for row in self._classes]
        if not set(map(type, self.sequence)) <= {int}:
            bad("a row is not the number of a class")
        counts = Counter(self.sequence)
        if any(not 0 <= number < len(self._kinds) for number in counts):
            bad("a row is of a class that is not there", "PT554")
        self._build([self._rows(row, counts[number]) for number, row in enumerate(self._classes)])
        root = self._root
        if type(root) is not int or not 0 <= root < len(self.nodes):
            bad(f"the root {root!r} is not one of its {len(self.nodes)} nodes", "PT554")
        return self.nodes[root]

    def _build(self, rows: list[Rows]) -> None:
        """Make the nodes in order, unless one of them written out without sharing is larger than any has reason to be.

        What is shared over and over stands for a tree that no tool would ever get to the end of.
        """
        nodes, weights, limit = self.nodes, self._weights, self.limit
        budget = limit
        try:
            for row in map(rows.__getitem__, self.sequence):
                weight = 1
                for held in next(row.references):
                    if isinstance(held, int):
                        weight += weights[held]
                    elif held:
                        weight += sum([weights[number] for number in held])
                if row.works:
                    budget -= weight
                if weight > limit or budget < 0:
                    raise too_large()
                nodes.append(next(row.nodes))
                if self._held:  # what options hold shows when they are read
                    weight, self._held = weight + self._held, 0
                    if weight > limit:
                        raise too_large()
                weights.append(1 if row.leaf else weight)
        except IndexError:
            bad(f"row {len(self.nodes)} refers to rows after it", "PT554")
        except Exception as error:  # whatever a constructor makes of hostile values is the data's fault
            if is_bad(error):
                raise
            number, reason = len(self.nodes), getattr(error, "message", None) or str(error)
            facts = {"class": self._kinds[self.sequence[number]].__name__, "reason": reason[:200]}
            bad(f"row {number} is refused by its class", **facts)

    def _class_of(self, name: Any) -> type:
        cls = self.table.nodes.get(name) if isinstance(name, str) else None
        if cls is None:
            bad(f"it holds a class '{str(name)[:80]}' that is not known here", "PT553")
        return cls

    def _rows(self, row: list[Any], count: int) -> Rows:
        """The nodes of one class."""
        name: str = row[0]
        cls = self.table.nodes[name]
        shape = shape_of(cls)
        names = listed(row[1], f"the list of fields of '{name}'")
        columns = listed(row[2], f"the list of columns of '{name}'", len(names))
        known = {field.name for field in shape.fields}
        if not all(isinstance(n, str) and n in known for n in names) or len(set(names)) != len(names):
            bad(f"its fields of '{name}' are not those of this version", "PT553")
        table = dict(zip(names, columns, strict=True))
        made = [self._field(name, field, table, count) for field in shape.parameters]
        make: Callable[..., Any] = _INTERNED.get(cls) or MAKE[cls]
        references = [table[f.name] for f in shape.parameters if f.shape in _REFERENCES and f.name in table]
        return Rows(
            nodes=map(make, *made) if made else (make() for _ in range(count)),
            references=zip(*references, strict=True) if references else repeat((), count),
            works=issubclass(cls, TensorType | TileType | TupleGetItemExpr),
            leaf=issubclass(cls, Var),
        )

    def _field(self, name: str, field: FieldShape, table: dict[str, Any], count: int) -> Iterator[Any]:
        """What one field of the nodes of a class holds, row by row."""
        if field.name not in table:
            if field.absent is None:
                bad(f"its fields of '{name}' lack {field.name}", "PT553")
            shared = field.default is not NO_DEFAULT
            return repeat(field.default, count) if shared else (field.absent() for _ in range(count))
        place = f"{name}.{field.name}"
        values = self._column(field, listed(table[field.name], f"the column {place}", count), place)
        resolve = self._resolvers.get(field.shape)
        if resolve is not None:
            always = field.shape is Shape.NODE and None not in values
            values = map(self.nodes.__getitem__ if always else resolve, values)
        return iter(values) if field.convert is None else map(field.convert, values)

    def _maybe(self, number: int | None) -> Any:
        return None if number is None else self.nodes[number]

    def _several(self, numbers: list[int]) -> tuple[Any, ...]:
        nodes = self.nodes
        return tuple([nodes[number] for number in numbers])

    def _column(self, field: FieldShape, values: list[Any], place: str) -> list[Any]:
        """A column with everything decoded that does not depend on other rows."""
        kinds = set(map(type, values))
        if field.optional:
            kinds.discard(_NONE_TYPE)
        match field.shape:
            case Shape.NODE:
                _all(kinds, {int}, place)
                self._references({v for v in values if v is not None}, field, place)
                return values
            case Shape.NODES | Shape.FUNCTIONS:
                _all(kinds, {list}, place)
                flat = list(chain.from_iterable(values))
                _all(set(map(type, flat)), {int}, place)
                self._references(set(flat), field, place)
                return values
            case Shape.SPAN:
                _all(kinds, {int}, place)
                return _looked_up(dict(enumerate(self.spans)), values, place, "PT554")
            case Shape.ENUM:
                _all(kinds, {int, str}, place)
                members: dict[Any, Any] = {m.value: m for m in field.classes[0]}  # type: ignore[attr-defined]
                return _looked_up({None: None, **members}, values, place)
            case Shape.INT:
                _all(kinds, {int, EXTENSION}, place)
                return values if kinds <= {int} else [v if v is None else read_int(v) for v in values]
            case Shape.LIST:
                _all(kinds, {list}, place)
                item = field.item
                assert item is not None
                return [v if v is None else tuple(self._column(item, v, place)) if v else () for v in values]
            case Shape.MAP | Shape.TAGGED:
                return values
            case _:
                _all(kinds, _SIMPLE[field.shape], place)
                return values

    def _references(self, numbers: set[int], field: FieldShape, place: str) -> None:
        """Refuse references to rows that are not there or that are of a class that does not belong here."""
        if not numbers:
            return
        if min(numbers) < 0 or max(numbers) >= len(self.sequence):
            bad(f"{place} refers to a row that is not there", "PT554", rows=len(self.sequence))
        for number in {self.sequence[n] for n in numbers}:
            if not issubclass(self._kinds[number], field.classes):
                needed = " or ".join(c.__name__ for c in field.classes)
                bad(f"{place} is a {self._kinds[number].__name__}", needed=needed)

    def _map(self, stored: Any) -> Any:
        """An option or note dictionary."""
        items = listed(stored, "a list of options")
        if not items:
            return EMPTY_MAP
        if len(items) % 2:
            bad("a list of options is malformed")
        out: dict[str, Any] = {}
        for key, value in zip(items[::2], items[1::2], strict=True):
            if type(key) is not str or key in out:
                bad("an option has no name, or one that is there already")
            out[key] = value if type(value) in _AS_THEY_ARE else self._value(value)
        return freeze_map(out)

    def _value(self, stored: Any, depth: int = 0) -> Any:
        """An option's value."""
        if stored is None or isinstance(stored, bool | int | float | str):
            return stored
        if not isinstance(stored, list):
            return read_int(stored)
        value = cast("list[Any]", stored)
        tag: Any = value[0] if value else None
        if tag == "n" and len(value) == 2:
            if type(value[1]) is not int or not 0 <= value[1] < len(self.nodes):
                bad("an option refers to a row that is not there", "PT554")
            self._held += self._weights[value[1]]
            return self.nodes[value[1]]
        if tag == "e" and len(value) == 3:
            return self._member(value[1], value[2])
        if tag != "t":
            bad("an option's value has an unknown form")
        if depth >= MAX_VALUE_DEPTH:
            bad("an option's value is nested too deeply", "PT556", limit=MAX_VALUE_DEPTH)
        return tuple([self._value(v, depth + 1) for v in value[1:]])

    def _member(self, owner: Any, value: Any) -> Any:
        cls = self.table.enums.get(owner) if isinstance(owner, str) else None
        if cls is None:
            bad(f"an option holds a member of {str(owner)[:80]!r}, which is not known here", "PT553")
        members = self._members.get(cls)
        if members is None:
            members = self._members[cls] = {m.value: m for m in cls}
        _all({type(value)}, {int, str}, cls.__name__)
        return _looked_up(members, [value], cls.__name__)[0]


def too_large() -> UserError:
    """The error for data that stands for far more than it holds."""
    return refusal("its expressions are larger than they have any reason to be", "PT556")


def _all(kinds: set[type], allowed: set[type], place: str) -> None:
    if not kinds <= allowed:
        found = min(k.__name__ for k in kinds - allowed)
        bad(f"{place} is a {found}", needed=" or ".join(sorted(k.__name__ for k in allowed)))


def _looked_up(table: dict[Any, Any], values: list[Any], place: str, code: str = "PT555") -> list[Any]:
    try:
        return [table[v] for v in values]
    except KeyError as error:
        bad(f"{place} has no value {str(error.args[0])[:40]}", code)


def _file(row: Any) -> tuple[str, SourceText | None]:
    name, text = listed(row, "the list of files", 2)
    if not isinstance(name, str):
        bad("the list of files is malformed")
    if text is None:
        return name, None
    parts = listed(text, "a source text")
    if not parts or set(map(type, parts)) != {str}:
        bad("a source text is malformed")
    return name, SourceText(parts[0], tuple(parts[1:]))


def _spans(stored: Any, files: list[tuple[str, SourceText | None]]) -> list[Span]:
    columns = [listed(column, "a column of spans") for column in listed(stored, "the list of spans", 5)]
    if len(set(map(len, columns))) != 1 or not {type(v) for column in columns for v in column} <= {int}:
        bad("a column of spans is malformed")
    numbers: list[int] = columns[0]
    if numbers and not 0 <= min(numbers) <= max(numbers) < len(files):
        bad("a span refers to a file that is not there", "PT554")
    names, sources = [files[n][0] for n in numbers], [files[n][1] for n in numbers]
    return list(map(MAKE[Span], names, *columns[1:], sources))
