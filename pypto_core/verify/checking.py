"""Asking whether properties hold, and what to say when they don't."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from pypto_core.diagnostics import Diagnostic, DiagnosticError, Severity, UserError, VerificationError
from pypto_core.ir import Program, is_deep, too_deep
from pypto_core.verify.catalogue import DEFAULT_CHECKS, PROPERTIES_BY_NAME
from pypto_core.verify.report import report

if TYPE_CHECKING:
    from pypto_core.contract import Backend, Property

Catalogue = Mapping[str, "Property"]
"""Properties by name."""


def verify_properties(
    program: Program,
    names: Iterable[str] = DEFAULT_CHECKS,
    backend: Backend | None = None,
    *,
    catalogue: Catalogue = PROPERTIES_BY_NAME,
) -> list[Diagnostic]:
    """What the verifiers of the named properties find, in the order of the names.

    A property without a verifier finds nothing. Capacities and element types of a machine are checked when
    ``backend`` is given. Raises UserError for a name that ``catalogue`` does not have, and PT213 for a program that is
    nested too deeply to follow.
    """
    found: list[Diagnostic] = []
    for name in names:
        found.extend(_findings(_lookup(name, catalogue), program, backend))
    return found


def holds(
    program: Program,
    name: str,
    backend: Backend | None = None,
    *,
    catalogue: Catalogue = PROPERTIES_BY_NAME,
) -> bool:
    """Whether a property holds of a program: its verifier finds no error.

    A property that nothing can decide does not hold.
    """
    entry = _lookup(name, catalogue)
    if entry.verifier is None:
        return False
    return not any(d.severity is Severity.ERROR for d in _findings(entry, program, backend))


def verify_or_raise(
    program: Program,
    names: Iterable[str] = DEFAULT_CHECKS,
    backend: Backend | None = None,
    *,
    after: str = "",
    catalogue: Catalogue = PROPERTIES_BY_NAME,
) -> list[Diagnostic]:
    """Check properties and raise a VerificationError when one does not hold; returns the warnings otherwise.

    ``after`` says what the program comes from: a pass, or ``pipeline_input``. The error's message names the
    properties that don't hold, its diagnostics are the findings.
    """
    broken: list[str] = []
    found: list[Diagnostic] = []
    for name in names:
        findings = verify_properties(program, (name,), backend, catalogue=catalogue)
        if any(d.severity is Severity.ERROR for d in findings):
            broken.append(name)
        found.extend(findings)
    if broken:
        raise PropertyError(broken, found, after)
    return found


class PropertyError(VerificationError):
    """Properties that should hold don't. ``properties``: their names; ``after``: what the program comes from."""

    def __init__(self, properties: Iterable[str], diagnostics: Iterable[Diagnostic], after: str = "") -> None:
        super().__init__(diagnostics=diagnostics)
        self.properties = tuple(properties)
        self.after = after

    @property
    def summary(self) -> str:
        """One line: which properties fail, and after what."""
        where = f" after '{self.after}'" if self.after else ""
        return f"Verification failed{where} for properties {{{', '.join(self.properties)}}}:"

    def render(self) -> str:
        """The summary, the report, and each finding in full."""
        return f"{self.summary}\n{report(self.diagnostics)}\n{DiagnosticError.render(self)}"


def _lookup(name: str, catalogue: Catalogue) -> Property:
    entry = catalogue.get(name)
    if entry is None:
        from difflib import get_close_matches  # costs start-up time and is needed only here

        near = get_close_matches(name, list(catalogue), n=3)
        raise UserError(
            f"there is no property '{name}'",
            code="PT402",
            remedy=f"did you mean {' or '.join(near)}?" if near else "list the properties with: pypto passes",
        )
    return entry


def _findings(entry: Property, program: Program, backend: Backend | None) -> Iterable[Diagnostic]:
    verifier = entry.load()
    if verifier is None:
        return ()
    try:
        if _takes_backend(verifier):
            return list(verifier(program, backend))  # type: ignore[call-arg]
        return list(verifier(program))
    except RecursionError:
        if is_deep(program):
            raise too_deep(program, f"verify {entry.name}") from None
        raise


@cache
def _takes_backend(verifier: Callable[..., Any]) -> bool:
    """Whether a verifier has a second parameter called ``backend``; a plain one takes the program alone."""
    try:
        names = list(inspect.signature(verifier).parameters)
    except (TypeError, ValueError):
        return False
    return names[1:2] == ["backend"]
