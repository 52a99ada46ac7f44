"""Properties and diagnostic checks as enumerations and mutable sets."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import Any, ClassVar

import attrs

from pypto.pypto_core.passes.settings import DiagnosticCheck
from pypto_core.verify import PROPERTY_ORDER

IRProperty: Any = enum.Enum("IRProperty", {name: bit for bit, name in enumerate(PROPERTY_ORDER)})
IRProperty.__doc__ = "The well-known properties; the values are their bits in a property set."

Member = enum.Enum | str


class _MemberSet:
    """A set of members by name; names that the enumeration lacks are those of a plugin and stay strings."""

    owner: ClassVar[Any]

    def __init__(self, members: Iterable[Member] = ()) -> None:
        self._names = {name_of(member) for member in members}

    def insert(self, member: Member) -> None:
        """Add a member."""
        self._names.add(name_of(member))

    def remove(self, member: Member) -> None:
        """Take a member out; nothing happens when it is not in."""
        self._names.discard(name_of(member))

    def contains(self, member: Member) -> bool:
        """Whether a member is in."""
        return name_of(member) in self._names

    def union_with(self, other: _MemberSet) -> Any:
        """A set of what either has."""
        return type(self)(self._names | other._names)

    def difference(self, other: _MemberSet) -> Any:
        """A set of what this one has alone."""
        return type(self)(self._names - other._names)

    def to_list(self) -> list[Any]:
        """The members in the order of their numbers, then the names of plugins' ones."""
        known = self.owner.__members__
        return [known.get(name, name) for name in self.names]

    def empty(self) -> bool:
        """Whether nothing is in."""
        return not self._names

    @property
    def names(self) -> list[str]:
        """The names in the same order."""
        known = list(self.owner.__members__)
        return sorted(self._names, key=lambda n: (known.index(n) if n in known else len(known), n))

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._names == other._names  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash(frozenset(self._names))

    def __len__(self) -> int:
        return len(self._names)

    def __str__(self) -> str:
        return "{" + ", ".join(self.names) + "}"

    __repr__ = __str__


class IRPropertySet(_MemberSet):
    """Properties; starts empty."""

    owner = IRProperty

    def contains_all(self, other: IRPropertySet) -> bool:
        """Whether everything in ``other`` is in here too."""
        return other._names <= self._names

    def intersection(self, other: IRPropertySet) -> IRPropertySet:
        """A set of what both have."""
        return IRPropertySet(self._names & other._names)


class DiagnosticCheckSet(_MemberSet):
    """Diagnostic checks; starts empty."""

    owner = DiagnosticCheck


def name_of(member: Any) -> str:
    """The name of a member, or a name as it is."""
    return member if isinstance(member, str) else member.name


def names_of(members: Any) -> tuple[str, ...]:
    """Names from a set of either kind, or from members in any collection; None has none."""
    if members is None:
        return ()
    return tuple(members.names) if isinstance(members, _MemberSet) else tuple(map(name_of, members))


@attrs.define
class PassProperties:
    """What a pass needs, makes and destroys."""

    required: IRPropertySet = attrs.field(factory=IRPropertySet)
    produced: IRPropertySet = attrs.field(factory=IRPropertySet)
    invalidated: IRPropertySet = attrs.field(factory=IRPropertySet)
