"""From plain data back to nodes. Nothing in the data is trusted: every reference, count and value is checked.

Columns are checked and converted as a whole; rows refer only to rows before them, so that one pass builds everything
and no nesting in the data becomes recursion.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, cast

import attrs

from pypto_core.diagnostics import UNKNOWN_SPAN, SourceText, Span, UserError
from pypto_core.ir import (
    EMPTY_MAP,
    MEMREF,
    PTR,
    UNKNOWN,
    VOID,
    BinaryExpr,
    Call,
    Expr,
    MakeTuple,
    MemRefType,
    PtrType,
    ScalarType,
    TensorType,
    TileType,
    TupleGetItemExpr,
    UnaryExpr,
    UnknownType,
    VoidType,
    freeze_map,
    scalar_type,
)
from pypto_core.text.schema import ClassTable, FieldShape, Shape, shape_of
from pypto_core.text.wire import EXTENSION, bad, listed, read_int

_PARTS = {"classes", "files", "spans", "rows", "root"}
MAX_VALUE_DEPTH = 16
# Types compare extents while they are built, which costs as much as the expressions written out without sharing.
WORK_PER_ROW, WORK_BASE = 100, 100_000
_SATURATED = 1 << 40
_AS_THEY_ARE = {bool, int, float, str}
_NONE_TYPE: type = type(None)
_READY = (Shape.SPAN, Shape.INT, Shape.BOOL, Shape.FLOAT, Shape.TEXT, Shape.ENUM, Shape.LIST)

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
class RowReader:
    """How rows of one class are built: ``build`` takes a row's values by position.

    ``ready``: they refer to nothing and are built already. ``single``, ``maybe``, ``lists`` and ``loose`` are the
    positions of references, of those that may be absent, of lists of them, and of options.
    """

    name: str
    build: Callable[..., Any]
    rows: Iterator[Any]
    ready: bool
    single: tuple[int, ...]
    maybe: tuple[int, ...]
    lists: tuple[int, ...]
    loose: tuple[tuple[int, Callable[[Any], Any]], ...]
    works: bool
    spanned: bool
    """The last value is the span, which goes in by name; it is most often the only one that does."""


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
        self.budget = WORK_BASE + WORK_PER_ROW * len(self.sequence)
        self._weights: dict[int, int] = {}
        self._classes = [listed(row, "a class", 3) for row in listed(parts["classes"], "the list of classes")]
        self._root: Any = parts["root"]
        self._kinds: list[type] = []
        self._members: dict[type, dict[Any, Any]] = {}

    def root(self) -> Any:
        """The node that was stored."""
        self._kinds = [self._class_of(row[0]) for row in self._classes]
        if not set(map(type, self.sequence)) <= {int}:
            bad("a row is not the number of a class")
        counts = Counter(self.sequence)
        if any(not 0 <= number < len(self._kinds) for number in counts):
            bad("a row is of a class that is not there", "PT554")
        readers = [self._reader(row, counts[number]) for number, row in enumerate(self._classes)]
        self._build(readers)
        root = self._root
        if type(root) is not int or not 0 <= root < len(self.nodes):
            bad(f"the root {root!r} is not one of its {len(self.nodes)} nodes", "PT554")
        return self.nodes[root]

    def _build(self, readers: list[RowReader]) -> None:
        nodes = self.nodes
        append = nodes.append
        for number in self.sequence:
            reader = readers[number]
            if reader.ready:
                append(next(reader.rows))
                continue
            values = list(next(reader.rows))
            try:
                for i in reader.single:
                    values[i] = nodes[values[i]]
                for i in reader.maybe:
                    if values[i] is not None:
                        values[i] = nodes[values[i]]
                for i in reader.lists:
                    values[i] = tuple([nodes[r] for r in values[i]])
            except IndexError:
                bad(f"row {len(nodes)} refers to rows after it", "PT554")
            for i, decode in reader.loose:
                values[i] = decode(values[i])
            if reader.works:
                self._charge(values)
            try:
                if reader.spanned:
                    span = values.pop()
                    append(reader.build(*values, span=span))
                else:
                    append(reader.build(*values))
            except Exception as error:  # whatever a constructor makes of hostile values is the data's fault
                raise _refused(reader.name, len(nodes), error) from None

    def _class_of(self, name: Any) -> type:
        cls = self.table.nodes.get(name) if isinstance(name, str) else None
        if cls is None:
            bad(f"it holds a class '{str(name)[:80]}' that is not known here", "PT553")
        return cls

    def _reader(self, row: list[Any], count: int) -> RowReader:
        name: str = row[0]
        cls = self.table.nodes[name]
        fields = {f.name: f for f in shape_of(cls).fields}
        names = listed(row[1], f"the list of fields of '{name}'")
        columns = listed(row[2], f"the list of columns of '{name}'", len(names))
        if not all(isinstance(n, str) and n in fields for n in names) or len(set(names)) != len(names):
            bad(f"its fields of '{name}' are not those of this version", "PT553")
        table = dict(zip(names, columns, strict=True))
        order, keywords = _parameters(cls, table)
        shapes = [fields[n] for n in order]
        decoded: list[list[Any]] = []
        for shape in shapes:
            place = f"{name}.{shape.name}"
            decoded.append(
                self._column(shape, listed(table[shape.name], f"the column {place}", count), place)
            )
        spanned = keywords == ("span",)
        build = _by_position(_INTERNED.get(cls, cls), () if spanned else keywords)
        ready = all(f.shape in _READY for f in shapes)
        loose: dict[Shape, Callable[[Any], Any]] = {Shape.MAP: self._map, Shape.TAGGED: self._value}
        return RowReader(
            name=name,
            build=build,
            rows=_built(name, build, decoded, count, spanned) if ready else zip(*decoded, strict=True),
            ready=ready,
            single=tuple(i for i, f in enumerate(shapes) if f.shape is Shape.NODE and not f.optional),
            maybe=tuple(i for i, f in enumerate(shapes) if f.shape is Shape.NODE and f.optional),
            lists=tuple(i for i, f in enumerate(shapes) if f.shape in (Shape.NODES, Shape.FUNCTIONS)),
            loose=tuple((i, loose[f.shape]) for i, f in enumerate(shapes) if f.shape in loose),
            spanned=spanned,
            works=issubclass(cls, TensorType | TileType | TupleGetItemExpr),
        )

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

    def _charge(self, values: list[Any]) -> None:
        """Count the extents that the next type compares, and refuse data that would make that endless."""
        for value in values:
            if isinstance(value, MakeTuple | TupleGetItemExpr):
                self.budget -= self._weight(value)
            elif view := getattr(value, "valid_shape", ()):
                self.budget -= sum(self._weight(item) for item in (*view, *values[0]))
        if self.budget < 0:
            bad("its expressions are larger than they have any reason to be", "PT556")

    def _weight(self, node: Expr) -> int:
        """Nodes of an expression written out without sharing."""
        if not isinstance(node, BinaryExpr | UnaryExpr | Call | MakeTuple | TupleGetItemExpr):
            return 1
        known = self._weights.get(id(node))
        if known is not None:
            return known
        if isinstance(node, BinaryExpr):
            below: tuple[Expr, ...] = (node.left, node.right)
        elif isinstance(node, UnaryExpr):
            below = (node.operand,)
        elif isinstance(node, TupleGetItemExpr):
            below = (node.tuple,)
        else:
            below = node.args if isinstance(node, Call) else node.elements
        try:
            total = min(1 + sum(self._weight(b) for b in below), _SATURATED)
        except RecursionError:
            total = _SATURATED
        self._weights[id(node)] = total
        return total


def _parameters(cls: type, present: dict[str, Any]) -> tuple[list[str], tuple[str, ...]]:
    """The stored fields in the order of the class's parameters, those it takes by keyword alone last."""
    order: list[str] = []
    keywords: list[str] = []
    gap = False
    for field in attrs.fields(cls):
        if not field.init:
            continue
        if field.name in present:
            (keywords if gap or field.kw_only else order).append(field.name)
        elif field.default is attrs.NOTHING:
            bad(f"its fields of '{cls.__name__}' lack {field.name}", "PT553")
        else:
            gap = gap or not field.kw_only
    return [*order, *keywords], tuple(keywords)


