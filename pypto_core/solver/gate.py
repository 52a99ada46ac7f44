"""Which passes the capabilities switch on, and why the others are off."""

from __future__ import annotations

import attrs

from pypto_core.solver.problem import PassEntry, Problem


@attrs.frozen
class GatedOff:
    """A registered pass that this compilation leaves out, with one sentence why."""

    entry: PassEntry
    reason: str
    capability: str
    excluded: bool

    def fix(self) -> str:
        """What switches the pass on."""
        if self.excluded:
            return f"compile without {self.capability}, which switches {self.entry.name} off"
        return f"compile with {self.capability}, which {self.entry.name} needs"


def gate(problem: Problem) -> tuple[tuple[PassEntry, ...], tuple[GatedOff, ...]]:
    """The enabled passes and the switched-off ones, both in name order."""
    offered = {c.name for c in problem.capabilities}
    on: list[PassEntry] = []
    off: list[GatedOff] = []
    for entry in problem.passes:
        lacking = sorted(entry.contract.needs - offered)
        barred = sorted(entry.contract.excludes & offered)
        if lacking:
            off.append(GatedOff(entry, _lacks(problem, lacking[0]), lacking[0], False))
        elif barred:
            off.append(GatedOff(entry, _bars(problem, barred[0]), barred[0], True))
        else:
            on.append(entry)
    return tuple(on), tuple(off)


def _lacks(problem: Problem, capability: str) -> str:
    """Names the capability of the same family that was chosen instead, when there is one."""
    family, separator, _ = capability.partition(":")
    chosen = [c for c in problem.capabilities if separator and c.name.startswith(family + separator)]
    if not chosen:
        return f"needs {capability}, which {problem.purpose} does not offer"
    named = ", ".join(c.name + (f" (by {c.said_by})" if c.said_by else "") for c in chosen)
    return f"needs {capability}, and the choice is {named}"


def _bars(problem: Problem, capability: str) -> str:
    said = next((c.said_by for c in problem.capabilities if c.name == capability), "")
    return f"is switched off by {capability}" + (f" (by {said})" if said else "")
