"""What a random program may contain."""

from __future__ import annotations

import enum


class Feature(enum.Enum):
    """One thing that generated programs may contain; elementwise tile code is always there."""

    LOOPS = "counted loops"
    WHILE = "while loops"
    BRANCHES = "ifs, with phis in SSA form"
    CARRIES = "values carried by loops (init_values)"
    DYNAMIC = "bounds and conditions from scalar parameters"
    REDUCTIONS = "row and column reductions and what spreads them again"
    VALID = "tiles narrowed by valid extents"
    VIEWS = "slices of tiles"
    MATMUL = "matrix products, Mat to Left and Right to Acc, also accumulating over K"
    CASTS = "conversions to half width and back"
    INTEGERS = "INT32 as the element type of some programs"
    PIPELINE = "pipelined loops with constant bounds"
    CHAINED_STORES = "stores as values that are handed on, instead of as effects"
    NESTED_CALLS = "calls inside of calls"
    UNROLL = "loops to unroll"
    REASSIGN = "variables assigned again, in regions too: not SSA"
    LEAKS = "variables first assigned in a region and read after it: not SSA"
    BREAK = "break and continue: not SSA"
    INLINE = "functions to inline"


_PLAIN_ONLY = (Feature.REASSIGN, Feature.LEAKS, Feature.BREAK)
_EARLY = (Feature.NESTED_CALLS, Feature.UNROLL, Feature.INLINE)

ALL_FEATURES = frozenset(Feature)
"""Everything: programs as an author writes them."""

PLAIN_FEATURES = ALL_FEATURES - {Feature.UNROLL, Feature.INLINE, Feature.BREAK, Feature.NESTED_CALLS}
"""What conversion to SSA is given: reassignment and leaks."""

SSA_FEATURES = ALL_FEATURES - {*_PLAIN_ONLY, *_EARLY}
"""Programs in SSA form and three-address form."""
