"""Who decides where tiles lie: a planner, and the least that a placement problem and its answer offer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import attrs

from pypto_core.contract.passes import load_reference
from pypto_core.ir.enums import MemorySpace


class PlacementBlock(Protocol):
    """Storage that needs one address. Sizes and alignments are bytes."""

    @property
    def name(self) -> str:
        """Its name, the key of the answer; unique within a problem."""
        ...

    @property
    def space(self) -> MemorySpace:
        """The memory it lies in."""
        ...

    @property
    def size(self) -> int:
        """Bytes it takes up."""
        ...

    @property
    def alignment(self) -> int:
        """Its address is a multiple of this."""
        ...

    @property
    def live(self) -> Sequence[tuple[int, int]]:
        """When it holds something: half-open intervals of program points, ascending and apart."""
        ...

    @property
    def conflicts(self) -> frozenset[str]:
        """Blocks it may never share bytes with, however their lifetimes lie."""
        ...


class PlacementProblem(Protocol):
    """What a planner is asked."""

    @property
    def blocks(self) -> Sequence[PlacementBlock]:
        """All blocks, in a fixed order."""
        ...

    @property
    def capacities(self) -> Mapping[MemorySpace, int]:
        """Bytes that blocks of each space may use together."""
        ...


class Placement(Protocol):
    """What a planner answers."""

    @property
    def offsets(self) -> Mapping[str, int]:
        """The address of each block in its space, in bytes, by block name."""
        ...


@attrs.frozen
class Planner:
    """A way to give tiles their addresses.

    ``capabilities``: what choosing it adds to a compilation beside ``planner:<name>``.
    ``assigns_addresses``: whether addresses are known once the compiler is done; False when a later tool
    assigns them.
    ``plan``: callable ``(PlacementProblem) -> Placement``, ``"module:name"`` of one, or None when there is
    nothing to plan. Every answer is checked by its caller; a planner is not trusted.
    """

    name: str
    summary: str
    capabilities: frozenset[str] = attrs.field(default=frozenset(), converter=frozenset)
    assigns_addresses: bool = True
    plan: Callable[[Any], Any] | str | None = None

    def load(self) -> Callable[[Any], Any] | None:
        """The planning function, importing its module when it was given by name; None when there is none."""
        return None if self.plan is None else load_reference(self.plan, f"planner {self.name}")
