"""A read-only table of registered things, each with its origin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

import attrs

from pypto_core.host.health import Origin

T = TypeVar("T")


@attrs.frozen
class Registered(Generic[T]):
    """A thing and who registered it."""

    value: T
    origin: Origin


@attrs.frozen(eq=False)
class Registry(Mapping[str, T]):
    """Values of one kind by name, in the order of their names."""

    label: str
    rows: Mapping[str, Registered[T]] = attrs.field(repr=False)

    @classmethod
    def of(cls, label: str, rows: Mapping[str, Registered[T]]) -> Registry[T]:
        """A registry of these rows, sorted."""
        return cls(label, {name: rows[name] for name in sorted(rows)})

    def __getitem__(self, name: str) -> T:
        return self.rows[name].value

    def __iter__(self) -> Iterator[str]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def origin(self, name: str) -> Origin:
        """Who registered ``name``; KeyError when nobody did."""
        return self.rows[name].origin
