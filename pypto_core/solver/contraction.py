"""Orders through passes that are absent: a before x and x before b keep a before b when x does not run.

Two wishes pull here. A chain of facts through a pass that a planner drops must survive, as its ends were only
ever ordered through it; and a pass that is merely installed must never break or worsen a plan, whatever it
says about its place. So facts between passes that run are hard, and decide which passes run at all. Then,
with the steps settled, what follows through absent passes orders them further: fact by fact in name order,
each kept when some order of these very steps keeps it with all that was kept before. A pass that does not run
can thus move steps, and never take one away, add one, or leave a problem without a plan. What is given up is
listed in the notes of the plan.
"""

from __future__ import annotations

from collections import deque

from pypto_core.solver.extraction import best_plan
from pypto_core.solver.model import Model
from pypto_core.solver.problem import Stated, stated_orders
from pypto_core.solver.search import Answer, Search


def implied(model: Model, sequence: list[int]) -> tuple[Stated, ...]:
    """The orders between steps that follow only through absent passes, sorted, each with its path as reason."""
    present = _present(model, sequence)
    anchors = model.problem.anchors
    after: dict[str, list[Stated]] = {}
    for fact in stated_orders(model.problem):
        after.setdefault(fact.earlier, []).append(fact)
    for a, b in zip(anchors, anchors[1:], strict=False):
        after.setdefault(a, []).append(Stated(a, b))
    found: list[Stated] = []
    for name in sorted(present):
        if any(fact.later not in present for fact in after.get(name, ())):
            found += _from(name, after, present, frozenset(anchors))
    return tuple(sorted(found, key=lambda f: f.key))


def _present(model: Model, sequence: list[int]) -> dict[str, list[int]]:
    """The names that the steps answer to: instances, and passes with their instances in order."""
    found: dict[str, list[int]] = {}
    for i in sorted(sequence):
        found.setdefault(model.atoms[i].entry.name, []).append(i)
    for i in sequence:
        found.setdefault(model.atoms[i].instance, [i])
    return found


def _from(
    start: str, after: dict[str, list[Stated]], present: dict[str, list[int]], anchors: frozenset[str]
) -> list[Stated]:
    """What follows for one name, by breadth, so that a shortest path gives the reason.

    Nothing follows between instances of one pass: those have their order.
    """
    direct = {fact.later for fact in after[start]}
    queue: deque[tuple[Stated, ...]] = deque((fact,) for fact in after[start])
    seen: set[tuple[str, bool, bool]] = set()
    found: dict[str, Stated] = {}
    while queue:
        path = queue.popleft()
        end, strict = path[-1].later, path[0].strict
        through = [f.later for f in path[:-1] if f.later not in anchors]
        state = (end, bool(through), strict)
        if state in seen:
            continue
        seen.add(state)
        if end not in present:
            queue.extend((*path, fact) for fact in after.get(end, ()))
        elif through and end not in direct and not set(present[start]) & set(present[end]):
            said = sorted({f.said_by for f in path if f.said_by})
            strict = strict or (end in found and found[end].strict)
            found[end] = Stated(
                start, end, strict, f"through {', '.join(through)}, absent", " and ".join(said)
            )
    return list(found.values())


def keep_implied(model: Model, answer: Answer) -> tuple[Answer, tuple[Stated, ...], tuple[str, ...]]:
    """The least order of the steps of ``answer`` that keeps the implied orders which fit, and those orders.

    The third part are notes on the orders that were given up.
    """
    facts = implied(model, answer.sequence)
    present = _present(model, answer.sequence)
    pairs = {fact: _pairs(model, present, fact) for fact in facts}
    place = {atom: k for k, atom in enumerate(answer.sequence)}
    if all(place[a] < place[b] for found in pairs.values() for a, b in found):
        return answer, facts, ()
    answer, kept = _refit(model, answer, pairs)
    notes = tuple(
        f"gave up the order {fact} ({fact.reason}): no order of these steps keeps it"
        for fact in facts
        if fact not in kept
    )
    return answer, kept, notes


def _refit(
    model: Model, answer: Answer, pairs: dict[Stated, list[tuple[int, int]]]
) -> tuple[Answer, tuple[Stated, ...]]:
    """Takes the orders one by one; whole stretches of them at once where they fit together."""
    steps = sum(1 << i for i in answer.sequence)
    best, states, proved = answer.sequence, answer.states, answer.proved
    before = Search(model, steps, steps, model.problem.node_budget).before
    kept: list[Stated] = []
    todo = [list(pairs)]
    while todo:
        stretch = [f for f in todo.pop() if not any(before[a] >> b & 1 for a, b in pairs[f])]
        place = {atom: k for k, atom in enumerate(best)}
        if all(place[a] < place[b] for fact in stretch for a, b in pairs[fact]):
            kept += stretch  # the least order that keeps fewer facts keeps these as well
            continue
        extra: dict[int, int] = {}
        for fact in kept + stretch:
            for a, b in pairs[fact]:
                extra[b] = extra.get(b, 0) | 1 << a
        trial = Search(model, steps, steps, model.problem.node_budget, extra)
        found = best_plan(trial)
        states += trial.states
        if found is not None:
            best, kept, before = found.sequence, kept + stretch, trial.before
            proved = proved and found.proved
        elif len(stretch) > 1:
            half = len(stretch) // 2
            todo += [stretch[half:], stretch[:half]]
    return Answer(best, answer.cost, states, proved), tuple(kept)


def _pairs(model: Model, present: dict[str, list[int]], fact: Stated) -> list[tuple[int, int]]:
    """The pairs of steps that a fact orders: of its earlier side the first listed run, or all when strict."""
    earlier = present[fact.earlier]
    if not fact.strict and model.atoms[earlier[0]].entry.name == fact.earlier:
        earlier = [i for i in earlier if not model.atoms[i].number]
    return [(a, b) for a in earlier for b in present[fact.later]]
