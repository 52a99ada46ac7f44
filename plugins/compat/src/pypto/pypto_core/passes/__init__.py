"""Passes and what runs them, under PyPTO's names.

There is one factory for each installed pass, named in snake case: ``passes.convert_to_ssa()``. ``dir(passes)`` lists
them; one that nothing installed brings says which distribution would.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from typing import Any

from pypto.pypto_core.passes.checks import DiagnosticCheckRegistry, DiagnosticInstrument
from pypto.pypto_core.passes.context import PassContext
from pypto.pypto_core.passes.instruments import (
    CallbackInstrument,
    PassInstrument,
    ReportInstrument,
    RoundTripInstrument,
    VerificationInstrument,
    make_roundtrip_instrument,
)
from pypto.pypto_core.passes.numbers import (
    NestedCallErrorType,
    SSAErrorType,
    TypeCheckErrorType,
    UseAfterDefErrorType,
)
from pypto.pypto_core.passes.pass_objects import (
    Pass,
    PassPipeline,
    create_function_pass,
    create_program_pass,
    run_verifier,
)
from pypto.pypto_core.passes.properties import (
    DiagnosticCheckSet,
    IRProperty,
    IRPropertySet,
    PassProperties,
)
from pypto.pypto_core.passes.settings import (
    DiagnosticCheck,
    DiagnosticPhase,
    DiagnosticSeverity,
    MemoryPlanner,
    RuntimeKind,
    VerificationLevel,
    VerificationMode,
    runtime_kind_from_name,
    runtime_kind_to_name,
)
from pypto.pypto_core.passes.verifying import (
    Diagnostic,
    PropertyVerifierRegistry,
    get_default_diagnostic_phase,
    get_default_verification_level,
    get_default_verify_properties,
    get_structural_properties,
    get_verified_properties,
    verify_properties,
    verify_tensor_view_canonical,
)
from pypto_core.host import Host, catalogued, distribution_for, install_advice, load_host
from pypto_core.run import PassContext as _KernelContext

__all__ = [
    "CallbackInstrument",
    "Diagnostic",
    "DiagnosticCheck",
    "DiagnosticCheckRegistry",
    "DiagnosticCheckSet",
    "DiagnosticInstrument",
    "DiagnosticPhase",
    "DiagnosticSeverity",
    "IRProperty",
    "IRPropertySet",
    "MemoryPlanner",
    "NestedCallErrorType",
    "Pass",
    "PassContext",
    "PassInstrument",
    "PassPipeline",
    "PassProperties",
    "PropertyVerifierRegistry",
    "ReportInstrument",
    "RoundTripInstrument",
    "RuntimeKind",
    "SSAErrorType",
    "TypeCheckErrorType",
    "UseAfterDefErrorType",
    "VerificationInstrument",
    "VerificationLevel",
    "VerificationMode",
    "create_function_pass",
    "create_program_pass",
    "get_default_diagnostic_phase",
    "get_default_verification_level",
    "get_default_verify_properties",
    "get_structural_properties",
    "get_verified_properties",
    "make_roundtrip_instrument",
    "run_verifier",
    "runtime_kind_from_name",
    "runtime_kind_to_name",
    "verify_properties",
    "verify_tensor_view_canonical",
]

_SUBMODULES = ("l0_tile_chooser", "stmt_dependency_analysis")
_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+\d*|\d+[A-Z]*")
_IRREGULAR = {"SynthesizeAllReduceSignals": "synthesize_allreduce_signals"}


def factory_name(pass_name: str) -> str:
    """``ConvertToSSA`` → ``convert_to_ssa``, ``FlattenTileNdTo2D`` → ``flatten_tile_nd_to_2d``."""
    return _IRREGULAR.get(pass_name) or "_".join(_WORDS.findall(pass_name)).lower()


def _host() -> Host:
    active = _KernelContext.current()
    return active.host if active is not None and active.host is not None else load_host()


def _factory(name: str, pass_: Any) -> Callable[..., Pass]:
    def factory(**options: Any) -> Pass:
        for option, value in options.items():
            # The one option that PyPTO's factories take, at its default.
            if (option, value) != ("analyze_auto_scopes", False):
                raise TypeError(f"{name}() takes no argument '{option}={value!r}'")
        return Pass(pass_)

    factory.__name__ = factory.__qualname__ = name
    factory.__doc__ = pass_.summary or f"The pass {pass_.name}."
    return factory


def __getattr__(name: str) -> Any:
    """Factories, and modules with further functions."""
    if name in _SUBMODULES:
        return import_module(f"pypto.pypto_core.passes.{name}")
    if name.startswith("__"):
        raise AttributeError(name)
    host = _host()
    for pass_name, pass_ in host.passes.items():
        if factory_name(pass_name) == name:
            return _factory(name, pass_)
    for pass_name in catalogued("pass"):
        if factory_name(pass_name) == name:
            distribution = distribution_for("pass", pass_name)
            advice = install_advice("pass", pass_name, host.health) or f"update {distribution}"
            raise AttributeError(f"no installed plugin brings the pass {pass_name}: {advice}")
    raise AttributeError(f"there is no pass '{name}'; pypto passes lists those that are installed")


def __dir__() -> list[str]:
    return sorted({*globals(), *_SUBMODULES, *map(factory_name, _host().passes)})
