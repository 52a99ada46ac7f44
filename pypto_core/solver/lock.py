"""A fingerprint of everything that a plan depends on."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from pypto_core.contract import PassContract
from pypto_core.solver.problem import Problem


def fact_hash(problem: Problem) -> str:
    """The first 16 hex digits of SHA-256 over the facts of a problem, in a fixed form.

    Summaries, reasons, the catalogue and plugins that failed are left out: they change no plan.
    """
    text = json.dumps(_facts(problem), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _facts(problem: Problem) -> dict[str, Any]:
    return {
        "passes": [[_contract(e.contract), e.origin.distribution, e.origin.version] for e in problem.passes],
        "properties": [[p.name, p.kind.value, sorted(p.disturbed_by)] for p in problem.properties],
        "initial": sorted(problem.initial),
        "goals": sorted({g.property for g in problem.goals}),
        "must": sorted({m.name for m in problem.must}),
        "capabilities": sorted({c.name for c in problem.capabilities}),
        "order": sorted({(o.earlier, o.later, o.strict) for o in problem.order}),
        "extra_runs": problem.extra_runs,
        "anchors": problem.anchors,
    }


def _contract(contract: PassContract) -> list[Any]:
    sets = (
        contract.requires,
        contract.produces,
        contract.invalidates,
        contract.forbids,
        contract.needs,
        contract.excludes,
        contract.touches,
    )
    orders = sorted((f.relation.value, f.other, f.instance) for f in contract.order)
    return [contract.name, contract.role.value, contract.runs, *map(sorted, sets), orders]
