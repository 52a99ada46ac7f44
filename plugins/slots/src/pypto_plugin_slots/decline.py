"""Why a loop keeps its replication: the gate, the load it failed on, the figures and what would admit it."""

from __future__ import annotations

from typing import Any

import attrs

from pypto_core.diagnostics import Span
from pypto_core.ir import Function, base_name


@attrs.frozen(kw_only=True)
class Decline:
    """One reason. ``gate`` says in a few words what was asked, ``because`` completes "is not rotated: …"."""

    code: str
    gate: str
    because: str
    facts: tuple[tuple[str, object], ...] = ()
    remedy: str
    span: Span | None = None


@attrs.frozen
class Site:
    """The loop that is judged, as messages name it."""

    function: Function
    loop: str
    stages: int
    span: Span


def report(ctx: Any, site: Site, reasons: tuple[Decline, ...]) -> None:
    """A performance hint for each reason."""
    for reason in reasons:
        ctx.hint(
            reason.code,
            f"the pipelined loop over '{base_name(site.loop)}' is not rotated through slots: {reason.because}",
            reason.span if reason.span is not None and reason.span.is_valid else site.span,
            facts=[
                ("function", site.function.name),
                ("gate", reason.gate),
                ("stages", site.stages),
                *reason.facts,
            ],
            remedy=reason.remedy,
        )
