"""The switches of the pass."""

from __future__ import annotations

import attrs

PLANNER_OPTION = "enable_pypto_l0c_double_buffer"
"""Option of a compilation that switches on what ``AutoTileOptions.enable_l0c_double_buffer`` does."""


@attrs.frozen(kw_only=True)
class AutoTileOptions:
    """How AutoTileMatmulL0 may tile.

    ``enable_l0c_double_buffer``: two accumulators also under the planner ``pypto``, whose stacking of buffers may
    then run out of L0; the other planners always allow them. ``mark_pipelines``: mark loops that are L0 pipelines
    already for two accumulators. ``k_only_fallback``: split along K alone where the best grid has no place to go.
    """

    enable_l0c_double_buffer: bool = False
    mark_pipelines: bool = True
    k_only_fallback: bool = True
