"""A plan is asked for once per problem: whatever the solver would answer differently is another problem."""

from __future__ import annotations

from typing import Any

import pytest

from pypto_core.host import load_host
from pypto_core.host.derived import Derived
from pypto_core.run import PassContext, Wishes, plan, resolve
from pypto_core.solver import Goal, Plan


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The problems that reach the solver."""
    problems: list[Any] = []
    solve = plan.solve
    monkeypatch.setattr(plan, "solve", lambda problem: problems.append(problem) or solve(problem))
    return problems


def context(planner: str = "pypto", machine: int = 0, **options: Any) -> PassContext:
    host = load_host(extra_plugins=())
    return PassContext(
        host=host, backend=list(host.backends.values())[machine], planner=planner, options=options
    )


def answer(ctx: PassContext, goal: str = "AllocatedMemoryAddr", wishes: Wishes | None = None) -> Plan:
    assert ctx.host is not None
    found = resolve(ctx, ctx.host, (Goal(goal, "a test"),), wishes=wishes).plan
    assert found is not None
    return found


def test_the_same_problem_has_one_answer(asked: list[Any]) -> None:
    first = answer(context(marker="same"))
    count = len(asked)
    assert answer(context(marker="same")) is first and len(asked) == count


def test_other_problems_are_asked(asked: list[Any]) -> None:
    base = {"once": True}
    answers = [
        answer(context(**base)),
        answer(context(planner="dsa_rp", **base)),
        answer(context(machine=1, **base)),
        answer(context(**base, further=True)),
        answer(context(**base), goal="SSAForm"),
        answer(context(**base), wishes=Wishes(node_budget=77_777)),
        answer(context(**base), wishes=Wishes(extra_runs=(("Simplify", 1),))),
    ]
    assert len({id(item) for item in answers}) == len(answers) == len(asked)


def test_a_bounded_memory_forgets_what_was_not_asked_for_longest() -> None:
    memory = Derived()
    for number in range(256):
        memory.put(number, f"answer {number}")
    assert memory.get(0) == "answer 0"
    memory.put("one more", "x")
    assert memory.get(1) is None
    assert (memory.get(0), memory.get(2), memory.get("one more")) == ("answer 0", "answer 2", "x")
