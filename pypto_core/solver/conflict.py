"""The fewest facts that already leave no plan, found by QuickXplain over a monotone set of facts."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from pypto_core.solver.errors import NO_ORDER, Explanation, Line, labelled
from pypto_core.solver.facts import Fact, FactKind, all_facts
from pypto_core.solver.gate import gate
from pypto_core.solver.model import compile_problem
from pypto_core.solver.problem import Problem
from pypto_core.solver.search import BudgetExceeded, Search

LEAST_QUESTIONS, QUESTIONS = 100, 100_000
"""How many partial problems may be solved for one core: always some, and more the fewer facts there are."""


@attrs.frozen
class Core:
    """Facts that conflict. ``minimal`` unless a check ran out of its budget."""

    facts: tuple[Fact, ...]
    minimal: bool
    sufficient: bool

    @property
    def demands(self) -> tuple[Fact, ...]:
        """The goals and the passes that have to run."""
        return tuple(f for f in self.facts if f.kind in (FactKind.GOAL, FactKind.MUST))


class _Oracle:
    """Whether the facts that remain leave any plan; an unanswered question counts as yes and is remembered."""

    def __init__(self, problem: Problem, facts: Sequence[Fact], wanted: Sequence[str]) -> None:
        self.problem, self.facts, self.wanted = problem, facts, wanted
        self.unsure = False
        self.left = LEAST_QUESTIONS + QUESTIONS // (len(facts) + 1)

    def hopeless(self, kept: Sequence[Fact]) -> bool:
        self.left -= 1
        if self.left < 0:
            self.unsure = True
            return False
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
    reasons: list[tuple[str, str]] = []
    fixes: list[str] = []
    for fact in core.facts:
        if fact not in core.demands:
            text = str(fact)
            if fact.reason and fact.kind in (FactKind.ORDER, FactKind.KILL):
                text += f": {fact.reason}"
            reasons.append((text, _says(fact)))
    # What a contract says of its own pass only its author can change: offered when nothing else is left.
    mendable = [f for f in core.facts if f.kind not in (FactKind.KILL, FactKind.FORBID)] or core.facts
    for fact in sorted(mendable, key=lambda f: (_EASE[f.kind], f)):
        fixes.append(way_out(fact))
    return Explanation(
        code=NO_ORDER,
        message=f"no order of the enabled passes reaches the goals of {problem.purpose}",
        lines=(*demand_lines(core), *labelled(reasons)),
        context=tuple(_makers(problem, core)),
        fixes=tuple(dict.fromkeys(fixes)),
        minimal=core.minimal,
        sufficient=core.sufficient,
    )


def demand_lines(core: Core) -> list[Line]:
    """The goals and the passes that have to run, with who wants them."""
    lines: list[Line] = []
    for fact in core.demands:
        if fact.kind is FactKind.GOAL:
            lines.append(Line("goal", fact.subject, f"wanted by {fact.said_by}" if fact.said_by else ""))
        else:
            lines.append(Line("must", fact.subject, _says(fact)))
    return lines


def _makers(problem: Problem, core: Core) -> list[Line]:
    """For each property that a fact of the core destroys: what could make it again."""
    lines: list[Line] = []
    on, _ = gate(problem)
    for lost in sorted({f.object for f in core.facts if f.kind is FactKind.KILL}):
        makers = [e for e in on if lost in e.contract.produces - e.contract.requires]
        named = ", ".join(f"{e.name} of {e.origin}" for e in makers[:MAKERS_NAMED])
        if len(makers) > MAKERS_NAMED:
            named += f" and {len(makers) - MAKERS_NAMED} more"
        held = "the input has it, and " if lost in problem.initial else ""
        made = f"only {named} can make it" if named else "no pass makes it"
        lines.append(Line("as", f"{lost}: {held}{made}"))
    return lines


MAKERS_NAMED = 3
"""Makers of a property that an explanation names; the rest it counts."""

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


def way_out(fact: Fact) -> str:
    """What takes a fact away, as a flag of the command line when one put it there."""
    if fact.kind is FactKind.ONCE:
        return f"allow another run:  --allow-rerun {fact.subject}"
    if fact.kind is FactKind.GOAL and fact.said_by.startswith("--"):
        return f"drop the goal:  remove {fact.said_by.split(',')[0]}"
    if fact.kind is FactKind.MUST and fact.said_by.startswith("--"):
        return f"leave {fact.subject} out:  remove {fact.said_by.split(',')[0]}"
    return fact.fix()
