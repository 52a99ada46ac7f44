"""Fields as PyPTO's callers compare them: with lists, and functions of a program by references as well as by name.

The values stay those of the kernel: an :class:`Items` is a tuple, and the keys of :class:`Functions` are strings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pypto_core.ir import Function


class Items(tuple[Any, ...]):
    """A tuple that equals a list of the same items too."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return tuple.__eq__(self, tuple(other) if isinstance(other, list) else other)  # type: ignore[arg-type]

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(tuple(self))


_NONE = Items()


def items(value: tuple[Any, ...]) -> Items:
    """The tuple as one that equals lists; empty ones are one object, as they are without."""
    if isinstance(value, Items):
        return value
    return Items(value) if value else _NONE


class FunctionName(str):
    """The name of a function, with itself as ``name``, as a reference to one has it."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """The plain string."""
        return str(self)


class Functions(Mapping[str, Function]):
    """The functions of a program in the order of their names; keys may be names or references."""

    __slots__ = ("_functions",)

    def __init__(self, functions: Mapping[str, Function]) -> None:
        self._functions = functions

    def __getitem__(self, key: Any) -> Function:
        return self._functions[_name(key)]

    def __contains__(self, key: object) -> bool:
        return _name(key) in self._functions

    def __iter__(self) -> Iterator[FunctionName]:
        return map(FunctionName, self._functions)

    def __len__(self) -> int:
        return len(self._functions)

    def __repr__(self) -> str:
        return repr(dict(self._functions))


def functions(value: Mapping[str, Function]) -> Functions:
    """The functions as ones that are found by references too."""
    return value if isinstance(value, Functions) else Functions(value)


def _name(key: Any) -> Any:
    return getattr(key, "name", key)


class FieldView:
    """A field that stores its values as what ``view`` makes of them; what was stored before stays as it is."""

    def __init__(self, field: Any, view: Callable[[Any], Any]) -> None:
        self._field, self._view = field, view

    def __get__(self, owner: Any, cls: type | None = None) -> Any:
        return self if owner is None else self._field.__get__(owner, cls)

    def __set__(self, owner: Any, value: Any) -> None:
        self._field.__set__(owner, self._view(value))
