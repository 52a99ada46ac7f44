"""Neighbours in a plan whose order only the tie-break decides."""

from __future__ import annotations

import attrs

from pypto_core.solver.check import check_sequence
from pypto_core.solver.plan import Plan
from pypto_core.solver.problem import Problem, stated_orders


@attrs.frozen(order=True)
class Ambiguity:
    """Two neighbours that could stand the other way round."""

    earlier: str
    later: str

    def __str__(self) -> str:
        return f"only the tie-break puts {self.earlier} before {self.later}"


def ambiguities(problem: Problem, plan: Plan) -> tuple[Ambiguity, ...]:
    """The neighbours whose exchange is a plan too, in plan order.

    A plan without any is the only order of its steps that neighbouring exchanges can reach.
    """
    run = list(plan.instances)
    ordered = {(fact.earlier, fact.later) for fact in (*stated_orders(problem), *plan.contracted)}
    found: list[Ambiguity] = []
    for k, (a, b) in enumerate(zip(plan.steps, plan.steps[1:], strict=False)):
        if any(need.made_by == a.instance for need in b.needs) or a.name == b.name:
            continue
        if (a.instance, b.instance) in ordered:
            continue
        swapped = [*run[:k], b.instance, a.instance, *run[k + 2 :]]
        if check_sequence(problem, swapped, plan.contracted) is None:
            found.append(Ambiguity(a.instance, b.instance))
    return tuple(found)
