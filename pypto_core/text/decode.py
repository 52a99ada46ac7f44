"""From plain data back to nodes. Nothing in the data is trusted: every reference, count and value is checked.

Rows refer only to rows before them, so one pass builds everything and no nesting in the data becomes recursion.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import attrs
import msgpack

from pypto_core.diagnostics import UNKNOWN_SPAN, SourceText, Span, UserError
from pypto_core.ir import (
    MEMREF,
    PTR,
    UNKNOWN,
    VOID,
    Expr,
    MemRefType,
    PtrType,
    ScalarType,
    TupleGetItemExpr,
    Type,
    UnknownType,
    Var,
    VoidType,
    freeze_map,
    scalar_type,
)
from pypto_core.text.encode import BIG_INT
from pypto_core.text.schema import ClassTable, FieldShape, Shape, shape_of

MAX_INT_BYTES = 128
MAX_VALUE_DEPTH = 16
# Comparing shapes while types are built costs as much as their expressions written out without sharing.
WORK_PER_ROW, WORK_BASE = 100, 100_000
_SATURATED = 1 << 40

# Classes with one object for equal contents.
_INTERNED: dict[type, Callable[..., Any]] = {
    ScalarType: scalar_type,
    PtrType: lambda: PTR,
    MemRefType: lambda: MEMREF,
    UnknownType: lambda: UNKNOWN,
    VoidType: lambda: VOID,
}


def bad(message: str, code: str = "PT505", **facts: object) -> NoReturn:
    """Refuse the data."""
    raise UserError(
        f"the stored program is damaged: {message}",
        code=code,
        facts=facts,
        remedy="store it again with pypto_core.text.dumps",
    )


@attrs.frozen
class RowPlan:
    """How rows of one class are read."""

    build: Callable[..., Any]
    names: tuple[str, ...]
    decoders: tuple[Callable[[Any], Any], ...]
    single: tuple[int, ...]
    """Positions of references in the row, where expressions and types are written out for the work limit."""
    lists: tuple[int, ...]
    is_work: bool


class Decoder:
    """Reads one document."""

    def __init__(self, table: ClassTable, document: Any) -> None:
        if not isinstance(document, dict) or set(document) != {"classes", "files", "spans", "nodes", "root"}:
            bad("it is not a document of this format")
        for part in ("classes", "files", "spans", "nodes"):
            if not isinstance(document[part], list):
                bad(f"'{part}' is not a list")
        self.table, self.document_ = table, document
        self.nodes: list[Any] = []
        self.spans: list[Span] = [UNKNOWN_SPAN]
        self._values: dict[type, Callable[[Any], Any]] = {
            str: _same, bool: _same, float: _same, int: _same, type(None): _same,
            msgpack.ExtType: _big_int, list: self._tagged_list,
        }  # fmt: skip

    def root(self) -> Any:
        """The node that was stored."""
        files = [self._file(row) for row in self.document_["files"]]
        self.spans += [_span(row, files) for row in self.document_["spans"]]
        plans = [self._plan(row) for row in self.document_["classes"]]
        self._rows(self.document_["nodes"], plans)
        root = self.document_["root"]
        if type(root) is not int or not 0 <= root < len(self.nodes):
            bad(f"the root {root!r} is not one of its {len(self.nodes)} nodes", "PT504")
        return self.nodes[root]

    def _rows(self, rows: list[Any], plans: list[RowPlan]) -> None:
        nodes, weights = self.nodes, [0] * len(rows)
        budget = WORK_BASE + WORK_PER_ROW * len(rows)
        for number, row in enumerate(rows):
            if type(row) is not list or not row or type(row[0]) is not int or not 0 <= row[0] < len(plans):
                bad(f"row {number} does not begin with a class")
            plan = plans[row[0]]
            if len(row) != len(plan.names) + 1:
                bad(f"row {number} has {len(row) - 1} fields", "PT503", needed=len(plan.names))
            try:
                values = [decode(value) for decode, value in zip(plan.decoders, row[1:], strict=True)]
                weights[number] = weight = _weight(plan, row, weights)
                if plan.is_work:
                    budget -= weight
                    if budget < 0:
                        bad("its expressions are larger than they have any reason to be", "PT506")
                nodes.append(plan.build(**dict(zip(plan.names, values, strict=True))))
            except UserError as error:
                if type(error) is UserError and error.diagnostics[0].code in _CODES:
                    raise _at(error, number) from None
                raise _rejected(plan, number, error) from None
            except Exception as error:  # whatever a constructor makes of hostile values is the data's fault
                raise _rejected(plan, number, error) from None

    def _plan(self, row: Any) -> RowPlan:
        if not (
            isinstance(row, list) and len(row) == 2 and isinstance(row[0], str) and isinstance(row[1], list)
        ):
            bad("the list of classes is malformed")
        name, names = row
        cls = self.table.nodes.get(name)
        if cls is None:
            bad(f"it holds a class '{name[:80]}' that is not known here", "PT503")
        fields = {f.name: f for f in shape_of(cls).fields}
        if not all(isinstance(n, str) and n in fields for n in names) or len(set(names)) != len(names):
            bad(f"its fields of '{name}' are not those of this version", "PT503")
        needed = {f.name for f in attrs.fields(cls) if f.init and f.default is attrs.NOTHING}
        if needed - set(names):
            bad(f"its fields of '{name}' lack {sorted(needed - set(names))[0]}", "PT503")
        shapes = [fields[n] for n in names]
        weighed = issubclass(cls, Type) or (issubclass(cls, Expr) and not issubclass(cls, Var))
        return RowPlan(
            _INTERNED.get(cls, cls),
            tuple(names),
            tuple(self._field(f, name) for f in shapes),
            tuple(i for i, f in enumerate(shapes, 1) if weighed and f.shape is Shape.NODE),
            tuple(i for i, f in enumerate(shapes, 1) if weighed and f.shape is Shape.NODES),
            issubclass(cls, Type | TupleGetItemExpr),
        )

    def _field(self, field: FieldShape, owner: str) -> Callable[[Any], Any]:
        decode = self._present(field, f"{owner}.{field.name}")
        if not field.optional:
            return decode
        return lambda value: None if value is None else decode(value)

    def _present(self, field: FieldShape, place: str) -> Callable[[Any], Any]:
        if field.shape is Shape.NODE:
            return self._reference(field.classes, place)
        if field.shape in (Shape.NODES, Shape.FUNCTIONS):
            return _list_of(self._reference(field.classes, place), place)
        if field.shape is Shape.LIST:
            assert field.item is not None
            return _list_of(self._field(field.item, place), place)
        if field.shape is Shape.ENUM:
            return _member({m.value: m for m in field.classes[0]}, place)  # type: ignore[attr-defined]
        if field.shape is Shape.SPAN:
            return self._span_number(place)
        if field.shape is Shape.MAP:
            return self.map
        if field.shape is Shape.TAGGED:
            return self.value
        if field.shape is Shape.INT:
            return lambda v: v if type(v) is int else _big_int(v)
        return _checked(
            {Shape.BOOL: (bool,), Shape.FLOAT: (float, int), Shape.TEXT: (str,)}[field.shape], place
        )

    def _reference(self, classes: tuple[type, ...], place: str) -> Callable[[Any], Any]:
        nodes = self.nodes
        allowed: set[type] = set()

        def decode(number: Any) -> Any:
            if type(number) is not int or not 0 <= number < len(nodes):
                bad(f"{place} refers to {number!r}, which is not there", "PT504", known=len(nodes))
            node = nodes[number]
            if type(node) not in allowed:
                if not isinstance(node, classes):
                    bad(
                        f"{place} is a {type(node).__name__}", needed=" or ".join(c.__name__ for c in classes)
                    )
                allowed.add(type(node))
            return node

        return decode

    def _span_number(self, place: str) -> Callable[[Any], Span]:
        spans = self.spans

        def decode(number: Any) -> Span:
            if type(number) is not int or not 0 <= number < len(spans):
                bad(f"{place} refers to a span that is not there", "PT504")
            return spans[number]

        return decode

    def map(self, items: Any) -> Any:
        """An option or note dictionary."""
        if type(items) is not list or len(items) % 2:
            bad("options are not a list of keys and values")
        if not items:
            return freeze_map(None)
        out: dict[str, Any] = {}
        for key, value in zip(items[::2], items[1::2], strict=True):
            if type(key) is not str or key in out:
                bad("an option has no name, or one that is there already")
            out[key] = self.value(value)
        return out

    def value(self, value: Any) -> Any:
        """An option's value."""
        decode = self._values.get(type(value))
        if decode is None:
            bad(f"an option holds a {type(value).__name__}")
        return decode(value)

    def _tagged_list(self, items: list[Any], depth: int = 0) -> Any:
        tag = items[0] if items else None
        if tag == "n" and len(items) == 2:
            number = items[1]
            if type(number) is not int or not 0 <= number < len(self.nodes):
                bad(f"an option refers to {number!r}, which is not there", "PT504")
            return self.nodes[number]
        if tag == "e" and len(items) == 3:
            owner = self.table.enums.get(items[1]) if isinstance(items[1], str) else None
            if owner is None:
                bad(f"an option holds a member of {str(items[1])[:80]!r}, which is not known here", "PT503")
            return _member({m.value: m for m in owner}, owner.__name__)(items[2])
        if tag == "t":
            if depth >= MAX_VALUE_DEPTH:
                bad("an option's value is nested too deeply", "PT506", limit=MAX_VALUE_DEPTH)
            return tuple(
                [self._tagged_list(v, depth + 1) if type(v) is list else self.value(v) for v in items[1:]]
            )
        bad("an option's value has an unknown form")

    def _file(self, row: Any) -> tuple[str, SourceText | None]:
        if not (isinstance(row, list) and len(row) == 2 and isinstance(row[0], str)):
            bad("the list of files is malformed")
        text = row[1]
        if text is None:
            return row[0], None
        if not (isinstance(text, list) and text and all(isinstance(line, str) for line in text)):
            bad("a source text is malformed")
        return row[0], SourceText(text[0], tuple(text[1:]))


