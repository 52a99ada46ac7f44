"""The same question asked of clingo: a plan as a numbering of instances, with the fewest chosen providers."""

from __future__ import annotations

from solver_brute import World

from pypto_core.contract import Role
from pypto_core.solver import Problem

PROGRAM = """
time(1..h).
{ at(I,T) : inst(I) } 1 :- time(T).
busy(T) :- at(_,T).
:- busy(T), T > 1, not busy(T-1).
:- inst(I), 2 { at(I,T) : time(T) }.
in(I) :- at(I,_).
true(P,1) :- start(P).
true(P,T+1) :- at(I,T), makes(I,P).
lost(P,T) :- at(I,T), takes(I,P).
true(P,T+1) :- true(P,T), time(T), not lost(P,T).
:- at(I,T), needs(I,P), not true(P,T).
:- goal(P), not true(P,h+1).
:- must(I), not in(I).
:- prior(A,B), at(A,T), at(B,U), U < T.
:- chain(A,B), in(B), not in(A).
:- chain(A,B), at(A,T), at(B,U), U < T.
#minimize { 1,I : in(I), priced(I) }.
#show at/2.
"""


def _facts(world: World) -> list[str]:
    out: list[str] = []

    def say(name: str, *args: str) -> None:
        out.append(f"{name}({','.join(chr(34) + a + chr(34) for a in args)}).")

    for run, c in sorted(world.contract.items()):
        say("inst", run)
        for p in sorted(c.requires):
            say("needs", run, p)
        for p in sorted(c.produces):
            say("makes", run, p)
        for p in sorted(c.invalidates - c.produces):
            say("takes", run, p)
        if c.role is Role.PROVIDE and run not in world.must:
            say("priced", run)
    for ids in world.runs.values():
        for a, b in zip(ids, ids[1:], strict=False):
            say("chain", a, b)
    for fact in world.facts:
        first = world.runs.get(fact.earlier, [fact.earlier])
        for a in first if fact.strict else first[:1]:
            for b in world.runs.get(fact.later, [fact.later])[:1]:
                if a in world.contract and b in world.contract:
                    say("prior", a, b)
    for p in sorted(world.start):
        say("start", p)
    for goal in world.problem.goals:
        say("goal", goal.property)
    for run in sorted(world.must):
        say("must", run)
    return out


def clingo_cost(problem: Problem, seconds: float = 20.0) -> int | None:
    """The fewest chosen providers, or None without a plan; TimeoutError when clingo takes too long.

    For problems of MUST and PROVIDE passes without effects, gates, bans and anchors.
    """
    import clingo

    world = World(problem)
    control = clingo.Control([f"-c h={len(world.contract)}", "--warn=none"])
    control.add("base", [], PROGRAM + "\n".join(_facts(world)))
    control.ground([("base", [])])
    best: list[int] = []
    with control.solve(on_model=lambda m: best.append(m.cost[0] if m.cost else 0), async_=True) as handle:
        if not handle.wait(seconds):
            handle.cancel()
            raise TimeoutError
        result = handle.get()
    return best[-1] if result.satisfiable else None
