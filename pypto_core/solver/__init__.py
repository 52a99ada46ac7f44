"""Puts passes in order: from what they promise and what is wanted to the one least plan, with reasons."""

from pypto_core.solver.ambiguity import Ambiguity, ambiguities
from pypto_core.solver.check import check_sequence
from pypto_core.solver.errors import Explanation, Line, NoPlanError
from pypto_core.solver.graph import plan_graph, plan_svg
from pypto_core.solver.lock import fact_hash
from pypto_core.solver.plan import (
    Loss,
    Need,
    Plan,
    Skipped,
    Step,
    lock_text,
    parse_plan_line,
    plan_line,
)
from pypto_core.solver.problem import (
    DEFAULT_NODE_BUDGET,
    Capability,
    ExtraOrder,
    FailedPlugin,
    Goal,
    Must,
    Origin,
    PassEntry,
    Problem,
    Stated,
    stated_orders,
)
from pypto_core.solver.render import explain_plan
from pypto_core.solver.solve import check_plan, solve, why_not

__all__ = [
    "DEFAULT_NODE_BUDGET",
    "Ambiguity",
    "Capability",
    "Explanation",
    "ExtraOrder",
    "FailedPlugin",
    "Goal",
    "Line",
    "Loss",
    "Must",
    "Need",
    "NoPlanError",
    "Origin",
    "PassEntry",
    "Plan",
    "Problem",
    "Skipped",
    "Stated",
    "Step",
    "ambiguities",
    "check_plan",
    "check_sequence",
    "explain_plan",
    "fact_hash",
    "lock_text",
    "parse_plan_line",
    "plan_graph",
    "plan_line",
    "plan_svg",
    "solve",
    "stated_orders",
    "why_not",
]