_CODES = ("PT503", "PT504", "PT505", "PT506")


def _weight(plan: RowPlan, row: list[Any], weights: list[int]) -> int:
    total = 1
    for position in plan.single:
        number = row[position]
        if number is not None:
            total += weights[number]
    for position in plan.lists:
        for number in row[position]:
            total += weights[number]
    return total if total < _SATURATED else _SATURATED


def _at(error: UserError, number: int) -> UserError:
    first = error.diagnostics[0]
    return UserError(
        first.message, code=first.code, facts=(*first.facts, ("row", number)), remedy=first.remedy
    )


def _rejected(plan: RowPlan, number: int, error: Exception) -> UserError:
    text = getattr(error, "message", None) or str(error)
    return UserError(
        f"the stored program is damaged: row {number} is refused by its class",
        code="PT505",
        facts={"class": getattr(plan.build, "__name__", ""), "reason": text[:200]},
        remedy="store it again with pypto_core.text.dumps",
    )


def _list_of(item: Callable[[Any], Any], place: str) -> Callable[[Any], tuple[Any, ...]]:
    def decode(values: Any) -> tuple[Any, ...]:
        if type(values) is not list:
            bad(f"{place} is not a list")
        return tuple([item(v) for v in values])

    return decode


def _member(members: dict[Any, Any], place: str) -> Callable[[Any], Any]:
    def decode(value: Any) -> Any:
        member = members.get(value) if type(value) is int or type(value) is str else None
        if member is None:
            bad(f"{place} has no member of value {str(value)[:40]}")
        return member

    return decode


def _checked(types: tuple[type, ...], place: str) -> Callable[[Any], Any]:
    def decode(value: Any) -> Any:
        if type(value) not in types:
            bad(f"{place} is a {type(value).__name__}", needed=types[0].__name__)
        return value

    return decode


def _big_int(value: Any) -> int:
    if not isinstance(value, msgpack.ExtType) or value.code != BIG_INT:
        bad(f"an integer is stored as a {type(value).__name__}")
    if not 0 < len(value.data) <= MAX_INT_BYTES:
        bad("an integer is too large", "PT506", limit=f"{MAX_INT_BYTES} bytes")
    return int.from_bytes(value.data, "big", signed=True)


def _span(row: Any, files: list[tuple[str, SourceText | None]]) -> Span:
    if not (isinstance(row, list) and len(row) == 5 and all(type(v) is int for v in row)):
        bad("a span is malformed")
    if not 0 <= row[0] < len(files):
        bad("a span refers to a file that is not there", "PT504")
    name, source = files[row[0]]
    return Span(name, *row[1:], source)


def _same(value: Any) -> Any:
    return value