def _by_position(build: Callable[..., Any], keywords: tuple[str, ...]) -> Callable[..., Any]:
    """``build`` with its keyword-only parameters taken by position, after the others."""
    if not keywords:
        return build
    count = len(keywords)
    return lambda *values: build(*values[:-count], **dict(zip(keywords, values[-count:], strict=True)))


def _built(
    name: str, build: Callable[..., Any], columns: list[list[Any]], count: int, spanned: bool
) -> Iterator[Any]:
    try:
        if spanned:
            return iter(
                [build(*v, span=s) for v, s in zip(_rows(columns[:-1], count), columns[-1], strict=True)]
            )
        return iter([build(*v) for v in _rows(columns, count)])
    except Exception as error:  # see _build
        raise _refused(name, -1, error) from None


def _rows(columns: list[list[Any]], count: int) -> Iterator[tuple[Any, ...]]:
    return zip(*columns, strict=True) if columns else iter([()] * count)


def _refused(name: str, number: int, error: Exception) -> UserError:
    text = getattr(error, "message", None) or str(error)
    where = f"row {number}" if number >= 0 else "a row"
    return UserError(
        f"the stored program is damaged: {where} is refused by its class",
        code="PT555",
        facts={"class": name, "reason": text[:200]},
        remedy="store it again with pypto_core.text.dumps",
    )


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
    return list(map(Span, names, *columns[1:], sources))
