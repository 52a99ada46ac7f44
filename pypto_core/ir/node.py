"""What a node is, and the one table of fields that visitor, mutator, equality, hash and codec are driven by.

Every field of a node class says in its metadata what it is: ``use`` (compared and visited in order), ``define``
(introduces variables; equality maps them to each other) or ``ignore`` (carried along, never compared).
``kind`` says how a field holds other nodes.
"""

from __future__ import annotations

import operator
import types as pytypes
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, ClassVar, TypeVar, cast, dataclass_transform

import attrs

from pypto_core.diagnostics import UNKNOWN_SPAN, InternalError, Span

NodeT = TypeVar("NodeT")

NODE, MAYBE, NODES, MAP, PLAIN = "node", "maybe", "nodes", "map", "plain"
USE, DEFINE, IGNORE = "use", "def", "ignore"
EMPTY_MAP: Mapping[str, Any] = pytypes.MappingProxyType({})


def freeze_map(value: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """An ordered read-only copy of ``value``; lists inside become tuples."""
    if not value:
        return EMPTY_MAP
    if isinstance(value, pytypes.MappingProxyType):
        return cast("Mapping[str, Any]", value)
    return pytypes.MappingProxyType({k: _frozen_value(v) for k, v in value.items()})


def _frozen_value(value: Any) -> Any:
    if not isinstance(value, list | tuple):
        return value
    items = cast("tuple[Any, ...]", value)
    frozen = tuple(map(_frozen_value, items))
    return items if isinstance(value, tuple) and all(map(operator.is_, frozen, items)) else frozen


def freeze_tuple(value: Iterable[Any]) -> tuple[Any, ...]:
    """``value`` as a tuple; a tuple itself, of a subclass too."""
    return value if isinstance(value, tuple) else tuple(value)


def use(kind: str = NODE, **options: Any) -> Any:
    """A field that is visited and compared. ``kind``: node, maybe (may be None), nodes (tuple), map or plain."""
    return _field(USE, kind, options)


def define(kind: str = NODE, **options: Any) -> Any:
    """A field that introduces variables."""
    return _field(DEFINE, kind, options)


def ignore(**options: Any) -> Any:
    """A field that is carried along and never compared."""
    return _field(IGNORE, PLAIN, options)


def _field(role: str, kind: str, options: dict[str, Any]) -> Any:
    if kind == MAP:
        options = {"converter": freeze_map, **options}
    elif kind == NODES and "converter" not in options:
        options["converter"] = freeze_tuple
    return attrs.field(metadata={"role": role, "kind": kind}, **options)


@dataclass_transform(eq_default=False, frozen_default=True, field_specifiers=(use, define, ignore))
def node_class(cls: type[NodeT]) -> type[NodeT]:
    """Class decorator: frozen, slotted, compared by identity."""
    return attrs.frozen(cls, eq=False, repr=False)


@node_class
class Node:
    """Base of everything in a program that has a place in the source."""

    span: Span = ignore(default=UNKNOWN_SPAN, kw_only=True)

    # Order in which fields are visited when it isn't the order of declaration: bounds and initial values come
    # before the variables that they scope.
    visit_order: ClassVar[tuple[str, ...]] = ()

    def __repr__(self) -> str:
        parts = [
            f"{f.name}={getattr(self, f.name)!r}"
            for f in attrs.fields(type(self))
            if f.metadata.get("kind") == PLAIN
        ]
        return f"<{type(self).__name__} {' '.join(parts[:3])}>"


@attrs.frozen
class FieldInfo:
    """One row of the field table."""

    name: str
    role: str
    kind: str
    get: Callable[[Any], Any]


@cache
def fields_of(cls: type) -> tuple[FieldInfo, ...]:
    """The fields of a node class in visiting order."""
    rows: dict[str, FieldInfo] = {}
    for field in attrs.fields(cls):
        if "role" not in field.metadata:
            raise InternalError(f"field '{field.name}' of {cls.__name__} does not say its role")
        role, kind = field.metadata["role"], field.metadata["kind"]
        rows[field.name] = FieldInfo(field.name, role, kind, operator.attrgetter(field.name))
    order: tuple[str, ...] = getattr(cls, "visit_order", ())
    names = [*order, *(n for n in rows if n not in order)]
    return tuple(rows[name] for name in names)


@cache
def child_fields(cls: type) -> tuple[FieldInfo, ...]:
    """The fields that may hold nodes, in visiting order."""
    return tuple(f for f in fields_of(cls) if f.kind != PLAIN)


@cache
def _init_names(cls: type) -> tuple[str, ...]:
    return tuple(f.name for f in attrs.fields(cls) if f.init)


def replace(node: NodeT, **changes: Any) -> NodeT:
    """A copy of ``node`` with some fields exchanged; everything else, span and comments too, is carried over."""
    cls = type(node)
    values = {name: getattr(node, name) for name in _init_names(cls)}
    values.update(changes)
    return cls(**values)


def updated(node: NodeT, **parts: Any) -> NodeT:
    """``node`` with these fields, or ``node`` itself when each is the object, or the tuple of objects, it has."""
    for name, value in parts.items():
        if not _same_part(getattr(node, name), value):
            return replace(node, **parts)
    return node


def _same_part(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if not isinstance(a, tuple) or not isinstance(b, tuple):
        return False
    left, right = cast("tuple[Any, ...]", a), cast("tuple[Any, ...]", b)
    return len(left) == len(right) and all(x is y for x, y in zip(left, right, strict=True))
