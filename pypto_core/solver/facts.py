"""Named facts: the smallest things an explanation can blame, each with who said it.

Compiling a problem without some of its facts (`model.compile_problem(…, dropped=…)`) gives an easier problem:
a dropped fact only ever takes a demand or a ban away. That monotony is what a minimal core rests on.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable

import attrs

from pypto_core.contract import PassContract, PropertyKind, Role
from pypto_core.solver.gate import gate
from pypto_core.solver.problem import Problem, Stated, stated_orders


class FactKind(enum.IntEnum):
    """What kind of demand or ban a fact is; the numbers order an explanation."""

    GOAL = 0
    MUST = 1
    WANT = 2
    ORDER = 3
    FORBID = 4
    HOLDS = 5
    KILL = 6
    GATE = 7
    ONCE = 8


@attrs.frozen(order=True)
class Fact:
    """One fact. ``subject`` is a property (GOAL, HOLDS) or a pass or instance; ``object`` the other side.

    ``strict`` belongs to ORDER. ``said_by`` and ``reason`` are for the reader and for telling apart two who
    state the same.
    """

    kind: FactKind
    subject: str
    object: str = ""
    strict: bool = False
    said_by: str = ""
    reason: str = ""

    def __str__(self) -> str:
        return self._fill(_SENTENCE[self.kind])

    def fix(self) -> str:
        """What a user or an author can do to take the fact away."""
        return self._fill(_FIX[self.kind])

    def _fill(self, form: str) -> str:
        return form.format(
            subject=self.subject,
            object=self.object,
            strictly="strictly " if self.strict else "",
            reason=self.reason,
        )


_SENTENCE = {
    FactKind.GOAL: "{subject}",
    FactKind.MUST: "{subject} must run",
    FactKind.WANT: "{subject} is wanted in the plan",
    FactKind.ORDER: "{subject} {strictly}before {object}",
    FactKind.FORBID: "{subject} must not run once {object} holds",
    FactKind.HOLDS: "{subject} already holds of the input",
    FactKind.KILL: "{subject} destroys {object}",
    FactKind.GATE: "{subject} is off: it {reason}",
    FactKind.ONCE: "{subject} may run only {object}",
}

_FIX = {
    FactKind.GOAL: "drop the goal {subject}",
    FactKind.MUST: "leave {subject} out",
    FactKind.WANT: "leave {subject} out",
    FactKind.ORDER: "withdraw the order '{subject} {strictly}before {object}'",
    FactKind.FORBID: "let {subject} accept {object}",
    FactKind.HOLDS: "start from an input without {subject}",
    FactKind.KILL: "make {subject} keep {object}",
    FactKind.GATE: "offer what {subject} asks for: it {reason}",
    FactKind.ONCE: "allow another run of {subject}",
}


def order_fact(stated: Stated) -> Fact:
    """The named fact of one stated order."""
    return Fact(FactKind.ORDER, stated.earlier, stated.later, stated.strict, stated.said_by, stated.reason)


def times(count: int) -> str:
    """``once``, ``twice`` or ``n times``."""
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def destroys(problem: Problem) -> dict[str, dict[str, str]]:
    """Pass to the properties it destroys, each with the reason: by its contract, or by which effects.

    Invalidated or disturbed, and not produced again. A structural property can't be destroyed.
    """
    structural = problem.structural()
    by_effect: dict[str, list[str]] = {}
    analyses = [p.name for p in problem.properties if p.kind is PropertyKind.ANALYSIS]
    for prop in problem.properties:
        if prop.kind is PropertyKind.NORMAL:
            for effect in prop.disturbed_by:
                by_effect.setdefault(effect, []).append(prop.name)
    return {
        entry.name: _destroyed(entry.contract, structural, by_effect, analyses) for entry in problem.passes
    }


def _destroyed(
    contract: PassContract, structural: frozenset[str], by_effect: dict[str, list[str]], analyses: list[str]
) -> dict[str, str]:
    found = dict.fromkeys(contract.invalidates, "invalidates it")
    for effect in sorted(contract.touches):
        for name in by_effect.get(effect, ()):
            found.setdefault(name, f"touches {effect}, which disturbs it")
    if contract.touches:
        for name in analyses:
            found.setdefault(name, "changes the program, which any analysis forgets")
    return {n: found[n] for n in sorted(found) if n not in contract.produces and n not in structural}


def all_facts(problem: Problem, wanted: Iterable[str] = ()) -> tuple[Fact, ...]:
    """Every fact of a problem that can be blamed, sorted; ``wanted`` are instances taken as demanded."""
    facts = [Fact(FactKind.GOAL, g.property, said_by=g.wanted_by) for g in problem.goals]
    facts += [Fact(FactKind.MUST, m.name, said_by=m.wanted_by) for m in problem.must]
    facts += [Fact(FactKind.WANT, name) for name in wanted]
    facts += [order_fact(stated) for stated in stated_orders(problem)]
    on, off = gate(problem)
    facts += [Fact(FactKind.GATE, g.entry.name, reason=g.reason) for g in off]
    killed = destroys(problem)
    extra = dict(problem.extra_runs)
    initial = problem.initial | problem.structural()
    for entry in on:
        said, contract = str(entry.origin), entry.contract
        if contract.role is Role.MUST:
            facts.append(Fact(FactKind.MUST, entry.name, said_by=said))
        for name in sorted(contract.forbids):
            facts.append(Fact(FactKind.FORBID, entry.name, name, said_by=said))
            if name in initial:
                facts.append(Fact(FactKind.HOLDS, name, said_by="its verifier"))
        for name, why in killed[entry.name].items():
            facts.append(Fact(FactKind.KILL, entry.name, name, said_by=said, reason=why))
        if contract.produces - contract.requires:
            runs = len(contract.runs) + extra.get(entry.name, 0)
            facts.append(Fact(FactKind.ONCE, entry.name, times(runs), said_by=said))
    return tuple(sorted(set(facts)))
