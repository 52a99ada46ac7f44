"""Spans, diagnostics, error classes and their rendering: used by every other layer."""

from pypto_core.diagnostics.diagnostic import Diagnostic, Note, Severity
from pypto_core.diagnostics.errors import (
    DiagnosticError,
    InternalError,
    InvalidOperationError,
    OpError,
    OpTypeError,
    ParserError,
    ParserSyntaxError,
    ParserTypeError,
    ScopeIsolationError,
    SSAViolationError,
    UndefinedVariableError,
    UnsupportedFeatureError,
    UserError,
    VerificationError,
    perf_hint,
    warning,
)
from pypto_core.diagnostics.render import render, render_all
from pypto_core.diagnostics.span import UNKNOWN_SPAN, SourceText, Span

__all__ = [
    "UNKNOWN_SPAN",
    "Diagnostic",
    "DiagnosticError",
    "InternalError",
    "InvalidOperationError",
    "Note",
    "OpError",
    "OpTypeError",
    "ParserError",
    "ParserSyntaxError",
    "ParserTypeError",
    "SSAViolationError",
    "ScopeIsolationError",
    "Severity",
    "SourceText",
    "Span",
    "UndefinedVariableError",
    "UnsupportedFeatureError",
    "UserError",
    "VerificationError",
    "perf_hint",
    "render",
    "render_all",
    "warning",
]
