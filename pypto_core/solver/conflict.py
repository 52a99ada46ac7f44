"""The fewest facts that already leave no plan, found by QuickXplain over a monotone set of facts."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from pypto_core.solver.errors import NO_ORDER, Explanation, Line, labelled
from pypto_core.solver.facts import Fact, FactKind, all_facts
from pypto_core.solver.model import compile_problem
from pypto_core.solver.problem import Problem
from pypto_core.solver.search import BudgetExceeded, Search


@attrs.frozen
class Core:
    """Facts that conflict. ``minimal`` unless a check ran out of its budget."""

    facts: tuple[Fact, ...]
    minimal: bool
    sufficient: bool


class _Oracle:
    """Whether the facts that remain leave any plan; an unanswered question counts as yes and is remembered."""

    def __init__(self, problem: Problem, facts: Sequence[Fact], wanted: Sequence[str]) -> None:
        self.problem, self.facts, self.wanted = problem, facts, wanted
        self.unsure = False

    def hopeless(self, kept: Sequence[Fact]) -> bool:
        dropped = frozenset(self.facts) - frozenset(kept)
        model = compile_problem(self.problem, dropped, self.wanted)
        if model.missing:
            return True
        search = Search(model, (1 << len(model.atoms)) - 1, model.must, self.problem.node_budget)
        try:
            return not search.feasible()
        except BudgetExceeded:
            self.unsure = True
            return False


def minimal_core(problem: Problem, wanted: Sequence[str] = ()) -> Core | None:
    """The core of an unsolvable problem; None when a plan exists or facts are not to blame."""
    facts = all_facts(problem, wanted)
    oracle = _Oracle(problem, facts, wanted)
    if not oracle.hopeless(facts) or oracle.hopeless(()):
        return None
    core = tuple(sorted(_quick_explain(oracle, [], [], list(facts))))
    exact = not oracle.unsure
    enough = all(not oracle.hopeless([f for f in facts if f != fact]) for fact in core)
    return Core(core, exact, enough and not oracle.unsure)


def _quick_explain(oracle: _Oracle, base: list[Fact], added: list[Fact], facts: list[Fact]) -> list[Fact]:
    if added and oracle.hopeless(base):
        return []
    if len(facts) == 1:
        return facts
    half = len(facts) // 2
    first, second = facts[:half], facts[half:]
    from_second = _quick_explain(oracle, base + first, first, second)
    from_first = _quick_explain(oracle, base + from_second, from_second, first)
    return from_first + from_second


def explain_core(problem: Problem, core: Core) -> Explanation:
    """The core as an explanation, with a way out for each fact that has one."""
    lines: list[Line] = []
    reasons: list[tuple[str, str]] = []
    fixes: list[str] = []
    for fact in core.facts:
        if fact.kind is FactKind.GOAL:
            said = f"wanted by {fact.said_by}" if fact.said_by else ""
            lines.append(Line("goal", fact.subject, said))
        elif fact.kind is FactKind.MUST:
            lines.append(Line("must", fact.subject, _says(fact)))
        else:
            text = str(fact)
            if fact.reason and fact.kind in (FactKind.ORDER, FactKind.KILL):
                text += f": {fact.reason}"
            reasons.append((text, _says(fact)))
    # What a contract says of its own pass only its author can change: offered when nothing else is left.
    mendable = [f for f in core.facts if f.kind not in (FactKind.KILL, FactKind.FORBID)] or core.facts
    for fact in sorted(mendable, key=lambda f: (_EASE[f.kind], f)):
        fixes.append(_fix(fact))
    return Explanation(
        code=NO_ORDER,
        message=f"no order of the enabled passes reaches the goals of {problem.purpose}",
        lines=(*lines, *labelled(reasons)),
        fixes=tuple(dict.fromkeys(fixes)),
        minimal=core.minimal,
        sufficient=core.sufficient,
    )


_EASE = {
    FactKind.ONCE: 0,
    FactKind.GATE: 1,
    FactKind.GOAL: 2,
    FactKind.WANT: 3,
    FactKind.MUST: 4,
    FactKind.ORDER: 5,
    FactKind.HOLDS: 6,
    FactKind.FORBID: 7,
    FactKind.KILL: 8,
}


def _says(fact: Fact) -> str:
    return f"says {fact.said_by}" if fact.said_by else ""


def _fix(fact: Fact) -> str:
    if fact.kind is FactKind.ONCE:
        return f"allow another run:  --allow-rerun {fact.subject}"
    if fact.kind is FactKind.GOAL and fact.said_by.startswith("--"):
        return f"drop the goal:  remove {fact.said_by.split(',')[0]}"
    if fact.kind is FactKind.MUST and fact.said_by.startswith("--"):
        return f"leave {fact.subject} out:  remove {fact.said_by.split(',')[0]}"
    return fact.fix()
