"""A plan: the steps in order, the reason for each, and what was left out and why."""

from __future__ import annotations

from typing import Any

import attrs

from pypto_core.contract import Role
from pypto_core.diagnostics import UserError
from pypto_core.solver.problem import Goal, Origin, Stated

SEPARATOR = ","


@attrs.frozen
class Need:
    """A property that a step requires, and the instance that made it; empty when the input had it."""

    property: str
    made_by: str = ""


@attrs.frozen
class Loss:
    """A property that a step destroys, by what, and the instance that makes it again; empty when none does."""

    property: str
    reason: str = ""
    repaired_by: str = ""


@attrs.frozen(kw_only=True)
class Step:
    """One run of a pass.

    ``makes`` are the properties that hold newly. ``here`` says why the step is in the plan, with ``chain``
    the instances and the goal that it serves in the end. ``not_earlier`` says what keeps it behind the step
    before it, or that only the tie-break does.
    """

    instance: str
    name: str
    origin: Origin
    role: Role
    needs: tuple[Need, ...] = ()
    makes: tuple[str, ...] = ()
    destroys: tuple[Loss, ...] = ()
    here: str = ""
    chain: tuple[str, ...] = ()
    not_earlier: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "instance": self.instance,
            "pass": self.name,
            "distribution": self.origin.distribution,
            "version": self.origin.version,
            "role": self.role.value,
            "needs": [{"property": n.property, "made_by": n.made_by or None} for n in self.needs],
            "makes": list(self.makes),
            "destroys": [
                {"property": d.property, "reason": d.reason, "repaired_by": d.repaired_by or None}
                for d in self.destroys
            ],
            "here": self.here,
            "chain": list(self.chain),
            "not_earlier": self.not_earlier,
        }


@attrs.frozen
class Skipped:
    """A pass or instance that the plan leaves out although it is wanted or switched off, and why."""

    instance: str
    name: str
    origin: Origin
    role: Role
    reason: str

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "instance": self.instance,
            "pass": self.name,
            "distribution": self.origin.distribution,
            "version": self.origin.version,
            "role": self.role.value,
            "reason": self.reason,
        }


@attrs.frozen(kw_only=True)
class Plan:
    """The answer to a problem.

    ``cost`` is the number of instances that nobody demanded or wished for: PROVIDE ones, and runs beyond the
    contract of a MUST pass. ``contracted`` are orders that follow
    through passes which are not in the plan and which it keeps. ``states`` is the work the search took; it
    does not take part in equality. ``proved``: there is no better plan for sure; otherwise the node budget was
    spent first, and the plan is right but not proved to be the cheapest.
    """

    steps: tuple[Step, ...]
    goals: tuple[Goal, ...] = ()
    initial: tuple[str, ...] = ()
    final: tuple[str, ...] = ()
    cost: int = 0
    skipped: tuple[Skipped, ...] = ()
    contracted: tuple[Stated, ...] = ()
    notes: tuple[str, ...] = ()
    fact_hash: str = ""
    proved: bool = True
    states: int = attrs.field(default=0, eq=False)

    @property
    def instances(self) -> tuple[str, ...]:
        """The instance ids in order."""
        return tuple(step.instance for step in self.steps)

    def spec(self) -> str:
        """The plan as one line, which :func:`parse_plan_line` reads back."""
        return SEPARATOR.join(self.instances)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "plan": self.spec(),
            "goals": [{"property": g.property, "wanted_by": g.wanted_by or None} for g in self.goals],
            "initial": list(self.initial),
            "final": list(self.final),
            "cost": self.cost,
            "steps": [step.to_json() for step in self.steps],
            "skipped": [skipped.to_json() for skipped in self.skipped],
            "contracted": [
                {"earlier": f.earlier, "later": f.later, "reason": f.reason} for f in self.contracted
            ],
            "notes": list(self.notes),
            "facts": self.fact_hash,
            "proved": self.proved,
            "states": self.states,
        }


def plan_line(plan: Plan) -> str:
    """The plan as one line of text: instance ids with commas between them."""
    return plan.spec()


def parse_plan_line(text: str) -> tuple[str, ...]:
    """The instance ids of a plan line; blanks are ignored, an empty id raises UserError."""
    if not text.strip():
        return ()
    names = tuple(part.strip() for part in text.split(SEPARATOR))
    if not all(names):
        raise UserError(
            f"the plan {text!r} has an empty step", code="PT311", remedy="write A,B,C with one name each"
        )
    return names


def lock_text(plan: Plan) -> str:
    """The plan as a file to keep: every step with its distribution and version, and the hash of the facts."""
    lines = [f"facts {plan.fact_hash}", *(f"goal {g.property}" for g in plan.goals)]
    lines += [f"{step.instance} = {step.name} of {step.origin}" for step in plan.steps]
    return "\n".join(lines) + "\n"
