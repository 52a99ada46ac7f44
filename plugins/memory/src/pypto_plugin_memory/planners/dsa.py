"""The planner ``dsa_rp``: addresses by search, with as little waiting between pipes as possible.

All separations hold at first. When that leaves no placement, pipeline stages may share, at the price of one wait
for each pair that does.
"""

from __future__ import annotations

from pypto_core.contract import NoPlacementError, Placement, PlacementProblem
from pypto_plugin_memory.planners.search import Effort, no_placement, search

EFFORT = Effort()


def plan(problem: PlacementProblem) -> Placement:
    """Addresses for every block. Raises NoPlacementError for a memory that is too small."""
    try:
        return search(problem, EFFORT)
    except NoPlacementError as error:
        assert error.space is not None
        how = "no placement exists" if error.proven else "the search found no capacity-fitting placement"
        message = (
            f"DSA-RP could not find a placement for {problem.purpose or 'these blocks'} within the on-chip "
            f"memory capacities: {how}"
        )
        raise no_placement(problem, error.space, error.proven, message) from None
