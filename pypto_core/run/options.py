"""Options of a compilation, which know whether anybody asked for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from numbers import Real
from types import MappingProxyType
from typing import Any

from pypto_core.diagnostics import UserError


def not_a_switch(name: str, value: object) -> UserError | None:
    """The error (PT850) for the value of an option that is on or off; None for a value that counts as either.

    Text and containers would count as on whatever they say.
    """
    if value is None or isinstance(value, Real):
        return None
    return UserError(
        f"option '{name}' is a switch, and {value!r} is neither on nor off",
        code="PT850",
        remedy=f"write {name}=true or {name}=false",
    )


class Options(Mapping[str, Any]):
    """Read-only options by name, sorted. Looking one up by name marks it as read; going through all does not."""

    __slots__ = ("_asked", "_values")

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        given = dict(values or {})
        self._values = MappingProxyType({name: given[name] for name in sorted(given)})
        self._asked: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        self._asked.add(name)
        return self._values[name]

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __eq__(self, other: object) -> bool:
        return self._values == (other._values if isinstance(other, Options) else other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Options({dict(self._values)!r})"

    @property
    def given(self) -> tuple[tuple[str, Any], ...]:
        """All names with their values, sorted; reads none of them."""
        return tuple(self._values.items())

    @property
    def truthy(self) -> tuple[str, ...]:
        """Names of the options whose value counts as true, sorted; reads none of them."""
        return tuple(name for name, value in self._values.items() if value)

    @property
    def off(self) -> tuple[str, ...]:
        """Names of the options that were given with a value that counts as false, sorted; reads none of them."""
        return tuple(name for name, value in self._values.items() if value is not None and not value)

    @property
    def unread(self) -> tuple[str, ...]:
        """Names of the options that nobody has looked up, sorted."""
        return tuple(name for name in self._values if name not in self._asked)

    @property
    def asked(self) -> tuple[str, ...]:
        """Names that somebody has looked up, given or not, sorted."""
        return tuple(sorted(self._asked))
