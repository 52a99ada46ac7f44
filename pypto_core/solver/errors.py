"""Why there is no plan, as one value that is raised, printed and turned into JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs

from pypto_core.diagnostics import Diagnostic, UserError

NO_PRODUCER = "PT301"
NO_ORDER = "PT302"
CYCLE = "PT303"
GAVE_UP = "PT309"


@attrs.frozen
class Line:
    """One fact of an explanation: what it is about, what it says, and who says it."""

    label: str
    text: str
    said_by: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"label": self.label, "text": self.text, "said_by": self.said_by or None}


@attrs.frozen(kw_only=True)
class Explanation:
    """A failure in parts: the sentence, the facts that cause it, what can be done.

    ``lines`` are the facts. ``minimal`` says that they conflict and that no fewer of them do. ``sufficient`` says
    that taking away any one of them gives a plan, as nothing else stands in the way. ``context`` is what makes
    them conflict and what nobody could withdraw: who makes what, and who needs it. ``properties`` names those
    that nothing makes. ``joint``: all of the fixes are needed, while otherwise each of them is a way out of its own.
    """

    code: str
    message: str
    lines: tuple[Line, ...] = ()
    context: tuple[Line, ...] = ()
    fixes: tuple[str, ...] = ()
    minimal: bool = False
    sufficient: bool = False
    properties: tuple[str, ...] = ()
    joint: bool = False

    def render(self) -> str:
        """The terminal form."""
        out = [f"error[{self.code}]: {self.message}"]
        width = max((len(line.text) for line in self.lines if len(line.text) <= 60), default=0)
        for line in (*self.lines, *self.context):
            said = f"  ({line.said_by})" if line.said_by else ""
            out.append(f"  {line.label:<9} {line.text.ljust(width) if said else line.text}{said}")
        for number, fix in enumerate(self.fixes):
            label = "fix" if not number else "    and" if self.joint else "    or"
            out.append(f"  {label:<9} {fix}")
        out.append("  " + self.closing())
        return "\n".join(out)

    def closing(self) -> str:
        """The last line: what is promised of the facts, and where to read more."""
        page = f"details: pypto explain {self.code}"
        count = len(self.lines)
        if self.minimal and count == 1:
            return f"without this fact a plan exists.  {page}" if self.sufficient else page
        if self.minimal and self.sufficient:
            promise = f"without any one of these {count} facts a plan exists"
            return f"this set is minimal: {promise}.  {page}"
        if self.minimal:
            promise = f"any {count - 1} of these {count} facts can hold together, but other conflicts remain"
            return f"this set is minimal: {promise}.  {page}"
        return page

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "code": self.code,
            "message": self.message,
            "facts": [line.to_json() for line in self.lines],
            "context": [line.to_json() for line in self.context],
            "fixes": list(self.fixes),
            "joint": self.joint,
            "minimal": self.minimal,
            "sufficient": self.sufficient,
            "properties": list(self.properties),
        }


class NoPlanError(UserError):
    """There is no plan, or none was found within the node budget; ``explanation`` says why."""

    default_code = NO_ORDER

    def __init__(self, explanation: Explanation) -> None:
        self.explanation = explanation
        facts = tuple(
            (line.label, f"{line.text} ({line.said_by})" if line.said_by else line.text)
            for line in (*explanation.lines, *explanation.context)
        )
        diagnostic = Diagnostic(
            code=explanation.code,
            message=explanation.message,
            facts=facts,
            remedy=("\nand " if explanation.joint else "\n").join(explanation.fixes),
        )
        super().__init__(diagnostics=(diagnostic,))

    def __reduce__(self) -> tuple[type[NoPlanError], tuple[Explanation]]:
        return type(self), (self.explanation,)

    def render(self) -> str:
        """The explanation as text."""
        return self.explanation.render()

    def to_json(self) -> list[dict[str, Any]]:
        """The diagnostic as plain data, with the explanation in full."""
        return [{**d.to_json(), "explanation": self.explanation.to_json()} for d in self.diagnostics]


def labelled(lines: Iterable[tuple[str, str]]) -> tuple[Line, ...]:
    """Reasons in a row: the first is labelled ``because``, the others ``and``."""
    return tuple(
        Line("because" if not number else "and", text, said) for number, (text, said) in enumerate(lines)
    )
