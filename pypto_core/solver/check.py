"""The independent judge of every plan: replays the meaning of contracts and shares no code with the search."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pypto_core.contract import PassContract, PropertyKind, Role
from pypto_core.solver.problem import Problem, Stated, stated_orders


def check_sequence(problem: Problem, sequence: Sequence[str], kept: Iterable[Stated] = ()) -> str | None:
    """What is wrong with a sequence of instance ids as a plan; None when nothing is.

    ``kept`` are further order facts that the plan promises to respect.
    """
    runs = _runs(problem)
    owner = {run: entry.contract for entry in problem.passes for run in runs[entry.name]}
    capabilities = {c.name for c in problem.capabilities}
    structural = {p.name for p in problem.properties if p.kind is PropertyKind.STRUCTURAL}
    state = set(problem.initial) | structural
    done: set[str] = set()
    for place, run in enumerate(sequence):
        if run not in owner or run in done:
            return f"step {place}: {run} is no known instance or runs again"
        contract = owner[run]
        if not _enabled(contract, capabilities):
            return f"step {place}: {run} is switched off"
        if not contract.requires <= state or contract.forbids & state:
            wrong = sorted(contract.requires - state) or sorted(contract.forbids & state)
            return f"step {place}: {run} can't run in this state, because of {', '.join(wrong)}"
        disturbed = {p.name for p in problem.properties if p.disturbed(contract.touches)}
        state -= (contract.invalidates | disturbed) - structural
        state |= contract.produces
        done.add(run)
    lacking = sorted({g.property for g in problem.goals} - state)
    if lacking:
        return f"at the end {', '.join(lacking)} do not hold"
    facts = [*stated_orders(problem), *kept]
    return _out_of_order(problem, runs, sequence, facts) or _unmet(problem, runs, done, capabilities)


def _enabled(contract: PassContract, capabilities: set[str]) -> bool:
    return contract.needs <= capabilities and not contract.excludes & capabilities


def _runs(problem: Problem) -> dict[str, list[str]]:
    """The instances of each pass, in their order."""
    extra = dict(problem.extra_runs)
    found: dict[str, list[str]] = {}
    for entry in problem.passes:
        ids, more = list(entry.contract.runs), extra.get(entry.name, 0)
        spare = (f"{entry.name}#{k}" for k in range(len(ids) + 1, len(ids) * 2 + more + 2))
        found[entry.name] = ids + [name for name in spare if name not in ids][:more]
    return found


def _out_of_order(
    problem: Problem, runs: Mapping[str, list[str]], sequence: Sequence[str], facts: Sequence[Stated]
) -> str | None:
    place = {run: i for i, run in enumerate(sequence)}
    anchor = {name: i for i, name in enumerate(problem.anchors)}
    passed = [-1] * len(anchor)
    for fact in facts:
        if fact.later in anchor:
            k = anchor[fact.later]
            passed[k] = max(passed[k], _last(fact, runs, place))
    for fact in facts:
        later = [place[run] for run in runs.get(fact.later, [fact.later]) if run in place]
        if fact.earlier in anchor:
            bar = max(passed[: anchor[fact.earlier] + 1])
        else:
            bar = _last(fact, runs, place)
        if later and min(later) <= bar:
            return f"the order '{fact}' is broken"
    for entry in problem.passes:
        alone = entry.contract.role in (Role.OPTIMISE, Role.CHECK)
        spots = [place.get(run, -1) for run in runs[entry.name]]
        there = [spot for spot in spots if spot >= 0]
        if there != sorted(there) or (not alone and spots[: len(there)] != there):
            return f"the instances of {entry.name} are out of order"
    return None


def _last(fact: Stated, runs: Mapping[str, list[str]], place: Mapping[str, int]) -> int:
    """Where the earlier side of a fact is done: its first run, or its last when the fact is strict."""
    ids = runs.get(fact.earlier, [fact.earlier])
    return max((place[run] for run in (ids if fact.strict else ids[:1]) if run in place), default=-1)


def _unmet(
    problem: Problem, runs: Mapping[str, list[str]], done: set[str], capabilities: set[str]
) -> str | None:
    for entry in problem.passes:
        contract = entry.contract
        owes = contract.role is Role.MUST and _enabled(contract, capabilities)
        if owes and not set(contract.runs) <= done:
            return f"{entry.name} must run and does not"
    for must in problem.must:
        if runs.get(must.name, [must.name])[0] not in done:
            return f"{must.name} must run and does not"
    return None
