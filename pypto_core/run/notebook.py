"""How pipelines look in notebooks."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pypto_core.run.pipeline import Pipeline

_BY_HAND = "put there by hand"


def pipeline_html(pipeline: Pipeline) -> str:
    """The steps in order with the reason for each, and what was left out and why; everything escaped."""
    plan = pipeline.plan
    reasons = {step.instance: step.here for step in plan.steps} if plan is not None else {}
    rows = [
        (str(step.number), step.instance, reasons.get(step.instance, _BY_HAND), step.origin)
        for step in pipeline.steps
    ]
    rows += [("", s.instance, f"left out: {s.reason}", s.origin) for s in plan.skipped] if plan else []
    choices = (("backend", pipeline.backend), ("planner", pipeline.planner))
    said = [f"{len(pipeline.steps)} passes", *(f"{what} {name}" for what, name in choices if name)]
    head = _row("th", ("", "pass", "why it is here", "distribution"))
    body = "".join(_row("td", row) for row in rows)
    caption = f"<caption>{escape(', '.join(said))}</caption>"
    return f"<table>{caption}<thead>{head}</thead><tbody>{body}</tbody></table>"


def _row(tag: str, cells: Iterable[object]) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"
