"""Ask verifiers whether properties hold of a program, and refuse a program of which they do not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pypto_core.contract import Property, PropertyKind
from pypto_core.diagnostics import Diagnostic, DiagnosticError, InternalError, Severity, VerificationError
from pypto_core.ir import Program
from pypto_core.run.context import PassContext
from pypto_core.verify import verify_properties

INPUT_LABEL = "pipeline_input"
"""What messages call the program before the first pass."""


def structural(properties: Mapping[str, Property]) -> frozenset[str]:
    """Names of the properties that hold of every program."""
    return frozenset(name for name, p in properties.items() if p.kind is PropertyKind.STRUCTURAL)


def findings(program: Program, value: Property) -> tuple[Diagnostic, ...]:
    """All that a property's verifier says of a program; nothing when it has no verifier.

    A verifier that asks for the backend gets that of the active context. Raises InternalError (PT912) when the
    verifier fails with anything but diagnostics.
    """
    context = PassContext.current()
    backend = context.backend if context is not None else None
    try:
        found = tuple(verify_properties(program, (value.name,), backend, catalogue={value.name: value}))
        for finding in found:
            if not isinstance(finding, Diagnostic):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise TypeError(f"it returned a {type(finding).__name__} where a Diagnostic belongs")
        return found
    except DiagnosticError as error:
        return error.diagnostics
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise InternalError(
            f"the verifier of {value.name} failed: {type(error).__name__}: {error}",
            code="PT912",
            facts={"property": value.name, "program": program.name},
            remedy="report it to whoever provides the property",
        ) from error


def violations(program: Program, value: Property) -> tuple[Diagnostic, ...]:
    """The errors among :func:`findings`; its other findings go to the active context's log."""
    found = findings(program, value)
    context = PassContext.current()
    for diagnostic in found:
        if diagnostic.severity is not Severity.ERROR and context is not None:
            context.report(diagnostic)
    return tuple(d for d in found if d.severity is Severity.ERROR)


def holding(program: Program, properties: Mapping[str, Property], names: Iterable[str]) -> frozenset[str]:
    """Which of the named properties a program has; one without a verifier counts as not held."""
    return frozenset(
        name
        for name in sorted(names)
        if name in properties
        and properties[name].verifier is not None
        and not violations(program, properties[name])
    )


def require(
    program: Program,
    properties: Mapping[str, Property],
    names: Iterable[str],
    *,
    code: str,
    message: str,
    facts: Iterable[tuple[str, object]] = (),
    written: bool = False,
) -> None:
    """Check that a program has the named properties; one that nobody registered or can verify is believed.

    Raises VerificationError with a first diagnostic of ``code`` saying ``message`` and which properties
    failed, followed by what each verifier found. In a program as ``written`` that first one is left out where all
    findings point at their lines: they are mistakes of its author, and each says what is wrong by itself.
    """
    failed: dict[str, tuple[Diagnostic, ...]] = {}
    for name in sorted(set(names) & set(properties)):
        errors = violations(program, properties[name])
        if errors:
            failed[name] = errors
    if not failed:
        return
    found = [d for each in failed.values() for d in each]
    if written and all(d.span.source is not None for d in found):
        raise VerificationError(diagnostics=found)
    head = Diagnostic(
        code=code,
        message=f"{message}: {', '.join(failed)}",
        facts=[*facts, *((name, properties[name].summary or "no summary") for name in failed)],
    )
    raise VerificationError(diagnostics=(head, *found))
