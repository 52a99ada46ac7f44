"""From a problem to its plan: what is wanted is taken in, the least plan is found, checked and given reasons."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from pypto_core.contract import Role
from pypto_core.diagnostics import InternalError
from pypto_core.solver.check import check_sequence
from pypto_core.solver.clauses import OutOfTurns
from pypto_core.solver.closure import relaxed
from pypto_core.solver.conflict import explain_core, minimal_core
from pypto_core.solver.contraction import keep_implied
from pypto_core.solver.cycles import explain_cycle
from pypto_core.solver.errors import GAVE_UP, NO_ORDER, Explanation, NoPlanError
from pypto_core.solver.extraction import best_plan
from pypto_core.solver.facts import FactKind
from pypto_core.solver.links import Links
from pypto_core.solver.lock import fact_hash
from pypto_core.solver.missing import unreachable
from pypto_core.solver.model import Model, compile_problem
from pypto_core.solver.plan import Plan, Skipped
from pypto_core.solver.problem import Problem, Stated
from pypto_core.solver.reasons import make_steps
from pypto_core.solver.search import Answer, BudgetExceeded, Search

EXPLAINED_SKIPS = 8
"""Conflicts of optional passes that a plan explains in full; `why_not` explains any other."""


@attrs.define(eq=False)
class _Chosen:
    """The optional atoms that fit, those that don't, and the search over what is left.

    ``undecided``: those of which the budget left open whether they fit; they stay out.
    """

    wanted: list[int]
    unreachable: list[int]
    conflicting: list[int]
    search: Search
    undecided: list[int] = attrs.field(factory=list[int])


def solve(problem: Problem) -> Plan:
    """The one least plan of a problem.

    Raises NoPlanError: PT301 when nothing makes a wanted property, PT303 when orders go round in a ring,
    PT302 with a minimal set of conflicting facts for any other reason, PT309 when the node budget runs out before
    any plan is found. When it runs out later, the plan is right and ``proved`` is false.
    """
    model = compile_problem(problem)
    if model.missing:
        raise NoPlanError(_explain(model))
    try:
        chosen = _choose(model)
        if chosen is None:
            raise NoPlanError(_explain(model))
        answer = best_plan(chosen.search)
        if answer is None:
            raise InternalError("the optional passes fit and yet no plan does")
        answer, kept, notes = keep_implied(model, answer)
    except BudgetExceeded as stop:
        raise NoPlanError(_gave_up(problem, stop)) from None
    return _plan(model, chosen, answer, kept, notes)


def check_plan(problem: Problem, plan: Plan) -> str | None:
    """What the independent judge finds wrong with a plan; None when nothing is."""
    return check_sequence(problem, plan.instances, plan.contracted)


def why_not(problem: Problem, instance: str, plan: Plan | None = None) -> str:
    """Why an instance is not in the plan, as one sentence with the minimal set of reasons."""
    found = plan or solve(problem)
    known = {run: e for e in problem.passes for run in (e.name, *e.contract.runs)}
    if instance not in known:
        return f"no installed plugin has a pass named {instance}"
    if any(instance in (step.instance, step.name) for step in found.steps):
        return f"{instance} is in the plan"
    for skipped in found.skipped:
        if instance in (skipped.instance, skipped.name) and skipped.reason != _later(skipped.instance):
            return f"{skipped.instance} {skipped.reason}"
    if known[instance].contract.role in (Role.OPTIMISE, Role.CHECK):
        model = compile_problem(problem)
        taken = [s.instance for s in found.steps if s.role in (Role.OPTIMISE, Role.CHECK)]
        first = instance if instance in model.index else known[instance].contract.runs[0]
        return f"{instance} {_conflict(model, first, taken)}"
    return f"nothing in the plan needs what {instance} makes beyond what it already has"


def _choose(model: Model) -> _Chosen | None:
    """Takes in the optional atoms in key order, each if some plan has all taken so far; None without a plan."""
    everything = (1 << len(model.atoms)) - 1
    _, order = relaxed(model, everything, model.chain, model.start)
    reached = sum(1 << i for i in order)
    offers = [
        i
        for role in (Role.OPTIMISE, Role.CHECK)
        for i, atom in enumerate(model.atoms)
        if atom.role is role and atom.demanded_by is None
    ]
    lost = [i for i in offers if not reached >> i & 1]
    todo = [i for i in offers if reached >> i & 1]
    alive = everything & ~sum(1 << i for i in lost)
    limit = model.problem.node_budget

    search = Search(model, alive, model.must | _mask(todo), limit)
    if _fits(search):
        return _Chosen(todo, lost, [], search)
    search = Search(model, alive, model.must, limit, offers=_mask(todo))
    if not search.feasible() or search.links is None or search.witness is None:
        return None
    taken, refused, undecided = _fitting(search.links, todo, search.witness)
    alive &= ~_mask(refused + undecided)
    final = Search(model, alive, model.must | _mask(taken), limit)
    return _Chosen(taken, lost, refused, final, undecided)


def _mask(atoms: Sequence[int]) -> int:
    return sum(1 << i for i in atoms)


def _fits(search: Search) -> bool:
    try:
        return search.feasible()
    except BudgetExceeded:
        return False


def _fitting(links: Links, todo: Sequence[int], witness: list[int]) -> tuple[list[int], list[int], list[int]]:
    """Of the offers those that fit beside all before them, those that don't, and those that stay undecided."""
    taken: list[int] = []
    refused: list[int] = []
    undecided: list[int] = []
    there = set(witness)
    for i in todo:
        try:
            found = None if i in there else links.answer([links.runs[j] for j in (*taken, i)])
        except OutOfTurns:
            undecided.append(i)
            continue
        if found is not None:
            there = set(found)
        if i in there:
            taken.append(i)
        else:
            refused.append(i)
    return taken, refused, undecided


