"""What a verifier's findings have in common: the property, the name of the rule, the code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from pypto_core.diagnostics import UNKNOWN_SPAN, Diagnostic, Note, Severity, Span
from pypto_core.ir import Var, base_name
from pypto_core.verify.numbers import property_code


@attrs.frozen
class Rule:
    """A property and the name that its findings carry in reports."""

    property: str
    name: str
    code: str

    def error(
        self,
        number: int,
        message: str,
        span: Span = UNKNOWN_SPAN,
        *,
        remedy: str,
        facts: Mapping[str, object] | None = None,
        notes: Sequence[Note] = (),
        severity: Severity = Severity.ERROR,
    ) -> Diagnostic:
        """A finding of this rule. ``number`` tells its cases apart."""
        return Diagnostic(
            code=self.code,
            message=message,
            severity=severity,
            span=span,
            facts=facts or {},  # type: ignore[arg-type]
            remedy=remedy,
            notes=tuple(notes),
            rule=self.name,
            number=number,
        )


def rule(property_name: str, name: str = "") -> Rule:
    """The rule of a property; its name is the property's unless another one is given."""
    return Rule(property_name, name or property_name, property_code(property_name))


def shown(var: Var) -> str:
    """A variable as messages name it: the author's part of its name, in quotes."""
    return f"'{base_name(var.name_hint)}'"


def place(*spans: Span) -> Span:
    """The first of the spans that points somewhere."""
    return next((span for span in spans if span.is_valid), UNKNOWN_SPAN)
