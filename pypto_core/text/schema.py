"""What the binary form of each class is, read off its field table and annotations.

A class needs no code of its own to be stored: the table of :func:`pypto_core.ir.fields_of` says which fields hold
nodes, the annotations say which nodes, numbers, strings or enum members.
"""

from __future__ import annotations

import enum
import operator
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

import attrs

import pypto_core.ir as ir
from pypto_core.diagnostics import InternalError, Span, UserError
from pypto_core.ir import (
    EMPTY_MAP,
    MAP,
    MAYBE,
    NODE,
    NODES,
    FieldInfo,
    Function,
    Node,
    Type,
    fields_of,
    freeze_map,
    freeze_tuple,
    make_order,
)

NO_DEFAULT: Any = object()


class Shape(enum.Enum):
    """How one field is stored."""

    NODE = "a reference"
    NODES = "a list of references"
    MAP = "options or notes"
    SPAN = "a source span"
    FUNCTIONS = "a list of functions"
    INT = "an int"
    BOOL = "True or False"
    FLOAT = "a number"
    TEXT = "a string"
    ENUM = "an enum member"
    LIST = "a list"
    TAGGED = "a tagged value"


@attrs.frozen
class FieldShape:
    """One field.

    ``classes``: those that a referenced node or an enum member may have. ``item``: the form of a list's items.
    ``default``: the object that a field not given holds; a column of nothing else is not stored. ``absent`` makes what
    a field not given holds, None where there is no such thing. ``convert`` is the class's own converter,
    where what it makes is not what columns hold anyway.
    """

    name: str
    shape: Shape
    classes: tuple[type, ...] = ()
    optional: bool = False
    item: FieldShape | None = None
    default: Any = NO_DEFAULT
    absent: Callable[[], Any] | None = None
    convert: Callable[[Any], Any] | None = None
    get: Callable[[Any], Any] = attrs.field(init=False, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "get", operator.attrgetter(self.name))


@attrs.frozen
class ClassShape:
    """One class: its stored fields in visiting order, and in that of :data:`pypto_core.ir.MAKE`."""

    cls: type
    fields: tuple[FieldShape, ...]
    parameters: tuple[FieldShape, ...] = attrs.field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        named = {field.name: field for field in self.fields}
        object.__setattr__(self, "parameters", tuple(named[name] for name in make_order(self.cls)))


@cache
def shape_of(cls: type) -> ClassShape:
    """The stored form of a node or type class."""
    hints = typing.get_type_hints(cls)
    stored = {f.name: f for f in attrs.fields(cls) if f.init}
    rows = [(f, stored[f.name]) for f in fields_of(cls) if f.name in stored]
    return ClassShape(cls, tuple(_stored(row, field, hints.get(row.name, Any)) for row, field in rows))


def _stored(row: FieldInfo, field: Any, hint: Any) -> FieldShape:
    return attrs.evolve(
        _field(row.name, row.kind, hint),
        default=_default(field, row.kind),
        absent=_absent(field),
        convert=None if field.converter in (freeze_map, freeze_tuple) else field.converter,
    )


def _absent(field: Any) -> Callable[[], Any] | None:
    if field.default is attrs.NOTHING:
        return None
    return getattr(field.default, "factory", None) or (lambda: field.default)


def _default(field: Any, kind: str) -> Any:
    """The object that the class puts where none is given, if that is always the same one."""
    if field.default is attrs.NOTHING:
        return NO_DEFAULT
    if kind == MAP:
        return EMPTY_MAP
    shared = field.default is None or isinstance(field.default, Span | enum.Enum) or field.default == ()
    return field.default if shared else NO_DEFAULT


def _field(name: str, kind: str, hint: Any) -> FieldShape:
    hint, optional = _without_none(hint)
    if kind in (NODE, MAYBE):
        return FieldShape(name, Shape.NODE, _classes(hint), optional or kind == MAYBE)
    if kind == NODES:
        return FieldShape(name, Shape.NODES, _classes(typing.get_args(hint)[0]))
    if kind == MAP:
        return FieldShape(name, Shape.MAP)
    return _plain(name, hint, optional)


_ATOMS: dict[Any, Shape] = {
    int: Shape.INT,
    bool: Shape.BOOL,
    float: Shape.FLOAT,
    str: Shape.TEXT,
    Span: Shape.SPAN,
}


def _plain(name: str, hint: Any, optional: bool) -> FieldShape:
    atom = _ATOMS.get(hint)
    if atom is not None:
        return FieldShape(name, atom, optional=optional)
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return FieldShape(name, Shape.ENUM, (hint,), optional)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:
        item = _plain(name, *_without_none(arguments[0]))
        return FieldShape(name, Shape.LIST, optional=optional, item=item)
    if arguments == (str, Function):
        return FieldShape(name, Shape.FUNCTIONS, (Function,))
    return FieldShape(name, Shape.TAGGED)


def _without_none(hint: Any) -> tuple[Any, bool]:
    if typing.get_origin(hint) not in (typing.Union, types.UnionType):
        return hint, False
    arguments = typing.get_args(hint)
    rest = [a for a in arguments if a is not type(None)]
    if len(rest) == len(arguments) or not rest:
        return hint, False
    return (rest[0] if len(rest) == 1 else typing.Union[tuple(rest)]), True  # noqa: UP007


def _classes(hint: Any) -> tuple[type, ...]:
    members = typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)
    found = tuple(m for m in members if isinstance(m, type))
    if not found or len(found) != len(members):
        raise InternalError(f"the annotation {hint} of a node field names no classes")
    return found


@attrs.frozen
class ClassTable:
    """The classes that may be stored, by name: nodes and types, and enums in options and notes."""

    nodes: Mapping[str, type]
    enums: Mapping[str, type[enum.Enum]]

    @classmethod
    def of(cls, classes: Iterable[type]) -> ClassTable:
        """A table of node, type and enum classes; two of one name are an error."""
        nodes: dict[str, type] = {}
        enums: dict[str, type[enum.Enum]] = {}
        for found in classes:
            table: dict[str, Any] = enums if issubclass(found, enum.Enum) else nodes
            if not issubclass(found, enum.Enum | Node | Type):
                raise UserError(
                    f"'{found.__name__}' is no node, type or enum and can't be stored",
                    code="PT557",
                    facts={"class": f"{found.__module__}.{found.__qualname__}"},
                    remedy="pass subclasses of Node, Type or Enum",
                )
            if table.setdefault(found.__name__, found) is not found:
                raise UserError(
                    f"two classes to store are called '{found.__name__}'",
                    code="PT557",
                    facts={"first": table[found.__name__].__module__, "second": found.__module__},
                    remedy="rename one of them",
                )
        return cls(types.MappingProxyType(nodes), types.MappingProxyType(enums))

    def extended(self, classes: Iterable[type]) -> ClassTable:
        """A table with more classes."""
        return ClassTable.of((*self.nodes.values(), *self.enums.values(), *classes))


@cache
def kernel_classes() -> ClassTable:
    """All classes of :mod:`pypto_core.ir`."""
    found = [getattr(ir, name) for name in ir.__all__]
    kinds = [c for c in found if isinstance(c, type) and issubclass(c, Node | Type | enum.Enum)]
    return ClassTable.of(c for c in kinds if c not in _BASES)


# Bases stand for no node of their own; each has fewer fields than what uses it expects.
_BASES = (Node, Type, ir.Expr, ir.Stmt, ir.ScopeStmt, ir.BinaryExpr, ir.UnaryExpr)
