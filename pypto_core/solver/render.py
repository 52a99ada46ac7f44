"""A plan as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pypto_core.solver.plan import Plan, Step


def explain_plan(plan: Plan, remarks: Mapping[str, Iterable[str]] | None = None) -> str:
    """Every step with its reasons, then what was left out, then the plan as one line.

    ``remarks``: further lines under a step, by its instance.
    """
    said = remarks or {}
    lines: list[str] = []
    if plan.goals:
        goals = [g.property + (f" (wanted by {g.wanted_by})" if g.wanted_by else "") for g in plan.goals]
        lines.append("goals  " + ", ".join(goals))
    lines.append("input  " + (", ".join(plan.initial) or "holds nothing"))
    width = len(str(len(plan.steps)))
    for number, step in enumerate(plan.steps, 1):
        lines += _step(number, width, step)
        lines += [f"{' ' * (width + 2)}{line}".rstrip() for line in said.get(step.instance, ())]
    if plan.skipped:
        lines.append("left out")
        lines += [f"  {s.instance} ({s.origin}): {s.reason}" for s in plan.skipped]
    if plan.contracted:
        lines.append("orders kept through absent passes")
        lines += [f"  {fact} ({fact.reason})" for fact in plan.contracted]
    lines += [f"note   {note}" for note in plan.notes]
    lines.append(f"plan   {plan.spec()}")
    return "\n".join(lines)


def _step(number: int, width: int, step: Step) -> list[str]:
    indent = " " * (width + 2)
    lines = [f"{number:>{width}}. {step.instance}  [{step.role.value}, {step.origin}]"]
    if step.needs:
        needs = ", ".join(f"{n.property} <- {n.made_by or 'the input'}" for n in step.needs)
        lines.append(f"{indent}needs     {needs}")
    if step.makes:
        lines.append(f"{indent}makes     {', '.join(step.makes)}")
    for loss in step.destroys:
        mended = f"; {loss.repaired_by} makes it again" if loss.repaired_by else "; nothing needs it later"
        lines.append(f"{indent}destroys  {loss.property} ({loss.reason}){mended}")
    lines.append(f"{indent}here      {step.here}")
    lines.append(f"{indent}place     {step.not_earlier}")
    return lines
