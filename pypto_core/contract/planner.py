"""Who decides where tiles lie."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from pypto_core.contract.passes import load_reference
from pypto_core.contract.placement import Placement, PlacementProblem

PlanFunction = Callable[[PlacementProblem], Placement]


@attrs.frozen
class Planner:
    """A way to give tiles their addresses.

    ``capabilities``: what choosing it adds to a compilation beside ``planner:<name>``.
    ``assigns_addresses``: whether addresses are known once the compiler is done; False when a later tool
    assigns them.
    ``plan``: callable ``(PlacementProblem) -> Placement``, ``"module:name"`` of one, or None when there is
    nothing to plan. It raises :class:`NoPlacementError` when it finds no plan; the same problem gets the same
    answer. Every answer is checked by its caller (:func:`check_placement`); a planner is not trusted.
    """

    name: str
    summary: str
    capabilities: frozenset[str] = attrs.field(default=frozenset(), converter=frozenset)
    assigns_addresses: bool = True
    plan: PlanFunction | str | None = None

    def load(self) -> PlanFunction | None:
        """The planning function, importing its module when it was given by name; None when there is none."""
        return None if self.plan is None else load_reference(self.plan, f"planner {self.name}")
