"""The Python names of the PyPTO C++ compiler, on top of ``pypto_core``.

``import pypto.language as pl``; ``from pypto import ir, passes, backend``. Everything here is a re-export or a small
adapter: programs, passes and errors are those of the kernel, and objects of both packages mix freely. What the
kernel's classes learn on import, and what differs, stands in the README of the distribution.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from pypto_core.diagnostics import DiagnosticError as Error
from pypto_core.diagnostics import InternalError, UserError
from pypto_core.ir import DataType
from pypto_plugin_compat.guard import refuse_beside_another

refuse_beside_another()

from pypto import spellings  # noqa: E402 - not before the check above
from pypto.log import (  # noqa: E402
    LogLevel,
    get_log_level,
    log_debug,
    log_error,
    log_event,
    log_fatal,
    log_info,
    log_warn,
    set_log_level,
)

spellings.teach_all()

_CONSTANTS: dict[str, DataType] = {f"DT_{dtype.name}": dtype for dtype in DataType if dtype.name != "FP64"}
globals().update(_CONSTANTS)

_MODULES = {
    "backend": "pypto.backend",
    "codegen": "pypto.pypto_core.codegen",
    "ir": "pypto.ir",
    "language": "pypto.language",
    "passes": "pypto.pypto_core.passes",
    "pypto_core": "pypto.pypto_core",
    "runtime": "pypto.runtime",
}

__all__ = [
    "DataType",
    "Error",
    "InternalError",
    "LogLevel",
    "backend",
    "check",
    "codegen",
    "compile",
    "get_log_level",
    "internal_check",
    "ir",
    "language",
    "log_debug",
    "log_error",
    "log_event",
    "log_fatal",
    "log_info",
    "log_warn",
    "passes",
    "pypto_core",
    "runtime",
    "set_log_level",
    *sorted(_CONSTANTS),
]


def check(condition: object, message: str = "check failed") -> None:
    """Raise a ValueError with this message when the condition does not hold."""
    if not condition:
        raise UserError(message, code="PT001")


def internal_check(condition: object, message: str = "internal check failed") -> None:
    """Raise an InternalError with this message when the condition does not hold."""
    if not condition:
        raise InternalError(message)


def __getattr__(name: str) -> Any:
    """The modules and ``compile`` when they are first used; ``jit`` when the kernel language has it."""
    if name in _MODULES:
        value: Any = import_module(_MODULES[name])
    elif name == "compile":
        value = import_module("pypto.ir").compile
    elif name == "jit":
        value = import_module("pypto.language").jit
    else:
        raise AttributeError(f"module 'pypto' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
