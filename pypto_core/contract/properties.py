"""What a property is: a fact about a program that a verifier can decide and a contract can name."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import attrs

from pypto_core.contract.passes import load_reference

if TYPE_CHECKING:
    from pypto_core.diagnostics import Diagnostic


class PropertyKind(enum.Enum):
    """How a property lives."""

    STRUCTURAL = "structural"
    """Holds of every program, is checked around every pass, and is never scheduled."""
    NORMAL = "normal"
    """Made by some pass, and kept until a pass invalidates or disturbs it."""
    ANALYSIS = "analysis"
    """A computed value: any pass that touches anything disturbs it, unless it lists it as produced."""


@attrs.frozen(kw_only=True)
class Property:
    """A name with a one-line meaning and, where it can be decided, a verifier.

    ``verifier`` takes a Program and yields Diagnostics, none when the property holds; it may be given as
    ``"module:name"``. One whose second parameter is called ``backend`` is handed the backend, or None where none is
    configured. ``disturbed_by`` names the effects after which it is no longer guaranteed.
    """

    name: str
    summary: str = ""
    verifier: Callable[[Any], Iterable[Diagnostic]] | str | None = None
    kind: PropertyKind = PropertyKind.NORMAL
    disturbed_by: frozenset[str] = attrs.field(default=frozenset(), converter=frozenset)

    def load(self) -> Callable[[Any], Iterable[Diagnostic]] | None:
        """The verifier, importing its module when it was given by name; None when there is none."""
        return None if self.verifier is None else load_reference(self.verifier, f"property {self.name}")

    def disturbed(self, touches: frozenset[str]) -> bool:
        """Whether a pass with these effects may break it."""
        if self.kind is PropertyKind.STRUCTURAL:
            return False
        return bool(touches) if self.kind is PropertyKind.ANALYSIS else bool(self.disturbed_by & touches)