def _plan(
    model: Model, chosen: _Chosen, answer: Answer, kept: tuple[Stated, ...], notes: tuple[str, ...]
) -> Plan:
    problem = model.problem
    wanted = frozenset(model.atoms[i].instance for i in chosen.wanted)
    steps, final = make_steps(model, answer.sequence, wanted, kept)
    proved = answer.proved and not chosen.undecided
    plan = Plan(
        steps=steps,
        goals=problem.goals,
        initial=tuple(sorted(problem.initial)),
        final=tuple(sorted(final)),
        cost=answer.cost,
        skipped=_skipped(model, chosen),
        contracted=kept,
        proved=proved,
        notes=(*model.notes, *notes, *(() if proved else (_unproved(problem),))),
        fact_hash=fact_hash(problem),
        states=answer.states,
    )
    wrong = check_plan(problem, plan)
    if wrong is not None:
        raise InternalError(
            f"the solver's own check refuses its plan: {wrong}", code="PT901", facts={"plan": plan.spec()}
        )
    return plan


def _skipped(model: Model, chosen: _Chosen) -> tuple[Skipped, ...]:
    found: list[Skipped] = []
    for gated in model.off:
        entry = gated.entry
        found.append(Skipped(entry.name, entry.name, entry.origin, entry.contract.role, gated.reason))
    for left in model.left_out:
        entry = left.entry
        reason = f"must not run once {left.property} holds, and the input has it"
        found.append(Skipped(entry.name, entry.name, entry.origin, entry.contract.role, reason))
    everything = (1 << len(model.atoms)) - 1
    held, _ = relaxed(model, everything, model.chain, model.start)
    taken = [model.atoms[i].instance for i in chosen.wanted]
    for number, i in enumerate(sorted(chosen.unreachable + chosen.conflicting + chosen.undecided)):
        atom = model.atoms[i]
        lacking = model.names(model.requires[i] & ~held)
        if lacking:
            reason = f"needs {', '.join(lacking)}, which nothing here makes"
        elif i in chosen.undecided:
            reason = f"was not fitted in within {model.problem.node_budget} states"
        elif number < EXPLAINED_SKIPS:
            reason = _conflict(model, atom.instance, taken)
        else:
            reason = _later(atom.instance)
        found.append(Skipped(atom.instance, atom.entry.name, atom.entry.origin, atom.role, reason))
    return tuple(sorted(found, key=lambda s: s.instance))


def _later(instance: str) -> str:
    return f"fits no plan beside what was taken in before it; `why-not {instance}` names the conflict"


def _conflict(model: Model, instance: str, taken: Sequence[str]) -> str:
    """The facts that leave no room for an optional instance."""
    core = minimal_core(model.problem, (*taken, instance))
    if core is None:
        return "fits no plan beside what was taken in before it"
    reasons: list[str] = []
    for fact in core.facts:
        if fact.kind is FactKind.WANT and fact.subject == instance:
            continue
        text = f"goal {fact}" if fact.kind is FactKind.GOAL else str(fact)
        said = f" ({fact.said_by})" if fact.said_by else ""
        reasons.append(text + said)
    return "fits no plan beside: " + "; ".join(reasons)


def _explain(model: Model) -> Explanation:
    found = unreachable(model) or explain_cycle(model)
    if found is not None:
        return found
    core = minimal_core(model.problem)
    if core is None:
        message = f"no order of the enabled passes reaches the goals of {model.problem.purpose}"
        return Explanation(code=NO_ORDER, message=message)
    return explain_core(model.problem, core)


def _unproved(problem: Problem) -> str:
    return (
        f"not proved to be the best plan: after {problem.node_budget} states better ones were not ruled out; "
        "--solver-budget N allows more"
    )


def _gave_up(problem: Problem, stop: BudgetExceeded) -> Explanation:
    return Explanation(
        code=GAVE_UP,
        message=f"gave up after {stop.states} states without deciding whether a plan for {problem.purpose} exists",
        fixes=(
            "state more orders, so that fewer sequences have to be tried",
            "allow more states:  --solver-budget N",
        ),
    )


__all__ = ["check_plan", "solve", "why_not"]
