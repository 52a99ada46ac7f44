"""Asking verifiers, under PyPTO's names."""

from __future__ import annotations

from typing import Any

import attrs

from pypto.pypto_core.passes.context import default_level, kernel_context
from pypto.pypto_core.passes.properties import IRPropertySet, names_of
from pypto.pypto_core.passes.settings import DiagnosticPhase, DiagnosticSeverity, VerificationLevel
from pypto_core import diagnostics, verify
from pypto_core.diagnostics import Span
from pypto_core.ir import Program

_VIEWS, _NO_STRIDES = "TensorViewCanonical", 3


@attrs.frozen(kw_only=True)
class Diagnostic:
    """One finding: its severity, the property, the finding's number within it, and where it is."""

    severity: DiagnosticSeverity
    rule_name: str
    error_code: int
    hint_code: str
    message: str
    span: Span
    kernel_diagnostic: diagnostics.Diagnostic = attrs.field(repr=False, eq=False)


def diagnostic(found: diagnostics.Diagnostic) -> Diagnostic:
    """A finding of the kernel under PyPTO's names."""
    severity = DiagnosticSeverity.of(found.severity)
    return Diagnostic(
        severity=severity,
        rule_name=found.rule or found.code,
        error_code=found.number,
        hint_code=found.code if severity is DiagnosticSeverity.PerfHint else "",
        message=found.message,
        span=found.span,
        kernel_diagnostic=found,
    )


class PropertyVerifierRegistry:
    """The verifiers of everything that is installed."""

    @staticmethod
    def verify(props: Any, program: Program) -> list[Diagnostic]:
        """What the verifiers of some properties find, in the order of the properties."""
        context = kernel_context()
        catalogue = context.host.properties if context.host else verify.PROPERTIES_BY_NAME
        with context:  # whose operators are the known ones
            found = list(
                verify.verify_properties(program, names_of(props), context.backend, catalogue=catalogue)
            )
        return [diagnostic(item) for item in found]

    @staticmethod
    def verify_or_throw(props: Any, program: Program) -> None:
        """Raise VerificationError, which is a :class:`pypto.Error`, when one does not hold."""
        verify_properties(props, program)

    @staticmethod
    def generate_report(found: list[Diagnostic]) -> str:
        """The findings as a numbered list."""
        return verify.report([item.kernel_diagnostic for item in found])


def verify_properties(props: Any, program: Program, pass_name: str = "") -> None:
    """Raise VerificationError when one of the properties does not hold; ``pass_name`` is blamed."""
    context = kernel_context()
    catalogue = context.host.properties if context.host else verify.PROPERTIES_BY_NAME
    with context:
        verify.verify_or_raise(
            program, names_of(props), context.backend, after=pass_name, catalogue=catalogue
        )


def verify_tensor_view_canonical(program: Program, require_materialized: bool = False) -> list[Diagnostic]:
    """The views of tensors that are not canonical; ``require_materialized``: one without strides is not."""
    found = PropertyVerifierRegistry.verify([_VIEWS], program)
    return [item for item in found if require_materialized or item.error_code != _NO_STRIDES]


def get_structural_properties() -> IRPropertySet:
    """What holds of every program."""
    return IRPropertySet(verify.STRUCTURAL)


def get_verified_properties() -> IRPropertySet:
    """What a pipeline checks of its own accord."""
    return IRPropertySet(verify.VERIFIED)


def get_default_verify_properties() -> IRPropertySet:
    """What :func:`run_verifier` checks when it is not told what to check."""
    return IRPropertySet(verify.DEFAULT_CHECKS)


def get_default_verification_level() -> VerificationLevel:
    """The level without a context: that of ``PYPTO_VERIFY_LEVEL``, BASIC otherwise."""
    return default_level()


def get_default_diagnostic_phase() -> DiagnosticPhase:
    """The phase without a context."""
    return DiagnosticPhase.PRE_PIPELINE
